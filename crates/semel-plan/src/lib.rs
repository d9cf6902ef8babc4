//! Plan files and effect contracts: YAML with positions becomes checked documents, documents become the kernel's plan,
//! and CEL expressions become arguments, requests and verdicts.
//!
//! Everything here is a function of text and recorded values: no clock, no network, no store. The only files that are
//! read are the plan and the contracts it names.

pub mod cel;
pub mod contract;
pub mod diff;
pub mod duration;
pub mod fields;
pub mod graph;
pub mod http;
pub mod judge;
pub mod plan;
pub mod problem;
pub mod resolve;
pub mod schema;
pub mod template;
pub mod yaml;

/// The JSON Schema of plan files, for editors.
pub const PLAN_SCHEMA: &str = include_str!("../schemas/plan.schema.json");
/// The JSON Schema of contract files, for editors.
pub const CONTRACT_SCHEMA: &str = include_str!("../schemas/contract.schema.json");
