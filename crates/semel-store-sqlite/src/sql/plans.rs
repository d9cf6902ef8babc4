//! How SQLite finds the rows: no list walks a whole table, and the newest page is not sorted.

use super::{operation, review, task};
use crate::migrate;
use rusqlite::{Connection, params_from_iter, types::Value};
use semel_kernel::{
    id::{TaskId, Tenant},
    task::Phase,
    time::Millis,
};
use semel_ports::{OperationFilter, Page, ReviewFilter, TaskFilter};

const PAGE: Page = Page { skip: 0, limit: 50 };
const SORT: &str = "USE TEMP B-TREE FOR ORDER BY";

fn conn() -> Connection {
    let mut conn = Connection::open_in_memory().expect("memory");
    migrate::run(&mut conn, Millis(0)).expect("the newest form");
    conn
}

/// The lines of the plan.
fn plan(conn: &Connection, (text, values): (String, Vec<Value>)) -> Vec<String> {
    let mut query = conn.prepare(&format!("EXPLAIN QUERY PLAN {text}")).expect("it is SQL");
    let lines = query.query_map(params_from_iter(values), |r| r.get(3)).expect("a plan");
    lines.collect::<rusqlite::Result<_>>().expect("lines")
}

/// No step walks a table, or a part of an index that it could have jumped to.
fn assert_found(lines: &[String], index: &str) {
    assert!(lines.iter().any(|l| l.contains(index)), "{index} is not used: {lines:#?}");
    for line in lines.iter().filter(|l| l.starts_with("SCAN ")) {
        let ordered = line.contains(" USING ") && line.contains("INDEX");
        assert!(ordered || line == "SCAN found", "{lines:#?}");
    }
}

fn assert_in_order(lines: &[String], index: &str) {
    assert_found(lines, index);
    assert!(!lines.iter().any(|l| l.contains("TEMP B-TREE")), "it is sorted: {lines:#?}");
}

#[test]
fn tasks() {
    let conn = conn();
    let of = |filter: TaskFilter, narrow| plan(&conn, task::query(&filter, PAGE, narrow));
    let prefix = Some("tsk_0".to_owned());
    let name = Some("mails".to_owned());
    assert_in_order(&of(TaskFilter::default(), true), "task_newest");
    let filter = TaskFilter { phases: vec![Phase::Failed], ..TaskFilter::default() };
    assert_in_order(&of(filter, true), "SEARCH task USING INDEX task_phase (phase=?)");
    let filter = TaskFilter { phases: Phase::ALL.to_vec(), name: name.clone(), ..TaskFilter::default() };
    let lines = of(filter, true);
    assert_in_order(&lines, "SEARCH task USING INDEX task_phase (phase=?)");
    assert!(lines.iter().any(|l| l.contains("MERGE")), "{lines:#?}");
    assert_in_order(&of(TaskFilter { name, ..TaskFilter::default() }, true), "task_name (name=?)");
    let filter = TaskFilter { prefix, ..TaskFilter::default() };
    assert_found(&of(filter.clone(), true), "(id>? AND id<?)");
    assert_in_order(&of(filter.clone(), false), "task_newest");
    let filter = TaskFilter { phases: vec![Phase::Waiting, Phase::Ready], ..filter };
    assert_found(&of(filter.clone(), true), "(id>? AND id<?)");
    assert_in_order(&of(filter, false), "task_phase (phase=?)");
}

#[test]
fn tasks_of_a_tenant() {
    let conn = conn();
    let of = |filter: TaskFilter, narrow| plan(&conn, task::query(&filter, PAGE, narrow));
    let filter = TaskFilter { tenant: Some(Tenant::parse("acme").expect("an id")), ..TaskFilter::default() };
    let index = "SEARCH task USING INDEX task_tenant (tenant=? AND phase=?)";
    for (phases, name) in [
        (Vec::new(), None),
        (vec![Phase::Waiting, Phase::Ready], None),
        (Vec::new(), Some("mails".to_owned())),
    ] {
        assert_in_order(&of(TaskFilter { phases, name, ..filter.clone() }, true), index);
    }
    let prefixed = TaskFilter { prefix: Some("tsk_0".to_owned()), ..filter };
    assert_found(&of(prefixed.clone(), true), "(id>? AND id<?)");
    assert_in_order(&of(prefixed, false), index);
}

#[test]
fn operations() {
    let conn = conn();
    let of = |filter: OperationFilter, narrow| plan(&conn, operation::query(&filter, PAGE, narrow));
    let task = Some(TaskId::parse("tsk_1").expect("an id"));
    let find = Some("ann".to_owned());
    assert_in_order(&of(OperationFilter::default(), true), "operation_changed");
    let unknown = OperationFilter { unknown: true, ..OperationFilter::default() };
    assert_in_order(&of(unknown.clone(), true), "operation_unknown");
    assert_in_order(&of(OperationFilter { find: find.clone(), ..unknown }, true), "operation_unknown");
    let written_off = OperationFilter { written_off: true, ..OperationFilter::default() };
    assert_in_order(&of(written_off.clone(), true), "operation_written_off");
    let counted = plan(&conn, operation::count_query(&written_off, 9, true));
    assert!(counted.iter().any(|l| l.contains("COVERING INDEX operation_written_off")), "{counted:#?}");
    let of_task = OperationFilter { task, ..OperationFilter::default() };
    assert_found(&of(of_task.clone(), true), "PRIMARY KEY (task=?)");
    assert_found(&of(OperationFilter { find: find.clone(), unknown: true, ..of_task }, true), "(task=?)");
    let found = OperationFilter { find, ..OperationFilter::default() };
    let lines = of(found.clone(), true);
    for index in [
        "operation_id (id>? AND id<?)",
        "operation_target (target>? AND target<?)",
        "operation_key (key>? AND key<?)",
    ] {
        assert_found(&lines, index);
    }
    assert_found(&lines, "SEARCH operation USING PRIMARY KEY (task=? AND id=?)");
    assert_in_order(&of(found, false), "operation_changed");
}

#[test]
fn reviews() {
    let conn = conn();
    let of = |filter: ReviewFilter| plan(&conn, review::query(&filter, PAGE));
    assert_in_order(&of(ReviewFilter::default()), "review_open");
    assert_in_order(&of(ReviewFilter { decided: true, ..ReviewFilter::default() }), "review_opened");
    let prefix = Some("rev_1".to_owned());
    assert_found(&of(ReviewFilter { decided: true, prefix, task: None }), "review_id (id>? AND id<?)");
    let task = Some(TaskId::parse("tsk_1").expect("an id"));
    assert_found(&of(ReviewFilter { task, ..ReviewFilter::default() }), "PRIMARY KEY (task=?)");
}

#[test]
fn claims() {
    let conn = conn();
    let values = |n: usize| (0..n).map(|_| Value::from(1)).collect();
    assert_in_order(&plan(&conn, (task::DUE.to_owned(), values(2))), "task_due (due_at>? AND due_at<?)");
    let lines = plan(&conn, (task::STRANDED.to_owned(), values(3)));
    assert!(lines.iter().any(|l| l.contains("task_owned")), "only what is owned is walked: {lines:#?}");
    assert!(lines.iter().any(|l| l == SORT), "few rows are sorted: {lines:#?}");
}
