//! The embedded store from outside: conformance, crashes, copies, full disks, edits.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic, its parts too")]

mod audit;
mod clock;
mod conformance;
mod copies;
mod forms;
mod full;
mod kill;
mod open;
mod support;
