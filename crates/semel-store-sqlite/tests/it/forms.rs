//! Stores of older forms: they open, and what the newer form adds is told truthfully.

use crate::support::Home;
use rusqlite::Connection;
use semel_ports::{OperationFilter, Page, Store, StoreError, TaskFilter};
use semel_store_sqlite::{SqliteStore, verify};
use std::collections::BTreeMap;

const FORM_1: &str = include_str!("../../../../fixtures/stores/form-1.sql");
const ALL: Page = Page { skip: 0, limit: 100 };

/// A file as the program of form 1 left it.
fn old() -> Home {
    let home = Home::new();
    let conn = Connection::open(&home.path).unwrap();
    conn.pragma_update(None, "journal_mode", "WAL").unwrap();
    conn.execute_batch(FORM_1).unwrap();
    home
}

fn form(home: &Home) -> i64 {
    Connection::open(&home.path).unwrap().pragma_query_value(None, "user_version", |r| r.get(0)).unwrap()
}

/// Tasks with something written off; one of them waits for another and has no operation.
async fn tells_the_truth(store: &dyn Store) {
    let rows = store.tasks(&TaskFilter::default(), ALL).await.unwrap();
    assert_eq!(rows.len(), 6);
    let marked: BTreeMap<&str, u32> =
        rows.iter().filter(|row| row.written_off > 0).map(|row| (row.id.as_str(), row.written_off)).collect();
    let expected = [("opt_ho3f67bgrvpokvyt4m45d3q37ykq37lu", 1), ("tsk_ueiuhpujcl2dotannqed3qj7", 1)];
    assert_eq!(marked, expected.into());
    let filter = OperationFilter { written_off: true, ..OperationFilter::default() };
    assert_eq!(store.count_operations(&filter, 9).await, Ok(1));
    assert_eq!(store.operations(&filter, ALL).await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_owner_raises_the_form_in_place() {
    let home = old();
    let store = home.open();
    tells_the_truth(&store).await;
    drop(store);
    let report = verify::db(&home.path, &mut |_| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.tasks, form(&home)), (6, 2));
    tells_the_truth(&home.open()).await;
}

#[tokio::test]
async fn a_reader_raises_it_where_nobody_owns_it() {
    let home = old();
    let refused = verify::db(&home.path, &mut |_| {}).unwrap_err();
    assert!(matches!(&refused, StoreError::Unusable(why) if why.contains("form is 1")), "{refused}");
    assert!(verify::audit(&home.path, &mut |_| {}).unwrap().is_clean(), "the chains are of every form");
    tells_the_truth(&SqliteStore::open_read_only(&home.path).unwrap()).await;
    assert!(verify::db(&home.path, &mut |_| {}).unwrap().is_clean());
}

#[test]
fn beside_an_owner_of_an_older_program_nothing_is_raised() {
    let home = old();
    let lock = std::fs::File::create(home.beside(".lock")).unwrap();
    lock.try_lock().unwrap();
    let refused = SqliteStore::open_read_only(&home.path).err();
    assert!(matches!(&refused, Some(StoreError::Unusable(why)) if why.contains("form is 1")), "{refused:?}");
    assert_eq!(form(&home), 1);
    drop(lock);
    SqliteStore::open_read_only(&home.path).unwrap();
}

#[tokio::test]
async fn a_history_that_cannot_be_read_does_not_keep_the_store_shut() {
    let home = old();
    let spoil = "UPDATE turn SET events = replace(events, 'StepWrittenOff', 'StepWrittenOff\"Gone')";
    assert!(Connection::open(&home.path).unwrap().execute(spoil, []).unwrap() > 0);
    let store = home.open();
    assert_eq!(store.tasks(&TaskFilter::default(), ALL).await.unwrap().len(), 6);
    drop(store);
    assert!(!verify::db(&home.path, &mut |_| {}).unwrap().is_clean(), "the check names it");
}
