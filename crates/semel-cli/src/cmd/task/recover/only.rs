//! A store narrowed to one task: the engine on it claims that task and no other.
//!
//! Invariant: the task is claimed once at once, and then only when something of it is due, so that waiting does not
//! count as claims without progress. Everything else passes through unchanged.

use async_trait::async_trait;
use semel_kernel::{
    event::Recorded,
    hash::Hash,
    id::{ClientId, SessionId, TaskId, Tenant, TurnId},
    oblige,
    outcome::ArtifactRef,
    time::{Generation, Millis, Now},
};
use semel_ports::{
    Claim, CommitError, Created, Creation, Loaded, OperationFilter, OperationRow, Page, Receipt,
    ReviewFilter, ReviewRow, Store, StoreError, StoreInfo, TaskFilter, TaskRow, Turn,
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// The store, and the one task that is claimed from it.
pub(super) struct Only {
    store: Arc<dyn Store>,
    task: TaskId,
    claimed: AtomicBool,
}

impl Only {
    pub(super) fn new(store: Arc<dyn Store>, task: TaskId) -> Self {
        Self { store, task, claimed: AtomicBool::new(false) }
    }

    /// When the task is to be looked at again.
    async fn due(&self) -> Result<Option<Millis>, StoreError> {
        let task = self.store.load(&self.task).await?.into_task()?;
        Ok(oblige::wakes_at(&task, self.store.now()))
    }
}

#[async_trait]
impl Store for Only {
    fn now(&self) -> Now {
        self.store.now()
    }

    fn info(&self) -> StoreInfo {
        self.store.info()
    }

    async fn start_session(&self, session: &SessionId, lease_ms: i64) -> Result<(), StoreError> {
        self.store.start_session(session, lease_ms).await
    }

    async fn renew_session(&self, session: &SessionId, lease_ms: i64) -> Result<bool, StoreError> {
        self.store.renew_session(session, lease_ms).await
    }

    async fn end_session(&self, session: &SessionId) -> Result<(), StoreError> {
        self.store.end_session(session).await
    }

    async fn create(&self, creation: Creation) -> Result<Created, CommitError> {
        self.store.create(creation).await
    }

    async fn commit(&self, turn: Turn) -> Result<Receipt, CommitError> {
        self.store.commit(turn).await
    }

    async fn find_turn(&self, task: &TaskId, turn: &TurnId) -> Result<bool, StoreError> {
        self.store.find_turn(task, turn).await
    }

    async fn read_back(&self, turn: &Turn) -> Result<Option<Receipt>, StoreError> {
        self.store.read_back(turn).await
    }

    async fn claim(&self, session: &SessionId, _limit: u32) -> Result<Vec<Claim>, StoreError> {
        let first = !self.claimed.load(Ordering::SeqCst);
        let due = first || self.due().await?.is_some_and(|at| at <= self.store.now().at);
        if !due {
            return Ok(Vec::new());
        }
        let claim = self.store.claim_task(session, &self.task).await?;
        self.claimed.fetch_or(claim.is_some(), Ordering::SeqCst);
        Ok(claim.into_iter().collect())
    }

    async fn claim_task(&self, session: &SessionId, task: &TaskId) -> Result<Option<Claim>, StoreError> {
        if *task == self.task { self.store.claim_task(session, task).await } else { Ok(None) }
    }

    async fn release(
        &self,
        task: &TaskId,
        generation: Generation,
        version: u64,
        due: Option<Millis>,
    ) -> Result<bool, StoreError> {
        self.store.release(task, generation, version, due).await
    }

    async fn next_due(&self) -> Result<Option<Millis>, StoreError> {
        self.due().await
    }

    async fn load(&self, task: &TaskId) -> Result<Loaded, StoreError> {
        self.store.load(task).await
    }

    async fn history(&self, task: &TaskId, after: u64) -> Result<Vec<Recorded>, StoreError> {
        self.store.history(task, after).await
    }

    async fn find_client(
        &self,
        tenant: &Tenant,
        client: &ClientId,
    ) -> Result<Option<(TaskId, Hash)>, StoreError> {
        self.store.find_client(tenant, client).await
    }

    async fn put_artifact(&self, bytes: Vec<u8>) -> Result<ArtifactRef, StoreError> {
        self.store.put_artifact(bytes).await
    }

    async fn artifact(&self, hash: Hash) -> Result<Vec<u8>, StoreError> {
        self.store.artifact(hash).await
    }

    async fn tasks(&self, filter: &TaskFilter, page: Page) -> Result<Vec<TaskRow>, StoreError> {
        self.store.tasks(filter, page).await
    }

    async fn operations(
        &self,
        filter: &OperationFilter,
        page: Page,
    ) -> Result<Vec<OperationRow>, StoreError> {
        self.store.operations(filter, page).await
    }

    async fn count_operations(&self, filter: &OperationFilter, most: u32) -> Result<u32, StoreError> {
        self.store.count_operations(filter, most).await
    }

    async fn reviews(&self, filter: &ReviewFilter, page: Page) -> Result<Vec<ReviewRow>, StoreError> {
        self.store.reviews(filter, page).await
    }
}
