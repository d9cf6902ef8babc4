//! The checks find every kind of edit, and nothing where nothing was edited.

use crate::support::{self, Home, session};
use rusqlite::Connection;
use semel_ports::{Artifact, Store};
use semel_store_sqlite::verify;

/// A closed store: one task with turns of one and of several events, a checkpoint, a body; and a second task.
async fn home() -> Home {
    let home = Home::new();
    let store = home.open();
    let task = support::create(&store, 1).await.unwrap();
    support::create(&store, 2).await.unwrap();
    store.start_session(&session("s"), 15_000).await.unwrap();
    let claim = store.claim_task(&session("s"), &task).await.unwrap().unwrap();
    let mut turn = support::begin(&store, (&session("s"), claim.generation), &task).await;
    turn.artifacts.push(Artifact::of(b"body".to_vec()));
    assert!(turn.events.len() > 2);
    store.commit(turn).await.unwrap();
    for _ in 0..3 {
        support::tell(&store, &task).await.unwrap();
    }
    home
}

fn edit(home: &Home, sql: &str) {
    let conn = Connection::open(&home.path).unwrap();
    conn.pragma_update(None, "foreign_keys", false).unwrap();
    assert!(conn.execute(sql, []).unwrap() > 0, "{sql}");
}

#[tokio::test]
async fn an_untouched_store_is_clean() {
    let home = home().await;
    let audit = verify::audit(&home.path, &mut |_| {}).unwrap();
    assert!(audit.is_clean(), "{audit:?}");
    let whole = verify::db(&home.path, &mut |_| {}).unwrap();
    assert!(whole.is_clean(), "{whole:?}");
    assert_eq!((whole.tasks, whole.turns, whole.checkpoints, whole.artifacts), (2, 6, 1, 1));
}

#[tokio::test]
async fn the_chain_finds_edits_removals_and_swaps() {
    let edits = [
        ("edited", "UPDATE turn SET events = replace(events, '\"ann\"', '\"bob\"') WHERE seq > 1"),
        ("another time", "UPDATE turn SET at = at + 1 WHERE task = 'tsk_00002'"),
        ("another schema", "UPDATE turn SET schema = 2 WHERE task = 'tsk_00002'"),
        ("moved to another task", "UPDATE turn SET task = 'tsk_00009' WHERE task = 'tsk_00002'"),
        ("removed from the middle", "DELETE FROM turn WHERE seq = 2"),
        (
            "removed at the end",
            "DELETE FROM turn WHERE task = 'tsk_00001' AND seq = (SELECT max(seq) FROM turn)",
        ),
        ("edited with its own chain", "UPDATE turn SET chain = zeroblob(32) WHERE task = 'tsk_00002'"),
    ];
    for (what, sql) in edits {
        let home = home().await;
        edit(&home, sql);
        let report = verify::audit(&home.path, &mut |_| {}).unwrap();
        assert!(!report.is_clean(), "{what}");
    }
}

#[tokio::test]
async fn the_chain_finds_two_turns_that_changed_places() {
    let home = home().await;
    let conn = Connection::open(&home.path).unwrap();
    conn.execute_batch(
        "CREATE TEMP TABLE kept AS SELECT seq, events FROM turn WHERE task = 'tsk_00001' AND seq IN (5, 6);
         UPDATE turn SET events = (SELECT events FROM kept WHERE kept.seq = 11 - turn.seq)
         WHERE task = 'tsk_00001' AND seq IN (5, 6)",
    )
    .unwrap();
    let texts = |seq: u32| -> String {
        conn.query_row("SELECT events FROM turn WHERE seq = ?1", [seq], |r| r.get(0)).unwrap()
    };
    assert!(texts(5).contains("Resumed") && texts(6).contains("Paused"), "they have changed places");
    assert_eq!(verify::audit(&home.path, &mut |_| {}).unwrap().problems.len(), 2);
}

/// Removed by hand, row by row; what no table tells any more is told by the count of turns.
#[tokio::test]
async fn a_task_that_was_removed_whole_is_missed() {
    const TABLES: [&str; 5] = ["turn", "operation", "review", "checkpoint", "adopting"];
    for task in ["tsk_00001", "tsk_00002"] {
        let home = home().await;
        let conn = Connection::open(&home.path).unwrap();
        conn.pragma_update(None, "foreign_keys", false).unwrap();
        for table in TABLES {
            conn.execute(&format!("DELETE FROM {table} WHERE task = ?1"), [task]).unwrap();
        }
        assert_eq!(conn.execute("DELETE FROM task WHERE id = ?1", [task]).unwrap(), 1);
        for report in
            [verify::audit(&home.path, &mut |_| {}).unwrap(), verify::db(&home.path, &mut |_| {}).unwrap()]
        {
            let told = report.problems.iter().any(|p| p.what.contains("were removed whole"));
            assert!(told, "{task}: {report:?}");
        }
    }
}

#[tokio::test]
async fn what_a_removed_task_left_behind_names_it() {
    let home = home().await;
    edit(&home, "DELETE FROM task WHERE id = 'tsk_00001'");
    let whole = verify::db(&home.path, &mut |_| {}).unwrap();
    for what in ["turns", "operations", "checkpoints"] {
        let named = format!("there are {what} of task `tsk_00001`, and no such task");
        assert!(whole.problems.iter().any(|p| p.what == named), "{what}: {whole:?}");
    }
}

#[tokio::test]
async fn one_edit_is_one_problem() {
    let home = home().await;
    edit(&home, "UPDATE turn SET at = at + 1 WHERE task = 'tsk_00001' AND seq = 2");
    let report = verify::audit(&home.path, &mut |_| {}).unwrap();
    assert_eq!(report.problems.len(), 1, "{report:?}");
}

#[tokio::test]
async fn everything_derived_is_compared() {
    let edits = [
        ("task row", "UPDATE task SET phase = 'COMPLETED' WHERE id = 'tsk_00002'"),
        ("operation row", "UPDATE operation SET attempts = 9"),
        ("operation gone", "DELETE FROM operation"),
        ("checkpoint", "UPDATE checkpoint SET body = replace(body, '\"acme\"', '\"else\"')"),
        ("body", "UPDATE artifact SET bytes = x'00'"),
        ("review row", "INSERT INTO review VALUES ('tsk_00001', 'rev_1', NULL, 'c', 'q', 1, NULL, NULL)"),
    ];
    for (what, sql) in edits {
        let home = home().await;
        edit(&home, sql);
        assert!(verify::audit(&home.path, &mut |_| {}).unwrap().is_clean(), "{what}: the chain stands");
        assert!(!verify::db(&home.path, &mut |_| {}).unwrap().is_clean(), "{what}");
    }
}
