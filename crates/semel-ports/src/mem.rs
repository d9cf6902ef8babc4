//! An in-memory store: the reference model that every real store is compared with.
//!
//! Invariant: it does what the words of [`Store`](crate::store::Store) say, in the plainest way, under one lock; where
//! a real store and this one differ, one of them is wrong. Its clock stands still until a test moves it. It must not
//! know what events mean: rules live in the kernel.
//!
//! What the trait leaves open is decided here, and the conformance suite holds every store to it:
//! * a lease, a due moment and a progress deadline are over *at* their moment, not after it;
//! * a claim makes the task due from that moment, so its owner's death makes it claimable at once;
//! * equal due moments, and equal times in lists, are ordered by id, in the direction of the list;
//! * a task that has ended is never claimed; a session that is not alive is given nothing.

mod claim;
mod query;
mod verbs;
mod write;

use crate::{
    error::StoreError,
    projection::{OperationRow, Projection, ReviewRow, TaskRow},
};
use semel_kernel::{
    event::Recorded,
    hash::Hash,
    id::{ClientId, OperationId, SessionId, TaskId, Tenant, TurnId},
    task::Task,
    time::{Generation, Millis, Now},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The in-memory store. Clones share one state, like two connections to one database.
#[derive(Clone, Debug)]
pub struct MemStore {
    state: Arc<Mutex<State>>,
}

/// What a store keeps of a task beside its rows: who acts, and when. For tests that look inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coordination {
    /// The present fencing token.
    pub generation: Generation,
    /// The session that was last given the task and has not given it back.
    pub session: Option<SessionId>,
    /// That session's lease runs.
    pub live: bool,
    /// When the task is looked at next; `None` when only an event can move it.
    pub due: Option<Millis>,
    /// Claims since the last committed turn.
    pub claims: u32,
}

#[derive(Clone, Debug)]
struct State {
    now: Now,
    epoch: u32,
    held: Option<String>,
    fail_next: Option<StoreError>,
    lose_next_answer: bool,
    sessions: BTreeMap<SessionId, Millis>,
    tasks: BTreeMap<TaskId, Kept>,
    clients: BTreeMap<(Tenant, ClientId), TaskId>,
    artifacts: BTreeMap<Hash, Vec<u8>>,
}

/// Everything kept of one task.
#[derive(Clone, Debug)]
struct Kept {
    digest: Hash,
    history: Vec<Recorded>,
    turns: BTreeSet<TurnId>,
    checkpoint: Option<Box<Task>>,
    row: TaskRow,
    operations: BTreeMap<OperationId, OperationRow>,
    reviews: Vec<ReviewRow>,
    generation: Generation,
    session: Option<SessionId>,
    due: Option<Millis>,
    progress_until: Millis,
    claims: u32,
}

impl Kept {
    fn version(&self) -> u64 {
        self.history.len() as u64
    }
}

impl MemStore {
    /// An empty store under epoch 1 whose clock stands at `now_ms`, milliseconds since 1970.
    #[must_use]
    pub fn new(now_ms: i64) -> Self {
        let state = State {
            now: Now::steady(Millis(now_ms)),
            epoch: 1,
            held: None,
            fail_next: None,
            lose_next_answer: false,
            sessions: BTreeMap::new(),
            tasks: BTreeMap::new(),
            clients: BTreeMap::new(),
            artifacts: BTreeMap::new(),
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Sets the clock, its steadiness included.
    pub fn set_now(&self, now: Now) {
        self.lock().now = now;
    }

    /// Moves the clock by `ms` milliseconds.
    pub fn advance(&self, ms: i64) {
        let mut state = self.lock();
        state.now.at = state.now.at.plus(ms);
    }

    /// The next verb that can fail answers with this error and changes nothing.
    pub fn fail_next(&self, error: StoreError) {
        self.lock().fail_next = Some(error);
    }

    /// The next turn is written, and its answer is lost: [`StoreError::CommitUnknown`].
    pub fn lose_next_answer(&self) {
        self.lock().lose_next_answer = true;
    }

    /// Holds the store as a copy that was not adopted, or lets it go on. While it is held, claims and the turns of
    /// owners are refused with [`StoreError::NotAdopted`]; everything else works.
    pub fn set_held(&self, held: Option<String>) {
        self.lock().held = held;
    }

    /// Sets the epoch that leads every generation given from here on.
    pub fn set_epoch(&self, epoch: u32) {
        self.lock().epoch = epoch;
    }

    /// A copy of all that it keeps, like a copy of a file: neither sees the other's writes.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        let copy = self.lock().clone();
        Self { state: Arc::new(Mutex::new(copy)) }
    }

    /// Goes back to a copy; its clock goes on. What was written since is lost, as by a disk that lies.
    pub fn restore(&self, copy: &Self) {
        let mut old = copy.lock().clone();
        let mut state = self.lock();
        old.now = state.now;
        *state = old;
    }

    /// Puts another history in the place of a task's own. For negative controls: an engine that forgets.
    pub fn replace(&self, task: &TaskId, history: Vec<Recorded>, rows: Projection) {
        if let Some(kept) = self.lock().tasks.get_mut(task) {
            kept.history = history;
            kept.checkpoint = None;
            kept.row = rows.task;
            kept.operations = rows.operations.into_iter().map(|row| (row.id.clone(), row)).collect();
            kept.reviews = rows.reviews;
        }
    }

    /// What is kept of a task beside its rows; `None` when there is no such task.
    #[must_use]
    pub fn coordination(&self, task: &TaskId) -> Option<Coordination> {
        let state = self.lock();
        let kept = state.tasks.get(task)?;
        Some(Coordination {
            generation: kept.generation,
            session: kept.session.clone(),
            live: state.is_owned(kept),
            due: kept.due,
            claims: kept.claims,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, unless a test has ordered a failure.
    fn enter(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        let mut state = self.lock();
        match state.fail_next.take() {
            Some(error) => Err(error),
            None => Ok(state),
        }
    }
}

impl State {
    fn task(&self, id: &TaskId) -> Result<&Kept, StoreError> {
        self.tasks.get(id).ok_or_else(|| StoreError::NoTask(id.clone()))
    }

    fn adopted(&self) -> Result<(), StoreError> {
        self.held.as_ref().map_or(Ok(()), |why| Err(StoreError::NotAdopted(why.clone())))
    }
}
