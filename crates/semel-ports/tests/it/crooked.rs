//! A store with one fault, to see that the suite finds it.

use async_trait::async_trait;
use semel_kernel::{
    event::Recorded,
    hash::Hash,
    id::{ClientId, SessionId, TaskId, Tenant, TurnId},
    outcome::ArtifactRef,
    time::{Generation, Millis, Now},
};
use semel_ports::{
    Authority, Claim, CommitError, Created, Creation, Due, Loaded, OperationFilter, OperationRow, Page,
    Receipt, ReviewFilter, ReviewRow, Store, StoreError, StoreInfo, TaskFilter, TaskRow, Turn,
    conformance::{Factory, Fresh},
    mem::MemStore,
};

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Owners are never fenced.
    NoFence,
    /// Bodies are written although the turn is refused.
    EarlyBodies,
    /// A turn forgets its bodies.
    NoBodies,
    /// Whoever releases gives back, whatever its generation.
    AnyRelease,
    /// Releasing forgets the moment.
    ReleaseAtOnce,
    /// An expired session is renewed.
    LateRenewal,
    /// Claims are counted by the generation and never from one again.
    EndlessCount,
    /// Any turn ends the count of claims.
    CountEndsAtOnce,
    /// A task is free after five minutes, whatever is under way.
    ShortCalls,
    /// Whoever writes counts as the owner's progress.
    AnyProgress,
    /// Checkpoints are dropped.
    NoCheckpoint,
    /// Every turn is found.
    FindsAll,
    /// A wake does not wake.
    NoWake,
    /// Rows of operations are those of the first turn only.
    OldRows,
    /// Lists begin at their end.
    Backwards,
    /// The last event of a history is not shown.
    ShortHistory,
}

pub(crate) struct Crooked {
    inner: MemStore,
    fault: Fault,
}

/// Makes such stores.
pub(crate) struct Crooks(pub(crate) Fault);

impl Factory for Crooks {
    type S = Crooked;

    fn fresh(&self) -> Fresh<Crooked> {
        let inner = MemStore::new(1_700_000_000_000);
        let clock = inner.clone();
        let store = Crooked { inner, fault: self.0 };
        Fresh { store, advance: Box::new(move |ms| clock.advance(ms)) }
    }
}

impl Crooked {
    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn ordered<T>(&self, mut rows: Vec<T>) -> Vec<T> {
        if self.has(Fault::Backwards) {
            rows.reverse();
        }
        rows
    }

    async fn bend(&self, turn: &mut Turn) {
        if self.has(Fault::NoFence) {
            turn.authority = Authority::Anyone;
        }
        if self.has(Fault::EarlyBodies) {
            for body in turn.artifacts.clone() {
                self.inner.put_artifact(body.bytes).await.unwrap();
            }
        }
        if self.has(Fault::NoBodies) {
            turn.artifacts.clear();
        }
        turn.progress |= self.has(Fault::CountEndsAtOnce);
        if self.has(Fault::ShortCalls) {
            turn.busy_until = Millis::MIN;
        }
        if self.has(Fault::AnyProgress) {
            turn.owner = turn.owner.take().or_else(|| SessionId::parse("whoever").ok());
        }
        if self.has(Fault::NoCheckpoint) {
            turn.checkpoint = None;
        }
        if self.has(Fault::NoWake) && turn.due == Due::Wake {
            turn.due = Due::Held;
        }
        if self.has(Fault::OldRows) && turn.base > 2 {
            turn.projection.operations.clear();
        }
    }
}

#[async_trait]
impl Store for Crooked {
    fn now(&self) -> Now {
        self.inner.now()
    }

    fn info(&self) -> StoreInfo {
        self.inner.info()
    }

    async fn start_session(&self, session: &SessionId, lease_ms: i64) -> Result<(), StoreError> {
        self.inner.start_session(session, lease_ms).await
    }

    async fn renew_session(&self, session: &SessionId, lease_ms: i64) -> Result<bool, StoreError> {
        if self.has(Fault::LateRenewal) {
            self.inner.start_session(session, lease_ms).await?;
        }
        self.inner.renew_session(session, lease_ms).await
    }

    async fn end_session(&self, session: &SessionId) -> Result<(), StoreError> {
        self.inner.end_session(session).await
    }

    async fn create(&self, creation: Creation) -> Result<Created, CommitError> {
        self.inner.create(creation).await
    }

    async fn commit(&self, mut turn: Turn) -> Result<Receipt, CommitError> {
        self.bend(&mut turn).await;
        self.inner.commit(turn).await
    }

    async fn find_turn(&self, task: &TaskId, turn: &TurnId) -> Result<bool, StoreError> {
        Ok(self.has(Fault::FindsAll) || self.inner.find_turn(task, turn).await?)
    }

    async fn read_back(&self, turn: &Turn) -> Result<Option<Receipt>, StoreError> {
        self.inner.read_back(turn).await
    }

    async fn claim(&self, session: &SessionId, limit: u32) -> Result<Vec<Claim>, StoreError> {
        let mut claims = self.inner.claim(session, limit).await?;
        if self.has(Fault::EndlessCount) {
            for claim in &mut claims {
                claim.claims = u32::try_from(claim.generation.counter).unwrap();
            }
        }
        Ok(claims)
    }

    async fn claim_task(&self, session: &SessionId, task: &TaskId) -> Result<Option<Claim>, StoreError> {
        self.inner.claim_task(session, task).await
    }

    async fn release(
        &self,
        task: &TaskId,
        generation: Generation,
        version: u64,
        due: Option<Millis>,
    ) -> Result<bool, StoreError> {
        let present = self.inner.coordination(task).map_or(generation, |c| c.generation);
        let used = if self.has(Fault::AnyRelease) { present } else { generation };
        let due = if self.has(Fault::ReleaseAtOnce) { Some(self.now().at) } else { due };
        self.inner.release(task, used, version, due).await
    }

    async fn next_due(&self) -> Result<Option<Millis>, StoreError> {
        self.inner.next_due().await
    }

    async fn load(&self, task: &TaskId) -> Result<Loaded, StoreError> {
        self.inner.load(task).await
    }

    async fn history(&self, task: &TaskId, after: u64) -> Result<Vec<Recorded>, StoreError> {
        let mut history = self.inner.history(task, after).await?;
        if self.has(Fault::ShortHistory) && history.len() > 3 {
            history.pop();
        }
        Ok(history)
    }

    async fn find_client(
        &self,
        tenant: &Tenant,
        client: &ClientId,
    ) -> Result<Option<(TaskId, Hash)>, StoreError> {
        self.inner.find_client(tenant, client).await
    }

    async fn put_artifact(&self, bytes: Vec<u8>) -> Result<ArtifactRef, StoreError> {
        self.inner.put_artifact(bytes).await
    }

    async fn artifact(&self, hash: Hash) -> Result<Vec<u8>, StoreError> {
        self.inner.artifact(hash).await
    }

    async fn tasks(&self, filter: &TaskFilter, page: Page) -> Result<Vec<TaskRow>, StoreError> {
        Ok(self.ordered(self.inner.tasks(filter, page).await?))
    }

    async fn operations(
        &self,
        filter: &OperationFilter,
        page: Page,
    ) -> Result<Vec<OperationRow>, StoreError> {
        Ok(self.ordered(self.inner.operations(filter, page).await?))
    }

    async fn count_operations(&self, filter: &OperationFilter, most: u32) -> Result<u32, StoreError> {
        self.inner.count_operations(filter, most).await
    }

    async fn reviews(&self, filter: &ReviewFilter, page: Page) -> Result<Vec<ReviewRow>, StoreError> {
        Ok(self.ordered(self.inner.reviews(filter, page).await?))
    }
}
