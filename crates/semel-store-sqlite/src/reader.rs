//! Readers: connections of their own, read-only, a few at once.
//!
//! Invariant: a read sees one moment, and every commit that was acknowledged before it began; a reader never writes and
//! never checkpoints.

use crate::{
    Options,
    clock::{OsTime, TimeSource},
    error::OrStore,
    open,
    sql::{artifact, checkpoint, operation, prepared::Prepared, review, task, turn},
    writer::Shared,
};
use async_trait::async_trait;
use rusqlite::Connection;
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
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{sync::Semaphore, task::spawn_blocking};

/// Connections at rest.
struct Pool {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    fn with<T>(&self, read: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let conn = idle.map_or_else(|| open::reader(&self.path), Ok)?;
        let answer = conn.unchecked_transaction().or_store().and_then(|tx| read(&tx));
        if conn.is_autocommit() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(conn);
        }
        answer
    }
}

/// A store for reading: every verb that writes answers [`StoreError::ReadOnly`].
pub struct SqliteReader {
    pool: Arc<Pool>,
    seats: Semaphore,
    pub(crate) shared: Arc<Shared>,
}

impl SqliteReader {
    /// Opens a store that another process may own. Blocks.
    ///
    /// # Errors
    /// [`StoreError::Unusable`] when there is no store, or one of a newer form.
    pub fn open(path: &Path, options: &Options) -> Result<Self, StoreError> {
        Self::open_with_clock(path, options, Arc::new(OsTime))
    }

    /// As [`SqliteReader::open`], by other clocks.
    ///
    /// # Errors
    /// Those of [`SqliteReader::open`].
    pub fn open_with_clock(
        path: &Path,
        options: &Options,
        time: Arc<dyn TimeSource>,
    ) -> Result<Self, StoreError> {
        open::check_library(rusqlite::version_number())?;
        let path = open::resolve(path)?;
        open::renew_form(&path, options, Millis(time.wall_ms()))?;
        let (clock, desk) = open::beside_owner(&path, time, options.clock_error_ms)?;
        Ok(Self::beside(path, options, Arc::new(Shared::new(clock, desk.info()))))
    }

    pub(crate) fn beside(path: PathBuf, options: &Options, shared: Arc<Shared>) -> Self {
        let pool = Arc::new(Pool { path, idle: Mutex::new(Vec::new()) });
        Self { pool, seats: Semaphore::new(options.readers.max(1)), shared }
    }

    /// Reads on a thread that may block.
    async fn read<T, F>(&self, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let closed = |e: String| StoreError::Closed(e);
        let _seat = self.seats.acquire().await.map_err(|e| closed(e.to_string()))?;
        let pool = Arc::clone(&self.pool);
        spawn_blocking(move || pool.with(read)).await.map_err(|e| closed(e.to_string()))?
    }

    async fn rows<T, F>(&self, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.read(move |conn| read(conn).or_store()).await
    }
}

fn load(conn: &Connection, id: &TaskId) -> Result<Loaded, StoreError> {
    let owner = task::owner(conn, id).or_store()?;
    let (generation, session, claims) = owner.ok_or_else(|| StoreError::NoTask(id.clone()))?;
    let checkpoint = checkpoint::get(conn, id).or_store()?;
    let from = checkpoint.as_ref().map_or(0, |task| task.version);
    let tail = turn::events(conn, id, from).or_store()?;
    Ok(Loaded { checkpoint, tail, generation, session, claims })
}

fn history(conn: &Connection, id: &TaskId, after: u64) -> Result<Vec<Recorded>, StoreError> {
    let owner = task::owner(conn, id).or_store()?;
    owner.ok_or_else(|| StoreError::NoTask(id.clone()))?;
    turn::events(conn, id, after).or_store()
}

fn refused<T>() -> Result<T, StoreError> {
    Err(StoreError::ReadOnly("this process has opened it for reading".into()))
}

#[async_trait]
impl Store for SqliteReader {
    fn now(&self) -> Now {
        self.shared.clock.now()
    }

    fn info(&self) -> StoreInfo {
        self.shared.info()
    }

    async fn start_session(&self, _: &SessionId, _: i64) -> Result<(), StoreError> {
        refused()
    }

    async fn renew_session(&self, _: &SessionId, _: i64) -> Result<bool, StoreError> {
        refused()
    }

    async fn end_session(&self, _: &SessionId) -> Result<(), StoreError> {
        refused()
    }

    async fn create(&self, _: Creation) -> Result<Created, CommitError> {
        Ok(refused()?)
    }

    async fn commit(&self, _: Turn) -> Result<Receipt, CommitError> {
        Ok(refused()?)
    }

    async fn find_turn(&self, task: &TaskId, turn: &TurnId) -> Result<bool, StoreError> {
        let (task, turn) = (task.clone(), turn.clone());
        self.rows(move |conn| turn::exists(conn, &task, &turn)).await
    }

    async fn read_back(&self, _: &Turn) -> Result<Option<Receipt>, StoreError> {
        refused()
    }

    async fn claim(&self, _: &SessionId, _: u32) -> Result<Vec<Claim>, StoreError> {
        refused()
    }

    async fn claim_task(&self, _: &SessionId, _: &TaskId) -> Result<Option<Claim>, StoreError> {
        refused()
    }

    async fn release(
        &self,
        _: &TaskId,
        _: Generation,
        _: u64,
        _: Option<Millis>,
    ) -> Result<bool, StoreError> {
        refused()
    }

    async fn next_due(&self) -> Result<Option<Millis>, StoreError> {
        let now = self.now().at;
        let first = self.rows(move |conn| task::due(&mut Prepared::new(conn), Millis::MAX, now, 1)).await?;
        Ok(first.first().map(|(at, _)| Millis(*at)))
    }

    async fn load(&self, task: &TaskId) -> Result<Loaded, StoreError> {
        let task = task.clone();
        self.read(move |conn| load(conn, &task)).await
    }

    async fn history(&self, task: &TaskId, after: u64) -> Result<Vec<Recorded>, StoreError> {
        let task = task.clone();
        self.read(move |conn| history(conn, &task, after)).await
    }

    async fn find_client(
        &self,
        tenant: &Tenant,
        client: &ClientId,
    ) -> Result<Option<(TaskId, Hash)>, StoreError> {
        let (tenant, client) = (tenant.clone(), client.clone());
        self.rows(move |conn| task::find_client(conn, &tenant, &client)).await
    }

    async fn put_artifact(&self, _: Vec<u8>) -> Result<ArtifactRef, StoreError> {
        refused()
    }

    async fn artifact(&self, hash: Hash) -> Result<Vec<u8>, StoreError> {
        let found = self.rows(move |conn| artifact::get(conn, &hash)).await?;
        found.ok_or_else(|| StoreError::NoArtifact(hash.to_string()))
    }

    async fn tasks(&self, filter: &TaskFilter, page: Page) -> Result<Vec<TaskRow>, StoreError> {
        let filter = filter.clone();
        self.rows(move |conn| task::list(conn, &filter, page)).await
    }

    async fn operations(
        &self,
        filter: &OperationFilter,
        page: Page,
    ) -> Result<Vec<OperationRow>, StoreError> {
        let filter = filter.clone();
        self.rows(move |conn| operation::list(conn, &filter, page)).await
    }

    async fn count_operations(&self, filter: &OperationFilter, most: u32) -> Result<u32, StoreError> {
        let filter = filter.clone();
        self.rows(move |conn| operation::count(conn, &filter, most)).await
    }

    async fn reviews(&self, filter: &ReviewFilter, page: Page) -> Result<Vec<ReviewRow>, StoreError> {
        let filter = filter.clone();
        self.rows(move |conn| review::list(conn, &filter, page)).await
    }
}
