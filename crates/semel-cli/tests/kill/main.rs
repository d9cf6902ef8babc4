//! Kill tests: the real binary, the real store. Effects are counted at the sink, in another process with its own database.
//!
//! | file | harm |
//! |---|---|
//! | `points` | SIGKILL at every named crash point |
//! | `random` | SIGKILL at random moments |
//! | `calls` | SIGKILL and errors at single system calls |
//! | `power` | power cuts |
//! | `room` | a disk that is full, or refuses writes |
//! | `clocks` | a wall clock that jumps |
//! | `crowd` | many clients, stopped owners, lost answers |
//! | `restore` | SIGKILL in the middle of `db restore` |
//! | `stories` | what people met elsewhere |
//!
//! `SEMEL_LONG=1` takes the full numbers (500 kills, 50 power cuts, every system call); `SEMEL_KILLS=N`, `SEMEL_CUTS=N` and
//! `SEMEL_CALLS=N` choose one of them, `SEMEL_SEED=N` repeats what was drawn.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests that say what they counted"
)]

mod batch;
mod calls;
mod clocks;
mod crowd;
mod disk;
mod points;
mod power;
mod random;
mod restore;
mod room;
mod stories;
mod tools;
mod world;
