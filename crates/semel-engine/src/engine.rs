//! The engine: claims tasks, runs a machine for each, and hands over when it drains.
//!
//! Invariant: it holds at most `slots` tasks at once; waiting tasks hold none. Draining begins nothing more, takes back
//! what has not left yet, waits for what was sent up to its time-out, and gives everything back.

use crate::{
    catalog::{Catalog, CatalogError},
    drive,
    hands::{Hand, Hands, Nudge},
    ids,
    lease::{self, Lease},
    machine::{Accounts, Moment},
    trouble::Trouble,
};
use semel_kernel::{
    event::Event,
    id::{SessionId, TaskId, ToolName, TurnId},
    task::{Phase, Task},
    time::Millis,
};
use semel_plan::{contract::Contract, plan::PlanDoc};
use semel_ports::{Claim, Connector, Entropy, Store, StoreError, connector::Recall};
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::{Notify, Semaphore, broadcast, mpsc, watch};

/// How an engine works.
#[derive(Clone, Debug)]
pub struct Options {
    /// Tasks worked on at once.
    pub slots: u32,
    /// Milliseconds a session's lease lasts.
    pub lease_ms: i64,
    /// Milliseconds between two renewals.
    pub renew_ms: i64,
    /// Milliseconds by which the lease is taken to end earlier.
    pub margin_ms: i64,
}

impl Default for Options {
    fn default() -> Self {
        Self { slots: 256, lease_ms: 15_000, renew_ms: 5_000, margin_ms: 3_000 }
    }
}

/// A turn became durable; for those who watch.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The task.
    pub task: TaskId,
    /// Its phase after the turn.
    pub phase: Phase,
    /// Its version after the turn.
    pub version: u64,
    /// Store time of the turn.
    pub at: Millis,
    /// What happened.
    pub events: Arc<Vec<Event>>,
}

/// A store, its connectors, and the tasks in hand.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) connector: Arc<dyn Connector>,
    entropy: Arc<dyn Entropy>,
    pub(crate) catalog: Catalog,
    pub(crate) session: Mutex<SessionId>,
    pub(crate) options: Options,
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) hands: Arc<Hands>,
    waiters: Mutex<HashMap<TaskId, HashSet<TaskId>>>,
    wanted: Mutex<Vec<TaskId>>,
    pub(crate) lease: Mutex<Lease>,
    pub(crate) trouble: Mutex<Option<Trouble>>,
    /// One renewal at a time: two that find the lease lost would begin two sessions.
    pub(crate) renewing: tokio::sync::Mutex<()>,
    /// Held from a claim until its tasks are in hand: who asks for what is due sees a task here or there.
    claiming: tokio::sync::Mutex<()>,
    bell: Notify,
    progress: broadcast::Sender<Progress>,
    drain: watch::Sender<bool>,
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine {
    /// Starts a session on a store. Claims nothing until [`Self::run`].
    ///
    /// # Errors
    /// [`StoreError`] when the session cannot be registered.
    pub async fn start(
        store: Arc<dyn Store>,
        connector: Arc<dyn Connector>,
        entropy: Arc<dyn Entropy>,
        options: Options,
    ) -> Result<Self, StoreError> {
        let session = ids::session(entropy.bits()).map_err(|e| StoreError::Limit(e.to_string()))?;
        let asked_at = store.now().at;
        store.start_session(&session, options.lease_ms).await?;
        let slots = Arc::new(Semaphore::new(options.slots as usize));
        let lease = Mutex::new(Lease::since(asked_at, options.lease_ms));
        let inner = Inner {
            store,
            connector,
            entropy,
            catalog: Catalog::default(),
            session: Mutex::new(session),
            slots,
            hands: Arc::default(),
            waiters: Mutex::default(),
            wanted: Mutex::default(),
            trouble: Mutex::default(),
            lease,
            renewing: tokio::sync::Mutex::default(),
            claiming: tokio::sync::Mutex::default(),
            bell: Notify::new(),
            progress: broadcast::channel(4_096).0,
            drain: watch::channel(false).0,
            options,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Claims and works until [`Self::drain`]; then hands over and returns.
    ///
    /// # Errors
    /// [`StoreError`] when the store is lost for good; what was acknowledged is safe.
    pub async fn run(&self) -> Result<(), StoreError> {
        let renewing = tokio::spawn(lease::renew(Arc::clone(&self.inner)));
        let result = self.schedule().await;
        self.hand_over().await;
        renewing.abort();
        result.and(self.inner.store.end_session(&self.inner.session()).await)
    }

    async fn schedule(&self) -> Result<(), StoreError> {
        let mut drain = self.inner.drain.subscribe();
        while !*drain.borrow() {
            let taken = match self.take_up().await {
                Ok(taken) => taken,
                Err(e) if e.passes() => {
                    tracing::warn!(code = e.code(), "{e}; next: {}", e.next());
                    self.inner.refused(&e);
                    tokio::time::sleep(AGAIN).await;
                    0
                }
                Err(e) => return Err(e),
            };
            if taken < CLAIMS {
                tokio::select! {
                    () = self.inner.bell.notified() => {}
                    () = self.inner.until_due() => {}
                    _ = drain.changed() => {}
                }
            }
        }
        Ok(())
    }

    /// Claims what is due and takes it in hand; how many tasks that were. None without a lease, because a task that is taken
    /// and may not be begun would be given back at once, and counted as a claim without progress.
    async fn take_up(&self) -> Result<usize, StoreError> {
        let inner = &self.inner;
        let _claiming = inner.claiming.lock().await;
        if inner.lease_left(inner.store.now().at) == 0 {
            inner.renew().await?;
        }
        Ok(self.take_wanted().await? + self.take_due().await?)
    }

    /// Those that somebody waits for, first. Each is in hand before the next is claimed: an error leaves none behind.
    async fn take_wanted(&self) -> Result<usize, StoreError> {
        let inner = &self.inner;
        let mut taken = 0;
        while inner.slots.available_permits() > 0 {
            let Some(task) = locked(&inner.wanted).pop() else { break };
            let claim = inner.store.claim_task(&inner.session(), &task).await;
            // One that could not be asked for is wanted still.
            if let Some(claim) = claim.inspect_err(|_| locked(&inner.wanted).push(task))? {
                inner.drive(claim);
                taken += 1;
            }
        }
        Ok(taken)
    }

    /// As many due tasks as there are slots.
    async fn take_due(&self) -> Result<usize, StoreError> {
        let inner = &self.inner;
        let free = u32::try_from(inner.slots.available_permits().min(CLAIMS)).unwrap_or(1);
        if free == 0 {
            return Ok(0);
        }
        let claims = inner.store.claim(&inner.session(), free).await?;
        let taken = claims.len();
        claims.into_iter().for_each(|claim| inner.drive(claim));
        Ok(taken)
    }

    /// Begins nothing more; waits for what was sent.
    pub fn drain(&self) {
        self.inner.drain.send_replace(true);
        self.inner.hands.tell_all(Nudge::Drain);
    }

    async fn hand_over(&self) {
        self.drain();
        self.inner.hands.emptied().await;
    }

    /// Turns as they become durable. A slow reader misses some and reads the store instead.
    #[must_use]
    pub fn progress(&self) -> broadcast::Receiver<Progress> {
        self.inner.progress.subscribe()
    }

    /// No task is in hand.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.inner.hands.is_empty()
    }

    /// No task is in hand, and none becomes due within `ms` milliseconds of store time.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot say what is due.
    pub async fn is_idle_for(&self, ms: i64) -> Result<bool, StoreError> {
        let inner = &self.inner;
        // A task in hand is not due, and one that is given back is due again: nothing may be taken up between the looks.
        let _claiming = inner.claiming.lock().await;
        if !inner.hands.is_empty() {
            return Ok(false);
        }
        let soon = inner.store.now().at.plus(ms);
        let due = inner.store.next_due().await?.is_some_and(|at| at <= soon);
        Ok(!due && inner.hands.is_empty())
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    /// This life's session.
    #[must_use]
    pub fn session(&self) -> SessionId {
        self.inner.session()
    }
}

/// Tasks claimed at once.
const CLAIMS: usize = 64;

impl Inner {
    /// This life's session.
    pub(crate) fn session(&self) -> SessionId {
        locked(&self.session).clone()
    }

    /// The plan that a task pinned, or what is missing of it.
    pub(crate) async fn plan_of(&self, task: &Task) -> Result<Result<Arc<PlanDoc>, String>, StoreError> {
        match self.catalog.plan(self.store.as_ref(), task.plan.hash).await {
            Ok(plan) => Ok(Ok(plan)),
            Err(CatalogError::Missing(what)) => Ok(Err(what)),
            Err(CatalogError::Store(error)) => Err(error),
        }
    }

    /// The labels of the accounts that a plan's tools name. A reference is read anew for each take-up of a task.
    pub(crate) fn accounts(&self, plan: &PlanDoc) -> Accounts {
        let label = |tool: &ToolName, contract: &Contract| {
            let label = match contract.account_reference() {
                Some(reference) => self.connector.account(reference).map_err(|e| e.to_string()),
                None => Ok(contract.account.clone()?),
            };
            Some((tool.clone(), label))
        };
        plan.contracts.iter().filter_map(|(tool, contract)| label(tool, contract)).collect()
    }

    /// Store time, chance, and what is left of the lease.
    pub(crate) fn moment(&self) -> Result<Moment, StoreError> {
        let now = self.store.now();
        let bits = self.entropy.bits();
        let turn = self.turn_id()?;
        let lease_left_ms = self.lease_left(now.at);
        let draw = u32::try_from(bits & u128::from(u32::MAX)).unwrap_or(0);
        Ok(Moment { now, draw, turn, lease_left_ms })
    }

    pub(crate) fn turn_id(&self) -> Result<TurnId, StoreError> {
        ids::turn(self.entropy.bits()).map_err(|e| StoreError::Limit(e.to_string()))
    }

    pub(crate) fn random(&self) -> u128 {
        self.entropy.bits()
    }

    /// Works on a claimed task. A submission may have taken the slot meanwhile: then the task is in hand, and waits for one.
    pub(crate) fn drive(self: &Arc<Self>, claim: Claim) {
        let (hand, nudges) = self.enter(&claim.task);
        let inner = Arc::clone(self);
        let slot = Arc::clone(&self.slots).try_acquire_owned();
        tokio::spawn(async move {
            let slot = match slot {
                Ok(slot) => Some(slot),
                Err(_) => Arc::clone(&inner.slots).acquire_owned().await.ok(),
            };
            drive::claimed(&inner, claim, nudges).await;
            drop((hand, slot));
            inner.ring();
        });
    }

    /// Takes a task in hand; while the process drains its driver is told so at once.
    pub(crate) fn enter(&self, task: &TaskId) -> (Hand, mpsc::UnboundedReceiver<Nudge>) {
        let taken = self.hands.take(task);
        if self.is_draining() {
            self.hands.tell(task, Nudge::Drain);
        }
        taken
    }

    pub(crate) fn is_draining(&self) -> bool {
        *self.drain.borrow()
    }

    /// For calls: they are taken back when the process drains.
    pub(crate) fn recall(&self) -> Recall {
        Recall::when(self.drain.subscribe())
    }

    /// Tells a machine that somebody else wrote to its task, and the scheduler that something may be due.
    pub(crate) fn nudge(&self, task: &TaskId) {
        self.hands.tell(task, Nudge::Changed);
        self.bell.notify_one();
    }

    pub(crate) fn ring(&self) {
        self.bell.notify_one();
    }

    /// Remembers who waits for a task, so that its end wakes them before their timer does.
    pub(crate) fn wait_for(&self, waiter: TaskId, task: TaskId) {
        locked(&self.waiters).entry(task).or_default().insert(waiter);
    }

    /// It is known how the other task came out; nobody has to wake the waiter.
    pub(crate) fn wait_no_more(&self, waiter: &TaskId, task: &TaskId) {
        let mut waiters = locked(&self.waiters);
        if let Some(others) = waiters.get_mut(task) {
            others.remove(waiter);
            if others.is_empty() {
                waiters.remove(task);
            }
        }
    }

    /// A turn is durable: tell those who watch, and wake those who wait for the task's end.
    pub(crate) fn tell(&self, progress: Progress) {
        if progress.phase.is_end() {
            let waiters = locked(&self.waiters).remove(&progress.task);
            locked(&self.wanted).extend(waiters.into_iter().flatten());
            self.bell.notify_one();
        }
        drop(self.progress.send(progress));
    }

    async fn until_due(&self) {
        // With every slot taken what is due cannot be begun: whoever frees one rings.
        let free = self.slots.available_permits() > 0;
        let due = if free { self.store.next_due().await.ok().flatten() } else { None };
        let now = self.store.now().at;
        let pause = due.map_or(IDLE_MS, |at| at.since(now).clamp(1, IDLE_MS));
        tokio::time::sleep(Duration::from_millis(u64::try_from(pause).unwrap_or(1))).await;
    }
}

/// The pause before a store that could not be written is asked again.
const AGAIN: Duration = Duration::from_millis(200);

/// Milliseconds after which the scheduler looks again although nothing is due.
const IDLE_MS: i64 = 1_000;
