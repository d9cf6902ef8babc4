//! Many at once.

use crate::support::{self, Home};
use semel_kernel::{id::TaskId, task::Phase};
use semel_ports::{OperationFilter, Page, Store, TaskFilter};
use semel_store_sqlite::{SqliteStore, verify};
use std::sync::Arc;
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_at_once_are_all_acknowledged_and_durable() {
    let home = Home::new();
    let store = Arc::new(home.open());
    let mut waiting = JoinSet::new();
    for n in 0..1_000 {
        let store = Arc::clone(&store);
        waiting.spawn(async move {
            let task = support::create(&store, n).await.unwrap();
            let receipt = support::tell(&store, &task).await.unwrap();
            (task, receipt.turn().clone())
        });
    }
    let told = waiting.join_all().await;
    drop(store);
    let store = home.open();
    for (task, turn) in &told {
        assert!(store.find_turn(task, turn).await.unwrap(), "{task}");
    }
    let mut last = None;
    let report = verify::db(&home.path, &mut |p| last = Some(p)).unwrap();
    assert_eq!((report.tasks, report.turns, report.problems), (1_000, 2_000, Vec::new()));
    assert_eq!(last, Some(verify::Progress { done: 1_000, total: 1_000 }));
}

/// Not a check, a measurement: it prints how long lists take among many tasks, and what commits cost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it measures, and it takes a while"]
async fn measure() {
    let home = Home::new();
    let store = Arc::new(home.open());
    let begun = std::time::Instant::now();
    let mut waiting = JoinSet::new();
    for worker in 0..64 {
        let store = Arc::clone(&store);
        waiting.spawn(async move {
            for n in 0..1_600 {
                let task = support::create(&store, worker * 1_600 + n).await.unwrap();
                if n % 4 == 0 {
                    one_step(&store, &task).await;
                }
            }
        });
    }
    waiting.join_all().await;
    println!("102,400 creations and 25,600 steps: {:?}", begun.elapsed());
    let page = Page { skip: 0, limit: 50 };
    let ops = |f: fn(&mut OperationFilter)| {
        let mut filter = OperationFilter::default();
        f(&mut filter);
        filter
    };
    let find = |text: &str| OperationFilter { find: Some(text.into()), ..OperationFilter::default() };
    let finds =
        [find("tsk_00004/"), find("tsk_"), find("ann"), find("a"), ops(|f| f.unknown = true), ops(|_| {})];
    for filter in finds {
        let mut took = Vec::new();
        for _ in 0..40 {
            let begun = std::time::Instant::now();
            store.operations(&filter, page).await.unwrap();
            took.push(begun.elapsed());
        }
        took.sort();
        println!("{:?} unknown={}: p50 {:?}, p95 {:?}", filter.find, filter.unknown, took[20], took[38]);
    }
    let prefix = |text: &str| TaskFilter { prefix: Some(text.into()), ..TaskFilter::default() };
    let phases = TaskFilter { phases: Phase::ALL.to_vec(), ..TaskFilter::default() };
    for filter in [TaskFilter::default(), phases, prefix("tsk_"), prefix("tsk_0000")] {
        let mut took = Vec::new();
        for _ in 0..40 {
            let begun = std::time::Instant::now();
            store.tasks(&filter, page).await.unwrap();
            took.push(begun.elapsed());
        }
        took.sort();
        println!("{filter:?}: p50 {:?}, p95 {:?}", took[20], took[38]);
    }
}

async fn one_step(store: &SqliteStore, task: &TaskId) {
    let me = support::session("me");
    store.start_session(&me, 1_000_000).await.unwrap();
    if let Some(claim) = store.claim_task(&me, task).await.unwrap() {
        let turn = support::begin(store, (&me, claim.generation), task).await;
        store.commit(turn).await.unwrap();
    }
}
