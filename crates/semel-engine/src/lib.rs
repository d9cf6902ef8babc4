//! The machines that drive tasks, and their thin drivers.
//!
//! [`machine::Machine`] holds one task while its owner works on it: completions in, IO out. [`engine::Engine`] claims
//! tasks, runs a machine for each, and carries out the verbs of operators. [`view`] says what a state means.
//!
//! Invariant: nothing here decides; the kernel does. Nothing here sends without a permit.

pub mod catalog;
pub mod command;
pub mod door;
mod drive;
pub mod engine;
mod hands;
pub mod ids;
mod lease;
pub mod machine;
pub mod metrics;
mod names;
mod operate;
mod share;
pub mod submit;
pub mod trouble;
pub mod view;
