//! What is known of a task: read once, looked at in every state.

use super::told::permit;
use crate::world::Permit;
use semel_kernel::{
    id::StepName,
    law,
    operation::Operation,
    step::StepState,
    task::{Phase, Task},
};

/// What is known of a task, read once.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Of the last recorded owner.
    pub generation: u8,
    /// It has ended.
    pub ended: bool,
    /// It waits for a person.
    pub review: bool,
    /// The effect counts as proven.
    pub applied: bool,
    /// The step is COMMITTED.
    pub committed: bool,
    /// The step, or the task, is FAILED.
    pub failed: bool,
    /// Something is in doubt.
    pub unknown: bool,
    /// The law of the kernel that it breaks.
    pub law: Option<String>,
    /// Permits of its attempts.
    pub attempts: Vec<Permit>,
    /// The step's state, in the word shown everywhere.
    pub word: String,
}

/// Reads what the properties and the workers look at.
pub(super) fn read(task: &Task, step: &StepName, op: Option<&Operation>) -> Known {
    let step = task.steps.get(step);
    let state = step.map(|s| s.state);
    let ended_as = task.end.as_ref().map(|e| e.phase);
    let gone = matches!(state, Some(StepState::Failed | StepState::Skipped));
    Known {
        generation: u8::try_from(task.generation.counter).unwrap_or(u8::MAX),
        ended: task.end.is_some(),
        review: task.open_reviews().next().is_some(),
        applied: op.is_some_and(|o| o.applied.is_some()),
        committed: state == Some(StepState::Committed) || ended_as == Some(Phase::Completed),
        failed: gone || matches!(ended_as, Some(Phase::Failed | Phase::Cancelled)),
        unknown: task.unknown_operations().next().is_some(),
        law: law::check(task).err(),
        attempts: op.map_or_else(Vec::new, |o| o.attempts.iter().map(|a| permit(o, a)).collect()),
        word: state.map_or("", StepState::word).to_owned(),
    }
}

/// Of a number that no task has.
pub(super) static NOTHING: Known = Known {
    generation: 0,
    ended: false,
    review: false,
    applied: false,
    committed: false,
    failed: false,
    unknown: false,
    law: None,
    attempts: Vec::new(),
    word: String::new(),
};
