//! The independent count: every physical request, and every effect that was really committed.
//!
//! Invariant: the figures are read from the rows that the effects themselves are, never from a
//! second tally that could differ. It must not know faults.

use rusqlite::{Connection, Row, params};
use serde_json::{Map, Value, json};

use crate::http::{Request, Response};
use crate::{SinkError, SinkKind};

/// The most requests that `/_count` lists; `requests` still counts all.
const LOG_MAX: i64 = 10_000;

/// Notes one physical request.
///
/// # Errors
/// `Database` when the row is refused.
pub(crate) fn note(connection: &Connection, request: &Request, now_ms: i64) -> Result<(), SinkError> {
    let head = &request.head;
    connection.execute(
        "INSERT INTO request (method, path, key, reference, body_sha256, at_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            head.method,
            head.target,
            head.header("idempotency-key"),
            head.header("x-operation"),
            request.body_sha256(),
            now_ms
        ],
    )?;
    Ok(())
}

/// The answer to `GET /_count`.
///
/// # Errors
/// `Database` when the rows cannot be read.
pub(crate) fn answer(
    connection: &Connection,
    kind: SinkKind,
    slowest_ms: u64,
) -> Result<Response, SinkError> {
    let number = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let body = json!({
        "kind": kind.name(),
        "effects": number("SELECT count(*) FROM effect")?,
        "by_target": grouped(connection, "target")?,
        "by_key": grouped(connection, "key")?,
        "by_ref": grouped(connection, "reference")?,
        "requests": number("SELECT count(*) FROM request")?,
        "requests_log": log(connection)?,
        "slowest_ms": slowest_ms,
    });
    Ok(Response::json(200, &body))
}

/// The answer to `GET /_effects`.
///
/// # Errors
/// `Database` when the rows cannot be read.
pub(crate) fn effects(connection: &Connection) -> Result<Response, SinkError> {
    let effects: i64 = connection.query_row("SELECT count(*) FROM effect", [], |row| row.get(0))?;
    Ok(Response::json(200, &json!({ "effects": effects })))
}

/// Deletes every row of every table.
///
/// # Errors
/// `Database` when a row cannot be deleted.
pub(crate) fn reset(connection: &Connection) -> Result<Response, SinkError> {
    connection
        .execute_batch("DELETE FROM effect; DELETE FROM key; DELETE FROM handle; DELETE FROM request;")?;
    Ok(Response::json(200, &json!({ "reset": true })))
}

fn grouped(connection: &Connection, column: &'static str) -> Result<Map<String, Value>, SinkError> {
    let sql = format!("SELECT {column}, count(*) FROM effect WHERE {column} IS NOT NULL GROUP BY {column}");
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, json!(row.get::<_, i64>(1)?))))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn log(connection: &Connection) -> Result<Vec<Value>, SinkError> {
    let mut statement = connection.prepare(
        "SELECT method, path, key, reference, body_sha256, at_ms FROM
           (SELECT * FROM request ORDER BY id DESC LIMIT ?1) ORDER BY id",
    )?;
    let rows = statement.query_map([LOG_MAX], logged)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn logged(row: &Row<'_>) -> rusqlite::Result<Value> {
    Ok(json!({
        "method": row.get::<_, String>(0)?,
        "path": row.get::<_, String>(1)?,
        "key": row.get::<_, Option<String>>(2)?,
        "ref": row.get::<_, Option<String>>(3)?,
        "body_sha256": row.get::<_, String>(4)?,
        "at_ms": row.get::<_, i64>(5)?,
    }))
}
