//! Opening, owning, reading beside an owner, and what a restart finds.

use crate::support::{self, Home, session, task_id};
use rusqlite::Connection;
use semel_ports::{Page, Store, StoreError, TaskFilter};
use semel_store_sqlite::SqliteStore;
use std::os::unix::fs::PermissionsExt;

#[tokio::test]
async fn a_second_owner_is_refused_and_told_who_has_it() {
    let home = Home::new();
    let store = home.open();
    store.start_session(&session("ses_a"), 15_000).await.unwrap();
    let told = format!("pid {}, session ses_a", std::process::id());
    assert_eq!(home.try_open().err(), Some(StoreError::Owned(told)));
    drop(store);
    home.open();
}

#[tokio::test]
async fn another_name_of_the_file_is_the_same_store() {
    let home = Home::new();
    let _store = home.open();
    let link = home.dir.path().join("other.db");
    std::os::unix::fs::symlink(&home.path, &link).unwrap();
    let second = SqliteStore::open(&link, home.options);
    assert!(matches!(second.err(), Some(StoreError::Owned(_))));
}

#[tokio::test]
async fn everything_on_disk_is_for_its_owner_alone() {
    let home = Home::new();
    let store = home.open();
    support::create(&store, 1).await.unwrap();
    for suffix in ["", "-wal", "-shm", ".lock", ".mark"] {
        let mode = std::fs::metadata(home.beside(suffix)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{suffix}");
    }
}

#[test]
fn files_of_others_and_newer_forms_are_refused() {
    let home = Home::new();
    Connection::open(&home.path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(matches!(home.try_open().err(), Some(StoreError::Unusable(_))));
    let home = Home::new();
    drop(home.open());
    Connection::open(&home.path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(home.try_open().err(), Some(StoreError::Unusable(_))));
    let home = Home::new();
    let text = b"this is text, and there is enough of it to be looked at closely";
    std::fs::write(&home.path, text).unwrap();
    assert!(matches!(home.try_open().err(), Some(StoreError::Unusable(_))));
    let home = Home::new();
    drop(home.open());
    std::fs::write(&home.path, text).unwrap();
    let damaged = home.try_open().err();
    assert!(matches!(damaged, Some(StoreError::Corrupt(_))), "it was a store: {damaged:?}");
}

#[tokio::test]
async fn another_process_reads_what_the_owner_commits_and_writes_nothing() {
    let home = Home::new();
    assert!(SqliteStore::open_read_only(&home.path).is_err(), "there is nothing yet");
    let store = home.open();
    let reader = SqliteStore::open_read_only(&home.path).unwrap();
    let task = support::create(&store, 1).await.unwrap();
    assert_eq!(reader.history(&task, 0).await.unwrap().len(), 1);
    assert_eq!(reader.info().instance, store.info().instance);
    let refused = reader.start_session(&session("s"), 1).await;
    assert!(matches!(refused, Err(StoreError::ReadOnly(_))));
    drop(store);
    assert_eq!(reader.history(&task, 0).await.unwrap().len(), 1, "without an owner too");
    home.open();
}

#[tokio::test]
async fn after_a_restart_no_lease_is_waited_for() {
    let home = Home::new();
    let store = home.open();
    let task = support::create(&store, 1).await.unwrap();
    store.start_session(&session("old"), 1_000_000).await.unwrap();
    let claim = store.claim(&session("old"), 9).await.unwrap().remove(0);
    let turn = support::begin(&store, (&session("old"), claim.generation), &task).await;
    store.commit(turn).await.unwrap();
    drop(store);
    let store = home.open();
    assert_eq!(store.info().held, None);
    assert!(!store.renew_session(&session("old"), 1_000).await.unwrap(), "the predecessor is dead");
    store.start_session(&session("new"), 15_000).await.unwrap();
    let again = store.claim(&session("new"), 9).await.unwrap().remove(0);
    assert_eq!(again.task, task);
    assert!(again.generation > claim.generation);
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_restart() {
    let home = Home::new();
    let store = home.open();
    let task = support::create(&store, 1).await.unwrap();
    let receipt = support::tell(&store, &task).await.unwrap();
    let (info, row) = (store.info(), support::load(&store, &task).await);
    drop(store);
    let store = home.open();
    assert_eq!(store.info(), info);
    assert!(store.find_turn(&task, receipt.turn()).await.unwrap());
    assert_eq!(support::load(&store, &task).await, row);
    let rows = store.tasks(&TaskFilter::default(), Page { skip: 0, limit: 9 }).await.unwrap();
    assert_eq!((rows.len(), rows[0].id.clone()), (1, task_id(1)));
}
