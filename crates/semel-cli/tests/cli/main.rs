//! The binary as people meet it: real processes, real stores, real outside systems.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod bench;
mod blind;
mod help;
mod keyed;
mod many;
mod metrics;
mod pages;
mod plans;
mod shown;
mod store;
