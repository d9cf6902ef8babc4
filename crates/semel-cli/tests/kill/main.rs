//! Kill tests: the real binary, the real store, SIGKILL at every named crash point. Effects are counted at the sink,
//! in another process with its own database.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod points;
mod stories;
mod world;
