//! The simulator (DESIGN section 16): kernel and machines under a seeded scheduler, against targets of every class that
//! count their effects, while processes die and stand still, messages are lost, late or doubled, the store fails, the
//! clock is thrown, and people do things at random. A safety phase, then healing, then everything must come to an end.
//!
//! What is real here: the kernel, the machine of a task, plans and contracts, the failure window, and the store port
//! with its in-memory model, which the conformance suite holds equal to SQLite. What is not: tokio, sockets and files;
//! those are the business of the kill tests on the real binary.
//!
//! Invariant: a run is a function of its knobs. Same seed, same bytes.

pub mod batch;
mod chance;
pub mod check;
mod claim;
pub mod control;
pub mod cover;
pub mod history;
mod life;
mod mishap;
mod people;
pub mod plans;
pub mod shrink;
pub mod sim;
mod submit;
pub mod swarm;
mod verb;
mod wire;
pub mod world;
