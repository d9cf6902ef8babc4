//! The sink's own SQLite file: one connection, write-ahead log, every commit synced.
//!
//! Invariant: when `call` has returned from a committed transaction, a SIGKILL loses nothing of it.
//! It must not know what the tables mean.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::{SinkError, SinkKind};

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS effect (
  id INTEGER PRIMARY KEY, target TEXT NOT NULL, key TEXT, reference TEXT,
  body TEXT NOT NULL, at_ms INTEGER NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS effect_target ON effect (target);
CREATE INDEX IF NOT EXISTS effect_reference ON effect (reference);
CREATE TABLE IF NOT EXISTS key (
  key TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, status INTEGER NOT NULL,
  answer TEXT NOT NULL, at_ms INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS handle (
  id INTEGER PRIMARY KEY, target TEXT NOT NULL, state TEXT NOT NULL, fails INTEGER NOT NULL,
  due_ms INTEGER NOT NULL, effect TEXT NOT NULL, result TEXT) STRICT;
CREATE TABLE IF NOT EXISTS request (
  id INTEGER PRIMARY KEY, method TEXT NOT NULL, path TEXT NOT NULL, key TEXT, reference TEXT,
  body_sha256 TEXT NOT NULL, at_ms INTEGER NOT NULL) STRICT;
";

/// A cheap handle to the one connection.
#[derive(Clone)]
pub(crate) struct Db {
    connection: Arc<Mutex<Connection>>,
}

impl Db {
    /// Opens or creates the file of one kind of sink.
    ///
    /// # Errors
    /// `ForeignFile` when the file belongs to another kind, `Database` when SQLite refuses.
    pub(crate) fn open(path: &Path, kind: SinkKind) -> Result<Self, SinkError> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        claim(&connection, path, kind)?;
        let journal: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
        if journal != "wal" {
            return Err(SinkError::foreign(path, kind));
        }
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)) })
    }

    /// Runs `work` in one immediate transaction away from the async threads and commits it.
    ///
    /// # Errors
    /// What `work` returned (then nothing is committed), or `Database` from the commit.
    pub(crate) async fn call<T, F>(&self, work: F) -> Result<T, SinkError>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction<'_>) -> Result<T, SinkError> + Send + 'static,
    {
        let shared = Arc::clone(&self.connection);
        let run = move || {
            let mut connection = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        tokio::task::spawn_blocking(run).await.map_err(|_| SinkError::CutOff)?
    }
}

/// Marks a new file with the kind, and refuses a file that bears another mark.
fn claim(connection: &Connection, path: &Path, kind: SinkKind) -> Result<(), SinkError> {
    let mark: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if mark == kind.file_mark() {
        return Ok(());
    }
    if mark != 0 || tables != 0 {
        return Err(SinkError::foreign(path, kind));
    }
    Ok(connection.pragma_update(None, "user_version", kind.file_mark())?)
}

/// The wall clock in milliseconds.
#[expect(clippy::disallowed_methods, reason = "a sink plays a foreign system, which has its own clock")]
pub(crate) fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
