//! Checkpoints: the last one of each task.

use super::{json, prepared::Prepared};
use rusqlite::{Connection, OptionalExtension};
use semel_kernel::{event::SCHEMA, id::TaskId, task::Task};

pub(crate) fn put(sql: &mut Prepared<'_>, task: &TaskId, seq: i64, body: &str) -> rusqlite::Result<()> {
    const PUT: &str = "INSERT INTO checkpoint VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (task) DO UPDATE SET seq = ?2, schema = ?3, body = ?4";
    sql.run(PUT, (task.as_str(), seq, SCHEMA, body))?;
    Ok(())
}

/// The last checkpoint. One of another schema is no error: it is a cache, and the events are folded instead.
pub(crate) fn get(conn: &Connection, task: &TaskId) -> rusqlite::Result<Option<Box<Task>>> {
    let query = "SELECT body FROM checkpoint WHERE task = ?1 AND schema = ?2";
    conn.query_row(query, (task.as_str(), SCHEMA), |r| json(r, 0)).optional()
}
