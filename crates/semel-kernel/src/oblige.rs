//! Obligations: what the shell owes a task now, from its state alone. Restart = the same obligations.
//!
//! Invariant: there is no *call* among them. A call exists only as the permit of a STARTED that a store has made
//! durable; *send again* and *undo* are further begins.

use crate::{
    event::Why,
    id::{OperationId, StepName, TaskId},
    limit,
    operation::{Judgement, Operation},
    recover::{self, Act},
    review::ReviewCause,
    step::Step,
    task::{Phase, Task},
    time::{Millis, Now},
};
use alloc::{collections::BTreeMap, vec::Vec};

/// Something the shell owes a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obligation {
    /// Evaluate a step's expressions.
    Resolve(StepName),
    /// Look at the target's state before the first send.
    Precheck(OperationId),
    /// Record STARTED for the next attempt.
    Begin {
        /// The operation.
        op: OperationId,
        /// Why it is safe.
        why: Why,
    },
    /// Ask the target.
    Probe(OperationId),
    /// Wait for the outcome of a tenant-scoped operation, a task of its own.
    Watch {
        /// The step.
        step: StepName,
        /// The task.
        task: TaskId,
    },
    /// Nothing before that moment.
    WaitUntil(Millis),
    /// An answer of an attempt that we made is awaited.
    Answer(OperationId),
    /// Only a person can go on.
    Person,
}

/// Everything the shell owes the task now.
#[must_use]
pub fn obligations(task: &Task, now: Now) -> Vec<Obligation> {
    if task.end.is_some() {
        return if task.open_reviews().next().is_some() {
            alloc::vec![Obligation::Person]
        } else {
            Vec::new()
        };
    }
    let mut owed = Vec::new();
    let stopped = task.is_stopped();
    let mut slots = Slots::default();
    for step in task.steps_in_order().filter(|s| !s.is_settled()) {
        if !step.is_unresolved() {
            owed.extend(for_step(task, step, now));
        } else if !stopped && task.is_released(step) && slots.take(task, step) {
            owed.push(Obligation::Resolve(step.name.clone()));
        }
    }
    if task.open_reviews().next().is_some() {
        owed.push(Obligation::Person);
    }
    owed.extend(deadline(task).map(Obligation::WaitUntil));
    owed
}

/// Free slots of each `each`, handed out in order, so that no more items are owed than may start.
#[derive(Default)]
struct Slots<'a>(BTreeMap<&'a StepName, usize>);

impl<'a> Slots<'a> {
    fn take(&mut self, task: &'a Task, step: &'a Step) -> bool {
        let Some(parent) = &step.item_of else { return true };
        let free = self.0.entry(parent).or_insert_with(|| task.free_slots(parent));
        let granted = *free > 0;
        *free = free.saturating_sub(1);
        granted
    }
}

/// When the task's own deadline is due; `None` once a person was asked about it, or nothing new starts anyway.
fn deadline(task: &Task) -> Option<Millis> {
    let ms = task.plan.budget.deadline_ms?;
    let spent = ReviewCause::Budget { which: "deadline".into() };
    let asked = task.open_reviews().any(|r| r.cause == spent);
    let forgiven = task.forgiven.iter().any(|f| f == "deadline");
    (!asked && !forgiven && task.cancelling.is_none()).then(|| task.created_at.plus(ms))
}

fn for_step(task: &Task, step: &Step, now: Now) -> Option<Obligation> {
    if let Some((to, _)) = &step.attached {
        return Some(Obligation::Watch { step: step.name.clone(), task: to.clone() });
    }
    if let Some(at) = step.timer {
        return Some(Obligation::WaitUntil(at));
    }
    let op = task.operations.get(step.operation.as_ref()?)?;
    let id = op.planned.id.clone();
    match recover::act(task, op, now) {
        Act::Precheck => Some(Obligation::Precheck(id)),
        Act::Begin { why } => Some(Obligation::Begin { op: id, why }),
        Act::Probe => Some(Obligation::Probe(id)),
        Act::Wait { .. } if op.judge() == Judgement::InFlight => Some(Obligation::Answer(id)),
        Act::Wait { until, .. } if until < Millis::MAX => Some(Obligation::WaitUntil(until)),
        Act::Wait { .. }
        | Act::Nothing
        | Act::Lose { .. }
        | Act::Commit { .. }
        | Act::Fail { .. }
        | Act::Pace { .. }
        | Act::AcceptLoss
        | Act::Review { .. } => None,
    }
}

/// When the shell must look at the task again although nothing happens; `None` when only an event can move it.
#[must_use]
pub fn wakes_at(task: &Task, now: Now) -> Option<Millis> {
    let behind = is_behind(task, now).then_some(now.at);
    behind.into_iter().chain(wake_of(task, &obligations(task, now), now)).min()
}

/// When one of these obligations must be looked at again; for who has drawn all consequences of this moment.
#[must_use]
pub fn wake_of(task: &Task, owed: &[Obligation], now: Now) -> Option<Millis> {
    let mut wake = None;
    for owed in owed {
        let at = match owed {
            Obligation::Resolve(_)
            | Obligation::Precheck(_)
            | Obligation::Begin { .. }
            | Obligation::Probe(_) => now.at,
            Obligation::WaitUntil(at) => *at,
            Obligation::Answer(id) => answer_deadline(task, id),
            Obligation::Watch { .. } => now.at.plus(watch_ms(task, now)),
            Obligation::Person => continue,
        };
        wake = Some(wake.map_or(at, |w: Millis| w.min(at)));
    }
    wake
}

/// A tick would record something: time has passed since the last turn.
fn is_behind(task: &Task, now: Now) -> bool {
    task.end.is_none()
        && task.operations.values().any(|op| match recover::act(task, op, now) {
            Act::Lose { .. }
            | Act::Commit { .. }
            | Act::Fail { .. }
            | Act::Pace { .. }
            | Act::AcceptLoss
            | Act::Review { .. } => true,
            Act::Nothing | Act::Wait { .. } | Act::Precheck | Act::Begin { .. } | Act::Probe => false,
        })
}

/// Milliseconds after which a waiter re-reads another task, whether or not it was told: who has waited long is told, or
/// waits for something slow, and each look costs an event.
const fn watch_ms(task: &Task, now: Now) -> i64 {
    let eighth = now.at.since(task.created_at) / 8;
    if eighth < limit::WATCH_MS {
        limit::WATCH_MS
    } else if eighth > limit::WATCH_CAP_MS {
        limit::WATCH_CAP_MS
    } else {
        eighth
    }
}

fn answer_deadline(task: &Task, id: &OperationId) -> Millis {
    let op = task.operations.get(id);
    let clock = op.and_then(|o| task.terms(&o.planned)).map_or(0, |t| t.clock_error_ms);
    op.and_then(Operation::dead_at).unwrap_or(Millis::MAX).plus(clock)
}

/// Until when a task stays with a live owner that does nothing: an attempt of it may be under way for longer than the
/// progress deadline, whatever a person or a receipt has said of it meanwhile.
#[must_use]
pub fn progress_until(task: &Task, now: Now) -> Millis {
    let idle = now.at.plus(limit::PROGRESS_MS);
    let dead = |o: &Operation| {
        let clock = task.terms(&o.planned).map_or(0, |t| t.clock_error_ms);
        o.dead_at().map(|at| at.plus(clock).plus(1_000))
    };
    task.operations.values().filter_map(dead).fold(idle, Millis::max)
}

/// The phase of a task, as of its last event (see the table in [`crate::task`]).
#[must_use]
pub fn phase(task: &Task) -> Phase {
    if let Some(end) = &task.end {
        return end.phase;
    }
    if task.set_aside() {
        return Phase::NeedsReview;
    }
    let now = Now::steady(task.updated_at);
    let owed = obligations(task, now);
    let busy = |o: &Obligation| {
        matches!(
            o,
            Obligation::Resolve(_)
                | Obligation::Precheck(_)
                | Obligation::Begin { .. }
                | Obligation::Probe(_)
                | Obligation::Answer(_)
        )
    };
    let waits = |o: &Obligation| matches!(o, Obligation::WaitUntil(_) | Obligation::Watch { .. });
    if owed.iter().any(busy) {
        return match &task.session {
            Some(_) => Phase::Running,
            None if task.version == 1 => Phase::Created,
            None => Phase::Ready,
        };
    }
    let asks = owed.iter().any(|o| matches!(o, Obligation::Person));
    // A review about the whole task holds everything: whatever else is waited for, only a person lets it go on.
    if task.held() {
        return Phase::NeedsReview;
    }
    match (asks, owed.iter().any(waits)) {
        (true, false) => Phase::NeedsReview,
        (true, true) if only_deadline(task, &owed) => Phase::NeedsReview,
        (true | false, _) => Phase::Waiting,
    }
}

/// Only the budget's own deadline is left to wait for.
fn only_deadline(task: &Task, owed: &[Obligation]) -> bool {
    let deadline = task.plan.budget.deadline_ms.map(|ms| task.created_at.plus(ms));
    owed.iter().all(|o| match o {
        Obligation::WaitUntil(at) => Some(*at) == deadline,
        Obligation::Watch { .. } => false,
        Obligation::Resolve(_)
        | Obligation::Precheck(_)
        | Obligation::Begin { .. }
        | Obligation::Probe(_)
        | Obligation::Answer(_)
        | Obligation::Person => true,
    })
}
