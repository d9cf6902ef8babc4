//! The task: the fold of its events, and the machine of its phases.
//!
//! | phase | is |
//! |---|---|
//! | CREATED | accepted; nobody has owned it yet |
//! | READY | something can be done, and nobody does it |
//! | RUNNING | an owner works on it |
//! | WAITING | for a timer, a pause, a target, another task; it holds no lease and no slot |
//! | NEEDS_REVIEW | nothing can go on without a person |
//! | COMPLETED FAILED CANCELLED | the end |
//!
//! Invariant: the phase is a function of the state; a task never ends while an operation of it is unknown and not
//! written off.

use crate::{
    event::PlannedOperation,
    id::{ClientId, OperationId, ReviewId, SessionId, StepName, TaskId, Tenant},
    operation::{Judgement, Operation},
    outcome::Stored,
    plan::{Plan, StepKind},
    review::{Review, ReviewCause},
    step::{Step, StepState},
    terms::{Effect, Terms},
    time::{Generation, Millis},
};
use alloc::{collections::BTreeMap, string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// Phase of a task: the seeds' own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Phase {
    /// Accepted; nobody has owned it yet.
    Created,
    /// Something can be done, and nobody does it.
    Ready,
    /// An owner works on it.
    Running,
    /// For a timer, a target, another task, or a pause.
    Waiting,
    /// Every step is settled and none failed.
    Completed,
    /// A step is known to have failed, and nothing is open.
    Failed,
    /// Cancelled, and nothing is open.
    Cancelled,
    /// Nothing can go on without a person.
    NeedsReview,
}

impl Phase {
    /// All phases.
    pub const ALL: [Self; 8] = [
        Self::Created,
        Self::Ready,
        Self::Running,
        Self::Waiting,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::NeedsReview,
    ];

    /// The word shown everywhere.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Created => "CREATED",
            Self::Ready => "READY",
            Self::Running => "RUNNING",
            Self::Waiting => "WAITING",
            Self::Completed => "COMPLETED",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
            Self::NeedsReview => "NEEDS_REVIEW",
        }
    }

    /// The task has ended.
    #[must_use]
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// COMPLETED, FAILED or CANCELLED.
    pub phase: Phase,
    /// When.
    pub at: Millis,
    /// For FAILED: the stable code of the first failed step.
    pub code: String,
}

/// A recovery under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovery {
    /// Since when.
    pub since: Millis,
    /// Steps found STARTED or UNKNOWN.
    pub open: Vec<StepName>,
}

/// The restore that this task has been through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// When the copy was made, as far as is known.
    pub copied_at: Millis,
    /// When it was adopted.
    pub adopted_at: Millis,
}

/// Who asked for something, when and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Who.
    pub actor: String,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Millis,
}

/// One run of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// Whose it is.
    pub tenant: Tenant,
    /// What the submitter calls it.
    pub client_id: ClientId,
    /// Names, order, terms, pins.
    pub plan: Plan,
    /// The inputs.
    pub inputs: Stored,
    /// Epoch of a tenant-scoped operation; 0 for other tasks.
    pub shared_epoch: u32,
    /// Number of the last event.
    pub version: u64,
    /// When it was accepted.
    pub created_at: Millis,
    /// When its last event was recorded.
    pub updated_at: Millis,
    /// Fencing token of the last recorded owner.
    pub generation: Generation,
    /// The last recorded owner.
    pub session: Option<SessionId>,
    /// Steps, items included, in the order they became known.
    pub order: Vec<StepName>,
    /// Steps by name.
    pub steps: BTreeMap<StepName, Step>,
    /// Operations by id.
    pub operations: BTreeMap<OperationId, Operation>,
    /// Their ids by target, so that a question about one target does not walk over all of them.
    #[serde(default)]
    pub targets: BTreeMap<String, Vec<OperationId>>,
    /// Reviews, in order.
    pub reviews: Vec<Review>,
    /// A recovery under way.
    pub recovery: Option<Recovery>,
    /// The restore it has been through.
    pub restored: Option<Restored>,
    /// Nothing new starts until it is resumed.
    pub paused: Option<Order>,
    /// Nothing new starts; it ends when nothing is open.
    pub cancelling: Option<Order>,
    /// Budgets that a person has extended by *go on*.
    pub forgiven: Vec<String>,
    /// How it ended.
    pub end: Option<End>,
}

impl Task {
    /// The terms of the tool that a planned operation uses.
    #[must_use]
    pub fn terms(&self, planned: &PlannedOperation) -> Option<&Terms> {
        self.plan.tools.get(&planned.tool)
    }

    /// The operation a step acts by or gets its answer from.
    #[must_use]
    pub fn operation_of(&self, step: &Step) -> Option<&Operation> {
        step.operation.as_ref().or(step.same_as.as_ref()).and_then(|id| self.operations.get(id))
    }

    /// Operations on a target, in the order they were planned.
    pub fn on_target(&self, target: &str) -> impl Iterator<Item = &Operation> {
        self.targets.get(target).into_iter().flatten().filter_map(|id| self.operations.get(id))
    }

    /// Steps in order.
    pub fn steps_in_order(&self) -> impl Iterator<Item = &Step> {
        self.order.iter().filter_map(|name| self.steps.get(name))
    }

    /// Open reviews.
    pub fn open_reviews(&self) -> impl Iterator<Item = &Review> {
        self.reviews.iter().filter(|r| r.decided.is_none())
    }

    /// The review with that id.
    #[must_use]
    pub fn review(&self, id: &ReviewId) -> Option<&Review> {
        self.reviews.iter().find(|r| r.id == *id)
    }

    /// Nothing of the task may start: a review about the whole of it is open, or evidence contradicts a step that counts
    /// as settled, so that what was built on it may be wrong.
    #[must_use]
    pub fn held(&self) -> bool {
        let settled = |n: &StepName| self.steps.get(n).is_some_and(Step::is_settled);
        self.open_reviews()
            .any(|r| r.step.as_ref().is_none_or(|n| r.cause == ReviewCause::Contradiction && settled(n)))
    }

    /// No worker takes it up until a person answers: it ends its workers, or a version of it is missing. What it owes
    /// meanwhile is owed by nobody.
    #[must_use]
    pub fn set_aside(&self) -> bool {
        let by_shell = |cause: &ReviewCause| {
            matches!(cause, ReviewCause::NoProgress { .. } | ReviewCause::VersionMissing { .. })
        };
        self.open_reviews().any(|r| r.step.is_none() && by_shell(&r.cause))
    }

    /// Everything that the step needs is settled, and lets it go on; for an item, a slot is free, too.
    #[must_use]
    pub fn is_ready(&self, step: &Step) -> bool {
        let slot = step.item_of.as_ref().is_none_or(|parent| self.free_slots(parent) > 0);
        slot && self.is_released(step)
    }

    /// Everything that the step needs is settled, and lets it go on.
    pub(crate) fn is_released(&self, step: &Step) -> bool {
        step.needs.iter().all(|n| self.steps.get(n).is_some_and(Step::releases))
    }

    /// How many further items of an `each` may start now: they start in order, as many at once as it says, and items
    /// in review hold no slot.
    pub(crate) fn free_slots(&self, parent: &StepName) -> usize {
        let Some(found) = self.steps.get(parent) else { return 0 };
        let StepKind::Each { parallel, .. } = &found.kind else { return 0 };
        let items = self.steps.values().filter(|s| s.item_of.as_ref() == Some(parent));
        let busy = items.filter(|s| !s.is_settled() && !s.is_unresolved() && s.review.is_none()).count();
        (*parallel as usize).max(1).saturating_sub(busy)
    }

    /// No new intent may start now.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.paused.is_some() || self.cancelling.is_some() || self.held()
    }

    /// Operations that are open and unproven, apart from those that are written off and those that change nothing.
    pub fn unknown_operations(&self) -> impl Iterator<Item = &Operation> {
        self.operations.values().filter(|o| {
            matches!(o.judge(), Judgement::Unknown | Judgement::Contradiction)
                && !self.steps.get(&o.step).is_some_and(|s| s.written_off)
                && !self.changes_nothing(o)
        })
    }

    /// The operation has no effect, so nothing can be in doubt about it.
    #[must_use]
    pub fn changes_nothing(&self, op: &Operation) -> bool {
        self.terms(&op.planned).is_some_and(|t| t.effect == Effect::None)
    }

    /// The operation's record is closed: its step is known not to have happened, or the task has ended without it. A
    /// fact that comes later is kept and changes no state.
    #[must_use]
    pub fn is_closed(&self, op: &Operation) -> bool {
        let Some(step) = self.steps.get(&op.step) else { return true };
        let refused = matches!(step.state, StepState::Failed | StepState::Skipped);
        refused || (self.end.is_some() && !step.is_settled())
    }

    /// Steps that are unknown for ever.
    #[must_use]
    pub fn written_off(&self) -> Vec<StepName> {
        self.steps_in_order().filter(|s| s.written_off).map(|s| s.name.clone()).collect()
    }

    /// Whether a step is in doubt now.
    #[must_use]
    pub fn is_unknown(step: &Step) -> bool {
        step.state == StepState::Unknown && !step.written_off
    }
}
