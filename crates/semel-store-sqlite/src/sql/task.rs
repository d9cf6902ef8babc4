//! Rows of tasks: the projection, and who acts on them when.

use super::{NARROW, end_of, from_word, id, int, parsed, prepared::Prepared, some_id, uint, word};
use crate::chain::Link;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter, types::Value};
use semel_kernel::{
    hash::Hash,
    id::{ClientId, SessionId, TaskId, Tenant},
    task::Phase,
    time::{Generation, Millis},
};
use semel_ports::{Page, TaskFilter, TaskRow};
use std::collections::BTreeSet;

const COLUMNS: &str = "id, tenant, client_id, name, phase, version, settled, steps, unknown, reviews, code, paused, \
                       cancelling, created_at, updated_at, written_off";

/// What a turn is checked against, and what it changes beside the projection.
#[derive(Clone, Debug)]
pub(crate) struct Coordination {
    pub(crate) version: u64,
    pub(crate) generation: Generation,
    pub(crate) session: Option<String>,
    pub(crate) due_at: Option<i64>,
    pub(crate) phase: String,
    pub(crate) chain: Link,
}

pub(crate) fn coordination(sql: &mut Prepared<'_>, task: &TaskId) -> rusqlite::Result<Option<Coordination>> {
    const GET: &str =
        "SELECT version, gen_epoch, gen_counter, session, due_at, phase, chain FROM task WHERE id = ?1";
    let read = |r: &Row<'_>| {
        Ok(Coordination {
            version: uint(r.get(0)?),
            generation: Generation { epoch: r.get(1)?, counter: uint(r.get(2)?) },
            session: r.get(3)?,
            due_at: r.get(4)?,
            phase: r.get(5)?,
            chain: r.get(6)?,
        })
    };
    sql.get(GET)?.query_row([task.as_str()], read).optional()
}

/// Who holds a client id, or a task id.
pub(crate) fn taken(sql: &mut Prepared<'_>, row: &TaskRow) -> rusqlite::Result<Option<(TaskId, Hash)>> {
    const CLIENT: &str = "SELECT id, digest FROM task WHERE tenant = ?1 AND client_id = ?2";
    const TASK: &str = "SELECT id, digest FROM task WHERE id = ?1";
    let read = |r: &Row<'_>| Ok((id(r, 0)?, parsed(r, 1)?));
    let client = (row.tenant.as_str(), row.client_id.as_str());
    let found = sql.get(CLIENT)?.query_row(client, read).optional()?;
    match found {
        Some(found) => Ok(Some(found)),
        None => sql.get(TASK)?.query_row([row.id.as_str()], read).optional(),
    }
}

pub(crate) fn find_client(
    conn: &Connection,
    tenant: &Tenant,
    client: &ClientId,
) -> rusqlite::Result<Option<(TaskId, Hash)>> {
    let query = "SELECT id, digest FROM task WHERE tenant = ?1 AND client_id = ?2";
    let read = |r: &Row<'_>| Ok((id(r, 0)?, parsed(r, 1)?));
    conn.query_row(query, (tenant.as_str(), client.as_str()), read).optional()
}

/// Coordination of a task as a turn leaves it.
pub(crate) struct Left<'a> {
    pub(crate) generation: Generation,
    pub(crate) session: Option<&'a str>,
    pub(crate) due_at: Option<i64>,
    pub(crate) progress_until: Millis,
    pub(crate) progress: bool,
    pub(crate) chain: &'a Link,
}

pub(crate) fn insert(
    sql: &mut Prepared<'_>,
    row: &TaskRow,
    digest: &Hash,
    left: &Left<'_>,
) -> rusqlite::Result<()> {
    const INSERT: &str =
        "INSERT INTO task VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,
        ?16, ?17, ?18, ?19, ?20, 0, ?21, ?22, ?23)";
    sql.run(
        INSERT,
        params![
            row.id.as_str(),
            row.tenant.as_str(),
            row.client_id.as_str(),
            row.name,
            word(&row.phase)?,
            int(row.version),
            row.settled,
            row.steps,
            row.unknown,
            row.reviews,
            row.code,
            row.paused,
            row.cancelling,
            row.created_at.0,
            row.updated_at.0,
            digest.to_string(),
            left.session,
            left.generation.epoch,
            int(left.generation.counter),
            left.due_at,
            left.progress_until.0,
            left.chain,
            row.written_off,
        ],
    )?;
    Ok(())
}

/// Writes a turn's projection. Columns that stand in indexes are written only when they change: a step in the middle
/// of a run moves none of them.
pub(crate) fn update(
    sql: &mut Prepared<'_>,
    row: &TaskRow,
    before: &Coordination,
    left: &Left<'_>,
) -> rusqlite::Result<()> {
    const BODY: &str =
        "UPDATE task SET version = ?2, settled = ?3, steps = ?4, unknown = ?5, reviews = ?6, code = ?7,
        paused = ?8, cancelling = ?9, updated_at = ?10, claims = iif(?13, 0, claims),
        progress_until = max(progress_until, ?11), chain = ?12, written_off = ?14 WHERE id = ?1";
    const PLACE: &str = "UPDATE task SET phase = ?2, session = ?3, due_at = ?4 WHERE id = ?1";
    let phase = word(&row.phase)?;
    sql.run(
        BODY,
        params![
            row.id.as_str(),
            int(row.version),
            row.settled,
            row.steps,
            row.unknown,
            row.reviews,
            row.code,
            row.paused,
            row.cancelling,
            row.updated_at.0,
            left.progress_until.0,
            left.chain,
            left.progress,
            row.written_off,
        ],
    )?;
    let stays =
        phase == before.phase && left.session == before.session.as_deref() && left.due_at == before.due_at;
    if !stays {
        sql.run(PLACE, (row.id.as_str(), phase, left.session, left.due_at))?;
    }
    Ok(())
}

/// Due and owned by nobody: the partial index, in its order.
pub(crate) const DUE: &str = "SELECT due_at, id FROM task
    WHERE session IS NULL AND due_at IS NOT NULL AND phase NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')
      AND due_at <= ?1 ORDER BY due_at, id LIMIT ?2";

/// Due, and its owner is dead or makes no progress: a walk over what is owned, which is what is in flight.
pub(crate) const STRANDED: &str = "SELECT due_at, id FROM task
    WHERE session IS NOT NULL AND phase NOT IN ('COMPLETED', 'FAILED', 'CANCELLED') AND due_at <= ?1
      AND (progress_until <= ?3 OR session NOT IN (SELECT id FROM session WHERE until > ?3))
    ORDER BY due_at, id LIMIT ?2";

/// Tasks that are due at `at` and free at `now`, longest due first.
pub(crate) fn due(
    sql: &mut Prepared<'_>,
    at: Millis,
    now: Millis,
    limit: u32,
) -> rusqlite::Result<Vec<(i64, TaskId)>> {
    let read = |r: &Row<'_>| Ok((r.get(0)?, id(r, 1)?));
    let free = sql.get(DUE)?.query_map((at.0, limit), read)?.collect::<rusqlite::Result<Vec<_>>>()?;
    let stranded = sql.get(STRANDED)?.query_map((at.0, limit, now.0), read)?;
    let mut all = free;
    for one in stranded {
        all.push(one?);
    }
    all.sort();
    all.truncate(limit as usize);
    Ok(all)
}

/// Whether a task could be claimed; `None` when there is no such task.
pub(crate) fn is_free(sql: &mut Prepared<'_>, task: &TaskId, now: Millis) -> rusqlite::Result<Option<bool>> {
    const FREE: &str = "SELECT phase NOT IN ('COMPLETED', 'FAILED', 'CANCELLED') AND (session IS NULL
        OR progress_until <= ?2 OR session NOT IN (SELECT id FROM session WHERE until > ?2)) FROM task WHERE id = ?1";
    sql.get(FREE)?.query_row((task.as_str(), now.0), |r| r.get(0)).optional()
}

/// What a claim writes.
pub(crate) struct Take<'a> {
    pub(crate) session: &'a SessionId,
    pub(crate) epoch: u32,
    pub(crate) now: Millis,
    pub(crate) progress_until: Millis,
}

/// Gives a task to a session; its new counter, and claims since the last committed turn.
pub(crate) fn take(sql: &mut Prepared<'_>, task: &TaskId, take: &Take<'_>) -> rusqlite::Result<(u64, u32)> {
    const TAKE: &str =
        "UPDATE task SET session = ?2, gen_epoch = ?3, gen_counter = gen_counter + 1, due_at = ?4,
        progress_until = ?5, claims = claims + 1 WHERE id = ?1 RETURNING gen_counter, claims";
    let values = (task.as_str(), take.session.as_str(), take.epoch, take.now.0, take.progress_until.0);
    sql.get(TAKE)?.query_row(values, |r| Ok((uint(r.get(0)?), r.get(1)?)))
}

/// Gives a task back; `false` when somebody else owns it by now.
pub(crate) fn release(
    sql: &mut Prepared<'_>,
    task: &TaskId,
    generation: Generation,
    (version, due, now): (u64, Option<Millis>, Millis),
) -> rusqlite::Result<bool> {
    const RELEASE: &str =
        "UPDATE task SET session = NULL, due_at = CASE WHEN version > ?5 THEN ?6 ELSE ?4 END,
        claims = iif(?4 <= ?6, claims, 0) WHERE id = ?1 AND gen_epoch = ?2 AND gen_counter = ?3 AND session IS NOT NULL";
    let values =
        (task.as_str(), generation.epoch, int(generation.counter), due.map(|at| at.0), int(version), now.0);
    Ok(sql.run(RELEASE, values)? == 1)
}

/// Whoever owned anything is dead; what they held is due at once.
pub(crate) fn strand_all(conn: &Connection, now: Millis) -> rusqlite::Result<()> {
    conn.execute(
        "UPDATE task SET session = NULL, due_at = CASE
           WHEN due_at IS NOT NULL THEN min(due_at, ?1)
           WHEN phase IN ('COMPLETED', 'FAILED', 'CANCELLED') THEN NULL ELSE ?1 END
         WHERE session IS NOT NULL",
        [now.0],
    )?;
    conn.execute("DELETE FROM session", [])?;
    Ok(())
}

/// Puts every task that has not ended under a new epoch, and notes that its adoption is to be written.
pub(crate) fn adopt_all(conn: &Connection, epoch: u32) -> rusqlite::Result<()> {
    const OPEN: &str = "phase NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')";
    let raise = format!("UPDATE task SET gen_epoch = ?1, gen_counter = gen_counter + 1 WHERE {OPEN}");
    conn.execute(&raise, [epoch])?;
    conn.execute(&format!("INSERT OR IGNORE INTO adopting SELECT id FROM task WHERE {OPEN}"), [])?;
    Ok(())
}

/// Generation and owner of a task, and claims since its last progress; `None` when there is no such task.
pub(crate) fn owner(
    conn: &Connection,
    task: &TaskId,
) -> rusqlite::Result<Option<(Generation, Option<SessionId>, u32)>> {
    let query = "SELECT gen_epoch, gen_counter, session, claims FROM task WHERE id = ?1";
    let read = |r: &Row<'_>| {
        let generation = Generation { epoch: r.get(0)?, counter: uint(r.get(1)?) };
        Ok((generation, some_id(r, 2)?, r.get(3)?))
    };
    conn.query_row(query, [task.as_str()], read).optional()
}

/// For an upgrade: the column that follows from events which are there already.
pub(crate) fn put_written_off(conn: &Connection, task: &TaskId, count: u32) -> rusqlite::Result<()> {
    conn.execute("UPDATE task SET written_off = ?2 WHERE id = ?1", (task.as_str(), count))?;
    Ok(())
}

fn is_narrow(conn: &Connection, prefix: &str) -> rusqlite::Result<bool> {
    let query = "SELECT count(*) FROM (SELECT 1 FROM task WHERE id >= ?1 AND id < ?2 LIMIT ?3)";
    let n: i64 = conn.query_row(query, (prefix, end_of(prefix), NARROW), |r| r.get(0))?;
    Ok(n < NARROW)
}

/// The text of a list, and its values. `narrow`: so few rows are behind the prefix that they are sorted. Several
/// phases are merged, each in the order of the index, so that the newest page needs no sort; a tenant's tasks are found
/// phase by phase, be it all of them.
pub(crate) fn query(filter: &TaskFilter, page: Page, narrow: bool) -> (String, Vec<Value>) {
    let prefix = filter.prefix.as_ref().filter(|p| !p.is_empty());
    let [from, to] = prefix.map(|p| [p.clone(), end_of(p)]).unwrap_or_default();
    let name = filter.name.clone().unwrap_or_default();
    let tenant = filter.tenant.as_ref().map_or("", Tenant::as_str).to_owned();
    let page = [i64::from(page.limit).into(), i64::from(page.skip).into()];
    let values =
        [from.into(), to.into(), name.into()].into_iter().chain(page).chain([tenant.into()]).collect();
    let sorted = prefix.is_some() && narrow;
    let by_phase = !sorted && (filter.tenant.is_some() || !filter.phases.is_empty());
    let mut rules = String::from("?1 = ?1 AND ?2 = ?2 AND ?3 = ?3 AND ?6 = ?6");
    match (prefix, sorted) {
        (Some(_), true) => rules.push_str(" AND id >= ?1 AND id < ?2"),
        (Some(_), false) => rules.push_str(" AND +id >= ?1 AND +id < ?2"),
        (None, _) => {}
    }
    if filter.name.is_some() {
        rules.push_str(if by_phase || sorted { " AND +name = ?3" } else { " AND name = ?3" });
    }
    if filter.tenant.is_some() {
        rules.push_str(if sorted { " AND +tenant = ?6" } else { " AND tenant = ?6" });
    }
    let select = |rule: &str| format!("SELECT {COLUMNS} FROM task WHERE {rules}{rule}");
    let phases = words(&filter.phases);
    let body = if by_phase {
        let each: Vec<String> = phases.iter().map(|w| select(&format!(" AND phase = '{w}'"))).collect();
        each.join(" UNION ALL ")
    } else if filter.phases.is_empty() {
        select("")
    } else {
        select(&format!(" AND +phase IN ('{}')", phases.join("', '")))
    };
    let order = if sorted { "+created_at DESC, +id DESC" } else { "created_at DESC, id DESC" };
    (format!("{body} ORDER BY {order} LIMIT ?4 OFFSET ?5"), values)
}

/// The words of phases, each once; of all of them where none is named.
fn words(phases: &[Phase]) -> Vec<&'static str> {
    let named = if phases.is_empty() { &Phase::ALL[..] } else { phases };
    named.iter().collect::<BTreeSet<_>>().into_iter().map(|p| p.word()).collect()
}

pub(crate) fn list(conn: &Connection, filter: &TaskFilter, page: Page) -> rusqlite::Result<Vec<TaskRow>> {
    let narrow = filter.prefix.as_ref().map_or(Ok(true), |prefix| is_narrow(conn, prefix))?;
    let (text, values) = query(filter, page, narrow);
    conn.prepare(&text)?.query_map(params_from_iter(values), read)?.collect()
}

/// The stored row of one task.
pub(crate) fn get(conn: &Connection, task: &TaskId) -> rusqlite::Result<Option<TaskRow>> {
    let text = format!("SELECT {COLUMNS} FROM task WHERE id = ?1");
    conn.query_row(&text, [task.as_str()], read).optional()
}

fn read(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
    Ok(TaskRow {
        id: id(row, 0)?,
        tenant: id(row, 1)?,
        client_id: id(row, 2)?,
        name: row.get(3)?,
        phase: from_word(row, 4)?,
        version: uint(row.get(5)?),
        settled: row.get(6)?,
        steps: row.get(7)?,
        unknown: row.get(8)?,
        reviews: row.get(9)?,
        code: row.get(10)?,
        paused: row.get(11)?,
        cancelling: row.get(12)?,
        created_at: Millis(row.get(13)?),
        updated_at: Millis(row.get(14)?),
        written_off: row.get(15)?,
    })
}
