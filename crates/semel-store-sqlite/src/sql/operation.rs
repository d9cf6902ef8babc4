//! Rows of operations.

use super::{NARROW, end_of, from_word, id, prepared::Prepared, word};
use rusqlite::{Connection, Row, params_from_iter, types::Value};
use semel_kernel::time::Millis;
use semel_ports::{OperationFilter, OperationRow, Page};

const COLUMNS: &str = "operation.id, operation.task, step, tool, target, key, request_hash, status, state, written_off, guarantee, \
                       attempts, changed_at";

/// Writes a row. The common case changes what changes with every attempt, and no index of names.
pub(crate) fn put(sql: &mut Prepared<'_>, row: &OperationRow) -> rusqlite::Result<()> {
    const MOVE: &str = "UPDATE operation
        SET status = ?1, state = ?2, written_off = ?3, attempts = ?4, changed_at = ?5
        WHERE task = ?6 AND id = ?7 AND step = ?8 AND tool = ?9 AND target = ?10 AND key = ?11
          AND request_hash = ?12 AND guarantee = ?13";
    const PUT: &str = "INSERT OR REPLACE INTO operation
        (status, state, written_off, attempts, changed_at, task, id, step, tool, target, key, request_hash, guarantee)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
    let (status, state, guarantee) = (word(&row.status)?, word(&row.state)?, word(&row.guarantee)?);
    let (task, id, step, tool) = (row.task.as_str(), row.id.as_str(), row.step.as_str(), row.tool.as_str());
    let values = (
        (status, state, row.written_off, row.attempts, row.changed_at.0),
        (task, id, step, tool, &row.target, &row.key, &row.request_hash, guarantee),
    );
    let ((a, b, c, d, e), (f, g, h, i, j, k, l, m)) = values;
    let values = rusqlite::params![a, b, c, d, e, f, g, h, i, j, k, l, m];
    if sql.run(MOVE, values)? == 0 {
        sql.run(PUT, values)?;
    }
    Ok(())
}

/// The ways to find an operation by a text: one range of one index each.
const FOUND: &str = "(SELECT task, id FROM operation WHERE id >= ?1 AND id < ?2
    UNION SELECT task, id FROM operation WHERE target >= ?1 AND target < ?2
    UNION SELECT task, id FROM operation WHERE key >= ?1 AND key < ?2) AS found
    CROSS JOIN operation ON operation.task = found.task AND operation.id = found.id";

/// Whether so few rows are behind a text that they can be sorted.
fn is_narrow(conn: &Connection, find: &str) -> rusqlite::Result<bool> {
    for column in ["id", "target", "key"] {
        let text = format!(
            "SELECT count(*) FROM (SELECT 1 FROM operation WHERE {column} >= ?1 AND {column} < ?2 LIMIT ?3)"
        );
        let n: i64 = conn.query_row(&text, (find, end_of(find), NARROW), |r| r.get(0))?;
        if n >= NARROW {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Where the rows of a filter are found: the text from FROM on without an order, the values, and whether the rows come
/// in no order that an index has.
fn found(filter: &OperationFilter, page: Page, narrow: bool) -> (String, Vec<Value>, bool) {
    let find = filter.find.as_ref().filter(|f| !f.is_empty());
    let sought = find.map(|f| [f.clone(), end_of(f)]).unwrap_or_default();
    let task = filter.task.as_ref().map_or("", |t| t.as_str()).to_owned();
    let [from, to] = sought;
    let page = [i64::from(page.limit).into(), i64::from(page.skip).into()];
    let values = [from.into(), to.into(), task.into()].into_iter().chain(page).collect();
    let mut rules = vec!["?1 = ?1 AND ?2 = ?2 AND ?3 = ?3".to_owned()];
    if filter.unknown {
        rules.push("status = 'unknown' AND written_off = 0".into());
    }
    if filter.written_off {
        rules.push("written_off = 1".into());
    }
    if filter.task.is_some() {
        rules.push("task = ?3".into());
    }
    let doubtful = filter.unknown || filter.written_off;
    let joined = find.is_some() && narrow && !doubtful && filter.task.is_none();
    if find.is_some() && !joined {
        let within = |c: &str| format!("(+{c} >= ?1 AND +{c} < ?2)");
        rules.push(format!("({} OR {} OR {})", within("id"), within("target"), within("key")));
    }
    let from = if joined { FOUND } else { "operation" };
    let sorted = joined || filter.task.is_some();
    (format!("FROM {from} WHERE {}", rules.join(" AND ")), values, sorted)
}

/// The text of a list, and its values. `narrow`: so few rows are behind the text that is sought that they are sorted.
pub(crate) fn query(filter: &OperationFilter, page: Page, narrow: bool) -> (String, Vec<Value>) {
    let (found, values, sorted) = found(filter, page, narrow);
    let order = if sorted { "+changed_at DESC, +operation.id DESC" } else { "changed_at DESC, id DESC" };
    (format!("SELECT {COLUMNS} {found} ORDER BY {order} LIMIT ?4 OFFSET ?5"), values)
}

/// The text of a count up to `most`, and its values.
pub(crate) fn count_query(filter: &OperationFilter, most: u32, narrow: bool) -> (String, Vec<Value>) {
    let (found, values, _) = found(filter, Page { skip: 0, limit: most }, narrow);
    (format!("SELECT count(*) FROM (SELECT 1 {found} LIMIT ?4 OFFSET ?5)"), values)
}

pub(crate) fn count(conn: &Connection, filter: &OperationFilter, most: u32) -> rusqlite::Result<u32> {
    let narrow = filter.find.as_ref().map_or(Ok(true), |find| is_narrow(conn, find))?;
    let (text, values) = count_query(filter, most, narrow);
    conn.query_row(&text, params_from_iter(values), |r| r.get(0))
}

pub(crate) fn list(
    conn: &Connection,
    filter: &OperationFilter,
    page: Page,
) -> rusqlite::Result<Vec<OperationRow>> {
    let narrow = filter.find.as_ref().map_or(Ok(true), |find| is_narrow(conn, find))?;
    let (text, values) = query(filter, page, narrow);
    conn.prepare(&text)?.query_map(params_from_iter(values), read)?.collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<OperationRow> {
    Ok(OperationRow {
        id: id(row, 0)?,
        task: id(row, 1)?,
        step: id(row, 2)?,
        tool: id(row, 3)?,
        target: row.get(4)?,
        key: row.get(5)?,
        request_hash: row.get(6)?,
        status: from_word(row, 7)?,
        state: from_word(row, 8)?,
        written_off: row.get(9)?,
        guarantee: from_word(row, 10)?,
        attempts: row.get(11)?,
        changed_at: Millis(row.get(12)?),
    })
}
