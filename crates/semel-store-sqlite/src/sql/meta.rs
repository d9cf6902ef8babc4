//! What the store says of itself, and its head: the last batch and the last turn.

use super::prepared::Prepared;
use crate::clock::Anchor;
use rusqlite::{Connection, OptionalExtension, types::FromSql, types::Value};
use semel_kernel::{id::TaskId, task::Restored, time::Millis};

/// The last batch and the last turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) batch: i64,
    pub(crate) turns: i64,
    pub(crate) task: String,
    pub(crate) seq: i64,
    pub(crate) turn: String,
    /// Store time of the last batch.
    pub(crate) at: i64,
}

/// Identity and clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meta {
    pub(crate) instance: String,
    pub(crate) epoch: u32,
    pub(crate) open_count: i64,
    pub(crate) clock: Option<Anchor>,
    /// The last adoption.
    pub(crate) adopted: Option<Restored>,
}

pub(crate) fn head(conn: &Connection) -> rusqlite::Result<Head> {
    conn.query_row("SELECT batch, turns, task, seq, turn, at FROM head", [], |r| {
        Ok(Head {
            batch: r.get(0)?,
            turns: r.get(1)?,
            task: r.get(2)?,
            seq: r.get(3)?,
            turn: r.get(4)?,
            at: r.get(5)?,
        })
    })
}

pub(crate) fn write_head(sql: &mut Prepared<'_>, head: &Head) -> rusqlite::Result<()> {
    const WRITE: &str = "UPDATE head SET batch = ?1, turns = ?2, task = ?3, seq = ?4, turn = ?5, at = ?6";
    sql.run(WRITE, (head.batch, head.turns, &head.task, head.seq, &head.turn, head.at))?;
    Ok(())
}

fn get<T: FromSql>(conn: &Connection, k: &str) -> rusqlite::Result<Option<T>> {
    conn.query_row("SELECT v FROM meta WHERE k = ?1", [k], |r| r.get(0)).optional()
}

fn put(conn: &Connection, k: &str, v: impl Into<Value>) -> rusqlite::Result<()> {
    conn.execute("INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (k) DO UPDATE SET v = ?2", (k, v.into()))?;
    Ok(())
}

/// Reads what is there; a new store says nothing yet.
pub(crate) fn read(conn: &Connection) -> rusqlite::Result<Meta> {
    let clock: Option<String> = get(conn, "clock")?;
    Ok(Meta {
        instance: get(conn, "instance")?.unwrap_or_default(),
        epoch: get(conn, "epoch")?.unwrap_or(1),
        open_count: get(conn, "open_count")?.unwrap_or(0),
        clock: clock.and_then(|text| serde_json::from_str(&text).ok()),
        adopted: last_adoption(conn)?.map(|a| a.times),
    })
}

/// Gives a new store its instance id, once.
pub(crate) fn name(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute("INSERT OR IGNORE INTO meta VALUES ('instance', lower(hex(randomblob(16))))", [])?;
    conn.execute("INSERT OR IGNORE INTO meta VALUES ('epoch', 1)", [])?;
    Ok(())
}

pub(crate) fn put_clock(conn: &Connection, anchor: &Anchor) -> rusqlite::Result<()> {
    let text =
        serde_json::to_string(anchor).map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))?;
    put(conn, "clock", text)
}

pub(crate) fn put_open_count(conn: &Connection, count: i64) -> rusqlite::Result<()> {
    put(conn, "open_count", count)
}

pub(crate) fn put_epoch(conn: &Connection, epoch: u32) -> rusqlite::Result<()> {
    put(conn, "epoch", i64::from(epoch))
}

/// An adoption that is under way or done.
pub(crate) struct Adoption {
    pub(crate) epoch: u32,
    pub(crate) times: Restored,
}

pub(crate) fn last_adoption(conn: &Connection) -> rusqlite::Result<Option<Adoption>> {
    let query = "SELECT epoch, copied_at, at FROM adoption ORDER BY epoch DESC LIMIT 1";
    conn.query_row(query, [], |r| {
        let times = Restored { copied_at: Millis(r.get(1)?), adopted_at: Millis(r.get(2)?) };
        Ok(Adoption { epoch: r.get(0)?, times })
    })
    .optional()
}

pub(crate) fn add_adoption(conn: &Connection, adoption: &Adoption, actor: &str) -> rusqlite::Result<()> {
    let row = (adoption.epoch, actor, adoption.times.adopted_at.0, adoption.times.copied_at.0);
    conn.execute("INSERT INTO adoption VALUES (?1, ?2, ?3, ?4)", row)?;
    Ok(())
}

/// Tasks whose `SnapshotAdopted` is still to be written.
pub(crate) fn adopting(conn: &Connection) -> rusqlite::Result<Vec<TaskId>> {
    let mut query = conn.prepare("SELECT task FROM adopting ORDER BY task")?;
    query.query_map([], |r| super::id(r, 0))?.collect()
}
