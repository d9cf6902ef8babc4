//! Work that was accepted with `202` and is committed later.
//!
//! Invariant: accepted work outlives the process. It is settled inside the next transaction after
//! it became due, with the time at which it became due, so no background task can be lost.
//! It must not know why the work was accepted.

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Value, json};

use crate::SinkError;
use crate::desk::Desk;
use crate::http::Response;
use crate::ledger::Effect;

/// How accepted work will end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acceptance {
    /// How long after the acceptance the work ends.
    pub(crate) commit_after_ms: i64,
    /// The work will end without an effect.
    pub(crate) fails: bool,
}

/// Notes accepted work and gives the `202` answer with its handle.
///
/// # Errors
/// `Database` when the row is refused.
pub(crate) fn accept(
    connection: &Connection,
    effect: &Effect,
    acceptance: Acceptance,
    now_ms: i64,
) -> Result<Response, SinkError> {
    let due_ms = now_ms.saturating_add(acceptance.commit_after_ms);
    connection.execute(
        "INSERT INTO handle (target, state, fails, due_ms, effect) VALUES (?1, 'executing', ?2, ?3, ?4)",
        params![effect.target, acceptance.fails, due_ms, serde_json::to_string(effect)?],
    )?;
    let handle = format!("h{}", connection.last_insert_rowid());
    let location = format!("/handles/{handle}");
    Ok(Response::json(202, &json!({ "handle": handle })).with("Location", location))
}

/// Ends all work that has become due.
///
/// # Errors
/// `Database` or `Record`; then nothing of the transaction may be committed.
pub(crate) fn settle(connection: &Connection, desk: &dyn Desk, now_ms: i64) -> Result<(), SinkError> {
    for (id, fails, due_ms, effect) in due(connection, now_ms)? {
        let result = if fails {
            Response::error(500, "work_failed")
        } else {
            desk.apply(connection, &serde_json::from_str(&effect)?, due_ms)?
        };
        let state = if result.status < 400 { "succeeded" } else { "failed" };
        let body = String::from_utf8_lossy(&result.body).into_owned();
        let sql = "UPDATE handle SET state = ?2, result = ?3 WHERE id = ?1";
        connection.execute(sql, params![id, state, body])?;
    }
    Ok(())
}

type Due = (i64, bool, i64, String);

fn due(connection: &Connection, now_ms: i64) -> Result<Vec<Due>, SinkError> {
    let mut statement = connection.prepare(
        "SELECT id, fails, due_ms, effect FROM handle
         WHERE state = 'executing' AND due_ms <= ?1 ORDER BY due_ms, id",
    )?;
    let rows =
        statement.query_map([now_ms], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Whether accepted work about this target has not ended.
///
/// # Errors
/// `Database` when the rows cannot be read.
pub(crate) fn executing(connection: &Connection, target: &str) -> Result<bool, SinkError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM handle WHERE target = ?1 AND state = 'executing')";
    Ok(connection.query_row(sql, [target], |row| row.get(0))?)
}

/// The state of one handle, or `404`.
///
/// # Errors
/// `Database` or `Record` when the row cannot be read.
pub(crate) fn look(connection: &Connection, id: i64) -> Result<Response, SinkError> {
    let row: Option<(String, Option<String>)> = connection
        .query_row("SELECT state, result FROM handle WHERE id = ?1", [id], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let Some((state, result)) = row else { return Ok(Response::error(404, "not_found")) };
    let result: Option<Value> = result.map(|text| serde_json::from_str(&text)).transpose()?;
    Ok(Response::json(200, &json!({ "handle": format!("h{id}"), "state": state, "result": result })))
}
