//! Tests of plans and contracts over whole documents.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

mod cel_program;
mod cel_template;
mod contract_call;
mod contract_read;
mod contract_support;
mod judge_outcome;
mod judge_probe;
mod judge_secrets;
mod judge_shown;
mod plan_document;
mod plan_errors;
mod plan_pictures;
mod plan_prop;
mod plan_resolve;
mod plan_schema;
mod plan_support;
