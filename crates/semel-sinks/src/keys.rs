//! Idempotency keys: which are being worked on (in memory) and which have an answer (in the file).
//!
//! Invariant: the row of a key is written in the transaction of its effect, and the key is unique,
//! so one key is one effect until the key is forgotten. It must not know the kinds of sinks.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, params};

use crate::SinkError;
use crate::http::Response;

/// The keys whose request is being processed by this process.
#[derive(Clone, Default)]
pub(crate) struct InFlight {
    keys: Arc<Mutex<HashSet<String>>>,
}

/// Holds one key as being processed; dropping it lets the key go.
pub(crate) struct Held {
    key: String,
    keys: Arc<Mutex<HashSet<String>>>,
}

impl InFlight {
    /// Takes the key, or `None` while another request holds it.
    pub(crate) fn hold(&self, key: &str) -> Option<Held> {
        let taken = self.keys.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned());
        taken.then(|| Held { key: key.to_owned(), keys: Arc::clone(&self.keys) })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

/// What the file knows of a key.
#[derive(Debug)]
pub(crate) enum Known {
    /// Nothing: the request is the first.
    New,
    /// The same request was answered before.
    Answered(Response),
    /// Another request was answered under this key.
    Reused,
}

/// Drops the keys that were written at or before the given time.
///
/// # Errors
/// `Database` when the rows cannot be deleted.
pub(crate) fn forget(connection: &Connection, until_ms: i64) -> Result<(), SinkError> {
    connection.execute("DELETE FROM key WHERE at_ms <= ?1", [until_ms])?;
    Ok(())
}

/// Looks a key up.
///
/// # Errors
/// `Database` when the row cannot be read.
pub(crate) fn known(connection: &Connection, key: &str, fingerprint: &str) -> Result<Known, SinkError> {
    let sql = "SELECT fingerprint, status, answer FROM key WHERE key = ?1";
    let row: Option<(String, u16, String)> =
        connection.query_row(sql, [key], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()?;
    let Some((first, status, answer)) = row else { return Ok(Known::New) };
    if first != fingerprint {
        return Ok(Known::Reused);
    }
    let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
    let response = Response { status, headers, body: answer.into_bytes() };
    Ok(Known::Answered(response.with("Idempotent-Replayed", "true")))
}

/// Writes the answer of a key's first request.
///
/// # Errors
/// `Database`, also when the key already has a row.
pub(crate) fn remember(
    connection: &Connection,
    key: &str,
    fingerprint: &str,
    response: &Response,
    now_ms: i64,
) -> Result<(), SinkError> {
    let answer = String::from_utf8_lossy(&response.body);
    connection.execute(
        "INSERT INTO key (key, fingerprint, status, answer, at_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![key, fingerprint, response.status, answer, now_ms],
    )?;
    Ok(())
}
