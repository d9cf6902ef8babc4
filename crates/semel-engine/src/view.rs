//! What a state means, in words: pictures, sentences, forecasts and files for people, and the same as data.
//!
//! * [`rail`]: what is proven of an operation, station by station;
//! * [`why`]: two sentences about anything: its state with the proof, and what happens next;
//! * [`dry_run`]: what recovery would do, found by letting the kernel do it on a copy;
//! * [`standstill`]: a task that is taken up again and again and does not move;
//! * [`timeline`]: one line for each event, and a text Gantt;
//! * [`package`]: the file that a review carries;
//! * [`raw_answer`]: what a target said that the contract does not understand.
//!
//! Invariant: nothing here decides. Every statement about the future is read off the kernel's own functions, run on a
//! copy of the task, so it cannot drift from what the engine does. It must not know a clock, a store or a terminal.

pub(crate) mod act;
mod answer;
pub mod clock;
pub(crate) mod command;
pub mod dry_run;
pub mod outlook;
pub mod package;
pub mod rail;
pub mod standstill;
pub mod timeline;
pub mod why;

pub use act::ActKind;
pub use answer::{RawAnswer, raw_answer, shown_words};
pub use dry_run::{DryRun, dry_run};
pub use package::Package;
pub use rail::{Mark, Rail};
pub use standstill::{Standstill, standstill};
pub use timeline::{Line, gantt, line};
pub use why::{Why, why_operation, why_review, why_step, why_task};
