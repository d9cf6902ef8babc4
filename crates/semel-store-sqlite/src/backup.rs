//! Copies of a store: made while it is used, put in place when nobody owns it.
//!
//! Invariant: a copy appears under its name whole or not at all; a copy has no mark, or another's, so it is held when it
//! is opened.

use crate::{
    error::{OrStore, of_io},
    lock::{Owner, beside},
    mark::{self, sync_folder},
    migrate, open,
};
use rusqlite::{Connection, backup::Backup, backup::StepResult};
use semel_ports::StoreError;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// How far a copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Pages that are copied.
    pub done: u64,
    /// Pages in all.
    pub total: u64,
}

/// Pages between two words of progress.
const STEP: i32 = 1_024;

/// Copies the store at `from`, as it is at one moment, to the new file `to`; whoever owns it goes on meanwhile.
///
/// # Errors
/// [`StoreError::Limit`] when there is a file at `to`, else those of reading and writing.
pub fn backup(from: &Path, to: &Path, progress: &mut dyn FnMut(Progress)) -> Result<(), StoreError> {
    if to.exists() {
        return Err(StoreError::Limit(format!("there is a file at `{}` already", to.display())));
    }
    let new = copy(from, to, progress)?;
    put(&new, to)
}

/// Puts the copy at `from` in the place of the store at `to`, which nobody may own. What it finds there is overwritten
/// only by `force`. The store is held when it is opened next.
///
/// # Errors
/// [`StoreError::Owned`] when a process has the store at `to`; [`StoreError::Limit`] when there is one and `force` is
/// not given; [`StoreError::Corrupt`] when `from` is damaged.
pub fn restore(
    from: &Path,
    to: &Path,
    force: bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), StoreError> {
    let to = open::resolve(to)?;
    let _owner = Owner::take(&to)?;
    if to.exists() && !force {
        return Err(StoreError::Limit(format!("there is a store at `{}` already", to.display())));
    }
    let new = copy(from, &to, progress)?;
    check(&new)?;
    // A WAL that stayed would be played into the new file. A crash in between leaves the old file without it, which may be
    // short of turns that were acknowledged, so from here on the mark knows neither of them.
    mark::disown(&to)?;
    for suffix in ["-wal", "-shm"] {
        remove(&beside(&to, suffix))?;
    }
    put(&new, &to)
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(of_io("an old file cannot be removed", &e)),
        _ => Ok(()),
    }
}

fn put(new: &Path, to: &Path) -> Result<(), StoreError> {
    fs::rename(new, to)
        .and_then(|()| sync_folder(to))
        .map_err(|e| of_io("the copy cannot be put in place", &e))
}

/// Copies into a file beside the goal; its path.
fn copy(from: &Path, to: &Path, progress: &mut dyn FnMut(Progress)) -> Result<PathBuf, StoreError> {
    let new = beside(to, ".new");
    remove(&new)?;
    open::create_file(&new)?;
    let source = open::reader(&open::resolve(from)?)?;
    let mut target = Connection::open(&new).or_store()?;
    pages(&source, &mut target, progress).or_store()?;
    // The copy is one file: whoever moves it has no WAL to forget.
    target.pragma_update(None, "journal_mode", "DELETE").or_store()?;
    drop(target);
    fs::File::open(&new).and_then(|f| f.sync_all()).map_err(|e| of_io("the copy cannot be synced", &e))?;
    Ok(new)
}

/// The transaction around it holds one moment, so that writers cannot make the copy begin again for ever.
fn pages(
    source: &Connection,
    target: &mut Connection,
    progress: &mut dyn FnMut(Progress),
) -> rusqlite::Result<()> {
    let moment = source.unchecked_transaction()?;
    moment.query_row("SELECT batch FROM head", [], |_| Ok(()))?;
    let backup = Backup::new(&moment, target)?;
    loop {
        let step = backup.step(STEP)?;
        let now = backup.progress();
        let total = u64::try_from(now.pagecount).unwrap_or(0);
        let left = u64::try_from(now.remaining).unwrap_or(0);
        progress(Progress { done: total.saturating_sub(left), total });
        match step {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            _ => return Err(busy()),
        }
    }
}

fn busy() -> rusqlite::Error {
    let cause = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
    rusqlite::Error::SqliteFailure(cause, Some("somebody else uses the copy".into()))
}

fn check(copy: &Path) -> Result<(), StoreError> {
    let conn = Connection::open(copy).or_store()?;
    migrate::form(&conn)?;
    let said: String = conn.query_row("PRAGMA integrity_check(1)", [], |r| r.get(0)).or_store()?;
    if said == "ok" { Ok(()) } else { Err(StoreError::Corrupt(said)) }
}
