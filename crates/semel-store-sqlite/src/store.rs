//! The owner's store: the lock, the writer's queue, the readers.
//!
//! Invariant: while it lives no other process writes; when it is dropped the writer has ended and the lock is free.

use crate::{
    Options,
    adopt::{Adopt, AdoptReport},
    backup,
    clock::{OsTime, TimeSource},
    lock::Owner,
    open,
    reader::SqliteReader,
    writer::{
        Shared, Writer,
        apply::{self, Commit, Create, Encoded, ReadBack, TakeDue, TakeOne},
        batch::{Job, Queued, Work},
    },
};
use async_trait::async_trait;
use semel_kernel::{
    event::Recorded,
    hash::Hash,
    id::{ClientId, SessionId, TaskId, Tenant, TurnId},
    outcome::ArtifactRef,
    time::{Generation, Millis, Now},
};
use semel_ports::{
    Claim, CommitError, Created, Creation, Loaded, OperationFilter, OperationRow, Page, Receipt,
    ReviewFilter, ReviewRow, Store, StoreError, StoreInfo, TaskFilter, TaskRow, Turn,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle},
};
use tokio::sync::mpsc::{self, Sender};

/// The embedded store.
pub struct SqliteStore {
    queue: Option<Sender<Box<dyn Job>>>,
    writer: Option<JoinHandle<()>>,
    reader: SqliteReader,
    path: PathBuf,
    // Dropped last: the lock is free when nothing writes any more.
    owner: Owner,
}

impl SqliteStore {
    /// Opens a store for its one owner, and creates it if it is absent. Blocks.
    ///
    /// # Errors
    /// [`StoreError::Owned`] when another process has it; [`StoreError::Unusable`] when the file is not ours, is of a
    /// newer form, or does not run with full durability.
    pub fn open(path: &Path, options: Options) -> Result<Self, StoreError> {
        Self::open_with_clock(path, options, Arc::new(OsTime))
    }

    /// As [`SqliteStore::open`], by other clocks.
    ///
    /// # Errors
    /// Those of [`SqliteStore::open`].
    pub fn open_with_clock(
        path: &Path,
        options: Options,
        time: Arc<dyn TimeSource>,
    ) -> Result<Self, StoreError> {
        let path = open::resolve(path)?;
        let owner = Owner::take(&path)?;
        let opened = open::owner(&path, &options, time)?;
        let shared = Arc::new(Shared::new(opened.clock, opened.desk.info()));
        let reader = SqliteReader::beside(path.clone(), &options, Arc::clone(&shared));
        let (queue, requests) = mpsc::channel(options.queue_max.max(1));
        let writer = Writer {
            shared,
            path: path.clone(),
            options,
            boot_id: opened.boot_id,
            marked: opened.desk.head.turns,
            desk: opened.desk,
            first: None,
        };
        let spawned = thread::Builder::new()
            .name("semel-writer".into())
            .spawn(move || writer.run(opened.conn, requests))
            .map_err(|e| StoreError::Unusable(format!("no thread for the writer: {e}")))?;
        Ok(Self { queue: Some(queue), writer: Some(spawned), reader, path, owner })
    }

    /// Opens a store for reading, whoever owns it. Blocks.
    ///
    /// # Errors
    /// [`StoreError::Unusable`] when there is no store, or one of a newer form.
    pub fn open_read_only(path: &Path) -> Result<SqliteReader, StoreError> {
        SqliteReader::open(path, &Options::default())
    }

    /// Where it lies, links resolved.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Says that the original of a held store will never run again. Each task of the report then needs a turn with
    /// `SnapshotAdopted`; until the last of them is durable nothing is created or claimed. Asking again goes on.
    ///
    /// # Errors
    /// Those of a write.
    pub async fn adopt(&self, actor: &str) -> Result<AdoptReport, StoreError> {
        self.write(Adopt { actor: actor.to_owned() }).await
    }

    /// Copies the store, as it is at one moment, to a new file. Blocks; work goes on meanwhile.
    ///
    /// # Errors
    /// Those of [`backup::backup`].
    pub fn backup(&self, to: &Path, progress: &mut dyn FnMut(backup::Progress)) -> Result<(), StoreError> {
        backup::backup(&self.path, to, progress)
    }

    async fn ask<W: Work>(&self, work: W) -> Result<W::Answer, CommitError> {
        let closed = || StoreError::Closed("the writer has ended".into());
        let queue = self.queue.as_ref().ok_or_else(closed)?;
        let (job, answer) = Queued::with(work);
        queue.send(Box::new(job)).await.map_err(|_| closed())?;
        answer.await.map_err(|_| StoreError::CommitUnknown("the writer ended before it answered".into()))?
    }

    async fn write<W: Work>(&self, work: W) -> Result<W::Answer, StoreError> {
        self.ask(work).await.map_err(|error| match error {
            CommitError::Store(error) => error,
            CommitError::Conflict { .. } | CommitError::Fenced { .. } => {
                StoreError::Corrupt(error.to_string())
            }
        })
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(Err(panic)) = self.writer.take().map(JoinHandle::join) {
            tracing::error!(?panic, "the writer has ended by a panic");
        }
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn now(&self) -> Now {
        self.reader.now()
    }

    fn info(&self) -> StoreInfo {
        self.reader.info()
    }

    async fn start_session(&self, session: &SessionId, lease_ms: i64) -> Result<(), StoreError> {
        self.write(apply::start_session(session.clone(), lease_ms)).await?;
        self.owner.note(session);
        Ok(())
    }

    async fn renew_session(&self, session: &SessionId, lease_ms: i64) -> Result<bool, StoreError> {
        self.write(apply::renew_session(session.clone(), lease_ms)).await
    }

    async fn end_session(&self, session: &SessionId) -> Result<(), StoreError> {
        self.write(apply::end_session(session.clone())).await
    }

    async fn create(&self, creation: Creation) -> Result<Created, CommitError> {
        let encoded = Encoded::of(creation.turn)?;
        self.ask(Create { encoded, digest: creation.digest }).await
    }

    async fn commit(&self, turn: Turn) -> Result<Receipt, CommitError> {
        self.ask(Commit(Encoded::of(turn)?)).await
    }

    async fn find_turn(&self, task: &TaskId, turn: &TurnId) -> Result<bool, StoreError> {
        self.reader.find_turn(task, turn).await
    }

    async fn read_back(&self, turn: &Turn) -> Result<Option<Receipt>, StoreError> {
        self.write(ReadBack(turn.clone())).await
    }

    async fn claim(&self, session: &SessionId, limit: u32) -> Result<Vec<Claim>, StoreError> {
        self.write(TakeDue { session: session.clone(), limit }).await
    }

    async fn claim_task(&self, session: &SessionId, task: &TaskId) -> Result<Option<Claim>, StoreError> {
        self.write(TakeOne { session: session.clone(), task: task.clone() }).await
    }

    async fn release(
        &self,
        task: &TaskId,
        generation: Generation,
        version: u64,
        due: Option<Millis>,
    ) -> Result<bool, StoreError> {
        self.write(apply::release(task.clone(), generation, version, due)).await
    }

    async fn next_due(&self) -> Result<Option<Millis>, StoreError> {
        self.reader.next_due().await
    }

    async fn load(&self, task: &TaskId) -> Result<Loaded, StoreError> {
        self.reader.load(task).await
    }

    async fn history(&self, task: &TaskId, after: u64) -> Result<Vec<Recorded>, StoreError> {
        self.reader.history(task, after).await
    }

    async fn find_client(
        &self,
        tenant: &Tenant,
        client: &ClientId,
    ) -> Result<Option<(TaskId, Hash)>, StoreError> {
        self.reader.find_client(tenant, client).await
    }

    async fn put_artifact(&self, bytes: Vec<u8>) -> Result<ArtifactRef, StoreError> {
        self.write(apply::put_artifact(bytes)).await
    }

    async fn artifact(&self, hash: Hash) -> Result<Vec<u8>, StoreError> {
        self.reader.artifact(hash).await
    }

    async fn tasks(&self, filter: &TaskFilter, page: Page) -> Result<Vec<TaskRow>, StoreError> {
        self.reader.tasks(filter, page).await
    }

    async fn operations(
        &self,
        filter: &OperationFilter,
        page: Page,
    ) -> Result<Vec<OperationRow>, StoreError> {
        self.reader.operations(filter, page).await
    }

    async fn count_operations(&self, filter: &OperationFilter, most: u32) -> Result<u32, StoreError> {
        self.reader.count_operations(filter, most).await
    }

    async fn reviews(&self, filter: &ReviewFilter, page: Page) -> Result<Vec<ReviewRow>, StoreError> {
        self.reader.reviews(filter, page).await
    }
}
