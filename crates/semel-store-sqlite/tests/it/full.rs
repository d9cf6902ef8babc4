//! Disks that are full and commits that fail: nothing acknowledged is lost, nothing else is claimed.

use crate::support::{self, Home, creation, task_id};
use semel_ports::{Artifact, CommitError, Created, Store, StoreError};
use semel_store_sqlite::verify;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_in_a_group_commit_loses_nothing_that_was_acknowledged() {
    let mut home = Home::new();
    home.options.page_max = Some(400);
    let store = Arc::new(home.open());
    let mut waiting = JoinSet::new();
    for n in 0..200 {
        let store = Arc::clone(&store);
        waiting.spawn(async move {
            let mut creation = creation(&store, n);
            creation.turn.artifacts.push(Artifact::of(vec![u8::try_from(n).unwrap(); 20_000]));
            (n, store.create(creation).await.map(drop))
        });
    }
    let told = waiting.join_all().await;
    drop(store);
    home.options.page_max = None;
    let store = home.open();
    let (mut taken, mut refused) = (0, 0);
    for (n, answer) in told {
        let there = store.load(&task_id(n)).await.is_ok();
        match answer {
            Ok(()) => taken += 1,
            Err(CommitError::Store(StoreError::Full(_))) => refused += 1,
            Err(other) => panic!("{other}"),
        }
        assert_eq!(there, answer.is_ok(), "task {n}");
    }
    assert!(taken > 0 && refused > 0, "{taken} taken, {refused} refused");
    assert_eq!(verify::db(&home.path, &mut |_| {}).unwrap().problems, []);
    support::create(&store, 999).await.unwrap();
}

#[tokio::test]
async fn work_goes_on_once_there_is_space_again() {
    let mut home = Home::new();
    home.options.page_max = Some(100);
    let store = home.open();
    let mut body = creation(&store, 1);
    body.turn.artifacts.push(Artifact::of(vec![7; 1_000_000]));
    let error = store.create(body).await.err();
    assert!(matches!(error, Some(CommitError::Store(StoreError::Full(_)))), "{error:?}");
    assert!(matches!(error, Some(CommitError::Store(e)) if e.passes()));
    support::create(&store, 2).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_fails_acknowledges_nobody_and_the_store_goes_on() {
    let mut home = Home::new();
    let refuse = Arc::new(AtomicBool::new(false));
    home.options.refuse_commit = Some(Arc::clone(&refuse));
    let store = home.open();
    let task = support::create(&store, 1).await.unwrap();
    let turn = support::operator_turn(&store, &task).await;
    let id = turn.turn.clone();
    refuse.store(true, Ordering::SeqCst);
    let error = store.commit(turn.clone()).await.err();
    assert!(matches!(error, Some(CommitError::Store(StoreError::Busy(_)))), "{error:?}");
    assert!(!refuse.load(Ordering::SeqCst), "the commit was tried");
    assert!(!store.find_turn(&task, &id).await.unwrap());
    // Nothing was changed, so the same turn goes through.
    store.commit(turn).await.unwrap();
    assert!(store.find_turn(&task, &id).await.unwrap());
    assert_eq!(verify::db(&home.path, &mut |_| {}).unwrap().problems, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_is_refused_does_not_spoil_the_others() {
    let home = Home::new();
    let store = Arc::new(home.open());
    let task = support::create(&store, 0).await.unwrap();
    let stale = support::operator_turn(&store, &task).await;
    support::tell(&store, &task).await.unwrap();
    let mut waiting = JoinSet::new();
    for n in 1..=60 {
        let (store, stale) = (Arc::clone(&store), stale.clone());
        waiting.spawn(async move {
            match n % 3 {
                0 => matches!(store.commit(stale).await, Err(CommitError::Conflict { actual: 2 })),
                1 => matches!(store.create(creation(&store, 0)).await, Ok(Created::Exists { .. })),
                _ => support::create(&store, n).await.is_ok(),
            }
        });
    }
    assert!(waiting.join_all().await.into_iter().all(|held| held));
}

#[tokio::test]
async fn a_row_that_sqlite_refuses_spoils_only_its_own_request() {
    let home = Home::new();
    let store = Arc::new(home.open());
    let task = support::create(&store, 1).await.unwrap();
    let mut bad = support::operator_turn(&store, &task).await;
    // A row of a task that is not there breaks the foreign key when it is committed.
    bad.projection.reviews.push(semel_ports::ReviewRow {
        id: semel_kernel::id::ReviewId::parse("rev_1").unwrap(),
        task: task_id(99),
        step: None,
        cause: String::new(),
        question: String::new(),
        opened_at: store.now().at,
        decided_at: None,
        decided_by: None,
    });
    let (refused, made) = tokio::join!(store.commit(bad), support::create(&store, 2));
    assert!(matches!(refused, Err(CommitError::Store(StoreError::Corrupt(_)))), "{refused:?}");
    made.unwrap();
    support::tell(&store, &task).await.unwrap();
}
