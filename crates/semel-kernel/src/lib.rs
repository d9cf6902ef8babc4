//! All decisions of Semel, and nothing else.
//!
//! The kernel is pure: no clock, no randomness, no IO, no hash-map order. Four functions carry it:
//!
//! * [`decide::Draft::take`]: an input becomes events, or is refused;
//! * [`fold::fold`]: events become state;
//! * [`recover::act`]: the recovery table, what is to be done about an operation;
//! * [`oblige::obligations`]: what the shell owes a task now.
//!
//! Obligations are a function of state, not of the transition that led there, so a crash can lose none: recovery is
//! the normal path, run again.
#![no_std]
extern crate alloc;

pub mod decide;
pub mod event;
pub mod fold;
pub mod hash;
pub mod id;
pub mod input;
pub mod json;
pub mod law;
pub mod limit;
pub mod oblige;
pub mod operation;
pub mod outcome;
pub mod percent;
pub mod plan;
pub mod recover;
pub mod reject;
pub mod review;
pub mod step;
pub mod task;
pub mod terms;
pub mod time;
