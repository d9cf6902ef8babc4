//! The verbs of the trait, each one step under the lock.

use super::MemStore;
use crate::{
    error::{CommitError, StoreError},
    projection::{OperationRow, ReviewRow, TaskRow},
    receipt::Receipt,
    store::{
        Claim, Created, Creation, Loaded, OperationFilter, Page, ReviewFilter, Store, StoreInfo, TaskFilter,
    },
    turn::{Artifact, Turn},
};
use async_trait::async_trait;
use semel_kernel::{
    event::Recorded,
    hash::Hash,
    id::{ClientId, SessionId, TaskId, Tenant, TurnId},
    outcome::ArtifactRef,
    time::{Generation, Millis, Now},
};

#[async_trait]
impl Store for MemStore {
    fn now(&self) -> Now {
        self.lock().now
    }

    fn info(&self) -> StoreInfo {
        let state = self.lock();
        StoreInfo {
            epoch: state.epoch,
            instance: "memory".to_owned(),
            held: state.held.clone(),
            adopted: None,
        }
    }

    async fn start_session(&self, session: &SessionId, lease_ms: i64) -> Result<(), StoreError> {
        self.enter()?.start_session(session, lease_ms);
        Ok(())
    }

    async fn renew_session(&self, session: &SessionId, lease_ms: i64) -> Result<bool, StoreError> {
        Ok(self.enter()?.renew_session(session, lease_ms))
    }

    async fn end_session(&self, session: &SessionId) -> Result<(), StoreError> {
        self.enter()?.sessions.remove(session);
        Ok(())
    }

    async fn create(&self, creation: Creation) -> Result<Created, CommitError> {
        self.enter()?.create(creation)
    }

    async fn commit(&self, turn: Turn) -> Result<Receipt, CommitError> {
        self.enter()?.commit(turn)
    }

    async fn find_turn(&self, task: &TaskId, turn: &TurnId) -> Result<bool, StoreError> {
        Ok(self.enter()?.tasks.get(task).is_some_and(|kept| kept.turns.contains(turn)))
    }

    async fn read_back(&self, turn: &Turn) -> Result<Option<Receipt>, StoreError> {
        let found = self.find_turn(&turn.task, &turn.turn).await?;
        Ok(found.then(|| Receipt::attest(turn)))
    }

    async fn claim(&self, session: &SessionId, limit: u32) -> Result<Vec<Claim>, StoreError> {
        self.enter()?.claim(session, limit)
    }

    async fn claim_task(&self, session: &SessionId, task: &TaskId) -> Result<Option<Claim>, StoreError> {
        self.enter()?.claim_task(session, task)
    }

    async fn release(
        &self,
        task: &TaskId,
        generation: Generation,
        version: u64,
        due: Option<Millis>,
    ) -> Result<bool, StoreError> {
        Ok(self.enter()?.release(task, generation, version, due))
    }

    async fn next_due(&self) -> Result<Option<Millis>, StoreError> {
        Ok(self.enter()?.next_due())
    }

    async fn load(&self, task: &TaskId) -> Result<Loaded, StoreError> {
        let state = self.enter()?;
        let kept = state.task(task)?;
        let from = kept.checkpoint.as_ref().map_or(0, |task| task.version);
        Ok(Loaded {
            checkpoint: kept.checkpoint.clone(),
            tail: kept.history.iter().filter(|r| r.seq > from).cloned().collect(),
            generation: kept.generation,
            session: kept.session.clone(),
            claims: kept.claims,
        })
    }

    async fn history(&self, task: &TaskId, after: u64) -> Result<Vec<Recorded>, StoreError> {
        let state = self.enter()?;
        Ok(state.task(task)?.history.iter().filter(|r| r.seq > after).cloned().collect())
    }

    async fn find_client(
        &self,
        tenant: &Tenant,
        client: &ClientId,
    ) -> Result<Option<(TaskId, Hash)>, StoreError> {
        let state = self.enter()?;
        let Some(id) = state.clients.get(&(tenant.clone(), client.clone())) else { return Ok(None) };
        Ok(Some((id.clone(), state.task(id)?.digest)))
    }

    async fn put_artifact(&self, bytes: Vec<u8>) -> Result<ArtifactRef, StoreError> {
        let artifact = Artifact::of(bytes);
        let reference = artifact.reference();
        self.enter()?.artifacts.insert(artifact.hash, artifact.bytes);
        Ok(reference)
    }

    async fn artifact(&self, hash: Hash) -> Result<Vec<u8>, StoreError> {
        let state = self.enter()?;
        state.artifacts.get(&hash).cloned().ok_or_else(|| StoreError::NoArtifact(hash.to_string()))
    }

    async fn tasks(&self, filter: &TaskFilter, page: Page) -> Result<Vec<TaskRow>, StoreError> {
        Ok(self.enter()?.task_rows(filter, page))
    }

    async fn operations(
        &self,
        filter: &OperationFilter,
        page: Page,
    ) -> Result<Vec<OperationRow>, StoreError> {
        Ok(self.enter()?.operation_rows(filter, page))
    }

    async fn count_operations(&self, filter: &OperationFilter, most: u32) -> Result<u32, StoreError> {
        Ok(self.enter()?.count_operations(filter, most))
    }

    async fn reviews(&self, filter: &ReviewFilter, page: Page) -> Result<Vec<ReviewRow>, StoreError> {
        Ok(self.enter()?.review_rows(filter, page))
    }
}
