//! Somebody else holds SQLite's write lock on the real file for as long as a lease lasts: what was waited for the store is
//! held against no task, and its owner goes on. The leases are shortened, so that the wait is too.

use crate::{
    desk::{Answer, Desk, Gate},
    inside::{Inside, SHORT, submit, until},
    plans::{BLIND, KEYED, keyed_steps},
};
use rusqlite::Connection;
use semel_engine::engine::Options;
use semel_kernel::{event::Event, id::TaskId, task::Phase};
use semel_store_sqlite::Options as StoreOptions;
use std::time::Duration;

/// The write lock, held by a connection that is not the store's.
struct Locked(Connection);

impl Locked {
    fn take(inside: &Inside) -> Self {
        let conn = Connection::open(inside.dir.path().join("semel.db")).unwrap();
        conn.busy_timeout(Duration::from_secs(10)).unwrap();
        conn.execute_batch("BEGIN IMMEDIATE").unwrap();
        Self(conn)
    }

    fn free(self) {
        self.0.execute_batch("ROLLBACK").unwrap();
    }
}

fn at(plan: &str, desk: &Desk) -> String {
    plan.replace("{SINK}", &desk.address)
}

async fn reviews(inside: &Inside, task: &TaskId) -> usize {
    inside.events(task).await.iter().filter(|e| matches!(e, Event::ReviewOpened { .. })).count()
}

/// The lease is over for its owner, who keeps a margin, and not yet for the store: nothing can be begun, so nothing is
/// claimed, again and again, until the task looks as if it ended whoever takes it.
#[tokio::test(flavor = "multi_thread")]
async fn what_becomes_due_while_the_file_is_locked_is_no_poisoned_task() {
    let inside = Inside::new();
    let desk = Desk::open(|_| Answer::Json(201, "{\"id\":\"T-1\"}".to_owned()));
    let options = Options { lease_ms: 6_000, margin_ms: 5_000, renew_ms: 900, ..Options::default() };
    let working = inside.work(options).await;
    let nap =
        "  - { step: nap, sleep: 1s }\n  - { step: create, act: create, with: { incident: a, title: b } }\n";
    let task = submit(&working.engine, &at(&keyed_steps(nap), &desk), "a").await;
    inside.until_phase(&task, Phase::Waiting).await;
    let locked = Locked::take(&inside);
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    locked.free();
    inside.until_phase(&task, Phase::Completed).await;
    assert_eq!((reviews(&inside, &task).await, desk.posts()), (0, 1));
    working.stop().await;
}

/// The lease runs out in the store too, three times over, while a call is under way: its owner is still its owner.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_stays_with_its_owner_while_the_file_is_locked() {
    for plan in [KEYED, BLIND] {
        let inside = Inside::with(StoreOptions { busy_ms: 100, ..StoreOptions::default() });
        let gate = Gate::default();
        let held = gate.clone();
        let desk = Desk::open(move |_| {
            held.pass();
            Answer::Json(201, "{\"id\":\"T-1\"}".to_owned())
        });
        let working = inside.work(SHORT).await;
        let session = working.engine.session();
        let task = submit(&working.engine, &at(&slow(plan), &desk), "a").await;
        until("it is under way", || desk.posts() == 1).await;
        let locked = Locked::take(&inside);
        tokio::time::sleep(Duration::from_millis(3_000)).await;
        gate.open();
        locked.free();
        let end = inside.until_phase(&task, Phase::Completed).await;
        assert_eq!(end.generation.counter, 1, "nobody has taken it over");
        assert_eq!((reviews(&inside, &task).await, desk.posts()), (0, 1));
        assert_eq!(working.engine.session(), session, "it is the same life");
        working.stop().await;
    }
}

fn slow(plan: &str) -> String {
    let lines = plan.lines().map(|line| match line.trim_start().starts_with("timeout:") {
        true => "    timeout: 20s".to_owned(),
        false => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}
