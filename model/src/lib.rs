//! A small exhaustive model of lease, generation, `send_by`, settle and probe.
//!
//! Every decision in it is the real kernel's: the model is the world around it, made tiny. All states of that world are
//! visited, so within its bounds the properties hold, not only in the runs that somebody thought of. Each rule can be
//! switched off, and then the shortest way to an accident is told. `docs/model.md` says what is modelled and what is not.

pub mod check;
pub mod game;
pub mod ledger;
pub mod page;
pub mod rule;
pub mod scenario;
pub mod tell;
pub mod world;

mod target;
mod worker;
