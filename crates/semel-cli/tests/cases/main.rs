//! Scenarios from the field that concern the core on one machine, by their numbers: `docs/generated/cases.md`.
//!
//! Where a scenario kills, it is SIGKILL on the real binary; effects are counted at the sink, in another process. Faults of
//! the store and leases that end are played inside this process, on the real store and the real connector.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod cancel;
mod desk;
mod inside;
mod keys;
mod lists;
mod locked;
mod owner;
mod people;
mod plans;
mod room;
mod store;
mod support;
mod window;
#[path = "../kill/world.rs"]
mod world;
