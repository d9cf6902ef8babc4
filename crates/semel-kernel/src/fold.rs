//! Fold: events become state. The only place where state changes.
//!
//! Invariant: folding needs nothing but the event and its moment; an event that the machines do not allow is
//! corruption and is never worked around.

mod operation;
mod step;
mod task;

pub(crate) use task::create;

use crate::{
    event::Event,
    id::{OperationId, StepName},
    operation::Operation,
    step::{Move, Step, next},
    task::Task,
    time::Millis,
};
use alloc::string::{String, ToString};

/// The history does not fold: which rule it breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Corrupt(pub String);

pub(crate) fn corrupt<T>(text: impl Into<String>) -> Result<T, Corrupt> {
    Err(Corrupt(text.into()))
}

/// Folds one event into a task.
///
/// # Errors
/// [`Corrupt`] when the machines do not allow the event here.
pub fn fold(task: &mut Task, event: &Event, at: Millis) -> Result<(), Corrupt> {
    task.version = task.version.saturating_add(1);
    task.updated_at = at;
    match event {
        Event::TaskCreated { .. } => corrupt("a task is created once"),
        Event::LeaseAcquired { .. }
        | Event::RecoveryStarted { .. }
        | Event::RecoveryFinished { .. }
        | Event::ReviewOpened { .. }
        | Event::ReviewDecided { .. }
        | Event::CancelRequested { .. }
        | Event::Paused { .. }
        | Event::Resumed { .. }
        | Event::SnapshotAdopted { .. }
        | Event::ArtifactCreated { .. }
        | Event::TaskCompleted { .. }
        | Event::TaskFailed { .. }
        | Event::TaskCancelled { .. } => task::fold(task, event, at),
        Event::StepExpanded { .. }
        | Event::StepPlanned { .. }
        | Event::StepAttached { .. }
        | Event::StepSkipped { .. }
        | Event::StepCommitted { .. }
        | Event::StepFailed { .. }
        | Event::StepWrittenOff { .. }
        | Event::TimerSet { .. }
        | Event::TimerFired { .. } => step::fold(task, event, at),
        Event::PrecheckAnswered { .. }
        | Event::AccountSeen { .. }
        | Event::StepStarted { .. }
        | Event::AttemptAnswered { .. }
        | Event::AttemptUnknown { .. }
        | Event::AttemptPending { .. }
        | Event::SentLate { .. }
        | Event::CostCounted { .. }
        | Event::ProbeAnswered { .. }
        | Event::EvidenceAdded { .. }
        | Event::RetryScheduled { .. } => operation::fold(task, event, at),
    }
}

/// Folds a history from its first event.
///
/// # Errors
/// [`Corrupt`] when it is empty, does not begin with `TaskCreated`, or breaks a machine.
pub fn fold_all<'a>(events: impl IntoIterator<Item = (&'a Event, Millis)>) -> Result<Task, Corrupt> {
    let mut events = events.into_iter();
    let Some((first, at)) = events.next() else { return corrupt("the history is empty") };
    let mut task = create(first, at)?;
    for (event, at) in events {
        fold(&mut task, event, at)?;
    }
    Ok(task)
}

fn step_mut<'a>(task: &'a mut Task, name: &StepName) -> Result<&'a mut Step, Corrupt> {
    let version = task.version;
    let Some(step) = task.steps.get_mut(name) else {
        return corrupt(alloc::format!("no step `{name}`"));
    };
    step.touched = version;
    Ok(step)
}

fn operation_mut<'a>(task: &'a mut Task, id: &OperationId) -> Result<&'a mut Operation, Corrupt> {
    task.operations.get_mut(id).ok_or_else(|| Corrupt(alloc::format!("no operation `{id}`")))
}

/// Moves a step by the table of [`crate::step`].
fn advance(step: &mut Step, by: Move, at: Millis) -> Result<(), Corrupt> {
    let Some(to) = next(step.state, by) else {
        let from = step.state.word().to_string();
        return corrupt(alloc::format!("step `{}` is {from}; {by:?} is not possible", step.name));
    };
    if to != step.state {
        step.state = to;
        step.changed_at = at;
    }
    Ok(())
}
