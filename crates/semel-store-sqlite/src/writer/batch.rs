//! One batch: what is queued becomes one transaction and one sync.
//!
//! Invariant: nobody is told of a success before COMMIT has returned OK, and nobody is told *nothing was changed*
//! while that is not known. A refused request writes nothing, so it does not spoil the others.

use crate::{
    adopt::Desk,
    crash,
    error::{self, Class, Stop},
    sql::{meta, prepared::Prepared},
};
use rusqlite::{Error, ErrorCode};
use semel_kernel::{
    id::{TaskId, TurnId},
    time::Millis,
};
use semel_ports::{CommitError, StoreError};
use tokio::sync::oneshot;

/// What a piece of work is given.
pub(crate) struct Tx<'t, 'c> {
    pub(crate) sql: &'t mut Prepared<'c>,
    pub(crate) now: Millis,
    pub(crate) desk: &'t mut Desk,
}

/// For the crash points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Turn,
    Submit,
    Claim,
    Other,
}

/// A request to the writer. It may be applied again after a rollback.
pub(crate) trait Work: Send + 'static {
    /// What the transaction says.
    type Applied: Send;
    /// What the caller is told once that is durable.
    type Answer: Send + 'static;

    fn kind(&self) -> Kind;

    /// Checks, then writes; a refusal comes before the first write.
    fn apply(&mut self, tx: &mut Tx<'_, '_>) -> Result<Self::Applied, Stop>;

    /// Called after the commit alone.
    fn finish(self, applied: Self::Applied) -> Self::Answer;

    /// The turn that it appends.
    fn turn(&self) -> Option<(&TaskId, &TurnId)> {
        None
    }
}

/// Where a caller waits.
pub(crate) type Reply<T> = oneshot::Receiver<Result<T, CommitError>>;

/// A request with somebody who waits for the answer.
pub(crate) struct Queued<W: Work> {
    work: W,
    applied: Option<Result<W::Applied, CommitError>>,
    reply: oneshot::Sender<Result<W::Answer, CommitError>>,
}

impl<W: Work> Queued<W> {
    pub(crate) fn with(work: W) -> (Self, Reply<W::Answer>) {
        let (reply, answer) = oneshot::channel();
        (Self { work, applied: None, reply }, answer)
    }
}

/// A [`Queued`] of any kind.
pub(crate) trait Job: Send {
    fn kind(&self) -> Kind;
    fn turn(&self) -> Option<(&TaskId, &TurnId)>;
    /// Whether it was applied, not refused.
    fn took(&self) -> bool;
    fn apply(&mut self, tx: &mut Tx<'_, '_>) -> Result<(), Error>;
    fn acknowledge(self: Box<Self>);
    fn refuse(self: Box<Self>, error: StoreError);
}

impl<W: Work> Job for Queued<W> {
    fn kind(&self) -> Kind {
        self.work.kind()
    }

    fn turn(&self) -> Option<(&TaskId, &TurnId)> {
        self.work.turn()
    }

    fn took(&self) -> bool {
        matches!(self.applied, Some(Ok(_)))
    }

    fn apply(&mut self, tx: &mut Tx<'_, '_>) -> Result<(), Error> {
        self.applied = Some(match self.work.apply(tx) {
            Ok(applied) => Ok(applied),
            Err(Stop::Refused(why)) => Err(why),
            Err(Stop::Failed(error)) => return Err(error),
        });
        Ok(())
    }

    fn acknowledge(self: Box<Self>) {
        let Self { work, applied, reply } = *self;
        let unknown = || Err(StoreError::CommitUnknown("the writer lost the request".into()).into());
        let answer = match applied {
            Some(applied) => applied.map(|applied| work.finish(applied)),
            None => unknown(),
        };
        // A caller that no longer waits looks its turn up.
        drop(reply.send(answer));
    }

    fn refuse(self: Box<Self>, error: StoreError) {
        drop(self.reply.send(Err(error.into())));
    }
}

pub(crate) type Jobs = Vec<Box<dyn Job>>;

pub(crate) fn acknowledge(jobs: Jobs) {
    jobs.into_iter().for_each(|job| job.acknowledge());
}

pub(crate) fn refuse(jobs: Jobs, error: &StoreError) {
    jobs.into_iter().for_each(|job| job.refuse(error.clone()));
}

/// How a batch ended.
pub(crate) enum End {
    /// It is durable; nobody has been told yet.
    Durable(Jobs),
    /// Everybody has been told.
    Told,
    /// The connection is not to be trusted any more; nobody has been told.
    Broken(Box<Broken>),
}

/// A batch whose fate the reopened store decides.
pub(crate) struct Broken {
    pub(crate) jobs: Jobs,
    pub(crate) error: Error,
    /// COMMIT was called, so the batch may be durable; the desk as it is then.
    pub(crate) attempted: Option<Desk>,
}

fn broken(jobs: Jobs, error: Error, attempted: Option<Desk>) -> End {
    End::Broken(Box::new(Broken { jobs, error, attempted }))
}

/// Runs a batch up to its COMMIT. Its time is read when the write lock is held: what was waited for the lock has passed
/// for leases and due moments too.
pub(crate) fn run(
    sql: &mut Prepared<'_>,
    desk: &mut Desk,
    mut jobs: Jobs,
    clock: impl Fn() -> Millis,
) -> End {
    while !jobs.is_empty() {
        if let Err(error) = sql.run("BEGIN IMMEDIATE", []) {
            refuse(jobs, &error::of(&error));
            return End::Told;
        }
        let now = clock();
        let before = sql.conn.total_changes();
        let mut draft = desk.clone();
        match fill(sql, &mut draft, &mut jobs, now) {
            Ok(()) if sql.conn.total_changes() == before => return discard(sql, jobs),
            Ok(()) => return commit(sql, desk, draft, jobs, now),
            Err((at, error)) => match roll_back(sql, &error) {
                Class::Own => jobs.remove(at).refuse(error::of(&error)),
                Class::Passes => {
                    refuse(jobs, &error::of(&error));
                    return End::Told;
                }
                Class::Broken => return broken(jobs, error, None),
            },
        }
    }
    End::Told
}

fn fill(sql: &mut Prepared<'_>, desk: &mut Desk, jobs: &mut Jobs, now: Millis) -> Result<(), (usize, Error)> {
    for (at, job) in jobs.iter_mut().enumerate() {
        job.apply(&mut Tx { sql: &mut *sql, now, desk: &mut *desk }).map_err(|error| (at, error))?;
    }
    Ok(())
}

/// Rolls back after an error. A transaction that is gone already, or does not go, leaves the connection broken.
fn roll_back(sql: &mut Prepared<'_>, error: &Error) -> Class {
    if sql.conn.is_autocommit() {
        return Class::Broken;
    }
    match sql.run("ROLLBACK", []) {
        Ok(_) => error::class(error),
        Err(_) => Class::Broken,
    }
}

/// Nothing was written: refusals, and claims that found nothing, cost no sync.
fn discard(sql: &mut Prepared<'_>, jobs: Jobs) -> End {
    match sql.run("ROLLBACK", []) {
        Ok(_) => End::Durable(jobs),
        Err(error) => broken(jobs, error, None),
    }
}

fn commit(sql: &mut Prepared<'_>, desk: &mut Desk, mut draft: Desk, jobs: Jobs, now: Millis) -> End {
    draft.head.batch = draft.head.batch.saturating_add(1);
    draft.head.at = draft.head.at.max(now.0);
    if let Err(error) = meta::write_head(sql, &draft.head) {
        return match roll_back(sql, &error) {
            Class::Passes => {
                refuse(jobs, &error::of(&error));
                End::Told
            }
            Class::Own | Class::Broken => broken(jobs, error, None),
        };
    }
    points(&jobs, "submit.before_commit", "claim.before_commit", "turn.before_commit");
    match sql.run("COMMIT", []) {
        Ok(_) => {
            *desk = draft;
            points(&jobs, "submit.after_commit", "claim.after_commit", "turn.after_commit");
            End::Durable(jobs)
        }
        Err(error) if is_busy(&error) && roll_back(sql, &error) == Class::Passes => {
            refuse(jobs, &error::of(&error));
            End::Told
        }
        Err(error) => broken(jobs, error, Some(draft)),
    }
}

fn is_busy(error: &Error) -> bool {
    matches!(error, Error::SqliteFailure(cause, _) if cause.code == ErrorCode::DatabaseBusy)
}

fn points(jobs: &Jobs, submit: &'static str, claim: &'static str, turn: &'static str) {
    for (kind, name) in [(Kind::Submit, submit), (Kind::Claim, claim), (Kind::Turn, turn)] {
        if jobs.iter().any(|job| job.kind() == kind && job.took()) {
            crash::point(name);
        }
    }
}
