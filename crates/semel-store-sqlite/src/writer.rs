//! The writer: one thread, one connection, group commit.
//!
//! Invariant: after an error that leaves the connection in doubt nothing is appended before the store was closed, opened
//! anew and checkpointed completely; then the last batch is looked up, whole, and its callers are told what is durable.
//! Where that cannot be done the store stays closed.

pub(crate) mod apply;
pub(crate) mod batch;

use crate::{
    Options,
    adopt::{Desk, Stage},
    clock::Clock,
    error::{self, OrStore},
    mark::Mark,
    open,
    sql::{meta, prepared::Prepared, turn},
};
use batch::{Broken, End, Job, Jobs};
use rusqlite::Connection;
use semel_ports::{StoreError, StoreInfo};
use std::{
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};
use tokio::sync::mpsc::Receiver;

/// Turns after which the mark is written anew, so that a backup put back in place is seen.
const MARK_TURNS: i64 = 1_024;

/// How long the last checkpoint waits for readers.
const LAST_CHECKPOINT: Duration = Duration::from_secs(1);

/// What everybody sees without asking the writer.
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    info: RwLock<StoreInfo>,
}

impl Shared {
    pub(crate) fn new(clock: Clock, info: StoreInfo) -> Self {
        Self { clock, info: RwLock::new(info) }
    }

    pub(crate) fn info(&self) -> StoreInfo {
        self.info.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_info(&self, info: StoreInfo) {
        *self.info.write().unwrap_or_else(PoisonError::into_inner) = info;
    }
}

/// The writer's state; its thread owns it.
pub(crate) struct Writer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) path: PathBuf,
    pub(crate) options: Options,
    pub(crate) boot_id: String,
    pub(crate) desk: Desk,
    /// Turns at the last write of the mark.
    pub(crate) marked: i64,
    /// A request that was taken from the queue while the store was closed.
    pub(crate) first: Option<Box<dyn Job>>,
}

/// The connection, or why there is none.
type Line = Result<Connection, StoreError>;

impl Writer {
    /// Serves until the queue is closed.
    pub(crate) fn run(mut self, conn: Connection, mut queue: Receiver<Box<dyn Job>>) {
        let mut line: Line = Ok(conn);
        loop {
            line = match line {
                Ok(conn) => match self.serve(&conn, &mut queue) {
                    Some(broken) => self.recover(conn, *broken),
                    None => return self.close(conn),
                },
                Err(why) => match queue.blocking_recv() {
                    Some(job) => self.knock(why, job),
                    None => return,
                },
            };
        }
    }

    /// Commits batch after batch; `None` when the queue is closed.
    fn serve(&mut self, conn: &Connection, queue: &mut Receiver<Box<dyn Job>>) -> Option<Box<Broken>> {
        let mut sql = Prepared::new(conn);
        while let Some(jobs) = self.take(queue) {
            let clock = || self.shared.clock.now().at;
            match batch::run(&mut sql, &mut self.desk, jobs, clock) {
                End::Durable(jobs) => self.told(jobs),
                End::Told => {}
                End::Broken(broken) => return Some(broken),
            }
        }
        None
    }

    /// What is queued, without waiting for more.
    fn take(&mut self, queue: &mut Receiver<Box<dyn Job>>) -> Option<Jobs> {
        let first = self.first.take();
        let mut jobs = vec![first.or_else(|| queue.blocking_recv())?];
        while jobs.len() < self.options.batch_max {
            let Ok(job) = queue.try_recv() else { break };
            jobs.push(job);
        }
        Some(jobs)
    }

    /// Takes a durable batch over, then tells its callers.
    fn told(&mut self, jobs: Jobs) {
        let info = self.desk.info();
        let changed = self.shared.info() != info;
        if changed || self.desk.head.turns.saturating_sub(self.marked) >= MARK_TURNS {
            self.mark();
        }
        if changed {
            self.shared.set_info(info);
        }
        batch::acknowledge(jobs);
    }

    /// Writes the mark. One that cannot be written is behind, and a store with a mark that is behind is only ever
    /// taken for a copy, never a copy for the store.
    fn mark(&mut self) {
        if matches!(self.desk.stage, Stage::Held { .. }) {
            return;
        }
        let mark = Mark::of(&self.path, &self.desk.meta, &self.desk.head, &self.boot_id);
        match mark.and_then(|mark| mark.write(&self.path)) {
            Ok(()) => self.marked = self.desk.head.turns,
            Err(error) => tracing::warn!(%error, "the mark is behind"),
        }
    }

    /// Closes the store, opens it anew, and decides about the batch that was under way.
    fn recover(&mut self, conn: Connection, broken: Broken) -> Line {
        let cause = error::of(&broken.error);
        tracing::error!(error = %cause, "the store closes itself and reopens");
        drop(conn);
        match open::reopen(&self.path, &self.options) {
            Ok(conn) => {
                self.settle(&conn, broken, &cause);
                Ok(conn)
            }
            Err(why) => {
                let told = match broken.attempted {
                    Some(_) => StoreError::CommitUnknown(format!("{cause}; {why}")),
                    None if cause.passes() => cause,
                    None => StoreError::Closed(format!("{cause}; {why}")),
                };
                batch::refuse(broken.jobs, &told);
                Err(why)
            }
        }
    }

    /// A batch is one transaction: its number in the head, and its turns in their places, say whether it is durable.
    fn settle(&mut self, conn: &Connection, broken: Broken, cause: &StoreError) {
        let Broken { jobs, attempted, .. } = broken;
        let Some(desk) = attempted else { return batch::refuse(jobs, &passing(cause)) };
        match is_durable(conn, &desk, &jobs) {
            Ok(true) => {
                self.desk = desk;
                self.told(jobs);
            }
            Ok(false) => batch::refuse(jobs, &passing(cause)),
            Err(error) => batch::refuse(jobs, &StoreError::CommitUnknown(format!("{cause}; {error}"))),
        }
    }

    /// Somebody asks a closed store: it opens if what stood in the way has passed.
    fn knock(&mut self, why: StoreError, job: Box<dyn Job>) -> Line {
        if !why.passes() {
            job.refuse(closed(&why));
            return Err(why);
        }
        let line =
            open::reopen(&self.path, &self.options).and_then(|conn| self.catch_up(&conn).map(|()| conn));
        match line {
            Ok(conn) => {
                self.first = Some(job);
                Ok(conn)
            }
            Err(why) => {
                job.refuse(if why.passes() { why.clone() } else { closed(&why) });
                Err(why)
            }
        }
    }

    /// Reads the head again: a batch whose callers were told that its fate is unknown may be there.
    fn catch_up(&mut self, conn: &Connection) -> Result<(), StoreError> {
        self.desk = open::desk(conn, &self.desk).or_store()?;
        self.shared.set_info(self.desk.info());
        Ok(())
    }

    /// The end of an orderly life: everything durable is in the file itself, and the mark says so. A reader that stands
    /// in the way is waited for, but not for long.
    fn close(mut self, conn: Connection) {
        let waited = conn.busy_timeout(LAST_CHECKPOINT).or_store();
        if let Err(error) = waited.and_then(|()| open::checkpoint(&conn)) {
            tracing::debug!(%error, "the last checkpoint was not complete");
        }
        drop(conn);
        if self.marked != self.desk.head.turns {
            self.mark();
        }
    }
}

/// Nothing of the batch is durable, so the callers may come again; a damaged file does not mend by that.
fn passing(cause: &StoreError) -> StoreError {
    let stays = cause.passes() || matches!(cause, StoreError::Corrupt(_));
    if stays { cause.clone() } else { StoreError::Busy(format!("it was not committed: {cause}")) }
}

/// A store that stays closed, and why.
fn closed(why: &StoreError) -> StoreError {
    match why {
        StoreError::Closed(_) => why.clone(),
        other => StoreError::Closed(other.to_string()),
    }
}

fn is_durable(conn: &Connection, desk: &Desk, jobs: &Jobs) -> rusqlite::Result<bool> {
    let head = meta::head(conn)?;
    let turns = jobs.iter().filter(|job| job.took()).filter_map(|job| job.turn());
    let mut durable = head == desk.head;
    for (task, id) in turns {
        durable &= turn::exists(conn, task, id)?;
    }
    Ok(durable)
}

#[cfg(test)]
#[path = "writer/tests.rs"]
mod tests;
