//! Numbered migrations, each in its own transaction, remembered with the hash of its text.
//!
//! Invariant: a text that was ever released does not change; a database of a newer form is refused, not guessed at.

use crate::{
    error::OrStore,
    sql::{task, turn},
};
use rusqlite::{Connection, Error};
use semel_kernel::{fold, hash::Hash, id::TaskId, time::Millis};
use semel_ports::{StoreError, projection};

/// `SEML`, in the header of every database of ours.
pub(crate) const APPLICATION_ID: i32 = 0x5345_4D4C;

struct Migration {
    n: i64,
    name: &'static str,
    sql: &'static str,
    /// What SQL alone cannot say: columns that follow from the events that are there already.
    fill: Option<fn(&Connection) -> rusqlite::Result<()>>,
}

const MIGRATIONS: [Migration; 2] = [
    Migration { n: 1, name: "start", sql: include_str!("../migrations/0001_start.sql"), fill: None },
    Migration {
        n: 2,
        name: "written_off",
        sql: include_str!("../migrations/0002_written_off.sql"),
        fill: Some(count_written_off),
    },
];

/// The form that this program writes.
pub(crate) const NEWEST: i64 = MIGRATIONS[MIGRATIONS.len() - 1].n;

fn pragma<T: rusqlite::types::FromSql>(conn: &Connection, name: &str) -> Result<T, StoreError> {
    conn.pragma_query_value(None, name, |r| r.get(0)).or_store()
}

/// Whether nothing was ever written to the database.
fn is_blank(conn: &Connection) -> Result<bool, StoreError> {
    let query = "SELECT count(*) FROM sqlite_schema";
    let tables: i64 = conn.query_row(query, [], |r| r.get(0)).or_store()?;
    Ok(tables == 0 && pragma::<i32>(conn, "application_id")? == 0)
}

/// The form of a database of ours; 0 for a blank one.
///
/// # Errors
/// [`StoreError::Unusable`] for a file that is not ours, or is of a newer form.
pub(crate) fn form(conn: &Connection) -> Result<i64, StoreError> {
    if is_blank(conn)? {
        return Ok(0);
    }
    let id: i32 = pragma(conn, "application_id")?;
    if id != APPLICATION_ID {
        return Err(StoreError::Unusable(format!("it is a database of another program ({id:#x})")));
    }
    let form: i64 = pragma(conn, "user_version")?;
    if form > NEWEST {
        return Err(StoreError::Unusable(format!("its form is {form}, this program knows up to {NEWEST}")));
    }
    Ok(form)
}

/// Brings a database to the newest form.
///
/// # Errors
/// Those of [`form`], and [`StoreError::Corrupt`] when a migration was made from another text.
pub(crate) fn run(conn: &mut Connection, now: Millis) -> Result<(), StoreError> {
    let form = form(conn)?;
    if form > 0 {
        check(conn, form)?;
    }
    for migration in MIGRATIONS.iter().filter(|m| m.n > form) {
        apply(conn, migration, now).or_store()?;
    }
    Ok(())
}

fn check(conn: &Connection, form: i64) -> Result<(), StoreError> {
    for migration in MIGRATIONS.iter().filter(|m| m.n <= form) {
        let query = "SELECT sha256 FROM migration WHERE n = ?1";
        let made: String = conn.query_row(query, [migration.n], |r| r.get(0)).or_store()?;
        if made != Hash::of(migration.sql.as_bytes()).to_string() {
            let name = migration.name;
            return Err(StoreError::Corrupt(format!("migration {} `{name}` was another one", migration.n)));
        }
    }
    Ok(())
}

fn apply(conn: &mut Connection, migration: &Migration, now: Millis) -> rusqlite::Result<()> {
    let tx = conn.transaction()?;
    tx.execute_batch(
        "CREATE TABLE IF NOT EXISTS migration (n INTEGER PRIMARY KEY, name TEXT, sha256 TEXT, at INTEGER) STRICT",
    )?;
    tx.execute_batch(migration.sql)?;
    if let Some(fill) = migration.fill {
        fill(&tx)?;
    }
    let hash = Hash::of(migration.sql.as_bytes()).to_string();
    tx.execute("INSERT INTO migration VALUES (?1, ?2, ?3, ?4)", (migration.n, migration.name, hash, now.0))?;
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.pragma_update(None, "user_version", migration.n)?;
    tx.commit()
}

/// Only the fold says what is written off; a step that waits for another task's operation has no row of its own. The
/// word is looked for first, so that the other tasks need not be folded.
fn count_written_off(conn: &Connection) -> rusqlite::Result<()> {
    for id in turn::tasks_with(conn, "\"StepWrittenOff\"")? {
        if let Some(count) = folded_written_off(conn, &id)? {
            task::put_written_off(conn, &id, count)?;
        }
    }
    Ok(())
}

/// A history that cannot be read or folded says nothing: `db verify` names it, and it must not keep the store shut.
fn folded_written_off(conn: &Connection, id: &TaskId) -> rusqlite::Result<Option<u32>> {
    let events = match turn::events(conn, id, 0) {
        Err(Error::FromSqlConversionFailure(..)) => return Ok(None),
        events => events?,
    };
    let folded = fold::fold_all(events.iter().map(|r| (&r.event, r.at)));
    Ok(folded.ok().map(|task| projection::of(&task, 0).task.written_off))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_database_gets_the_newest_form_once() {
        let mut conn = Connection::open_in_memory().expect("memory");
        run(&mut conn, Millis(1)).expect("blank");
        run(&mut conn, Millis(2)).expect("again");
        assert_eq!(form(&conn), Ok(NEWEST));
        let at: i64 = conn.query_row("SELECT at FROM migration", [], |r| r.get(0)).expect("one");
        assert_eq!(at, 1);
    }

    #[test]
    fn newer_foreign_and_changed_databases_are_refused() {
        let mut conn = Connection::open_in_memory().expect("memory");
        run(&mut conn, Millis(1)).expect("blank");
        conn.execute("UPDATE migration SET sha256 = 'x'", []).expect("an update");
        assert!(matches!(run(&mut conn, Millis(1)), Err(StoreError::Corrupt(_))));
        conn.pragma_update(None, "user_version", NEWEST + 1).expect("a pragma");
        assert!(matches!(run(&mut conn, Millis(1)), Err(StoreError::Unusable(_))));
        conn.pragma_update(None, "application_id", 7).expect("a pragma");
        assert!(matches!(run(&mut conn, Millis(1)), Err(StoreError::Unusable(_))));
    }
}
