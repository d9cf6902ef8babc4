//! Turns: one row each, their events in the body.

use super::{id, int, json, prepared::Prepared, uint};
use crate::chain::Link;
use rusqlite::{Connection, Row};
use semel_kernel::{
    event::{Event, Recorded, SCHEMA},
    id::{TaskId, TurnId},
    time::Millis,
};
use semel_ports::Turn;

/// A turn as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct StoredTurn {
    pub(crate) task: TaskId,
    pub(crate) seq: u64,
    pub(crate) n: u64,
    pub(crate) at: Millis,
    pub(crate) schema: u32,
    pub(crate) events: String,
    pub(crate) chain: Vec<u8>,
}

pub(crate) fn insert(
    sql: &mut Prepared<'_>,
    turn: &Turn,
    events: &str,
    chain: &Link,
) -> rusqlite::Result<()> {
    const INSERT: &str = "INSERT INTO turn VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let (seq, n) = (int(turn.base.saturating_add(1)), int(turn.events.len() as u64));
    let row = (turn.task.as_str(), seq, n, turn.turn.as_str(), turn.at.0, SCHEMA, events, chain);
    sql.run(INSERT, row)?;
    Ok(())
}

pub(crate) fn exists(conn: &Connection, task: &TaskId, turn: &TurnId) -> rusqlite::Result<bool> {
    let mut query = conn.prepare("SELECT 1 FROM turn WHERE task = ?1 AND turn_id = ?2")?;
    query.exists((task.as_str(), turn.as_str()))
}

/// The same, for the writer.
pub(crate) fn is_there(sql: &mut Prepared<'_>, task: &TaskId, turn: &TurnId) -> rusqlite::Result<bool> {
    sql.get("SELECT 1 FROM turn WHERE task = ?1 AND turn_id = ?2")?.exists((task.as_str(), turn.as_str()))
}

/// Whether the turn with that id begins at that event.
pub(crate) fn stands_at(conn: &Connection, task: &str, seq: i64, turn: &str) -> rusqlite::Result<bool> {
    let mut query = conn.prepare("SELECT 1 FROM turn WHERE task = ?1 AND seq = ?2 AND turn_id = ?3")?;
    query.exists((task, seq, turn))
}

/// Tasks in whose stored events that text occurs.
pub(crate) fn tasks_with(conn: &Connection, text: &str) -> rusqlite::Result<Vec<TaskId>> {
    let mut query = conn.prepare("SELECT DISTINCT task FROM turn WHERE instr(events, ?1) > 0")?;
    query.query_map([text], |r| id(r, 0))?.collect()
}

/// Events after number `after`, in order. The turn that holds the border is read whole and cut.
pub(crate) fn events(conn: &Connection, task: &TaskId, after: u64) -> rusqlite::Result<Vec<Recorded>> {
    let mut query = conn.prepare(
        "SELECT seq, at, events FROM turn WHERE task = ?1 AND seq >=
         (SELECT coalesce(max(seq), 0) FROM turn WHERE task = ?1 AND seq <= ?2) ORDER BY seq",
    )?;
    let mut rows = query.query((task.as_str(), int(after.saturating_add(1))))?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        recorded(row, after, &mut all)?;
    }
    Ok(all)
}

fn recorded(row: &Row<'_>, after: u64, all: &mut Vec<Recorded>) -> rusqlite::Result<()> {
    let (first, at) = (uint(row.get(0)?), Millis(row.get(1)?));
    let events: Vec<Event> = json(row, 2)?;
    let numbered = (first..).zip(events).filter(|(seq, _)| *seq > after);
    all.extend(numbered.map(|(seq, event)| Recorded { seq, at, event }));
    Ok(())
}

/// The stored turns of a task, in order, one by one.
pub(crate) fn each(
    conn: &Connection,
    task: &TaskId,
    mut visit: impl FnMut(StoredTurn),
) -> rusqlite::Result<()> {
    let mut query = conn
        .prepare("SELECT task, seq, n, at, schema, events, chain FROM turn WHERE task = ?1 ORDER BY seq")?;
    let mut rows = query.query([task.as_str()])?;
    while let Some(row) = rows.next()? {
        visit(stored(row)?);
    }
    Ok(())
}

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredTurn> {
    Ok(StoredTurn {
        task: id(row, 0)?,
        seq: uint(row.get(1)?),
        n: uint(row.get(2)?),
        at: Millis(row.get(3)?),
        schema: row.get(4)?,
        events: row.get(5)?,
        chain: row.get(6)?,
    })
}
