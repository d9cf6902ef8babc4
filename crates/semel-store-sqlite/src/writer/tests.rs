//! What a batch comes to when its COMMIT is in doubt.

use super::{
    apply,
    batch::{Queued, Work},
    *,
};
use crate::{OsTime, clock::Anchor};
use semel_kernel::{id::SessionId, time::Millis};
use semel_ports::CommitError;
use tokio::sync::oneshot::Receiver as Answer;

/// A writer without a thread, and its connection.
fn writer(dir: &tempfile::TempDir, busy_ms: u32) -> (Writer, Connection) {
    let path = dir.path().join("s.db");
    let options = Options { busy_ms, ..Options::default() };
    let opened = open::owner(&path, &options, Arc::new(OsTime)).expect("a store");
    let anchor = Anchor::after(None, Millis(0), &OsTime, 0);
    let shared = Shared::new(Clock::new(Arc::new(OsTime), anchor, Millis(0)), opened.desk.info());
    let (boot_id, desk) = (opened.boot_id, opened.desk);
    let writer = Writer { shared: Arc::new(shared), path, options, boot_id, desk, marked: 0, first: None };
    (writer, opened.conn)
}

type Told = Result<(), CommitError>;

fn request(name: &str) -> (Jobs, Answer<Told>) {
    let (job, answer) = Queued::with(start(name));
    (vec![Box::new(job)], answer)
}

fn start(name: &str) -> impl Work<Answer = ()> + use<> {
    apply::start_session(SessionId::parse(name).expect("an id"), 1_000)
}

/// Runs a batch to the end of its COMMIT, and then says that the COMMIT failed.
fn in_doubt(writer: &mut Writer, conn: &Connection, name: &str) -> (Broken, Answer<Told>) {
    let (jobs, answer) = request(name);
    let mut desk = writer.desk.clone();
    let End::Durable(jobs) = batch::run(&mut Prepared::new(conn), &mut desk, jobs, || Millis(1)) else {
        panic!("the batch is durable");
    };
    (Broken { jobs, error: io_error(), attempted: Some(desk) }, answer)
}

fn io_error() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_FSYNC), None)
}

fn told(answer: &mut Answer<Told>) -> Told {
    answer.try_recv().expect("somebody was told")
}

#[test]
fn a_batch_that_is_found_is_acknowledged() {
    let dir = tempfile::tempdir().expect("a folder");
    let (mut writer, conn) = writer(&dir, 100);
    let (broken, mut answer) = in_doubt(&mut writer, &conn, "s");
    let batch = writer.desk.head.batch;
    writer.recover(conn, broken).expect("it reopens");
    assert_eq!(told(&mut answer), Ok(()));
    assert_eq!(writer.desk.head.batch, batch + 1, "the next batch has another number");
}

#[test]
fn a_batch_that_is_not_found_was_not_committed() {
    let dir = tempfile::tempdir().expect("a folder");
    let (mut writer, conn) = writer(&dir, 100);
    let (mut broken, mut answer) = in_doubt(&mut writer, &conn, "s");
    // The number that it would have had.
    broken.attempted.as_mut().expect("it was tried").head.batch += 1;
    writer.recover(conn, broken).expect("it reopens");
    assert!(matches!(told(&mut answer), Err(CommitError::Store(StoreError::Busy(_)))));
}

#[test]
fn a_store_that_cannot_be_checkpointed_stays_closed_and_says_unknown() {
    let dir = tempfile::tempdir().expect("a folder");
    let (mut writer, conn) = writer(&dir, 10);
    let reader = open::reader(&writer.path).expect("a reader");
    let moment = reader.unchecked_transaction().expect("a transaction");
    moment.query_row("SELECT batch FROM head", [], |_| Ok(())).expect("a read");
    let (broken, mut answer) = in_doubt(&mut writer, &conn, "s");
    let why = writer.recover(conn, broken).expect_err("a reader holds the WAL");
    assert!(matches!(told(&mut answer), Err(CommitError::Store(StoreError::CommitUnknown(_)))));
    let (mut jobs, mut answer) = request("t");
    let why = writer.knock(why, jobs.remove(0)).expect_err("the reader is still there");
    assert!(matches!(told(&mut answer), Err(CommitError::Store(StoreError::Busy(_)))));
    drop(moment);
    let (mut jobs, mut answer) = request("u");
    let conn = writer.knock(why, jobs.remove(0)).expect("it opens");
    assert_eq!(writer.desk.head, meta::head(&conn).expect("a head"), "the batch in doubt was durable");
    let first = writer.first.take().expect("the request is kept");
    let mut sql = Prepared::new(&conn);
    match batch::run(&mut sql, &mut writer.desk, vec![first], || Millis(2)) {
        End::Durable(jobs) => batch::acknowledge(jobs),
        End::Told | End::Broken(_) => panic!("it is durable"),
    }
    assert_eq!(told(&mut answer), Ok(()));
}

#[test]
fn a_broken_disk_closes_the_store_for_good() {
    let dir = tempfile::tempdir().expect("a folder");
    let (mut writer, conn) = writer(&dir, 10);
    let (jobs, mut answer) = request("s");
    conn.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        .expect("a setting");
    std::fs::write(&writer.path, b"this is not a database any more, and SQLite sees it at once")
        .expect("a write");
    drop(std::fs::remove_file(crate::lock::beside(&writer.path, "-wal")));
    let broken = Broken { jobs, error: io_error(), attempted: None };
    let why = writer.recover(conn, broken).expect_err("it cannot be opened");
    assert!(matches!(told(&mut answer), Err(CommitError::Store(StoreError::Closed(_)))));
    let (mut jobs, mut answer) = request("t");
    writer.knock(why, jobs.remove(0)).expect_err("it stays closed");
    assert!(matches!(told(&mut answer), Err(CommitError::Store(StoreError::Closed(_)))));
}
