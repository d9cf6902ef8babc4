//! The sinks over real sockets: what each fault really does, and that the counts can be believed.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod client;
mod desks;
mod durable;
mod faults;
mod hostile;
