//! Metrics: what the recorded events of many tasks add up to, each rate with its numerator and its denominator.
//!
//! * [`tally`]: one task's events become a tally; tallies add up;
//! * [`rate`]: a numerator over a denominator, and the bound that so many trials allow;
//! * [`measure`]: streams the histories of a store through the tally.
//!
//! Invariant: everything here is counted from events, by the kernel's own fold, and can be counted again by anybody who
//! reads them. What no event says is not counted; `docs/metrics.md` says for each number what it does not see.

pub mod measure;
pub mod rate;
mod reading;
pub mod tally;

pub use measure::{Chosen, Measured, measure};
pub use rate::Rate;
pub use tally::Tally;
