//! Rows of reviews.

use super::{end_of, id, prepared::Prepared, some_id};
use rusqlite::{Connection, Row, params_from_iter, types::Value};
use semel_kernel::time::Millis;
use semel_ports::{Page, ReviewFilter, ReviewRow};

const COLUMNS: &str = "id, task, step, cause, question, opened_at, decided_at, decided_by";

/// Writes a row; one that is as it was is not touched.
pub(crate) fn put(sql: &mut Prepared<'_>, row: &ReviewRow) -> rusqlite::Result<()> {
    const PUT: &str =
        "INSERT INTO review (id, task, step, cause, question, opened_at, decided_at, decided_by)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
        ON CONFLICT (task, id) DO UPDATE SET decided_at = ?7, decided_by = ?8
        WHERE decided_at IS NOT ?7 OR decided_by IS NOT ?8";
    let step = row.step.as_ref().map(|s| s.as_str());
    let (opened, decided) = (row.opened_at.0, row.decided_at.map(|at| at.0));
    let row = (
        row.id.as_str(),
        row.task.as_str(),
        step,
        &row.cause,
        &row.question,
        opened,
        decided,
        &row.decided_by,
    );
    sql.run(PUT, row)?;
    Ok(())
}

/// The text of a list, and its values.
pub(crate) fn query(filter: &ReviewFilter, page: Page) -> (String, Vec<Value>) {
    let mut values: Vec<Value> = Vec::new();
    let mut rules = vec!["1"];
    let mut order = "opened_at, id";
    if !filter.decided {
        rules.push("decided_at IS NULL");
    }
    if let Some(task) = &filter.task {
        rules.push("task = ?");
        values.push(task.as_str().to_owned().into());
        order = "+opened_at, +id";
    }
    if let Some(prefix) = filter.prefix.as_ref().filter(|p| !p.is_empty()) {
        rules.push("id >= ? AND id < ?");
        values.extend([prefix.clone().into(), end_of(prefix).into()]);
        order = "+opened_at, +id";
    }
    values.extend([i64::from(page.limit).into(), i64::from(page.skip).into()]);
    let rules = rules.join(" AND ");
    (format!("SELECT {COLUMNS} FROM review WHERE {rules} ORDER BY {order} LIMIT ? OFFSET ?"), values)
}

pub(crate) fn list(conn: &Connection, filter: &ReviewFilter, page: Page) -> rusqlite::Result<Vec<ReviewRow>> {
    let (text, values) = query(filter, page);
    conn.prepare(&text)?.query_map(params_from_iter(values), read)?.collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<ReviewRow> {
    Ok(ReviewRow {
        id: id(row, 0)?,
        task: id(row, 1)?,
        step: some_id(row, 2)?,
        cause: row.get(3)?,
        question: row.get(4)?,
        opened_at: Millis(row.get(5)?),
        decided_at: row.get::<_, Option<i64>>(6)?.map(Millis),
        decided_by: row.get(7)?,
    })
}
