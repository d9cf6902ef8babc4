//! Copies and restored backups are held; a store that only died is not.

use crate::support::{self, Home, creation, ctx, session, turn_id};
use semel_kernel::{decide::Draft, id::TaskId, input::Input};
use semel_ports::{Authority, CommitError, Due, Store, StoreError, Turn};
use semel_store_sqlite::{AdoptReport, SqliteStore, backup, verify};
use std::{fs, path::Path};

async fn adopt_task(store: &SqliteStore, task: &TaskId, report: &AdoptReport) {
    let now = store.now();
    let mut draft = Draft::on(support::load(store, task).await);
    let (epoch, copied_at, actor) = (report.epoch, report.copied_at, "ann".to_owned());
    draft.take(Input::Adopt { epoch, copied_at, actor }, ctx(now)).unwrap();
    let turn = Turn::close(draft, turn_id(), Authority::Anyone, now.at, Due::Wake).0;
    store.commit(turn).await.unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::copy(from, to).unwrap();
}

/// A closed store with two tasks.
async fn home() -> Home {
    let home = Home::new();
    let store = home.open();
    for n in [1, 2] {
        support::create(&store, n).await.unwrap();
    }
    home
}

async fn is_held(store: &SqliteStore) -> bool {
    let held = store.info().held.is_some();
    let refused = |e: &CommitError| matches!(e, CommitError::Store(StoreError::NotAdopted(_)));
    assert_eq!(store.create(creation(store, 77)).await.is_err_and(|e| refused(&e)), held);
    store.start_session(&session("probe"), 1_000).await.unwrap();
    assert_eq!(store.claim(&session("probe"), 0).await.is_err(), held);
    held
}

#[tokio::test]
async fn a_copy_with_its_mark_is_held() {
    let home = home().await;
    let other = home.dir.path().join("copy.db");
    copy(&home.path, &other);
    copy(&home.beside(".mark"), &home.dir.path().join("copy.db.mark"));
    assert!(is_held(&home.at(&other)).await);
    assert!(SqliteStore::open_read_only(&other).unwrap().info().held.is_some(), "readers are told too");
    assert!(is_held(&home.at(&other)).await, "and stays so");
    let store = home.open();
    assert!(!is_held(&store).await, "the original goes on");
    support::create(&store, 3).await.unwrap();
    assert_eq!(SqliteStore::open_read_only(&home.path).unwrap().info().held, None);
}

#[tokio::test]
async fn a_copy_without_a_mark_is_held() {
    let home = home().await;
    let other = home.dir.path().join("copy.db");
    copy(&home.path, &other);
    assert!(is_held(&home.at(&other)).await);
    fs::remove_file(home.beside(".mark")).unwrap();
    assert!(is_held(&home.open()).await, "nobody can tell the original from a copy then");
}

#[tokio::test]
async fn an_older_state_in_the_same_file_is_held() {
    let home = home().await;
    let before = fs::read(&home.path).unwrap();
    let store = home.open();
    support::create(&store, 3).await.unwrap();
    drop(store);
    fs::write(&home.path, before).unwrap();
    assert!(is_held(&home.open()).await);
}

#[tokio::test]
async fn another_store_in_its_place_is_held() {
    let (home, other) = (home().await, home().await);
    copy(&other.path, &home.path);
    assert!(is_held(&home.open()).await);
}

/// Its file or its WAL was lost: all that it did would be done again.
#[tokio::test]
async fn an_emptied_store_beside_its_mark_is_held() {
    let home = home().await;
    let removed = || fs::remove_file(&home.path).unwrap();
    let emptied = || fs::write(&home.path, b"").unwrap();
    for lose in [&removed as &dyn Fn(), &emptied] {
        lose();
        assert!(is_held(&home.open()).await);
        assert!(is_held(&home.open()).await, "and stays so");
    }
    fs::remove_file(home.beside(".mark")).unwrap();
    fs::remove_file(&home.path).unwrap();
    assert!(!is_held(&home.open()).await, "without the mark it is a new one");
}

#[tokio::test]
async fn an_emptied_store_that_was_adopted_is_free() {
    let home = home().await;
    fs::remove_file(&home.path).unwrap();
    let store = home.open();
    assert_eq!(store.adopt("ann").await.unwrap().tasks, []);
    assert!(!is_held(&store).await);
    drop(store);
    assert!(!is_held(&home.open()).await);
}

#[tokio::test]
async fn a_crash_between_count_and_mark_is_no_copy() {
    let home = home().await;
    for _ in 0..3 {
        let mark = fs::read(home.beside(".mark")).unwrap();
        drop(home.open());
        let db = fs::read(&home.path).unwrap();
        // As if the process had died after it counted the open and before it wrote the mark.
        fs::write(&home.path, db).unwrap();
        fs::write(home.beside(".mark"), mark).unwrap();
        assert!(!is_held(&home.open()).await);
    }
}

#[tokio::test]
async fn a_file_that_was_moved_with_its_mark_is_the_store() {
    let home = home().await;
    let other = home.dir.path().join("moved.db");
    fs::rename(&home.path, &other).unwrap();
    fs::rename(home.beside(".mark"), home.dir.path().join("moved.db.mark")).unwrap();
    assert!(!is_held(&home.at(&other)).await);
}

#[tokio::test]
async fn an_adopted_store_is_free_after_its_last_task() {
    let home = home().await;
    let other = home.dir.path().join("copy.db");
    copy(&home.path, &other);
    let store = home.at(&other);
    let (epoch, copied_at) = (store.info().epoch, store.now().at);
    home.time.advance(5_000);
    let report = store.adopt("ann").await.unwrap();
    assert_eq!((report.epoch, report.tasks.len(), report.copied_at), (epoch + 1, 2, copied_at));
    assert!(is_held(&store).await, "until the tasks know");
    adopt_task(&store, &report.tasks[0], &report).await;
    drop(store);
    // A crash on the way: adopting goes on where it stopped, under the same epoch.
    let store = home.at(&other);
    assert!(is_held(&store).await);
    let rest = store.adopt("ann").await.unwrap();
    assert_eq!((rest.epoch, &rest.tasks[..], rest.copied_at), (epoch + 1, &report.tasks[1..], copied_at));
    adopt_task(&store, &rest.tasks[0], &rest).await;
    assert_eq!(store.info().held, None);
    store.start_session(&session("s"), 15_000).await.unwrap();
    let claims = store.claim(&session("s"), 9).await.unwrap();
    assert_eq!(claims.iter().map(|c| c.generation.epoch).collect::<Vec<_>>(), [epoch + 1; 2]);
    drop(store);
    let store = home.at(&other);
    assert!(!is_held(&store).await, "it has its own mark now");
    assert_eq!(store.adopt("ann").await.unwrap().tasks, [], "there is nothing to adopt");
    assert_eq!(verify::db(&other, &mut |_| {}).unwrap().problems, []);
}

#[tokio::test]
async fn a_backup_is_made_while_work_goes_on_and_is_held() {
    let home = home().await;
    let store = home.open();
    let to = home.dir.path().join("backup.db");
    let mut last = None;
    store.backup(&to, &mut |p| last = Some(p)).unwrap();
    assert!(last.is_some_and(|p| p.done == p.total && p.total > 0), "{last:?}");
    assert!(store.backup(&to, &mut |_| {}).is_err(), "it overwrites nothing");
    support::create(&store, 3).await.unwrap();
    assert_eq!(verify::db(&to, &mut |_| {}).unwrap().problems, []);
    let copy = home.at(&to);
    assert!(is_held(&copy).await);
    assert!(copy.load(&support::task_id(3)).await.is_err(), "it is of its moment");
}

#[tokio::test]
async fn a_restore_asks_for_force_and_is_held() {
    let home = home().await;
    let to = home.dir.path().join("backup.db");
    let store = home.open();
    store.backup(&to, &mut |_| {}).unwrap();
    support::create(&store, 3).await.unwrap();
    let owned = backup::restore(&to, &home.path, true, &mut |_| {});
    assert!(matches!(owned, Err(StoreError::Owned(_))));
    drop(store);
    assert!(matches!(backup::restore(&to, &home.path, false, &mut |_| {}), Err(StoreError::Limit(_))));
    backup::restore(&to, &home.path, true, &mut |_| {}).unwrap();
    let store = home.open();
    assert!(is_held(&store).await);
    assert!(store.load(&support::task_id(3)).await.is_err());
    assert!(store.load(&support::task_id(2)).await.is_ok());
}

#[tokio::test]
async fn a_damaged_backup_is_not_put_in_place() {
    let home = home().await;
    let to = home.dir.path().join("backup.db");
    backup::backup(&home.path, &to, &mut |_| {}).unwrap();
    let mut bytes = fs::read(&to).unwrap();
    bytes[8_192..20_000].fill(0x5a);
    fs::write(&to, bytes).unwrap();
    assert!(backup::restore(&to, &home.path, true, &mut |_| {}).is_err());
    assert!(!is_held(&home.open()).await, "the store is as it was");
}
