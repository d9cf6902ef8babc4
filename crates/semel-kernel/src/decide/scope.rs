//! Scope: what an input may have changed, so that the consequences are not looked for everywhere after every input.
//!
//! A moment's first look is at everything, because time may have moved anything. After it only what an event has touched
//! can have become due, and what depends on that: the operations on the same target, the `each` of an item, equal calls.
//! What concerns the whole task touches everything.
//!
//! Invariant: narrowing changes no decision; a look at everything right after it finds nothing (a property test).

use super::Draft;
use crate::{
    event::Event,
    id::{OperationId, StepName},
    step::Step,
    task::Task,
    time::Now,
};
use alloc::{collections::BTreeSet, vec::Vec};

/// What is looked at.
pub(super) enum Scope {
    /// Everything.
    Whole,
    /// These.
    Only { operations: BTreeSet<OperationId>, steps: BTreeSet<StepName> },
}

impl Draft {
    /// What is to be looked at now; the next call gives what has changed since.
    pub(super) fn scope(&mut self, now: Now) -> Scope {
        let new = self.events.get(self.looked..).unwrap_or_default();
        let scope = if self.looked_at == Some(now) { touched(&self.task, new) } else { Scope::Whole };
        self.looked_at = Some(now);
        self.looked = self.events.len();
        scope
    }
}

fn touched(task: &Task, events: &[Event]) -> Scope {
    let (mut operations, mut steps) = (BTreeSet::new(), BTreeSet::new());
    for event in events {
        let Some(step) = step_of(task, event).filter(|s| s.review.is_none()) else { return Scope::Whole };
        steps.insert(step.name.clone());
        steps.extend(step.item_of.clone());
        let Some(op) = task.operation_of(step) else { continue };
        operations.extend(task.on_target(&op.planned.target).map(|o| o.planned.id.clone()));
        if step.is_settled() {
            steps.extend(equal_calls(task, &op.planned.id));
        }
    }
    Scope::Only { operations, steps }
}

/// What is settled and uncontradicted stays as it is.
fn may_move(task: &Task) -> BTreeSet<&OperationId> {
    let open = task.steps.values().filter(|s| !s.is_settled()).filter_map(|s| s.operation.as_ref());
    let contradicted = task.operations.values().filter(|o| o.contradiction.is_some());
    open.chain(contradicted.map(|o| &o.planned.id)).collect()
}

/// Steps that get their answer from an operation.
fn equal_calls<'a>(task: &'a Task, op: &'a OperationId) -> impl Iterator<Item = StepName> + 'a {
    task.steps.values().filter(|s| s.same_as.as_ref() == Some(op)).map(|s| s.name.clone())
}

/// The step that an event is about; `None` when it is about the whole task, or about a person.
fn step_of<'a>(task: &'a Task, event: &'a Event) -> Option<&'a Step> {
    let name = match event {
        Event::StepExpanded { step, .. }
        | Event::StepPlanned { step, .. }
        | Event::StepAttached { step, .. }
        | Event::StepSkipped { step, .. }
        | Event::StepStarted { step, .. }
        | Event::StepCommitted { step, .. }
        | Event::StepFailed { step, .. }
        | Event::StepWrittenOff { step, .. }
        | Event::TimerSet { step, .. }
        | Event::TimerFired { step } => step,
        Event::PrecheckAnswered { op, .. }
        | Event::AccountSeen { op, .. }
        | Event::CostCounted { op, .. }
        | Event::AttemptAnswered { op, .. }
        | Event::AttemptUnknown { op, .. }
        | Event::AttemptPending { op, .. }
        | Event::SentLate { op, .. }
        | Event::ProbeAnswered { op, .. }
        | Event::EvidenceAdded { op, .. }
        | Event::RetryScheduled { op, .. } => &task.operations.get(op)?.step,
        Event::TaskCreated { .. }
        | Event::LeaseAcquired { .. }
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
        | Event::TaskCancelled { .. } => return None,
    };
    task.steps.get(name)
}

impl Scope {
    /// The operations in scope.
    pub(super) fn operations(&self, task: &Task) -> Vec<OperationId> {
        match self {
            Self::Whole => may_move(task).into_iter().cloned().collect(),
            Self::Only { operations, .. } => operations.iter().cloned().collect(),
        }
    }

    /// The steps in scope that others may settle: timers, items, equal calls.
    pub(super) fn followers(&self, task: &Task) -> Vec<StepName> {
        let follows =
            |s: &&Step| !s.is_settled() && (s.timer.is_some() || s.items.is_some() || s.same_as.is_some());
        match self {
            Self::Whole if !task.steps.values().any(|s| follows(&s)) => Vec::new(),
            Self::Whole => task.steps_in_order().filter(follows).map(|s| s.name.clone()).collect(),
            Self::Only { steps, .. } => {
                let found = steps.iter().filter_map(|n| task.steps.get(n));
                found.filter(follows).map(|s| s.name.clone()).collect()
            }
        }
    }
}
