//! Checks of a store's file, offline or while its owner runs: the hash chains, and everything that is derived.
//!
//! Invariant: a check reads one moment, changes nothing, and names what it finds; it never mends.

use crate::{
    chain,
    error::OrStore,
    migrate, open,
    sql::{self, checkpoint, meta, operation, review, task, turn},
};
use rusqlite::Connection;
use semel_kernel::{
    event::{Event, SCHEMA},
    fold,
    hash::Hash,
    id::TaskId,
    law,
    task::Task,
    time::Millis,
};
use semel_ports::{OperationFilter, Page, Projection, ReviewFilter, StoreError, projection};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Tasks that were checked.
    pub tasks: u64,
    /// Turns that were checked.
    pub turns: u64,
    /// Events that were checked.
    pub events: u64,
    /// Checkpoints that were compared with the fold.
    pub checkpoints: u64,
    /// Bodies whose hash was computed.
    pub artifacts: u64,
    /// Everything that is wrong.
    pub problems: Vec<Problem>,
}

impl Report {
    /// Nothing is wrong.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    fn add(&mut self, task: Option<&TaskId>, what: impl Into<String>) {
        self.problems.push(Problem { task: task.cloned(), what: what.into() });
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The task, if it is about one.
    pub task: Option<TaskId>,
    /// What.
    pub what: String,
}

/// How far a check is: tasks done, tasks in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Tasks that are checked.
    pub done: u64,
    /// Tasks in all.
    pub total: u64,
}

/// Checks the hash chain of every task.
///
/// # Errors
/// [`StoreError`] when the file cannot be read; what is wrong inside stands in the report.
pub fn audit(path: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Report, StoreError> {
    check(path, false, progress)
}

/// Checks everything: the file itself, every chain, and that rows, checkpoints and bodies are what the events say.
///
/// # Errors
/// [`StoreError`] when the file cannot be read; what is wrong inside stands in the report.
pub fn db(path: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Report, StoreError> {
    check(path, true, progress)
}

fn check(path: &Path, whole: bool, progress: &mut dyn FnMut(Progress)) -> Result<Report, StoreError> {
    let conn = open::reader(&open::resolve(path)?)?;
    let moment = conn.unchecked_transaction().or_store()?;
    let mut report = Report::default();
    if whole {
        newest(&moment)?;
        integrity(&moment, &mut report).or_store()?;
    }
    let ids = task_ids(&moment).or_store()?;
    let total = ids.len() as u64;
    for (done, id) in (1..).zip(&ids) {
        one(&moment, id, whole, &mut report);
        progress(Progress { done, total });
    }
    whole_turns(&moment, &mut report).or_store()?;
    strays(&moment, whole, &mut report).or_store()?;
    if whole {
        artifacts(&moment, &mut report).or_store()?;
    }
    Ok(report)
}

fn integrity(conn: &Connection, report: &mut Report) -> rusqlite::Result<()> {
    let mut query = conn.prepare("PRAGMA integrity_check(100)")?;
    for line in query.query_map([], |r| r.get::<_, String>(0))? {
        let line = line?;
        if line != "ok" {
            report.add(None, line);
        }
    }
    Ok(())
}

fn task_ids(conn: &Connection) -> rusqlite::Result<Vec<TaskId>> {
    conn.prepare("SELECT id FROM task ORDER BY id")?.query_map([], |r| sql::id(r, 0))?.collect()
}

/// What is derived is compared with what this program would write, so the columns must be those that it knows.
fn newest(conn: &Connection) -> Result<(), StoreError> {
    let (form, newest) = (migrate::form(conn)?, migrate::NEWEST);
    if form == newest {
        return Ok(());
    }
    let what = format!(
        "its form is {form}, and only form {newest} can be compared; `semel ps` on it raises the form"
    );
    Err(StoreError::Unusable(what))
}

/// The head counts every turn that was ever written, in the turn's own transaction, and no turn is ever removed. So a
/// task that is gone with all that belongs to it is missed here, though nothing is left to tell which one it was.
fn whole_turns(conn: &Connection, report: &mut Report) -> rusqlite::Result<()> {
    let head = meta::head(conn)?;
    let has: i64 = conn.query_row("SELECT count(*) FROM turn", [], |r| r.get(0))?;
    let written = head.turns;
    if has < written {
        let gone = written.saturating_sub(has);
        report.add(None, format!("{written} turns were written, {has} are here: {gone} were removed whole"));
    } else if has > written {
        report.add(None, format!("{written} turns were written, {has} are here: some were put in by hand"));
    }
    if written > 0 && !turn::stands_at(conn, &head.task, head.seq, &head.turn)? {
        report.add(None, format!("the last turn that was written, of task `{}`, is not here", head.task));
    }
    Ok(())
}

/// Rows of tasks that are not there.
fn strays(conn: &Connection, whole: bool, report: &mut Report) -> rusqlite::Result<()> {
    const DERIVED: [&str; 3] = ["operation", "review", "checkpoint"];
    let derived = if whole { &DERIVED[..] } else { &[] };
    for table in ["turn"].iter().chain(derived) {
        let text = format!("SELECT DISTINCT task FROM {table} WHERE task NOT IN (SELECT id FROM task)");
        let mut query = conn.prepare(&text)?;
        for task in query.query_map([], |r| r.get::<_, String>(0))? {
            report.add(None, format!("there are {table}s of task `{}`, and no such task", task?));
        }
    }
    Ok(())
}

fn artifacts(conn: &Connection, report: &mut Report) -> rusqlite::Result<()> {
    let mut query = conn.prepare("SELECT hash, bytes FROM artifact")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let hash = Hash::of(row.get_ref(1)?.as_blob()?);
        report.artifacts = report.artifacts.saturating_add(1);
        if row.get_ref(0)?.as_blob()? != hash.as_bytes() {
            report.add(None, format!("a body has the hash {hash} and stands under another"));
        }
    }
    Ok(())
}

/// A row that cannot be read is a problem of its task, not the end of the check.
fn one(conn: &Connection, id: &TaskId, whole: bool, report: &mut Report) {
    let walked = walk(conn, id, whole, report);
    let compared = match walked {
        Ok(Some(fold)) if whole => compare(conn, id, &fold, report),
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    };
    if let Err(error) = compared {
        report.add(Some(id), error.to_string());
    }
    report.tasks = report.tasks.saturating_add(1);
}

/// The walk over one task's history.
struct Walk<'a> {
    id: &'a TaskId,
    next: u64,
    link: chain::Link,
    fold: Option<Task>,
    kept: Option<Box<Task>>,
    whole: bool,
}

/// Checks the chain, and folds on the way; the fold, unless something was wrong before its end.
fn walk(conn: &Connection, id: &TaskId, whole: bool, report: &mut Report) -> rusqlite::Result<Option<Task>> {
    let kept = if whole { checkpoint::get(conn, id)? } else { None };
    let mut walk = Walk { id, next: 1, link: chain::START, fold: None, kept, whole };
    turn::each(conn, id, |stored| walk.turn(&stored, report))?;
    let query = "SELECT version, chain FROM task WHERE id = ?1";
    let (version, link): (i64, Vec<u8>) =
        conn.query_row(query, [id.as_str()], |r| Ok((r.get(0)?, r.get(1)?)))?;
    let last = walk.next.saturating_sub(1);
    if sql::uint(version) != last {
        report.add(Some(id), format!("its row tells of {version} events, its history has {last}"));
    } else if link != walk.link {
        report.add(Some(id), "its history does not end where its row says");
    }
    Ok(walk.fold)
}

impl Walk<'_> {
    fn turn(&mut self, stored: &turn::StoredTurn, report: &mut Report) {
        report.turns = report.turns.saturating_add(1);
        if stored.seq != self.next {
            let (next, seq) = (self.next, stored.seq);
            report.add(Some(self.id), format!("event {next} should follow, {seq} does"));
        }
        let texts: Vec<&str> = chain::split(&stored.events).map(Iterator::collect).unwrap_or_default();
        let bodies: Vec<Hash> = texts.iter().map(|text| Hash::of(text.as_bytes())).collect();
        let (seq, at, schema) = (stored.seq, stored.at, stored.schema);
        let first = chain::Header { task: &stored.task, seq, at, schema };
        self.link = chain::extend(self.link, &first, &bodies);
        self.next = seq.saturating_add(stored.n);
        report.events = report.events.saturating_add(texts.len() as u64);
        if texts.len() as u64 != stored.n || self.link[..] != stored.chain[..] {
            let last = self.next.saturating_sub(1);
            report.add(Some(self.id), format!("the chain breaks in events {seq} to {last}"));
            // The next turns are judged by the chain as it is told, so that one edit is one problem.
            self.link = <chain::Link>::try_from(&stored.chain[..]).unwrap_or(chain::START);
        }
        if self.whole {
            self.fold(&texts, stored, report);
        }
    }

    fn fold(&mut self, texts: &[&str], stored: &turn::StoredTurn, report: &mut Report) {
        if stored.schema != SCHEMA {
            return report.add(Some(self.id), format!("schema {} is not known", stored.schema));
        }
        for text in texts {
            if let Err(why) = self.event(text, stored.at) {
                return report.add(Some(self.id), why);
            }
            self.checkpoint(report);
        }
    }

    fn event(&mut self, text: &str, at: Millis) -> Result<(), String> {
        let event: Event = serde_json::from_str(text).map_err(|e| format!("an event cannot be read: {e}"))?;
        match &mut self.fold {
            Some(task) => fold::fold(task, &event, at).map_err(|e| e.to_string()),
            None => {
                self.fold = Some(fold::fold_all([(&event, at)]).map_err(|e| e.to_string())?);
                Ok(())
            }
        }
    }

    fn checkpoint(&mut self, report: &mut Report) {
        let reached = |kept: &mut Box<Task>| self.fold.as_ref().is_some_and(|f| f.version == kept.version);
        if let Some(kept) = self.kept.take_if(reached) {
            report.checkpoints = report.checkpoints.saturating_add(1);
            if self.fold.as_ref() != Some(&*kept) {
                report.add(Some(self.id), format!("its checkpoint at {} is not the fold", kept.version));
            }
        }
    }
}

/// Compares the stored rows with those that the fold gives.
fn compare(conn: &Connection, id: &TaskId, fold: &Task, report: &mut Report) -> rusqlite::Result<()> {
    if let Err(why) = law::check(fold) {
        report.add(Some(id), why);
    }
    let Projection { task: row, mut operations, mut reviews } = projection::of(fold, 0);
    if task::get(conn, id)?.as_ref() != Some(&row) {
        report.add(Some(id), "its row is not what its events say");
    }
    let all = Page { skip: 0, limit: u32::MAX };
    let filter = OperationFilter { task: Some(id.clone()), ..OperationFilter::default() };
    let mut stored = operation::list(conn, &filter, all)?;
    operations.sort_by(|a, b| a.id.as_str().cmp(b.id.as_str()));
    stored.sort_by(|a, b| a.id.as_str().cmp(b.id.as_str()));
    if stored != operations {
        report.add(Some(id), "its operations are not what its events say");
    }
    let filter = ReviewFilter { decided: true, task: Some(id.clone()), prefix: None };
    let mut stored = review::list(conn, &filter, all)?;
    stored.sort_by(|a, b| a.id.cmp(&b.id));
    reviews.sort_by(|a, b| a.id.cmp(&b.id));
    if stored != reviews {
        report.add(Some(id), "its reviews are not what its events say");
    }
    Ok(())
}
