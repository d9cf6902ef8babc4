//! The effects that were really committed, and the only code that writes them.
//!
//! Invariant: one row is one effect; rows are never changed. It must not know the kinds of sinks.

use rusqlite::{Connection, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::SinkError;

/// What a request wants to bring about, before it is committed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Effect {
    /// What the effect is about: incident, order, number or account.
    pub(crate) target: String,
    /// The idempotency key the caller sent.
    pub(crate) key: Option<String>,
    /// The reference the caller sent.
    pub(crate) reference: Option<String>,
    /// The caller's `If-Match`, for the kinds that honour it.
    pub(crate) if_match: Option<String>,
    /// The body as sent.
    pub(crate) body: Map<String, Value>,
}

/// A committed effect.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: i64,
    pub(crate) target: String,
    pub(crate) reference: Option<String>,
    pub(crate) body: Map<String, Value>,
}

/// Which committed effects a lookup asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    /// All with this caller's reference.
    Reference(String),
    /// All about this target.
    Target(String),
    /// The one with this number.
    Id(i64),
}

/// Commits one effect within the caller's transaction and gives its number.
///
/// # Errors
/// `Database` when the row is refused.
pub(crate) fn append(connection: &Connection, effect: &Effect, at_ms: i64) -> Result<i64, SinkError> {
    let body = serde_json::to_string(&effect.body)?;
    connection.execute(
        "INSERT INTO effect (target, key, reference, body, at_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![effect.target, effect.key, effect.reference, body, at_ms],
    )?;
    Ok(connection.last_insert_rowid())
}

/// The effects that match and are not younger than `seen_until_ms`, oldest first.
///
/// # Errors
/// `Database` or `Record` when the rows cannot be read.
pub(crate) fn find(
    connection: &Connection,
    filter: &Filter,
    seen_until_ms: i64,
) -> Result<Vec<Entry>, SinkError> {
    let (column, value): (&str, &dyn rusqlite::ToSql) = match filter {
        Filter::Reference(reference) => ("reference", reference),
        Filter::Target(target) => ("target", target),
        Filter::Id(id) => ("id", id),
    };
    let sql = format!(
        "SELECT id, target, reference, body FROM effect WHERE {column} = ?1 AND at_ms <= ?2 ORDER BY id"
    );
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map(params![value, seen_until_ms], columns)?;
    rows.map(|row| entry(row?)).collect()
}

type Columns = (i64, String, Option<String>, String);

fn columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}

fn entry((id, target, reference, body): Columns) -> Result<Entry, SinkError> {
    Ok(Entry { id, target, reference, body: serde_json::from_str(&body)? })
}
