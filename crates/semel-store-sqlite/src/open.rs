//! Opening: settings that are read back, the lock, the mark, the clock, the dead predecessor's tasks.
//!
//! Invariant: a connection that writes is in WAL mode with `synchronous=FULL`, by its own word; a pragma that SQLite did
//! not understand is silently another setting, so what was asked for proves nothing.

use crate::{
    Options,
    adopt::{Desk, Stage},
    clock::{Anchor, Clock, TimeSource},
    error::{OrStore, of_io},
    lock::Owner,
    mark::{self, Mark, Verdict},
    migrate,
    sql::{
        meta::{self, Head, Meta},
        task, turn,
    },
};
use rusqlite::{Connection, OpenFlags, config::DbConfig};
use semel_kernel::time::Millis;
use semel_ports::StoreError;
use std::{
    fs::{self, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// The first SQLite without the WAL-reset bug, which corrupts a database under two connections.
pub(crate) const OLDEST_SQLITE: i32 = 3_051_003;

/// Pages in the WAL after which the writer checkpoints.
const CHECKPOINT_PAGES: i64 = 4_000;

/// How long a reader waits for a lock of somebody else; in WAL mode that is for a recovery only.
const READER_BUSY: Duration = Duration::from_secs(5);

/// The database's real path, so that two names of one file share one lock.
pub(crate) fn resolve(path: &Path) -> Result<PathBuf, StoreError> {
    let real = match fs::canonicalize(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => resolve_new(path),
        other => other,
    };
    let real = real.map_err(|e| of_io(&format!("`{}` cannot be opened", path.display()), &e))?;
    must_be_ours(&real, path)?;
    Ok(real)
}

/// The first bytes of every file that SQLite writes.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Refuses what can be no store before anything is put beside it. What has a mark was one, and is damaged.
fn must_be_ours(real: &Path, named: &Path) -> Result<(), StoreError> {
    let named = named.display();
    if real.is_dir() {
        return Err(StoreError::Unusable(format!("`{named}` is a folder; name a file in it")));
    }
    if mark::path_of(real).exists() {
        return Ok(());
    }
    let Ok(mut file) = fs::File::open(real) else { return Ok(()) };
    let mut head = [0; MAGIC.len()];
    match file.read(&mut head) {
        // A file that was made and not written yet is empty.
        Ok(0) | Err(_) => Ok(()),
        Ok(_) if head == *MAGIC => Ok(()),
        Ok(_) => Err(StoreError::Unusable(format!("`{named}` is not a Semel store"))),
    }
}

fn resolve_new(path: &Path) -> io::Result<PathBuf> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    Ok(fs::canonicalize(folder)?.join(name))
}

/// Creates the file with its mode, if it is not there. SQLite gives the WAL the same mode.
pub(crate) fn create_file(path: &Path) -> Result<(), StoreError> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Ok(file) => file.sync_all().and_then(|()| mark::sync_folder(path)),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(e),
    }
    .map_err(|e| of_io("the database cannot be created", &e))
}

/// Refuses a library with a known bug.
pub(crate) fn check_library(version: i32) -> Result<(), StoreError> {
    if version >= OLDEST_SQLITE {
        return Ok(());
    }
    Err(StoreError::Unusable(format!(
        "SQLite {version} has a bug that corrupts files; 3.51.3 or newer is needed"
    )))
}

/// Opens the writer's connection.
pub(crate) fn writer(path: &Path, options: &Options) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(path, flags).or_store()?;
    conn.busy_timeout(Duration::from_millis(options.busy_ms.into())).or_store()?;
    migrate::form(&conn)?;
    configure(&conn, options).or_store()?;
    read_back(&conn, options)?;
    if let Some(pages) = options.page_max {
        conn.pragma_update(None, "max_page_count", pages).or_store()?;
    }
    if let Some(refuse) = options.refuse_commit.clone() {
        conn.commit_hook(Some(move || refuse.swap(false, Ordering::SeqCst))).or_store()?;
    }
    Ok(conn)
}

fn configure(conn: &Connection, options: &Options) -> rusqlite::Result<()> {
    conn.pragma_update(None, "journal_mode", "WAL")?;
    conn.pragma_update(None, "synchronous", if options.sync_normal { "NORMAL" } else { "FULL" })?;
    conn.pragma_update(None, "foreign_keys", true)?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    conn.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)
}

/// What the connection says of itself must be what durability needs.
pub(crate) fn read_back(conn: &Connection, options: &Options) -> Result<(), StoreError> {
    let mode: String = conn.pragma_query_value(None, "journal_mode", |r| r.get(0)).or_store()?;
    let sync: i64 = conn.pragma_query_value(None, "synchronous", |r| r.get(0)).or_store()?;
    if mode == "wal" && sync == if options.sync_normal { 1 } else { 2 } {
        return Ok(());
    }
    Err(StoreError::Unusable(format!(
        "it runs with journal_mode={mode} and synchronous={sync}; wal and 2 (FULL) are needed"
    )))
}

/// Opens a connection that reads only, and never checkpoints.
pub(crate) fn reader(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).or_store()?;
    conn.busy_timeout(READER_BUSY).or_store()?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).or_store()?;
    conn.pragma_update(None, "query_only", true).or_store()?;
    match migrate::form(&conn)? {
        0 => Err(StoreError::Unusable("there is no store in it yet".into())),
        _ => Ok(conn),
    }
}

/// A complete truncating checkpoint: everything durable is in the database, and the WAL is empty.
///
/// # Errors
/// [`StoreError::Busy`] when a reader stands in the way.
pub(crate) fn checkpoint(conn: &Connection) -> Result<(), StoreError> {
    let blocked: i64 = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |r| r.get(0)).or_store()?;
    if blocked == 0 { Ok(()) } else { Err(StoreError::Busy("a reader holds the WAL".into())) }
}

/// Opens the writer's connection again after trouble; a complete checkpoint comes before the first append.
pub(crate) fn reopen(path: &Path, options: &Options) -> Result<Connection, StoreError> {
    let conn = writer(path, options)?;
    checkpoint(&conn)?;
    Ok(conn)
}

/// What the store says of itself now; `before` is what the writer knew.
pub(crate) fn desk(conn: &Connection, before: &Desk) -> rusqlite::Result<Desk> {
    let meta = meta::read(conn)?;
    let stage = match &before.stage {
        held @ Stage::Held { .. } if meta.epoch == before.meta.epoch => held.clone(),
        Stage::Free | Stage::Held { .. } | Stage::Adopting => settled(conn)?,
    };
    Ok(Desk { head: meta::head(conn)?, meta, stage })
}

/// The stage of a store that its mark knows.
fn settled(conn: &Connection) -> rusqlite::Result<Stage> {
    Ok(if meta::adopting(conn)?.is_empty() { Stage::Free } else { Stage::Adopting })
}

/// A store that is open for its owner.
pub(crate) struct Opened {
    pub(crate) conn: Connection,
    pub(crate) desk: Desk,
    pub(crate) clock: Clock,
    pub(crate) boot_id: String,
}

/// Opens the store; the lock is held already.
pub(crate) fn owner(path: &Path, options: &Options, time: Arc<dyn TimeSource>) -> Result<Opened, StoreError> {
    check_library(rusqlite::version_number())?;
    create_file(path)?;
    let mark = Mark::read(path);
    let mut conn = writer(path, options)?;
    migrate::run(&mut conn, Millis(time.wall_ms()))?;
    meta::name(&conn).or_store()?;
    let meta = meta::read(&conn).or_store()?;
    let head = meta::head(&conn).or_store()?;
    let anchor = Anchor::after(meta.clock.clone(), Millis(head.at), &*time, options.clock_error_ms);
    let boot_id = anchor.boot_id.clone();
    meta::put_clock(&conn, &anchor).or_store()?;
    let clock = Clock::new(time, anchor, Millis(head.at));
    let stage = compare(&conn, mark, path, (&meta, &head, &boot_id))?;
    let mut desk = Desk { meta, head, stage };
    if !matches!(desk.stage, Stage::Held { .. }) {
        take_over(&mut conn, path, &mut desk, &boot_id, clock.now().at)?;
    }
    Ok(Opened { conn, desk, clock, boot_id })
}

/// Compares the database with its mark, which was read before it, so that an owner who goes on meanwhile is not taken
/// for somebody else.
fn compare(
    conn: &Connection,
    mark: Result<Option<Mark>, String>,
    path: &Path,
    (meta, head, boot_id): (&Meta, &Head, &str),
) -> Result<Stage, StoreError> {
    let held = |why: String, opens| Ok(Stage::Held { why, opens });
    let mark = match mark {
        Ok(Some(mark)) if meta.open_count == 0 && mark.instance != meta.instance => {
            // A store was here and is gone, or its WAL is: what it did would be done a second time.
            return held(emptied(path), mark.open_count);
        }
        Ok(Some(mark)) => mark,
        // It was made just now.
        Ok(None) if meta.open_count == 0 => return Ok(Stage::Free),
        Ok(None) if head.turns == 0 => return settled(conn).or_store(),
        Ok(None) => return held("there is no mark beside it: a copy, or a restored backup".into(), 0),
        Err(why) => return held(format!("its mark cannot be read: {why}"), 0),
    };
    let holds = mark.turns == 0 || turn::stands_at(conn, &mark.task, mark.seq, &mark.turn).or_store()?;
    match mark.compare(&Mark::of(path, meta, head, boot_id)?, holds) {
        Verdict::Same => settled(conn).or_store(),
        Verdict::Foreign(why) => held(why, mark.open_count),
    }
}

fn emptied(path: &Path) -> String {
    let mark = mark::path_of(path);
    format!(
        "it is empty, but the store that was here before left its mark; where nothing of it matters any more, remove `{}`",
        mark.display()
    )
}

/// Counts this open, and frees what the dead predecessor held. A mark that a crash left behind is mended first, so
/// that it is never behind by two.
fn take_over(
    conn: &mut Connection,
    path: &Path,
    desk: &mut Desk,
    boot_id: &str,
    now: Millis,
) -> Result<(), StoreError> {
    Mark::of(path, &desk.meta, &desk.head, boot_id)?.write(path)?;
    desk.meta.open_count = desk.meta.open_count.saturating_add(1);
    let count = desk.meta.open_count;
    let tx = conn.transaction().or_store()?;
    meta::put_open_count(&tx, count)
        .and_then(|()| task::strand_all(&tx, now))
        .and_then(|()| tx.commit())
        .or_store()?;
    Mark::of(path, &desk.meta, &desk.head, boot_id)?.write(path)
}

/// Brings a store of an older form to the newest, so that it can be read as it is now. Its owner would have done that,
/// so it has none, or one of an older program.
pub(crate) fn renew_form(path: &Path, options: &Options, now: Millis) -> Result<(), StoreError> {
    let form = migrate::form(&reader(path)?)?;
    if form == migrate::NEWEST {
        return Ok(());
    }
    let older = |why: &StoreError| {
        let newest = migrate::NEWEST;
        StoreError::Unusable(format!(
            "its form is {form}, this program needs {newest} and cannot raise it now: {why}"
        ))
    };
    let _owner = Owner::take(path).map_err(|e| older(&e))?;
    writer(path, options).and_then(|mut conn| migrate::run(&mut conn, now)).map_err(|e| older(&e))
}

/// Store time and state as a process sees them that reads only: nothing is written, so nothing is anchored.
pub(crate) fn beside_owner(
    path: &Path,
    time: Arc<dyn TimeSource>,
    clock_error_ms: i64,
) -> Result<(Clock, Desk), StoreError> {
    let mark = Mark::read(path);
    let conn = reader(path)?;
    let meta = meta::read(&conn).or_store()?;
    let head = meta::head(&conn).or_store()?;
    let anchor = Anchor::after(meta.clock.clone(), Millis(head.at), &*time, clock_error_ms);
    let stage = compare(&conn, mark, path, (&meta, &head, &anchor.boot_id))?;
    let clock = Clock::new(time, anchor, Millis(head.at));
    Ok((clock, Desk { meta, head, stage }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_is_not_fully_durable_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("s.db");
        create_file(&path).expect("a file");
        let options = Options::default();
        let conn = writer(&path, &options).expect("a connection");
        assert_eq!(read_back(&conn, &options), Ok(()));
        // SQLite does not know this value and takes it for NORMAL, without a word.
        conn.pragma_update(None, "synchronous", "WAL").expect("no error");
        assert!(matches!(read_back(&conn, &options), Err(StoreError::Unusable(_))));
        conn.pragma_update(None, "synchronous", "FULL").expect("no error");
        conn.pragma_update(None, "journal_mode", "DELETE").expect("no error");
        assert!(matches!(read_back(&conn, &options), Err(StoreError::Unusable(_))));
    }

    #[test]
    fn a_library_with_the_wal_reset_bug_is_refused() {
        assert!(check_library(3_051_002).is_err());
        assert_eq!(check_library(3_051_003), Ok(()));
        assert_eq!(check_library(rusqlite::version_number()), Ok(()));
    }
}
