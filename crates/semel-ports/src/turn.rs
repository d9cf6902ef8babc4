//! A turn: one atomic durable append to one task, with its projections.

use crate::projection::{self, Projection};
use semel_kernel::{
    decide::Draft,
    event::{Event, is_progress},
    hash::Hash,
    id::{SessionId, TaskId, TurnId},
    limit, oblige,
    outcome::ArtifactRef,
    task::Task,
    time::{Generation, Millis, Now},
};

/// By what right a turn is written. The version is always checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authority {
    /// The owner, under its fencing token.
    Owner(Generation),
    /// Evidence, or an operator: exempt from the generation check, never from the version check.
    Anyone,
}

/// When the task is looked at next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// The owner keeps it.
    Held,
    /// The owner gives it back; it is claimable from that moment on, or only after an event when `None`.
    Park(Option<Millis>),
    /// Somebody who is not the owner wrote: claimable at once if nobody owns it.
    Wake,
}

/// A body for the artifact store, written in the same transaction as the turn that refers to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// SHA-256 of the bytes.
    pub hash: Hash,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Artifact {
    /// Wraps a body.
    #[must_use]
    pub fn of(bytes: Vec<u8>) -> Self {
        Self { hash: Hash::of(&bytes), bytes }
    }

    /// The reference to it.
    #[must_use]
    pub fn reference(&self) -> ArtifactRef {
        ArtifactRef { hash: self.hash, bytes: self.bytes.len() as u64 }
    }
}

/// One atomic durable append to one task.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The task.
    pub task: TaskId,
    /// Random; a lost commit answer is looked up by it.
    pub turn: TurnId,
    /// The version that the store must have: the number of the last event before this turn.
    pub base: u64,
    /// By what right.
    pub authority: Authority,
    /// Store time.
    pub at: Millis,
    /// At least one event.
    pub events: Vec<Event>,
    /// What tables show of the task, the rows of operations that changed, and its reviews.
    pub projection: Projection,
    /// When the task is looked at next.
    pub due: Due,
    /// Something of the task has moved, beyond being taken up: the count of claims without progress begins anew.
    pub progress: bool,
    /// Until then the task stays with a live owner, whatever it does: an attempt of it may be under way.
    pub busy_until: Millis,
    /// The whole state, when it is time for a checkpoint.
    pub checkpoint: Option<Box<Task>>,
    /// Bodies that the events refer to.
    pub artifacts: Vec<Artifact>,
    /// For a creation that is owned from its first turn on: by whom.
    pub owner: Option<SessionId>,
}

impl Turn {
    /// Closes a draft into a turn; returns the task as it will be once the turn is durable.
    #[must_use]
    pub fn close(draft: Draft, turn: TurnId, authority: Authority, at: Millis, due: Due) -> (Self, Task) {
        let base = draft.base();
        let (task, events) = draft.finish();
        let projection = projection::of(&task, base);
        let progress = is_progress(&events);
        let busy_until = oblige::progress_until(&task, Now::steady(at));
        let turn = Self {
            task: task.id.clone(),
            turn,
            base,
            authority,
            at,
            events,
            projection,
            due,
            progress,
            busy_until,
            checkpoint: None,
            artifacts: Vec::new(),
            owner: None,
        };
        (turn, task)
    }

    /// Until when the task stays with a live owner after this turn. Only the owner's own turns extend it: evidence that
    /// comes in says nothing about the owner.
    #[must_use]
    pub fn progress_until(&self, now: Millis) -> Millis {
        let owned = self.owner.is_some() || matches!(self.authority, Authority::Owner(_));
        if owned { self.busy_until.max(now.plus(limit::PROGRESS_MS)) } else { Millis::MIN }
    }

    /// The task's version after this turn.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.base.saturating_add(self.events.len() as u64)
    }
}
