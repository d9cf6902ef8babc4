//! Tests of the engine, in one binary.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod machine;
mod metrics;
mod metrics_walk;
mod view_dry_run;
mod view_package;
mod view_rail;
mod view_standstill;
mod view_timeline;
mod view_why;
mod view_world;
mod wide;
