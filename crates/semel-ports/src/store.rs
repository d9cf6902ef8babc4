//! The store port: dumb verbs, no rules. Logic exists once, in the kernel.
//!
//! Every write is a compare-and-swap on `(task, version, generation)`; zero rows changed is an answer. Time is the
//! store's own. A store that cannot write fails closed: nothing is acknowledged, so nothing is sent.

use crate::{
    error::{CommitError, StoreError},
    projection::{OperationRow, ReviewRow, TaskRow},
    receipt::Receipt,
    turn::Turn,
};
use async_trait::async_trait;
use semel_kernel::{
    event::Recorded,
    fold,
    hash::Hash,
    id::{ClientId, SessionId, TaskId, Tenant, TurnId},
    law,
    outcome::ArtifactRef,
    task::{Phase, Restored, Task},
    time::{Generation, Millis, Now},
};

/// What a store says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreInfo {
    /// Grows when a store is restored or adopted; leads every generation.
    pub epoch: u32,
    /// Random id of this store, given once.
    pub instance: String,
    /// Why nothing may be sent, if so: a copy or a restored backup that was not adopted.
    pub held: Option<String>,
    /// The last restore that it has been through, if there was one.
    pub adopted: Option<Restored>,
}

/// A task to be created if absent.
#[derive(Clone, Debug)]
pub struct Creation {
    /// Its first turn; `base` is 0.
    pub turn: Turn,
    /// Digest of plan and inputs; another digest under the same client id is a conflict, told by the caller.
    pub digest: Hash,
}

/// The answer to a creation. The database decides races.
#[derive(Debug)]
pub enum Created {
    /// It is new.
    New(Receipt),
    /// The client id, or the task id, is taken.
    Exists {
        /// By this task.
        task: TaskId,
        /// With this digest.
        digest: Hash,
    },
}

/// A task was taken by a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The task.
    pub task: TaskId,
    /// Its new fencing token.
    pub generation: Generation,
    /// Claims since the last committed turn, this one included.
    pub claims: u32,
}

/// A task as it is stored.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The last checkpoint, if there is one.
    pub checkpoint: Option<Box<Task>>,
    /// Events after it.
    pub tail: Vec<Recorded>,
    /// Its present fencing token; may be ahead of the last recorded owner.
    pub generation: Generation,
    /// Its present owner.
    pub session: Option<SessionId>,
    /// Claims since its last progress, or since it was given back until later.
    pub claims: u32,
}

impl Loaded {
    /// Folds the tail into the checkpoint and checks every law.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when the history does not fold or breaks a law.
    pub fn into_task(self) -> Result<Task, StoreError> {
        let corrupt = |e: String| StoreError::Corrupt(e);
        let task = match self.checkpoint {
            Some(mut task) => {
                for r in &self.tail {
                    fold::fold(&mut task, &r.event, r.at).map_err(|e| corrupt(e.to_string()))?;
                }
                *task
            }
            None => fold::fold_all(self.tail.iter().map(|r| (&r.event, r.at)))
                .map_err(|e| corrupt(e.to_string()))?,
        };
        law::check(&task).map_err(corrupt)?;
        Ok(task)
    }
}

/// Which part of a long list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Rows to skip.
    pub skip: u32,
    /// Rows to return at most.
    pub limit: u32,
}

/// Which tasks; newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Only these phases; empty for all.
    pub phases: Vec<Phase>,
    /// Only ids that begin with this.
    pub prefix: Option<String>,
    /// Only this plan name.
    pub name: Option<String>,
    /// Only this tenant's.
    pub tenant: Option<Tenant>,
}

/// Which operations; last changed first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationFilter {
    /// Only those that are unknown and not written off.
    pub unknown: bool,
    /// Only those that are written off.
    pub written_off: bool,
    /// Only of this task.
    pub task: Option<TaskId>,
    /// Only whose id, target or key is, or begins with, this.
    pub find: Option<String>,
}

/// Which reviews; oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewFilter {
    /// Decided ones too.
    pub decided: bool,
    /// Only of this task.
    pub task: Option<TaskId>,
    /// Only ids that begin with this.
    pub prefix: Option<String>,
}

/// A store.
#[async_trait]
pub trait Store: Send + Sync {
    /// Store time.
    fn now(&self) -> Now;

    /// What it says of itself.
    fn info(&self) -> StoreInfo;

    /// Registers a worker session.
    async fn start_session(&self, session: &SessionId, lease_ms: i64) -> Result<(), StoreError>;

    /// Extends a session's lease; `false` when it has expired and its tasks may be owned by others.
    async fn renew_session(&self, session: &SessionId, lease_ms: i64) -> Result<bool, StoreError>;

    /// Ends a session; its tasks are claimable at once.
    async fn end_session(&self, session: &SessionId) -> Result<(), StoreError>;

    /// Creates a task if neither its id nor its client id is taken.
    async fn create(&self, creation: Creation) -> Result<Created, CommitError>;

    /// Appends a turn, if version and authority hold.
    async fn commit(&self, turn: Turn) -> Result<Receipt, CommitError>;

    /// Whether a turn is there.
    async fn find_turn(&self, task: &TaskId, turn: &TurnId) -> Result<bool, StoreError>;

    /// The receipt of a turn whose commit answer was lost, if it is durable; `None` when it is not there and never will
    /// be. A store that has closed itself answers only once it is whole again: what readers see in it may not last.
    async fn read_back(&self, turn: &Turn) -> Result<Option<Receipt>, StoreError>;

    /// Takes up to `limit` tasks that are due and not owned by a live session, longest due first.
    async fn claim(&self, session: &SessionId, limit: u32) -> Result<Vec<Claim>, StoreError>;

    /// Takes one task if it is due or not, unless a live session owns it.
    async fn claim_task(&self, session: &SessionId, task: &TaskId) -> Result<Option<Claim>, StoreError>;

    /// Gives a task back without a turn; `false` when it is owned by somebody else by now. A task that has moved on past
    /// `version`, the one that its owner has seen, is due at once: what came meanwhile is not slept through. One that is
    /// given back until later, or until something happens, was not failed with: its count of claims begins anew.
    async fn release(
        &self,
        task: &TaskId,
        generation: Generation,
        version: u64,
        due: Option<Millis>,
    ) -> Result<bool, StoreError>;

    /// When the next unowned task becomes due.
    async fn next_due(&self) -> Result<Option<Millis>, StoreError>;

    /// A task as it is stored.
    async fn load(&self, task: &TaskId) -> Result<Loaded, StoreError>;

    /// Its events from `after` on, in order.
    async fn history(&self, task: &TaskId, after: u64) -> Result<Vec<Recorded>, StoreError>;

    /// The task with that client id.
    async fn find_client(
        &self,
        tenant: &Tenant,
        client: &ClientId,
    ) -> Result<Option<(TaskId, Hash)>, StoreError>;

    /// Keeps a body by its hash.
    async fn put_artifact(&self, bytes: Vec<u8>) -> Result<ArtifactRef, StoreError>;

    /// The body with that hash.
    async fn artifact(&self, hash: Hash) -> Result<Vec<u8>, StoreError>;

    /// Rows of tasks.
    async fn tasks(&self, filter: &TaskFilter, page: Page) -> Result<Vec<TaskRow>, StoreError>;

    /// Rows of operations.
    async fn operations(&self, filter: &OperationFilter, page: Page)
    -> Result<Vec<OperationRow>, StoreError>;

    /// How many operations there are, counted up to `most`: where that is the answer, there may be more.
    async fn count_operations(&self, filter: &OperationFilter, most: u32) -> Result<u32, StoreError>;

    /// Rows of reviews.
    async fn reviews(&self, filter: &ReviewFilter, page: Page) -> Result<Vec<ReviewRow>, StoreError>;
}
