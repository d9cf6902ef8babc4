//! The write verbs, each a check and then its writes.
//!
//! Invariant: a turn is checked against version and then generation before anything of it is written; the first writer
//! wins, and the other learns what it met. No rule of tasks lives here.

use super::batch::{Kind, Tx, Work};
use crate::{
    adopt, chain,
    error::Stop,
    sql::{
        self, artifact, checkpoint, operation, review, session,
        task::{self, Coordination, Left, Take},
        turn,
    },
};
use semel_kernel::{
    event::{Event, SCHEMA},
    hash::Hash,
    id::{SessionId, TaskId, TurnId},
    limit,
    limit::PROGRESS_MS,
    outcome::ArtifactRef,
    time::{Generation, Millis},
};
use semel_ports::{Artifact, Authority, Claim, CommitError, Created, Due, Receipt, StoreError, Turn};

/// A turn with its texts, made on the caller's side of the queue.
pub(crate) struct Encoded {
    turn: Turn,
    events: String,
    bodies: Vec<Hash>,
    checkpoint: Option<String>,
}

impl Encoded {
    /// Encodes a turn.
    ///
    /// # Errors
    /// [`StoreError::Limit`] when an event is too large.
    pub(crate) fn of(turn: Turn) -> Result<Self, StoreError> {
        if turn.events.is_empty() {
            return Err(StoreError::Limit("a turn has at least one event, this one has none".into()));
        }
        let events = turn.events.iter().map(text_of).collect::<Result<Vec<_>, _>>()?;
        let bodies = events.iter().map(|text| Hash::of(text.as_bytes())).collect();
        let body = turn.checkpoint.as_ref().map(serde_json::to_string).transpose();
        let checkpoint = body.map_err(|e| StoreError::Limit(e.to_string()))?;
        Ok(Self { events: chain::join(&events), bodies, checkpoint, turn })
    }
}

fn text_of(event: &Event) -> Result<String, StoreError> {
    let text = serde_json::to_string(event).map_err(|e| StoreError::Limit(e.to_string()))?;
    let (most, has) = (limit::EVENT_BYTES, text.len());
    if has > most {
        return Err(StoreError::Limit(format!("an event may have {most} bytes, this one has {has}")));
    }
    Ok(text)
}

/// Writes everything of a turn but the task's row.
fn write(tx: &mut Tx<'_, '_>, encoded: &Encoded, before: chain::Link) -> Result<chain::Link, Stop> {
    let turn = &encoded.turn;
    let seq = turn.base.saturating_add(1);
    let first = chain::Header { task: &turn.task, seq, at: turn.at, schema: SCHEMA };
    let link = chain::extend(before, &first, &encoded.bodies);
    turn::insert(tx.sql, turn, &encoded.events, &link)?;
    for row in &turn.projection.operations {
        operation::put(tx.sql, row)?;
    }
    for row in &turn.projection.reviews {
        review::put(tx.sql, row)?;
    }
    if let (Some(task), Some(body)) = (&turn.checkpoint, &encoded.checkpoint) {
        checkpoint::put(tx.sql, &turn.task, sql::int(task.version), body)?;
    }
    for body in &turn.artifacts {
        artifact::put(tx.sql, body)?;
    }
    let head = &mut tx.desk.head;
    head.turns = head.turns.saturating_add(1);
    (head.task, head.seq) = (turn.task.to_string(), sql::int(seq));
    head.turn = turn.turn.to_string();
    Ok(link)
}

/// Appends a turn.
pub(crate) struct Commit(pub(crate) Encoded);

impl Work for Commit {
    type Applied = ();
    type Answer = Receipt;

    fn kind(&self) -> Kind {
        Kind::Turn
    }

    fn apply(&mut self, tx: &mut Tx<'_, '_>) -> Result<(), Stop> {
        let turn = &self.0.turn;
        tx.desk.admits(turn)?;
        let Some(before) = task::coordination(tx.sql, &turn.task)? else {
            return Err(StoreError::NoTask(turn.task.clone()).into());
        };
        check(turn, &before)?;
        let chain = write(tx, &self.0, before.chain)?;
        let (session, due_at) = schedule(turn, &before, tx.now);
        let left = Left {
            generation: before.generation,
            session: session.as_deref(),
            due_at,
            progress_until: turn.progress_until(tx.now),
            progress: turn.progress,
            chain: &chain,
        };
        task::update(tx.sql, &turn.projection.task, &before, &left)?;
        adopt::note(tx, turn)
    }

    fn finish(self, (): ()) -> Receipt {
        Receipt::attest(&self.0.turn)
    }

    fn turn(&self) -> Option<(&TaskId, &TurnId)> {
        Some((&self.0.turn.task, &self.0.turn.turn))
    }
}

/// Reads a turn back. In the writer's queue, because only a store that has reopened whole says what is durable.
pub(crate) struct ReadBack(pub(crate) Turn);

impl Work for ReadBack {
    type Applied = bool;
    type Answer = Option<Receipt>;

    fn kind(&self) -> Kind {
        Kind::Other
    }

    fn apply(&mut self, tx: &mut Tx<'_, '_>) -> Result<bool, Stop> {
        Ok(turn::is_there(tx.sql, &self.0.task, &self.0.turn)?)
    }

    fn finish(self, found: bool) -> Option<Receipt> {
        found.then(|| Receipt::attest(&self.0))
    }
}

/// First the version, then the generation: a writer that is behind reads on before it learns that it was fenced.
fn check(turn: &Turn, before: &Coordination) -> Result<(), CommitError> {
    if turn.base != before.version {
        return Err(CommitError::Conflict { actual: before.version });
    }
    match turn.authority {
        Authority::Owner(generation) if generation != before.generation => {
            Err(CommitError::Fenced { current: before.generation })
        }
        Authority::Owner(_) | Authority::Anyone => Ok(()),
    }
}

/// Only an owner parks; whoever else writes can wake a task and never takes it from its owner.
fn schedule(turn: &Turn, before: &Coordination, now: Millis) -> (Option<String>, Option<i64>) {
    match (turn.due, &turn.authority) {
        (Due::Park(due), Authority::Owner(_)) => (None, due.map(|at| at.0)),
        (Due::Wake, _) | (Due::Park(_), Authority::Anyone) => {
            (before.session.clone(), Some(before.due_at.map_or(now.0, |due| due.min(now.0))))
        }
        (Due::Held, _) => (before.session.clone(), before.due_at),
    }
}

/// Creates a task.
pub(crate) struct Create {
    pub(crate) encoded: Encoded,
    pub(crate) digest: Hash,
}

impl Create {
    fn insert(&self, tx: &mut Tx<'_, '_>) -> Result<(), Stop> {
        let turn = &self.encoded.turn;
        let owner = turn.owner.as_ref().map(SessionId::as_str);
        let (session, due_at) = match turn.due {
            Due::Park(due) => (None, due.map(|at| at.0)),
            Due::Held | Due::Wake => (owner, Some(tx.now.0)),
        };
        let first = chain::Header { task: &turn.task, seq: 1, at: turn.at, schema: SCHEMA };
        let left = Left {
            generation: Generation { epoch: tx.desk.meta.epoch, counter: u64::from(owner.is_some()) },
            session,
            due_at,
            progress_until: turn.progress_until(tx.now),
            progress: turn.progress,
            chain: &chain::extend(chain::START, &first, &self.encoded.bodies),
        };
        task::insert(tx.sql, &turn.projection.task, &self.digest, &left)?;
        write(tx, &self.encoded, chain::START)?;
        Ok(())
    }
}

impl Work for Create {
    /// Who holds the client id or the task id, if somebody does.
    type Applied = Option<(TaskId, Hash)>;
    type Answer = Created;

    fn kind(&self) -> Kind {
        Kind::Submit
    }

    fn apply(&mut self, tx: &mut Tx<'_, '_>) -> Result<Self::Applied, Stop> {
        tx.desk.free()?;
        let row = &self.encoded.turn.projection.task;
        if let Some(found) = task::taken(tx.sql, row)? {
            return Ok(Some(found));
        }
        self.insert(tx)?;
        Ok(None)
    }

    fn finish(self, applied: Self::Applied) -> Created {
        match applied {
            Some((task, digest)) => Created::Exists { task, digest },
            None => Created::New(Receipt::attest(&self.encoded.turn)),
        }
    }
}

/// Takes due tasks, or one task.
pub(crate) struct TakeDue {
    pub(crate) session: SessionId,
    pub(crate) limit: u32,
}

fn take(tx: &mut Tx<'_, '_>, session: &SessionId, id: TaskId) -> Result<Claim, Stop> {
    let epoch = tx.desk.meta.epoch;
    let how = Take { session, epoch, now: tx.now, progress_until: tx.now.plus(PROGRESS_MS) };
    let (counter, claims) = task::take(tx.sql, &id, &how)?;
    Ok(Claim { task: id, generation: Generation { epoch, counter }, claims })
}

impl Work for TakeDue {
    type Applied = Vec<Claim>;
    type Answer = Vec<Claim>;

    fn kind(&self) -> Kind {
        Kind::Claim
    }

    fn apply(&mut self, tx: &mut Tx<'_, '_>) -> Result<Vec<Claim>, Stop> {
        tx.desk.free()?;
        if !session::lives(tx.sql, &self.session, tx.now)? {
            return Ok(Vec::new());
        }
        let due = task::due(tx.sql, tx.now, tx.now, self.limit)?;
        due.into_iter().map(|(_, id)| take(tx, &self.session, id)).collect()
    }

    fn finish(self, applied: Vec<Claim>) -> Vec<Claim> {
        applied
    }
}

/// Takes one task.
pub(crate) struct TakeOne {
    pub(crate) session: SessionId,
    pub(crate) task: TaskId,
}

impl Work for TakeOne {
    type Applied = Option<Claim>;
    type Answer = Option<Claim>;

    fn kind(&self) -> Kind {
        Kind::Claim
    }

    fn apply(&mut self, tx: &mut Tx<'_, '_>) -> Result<Option<Claim>, Stop> {
        tx.desk.free()?;
        let Some(free) = task::is_free(tx.sql, &self.task, tx.now)? else {
            return Err(StoreError::NoTask(self.task.clone()).into());
        };
        if !free || !session::lives(tx.sql, &self.session, tx.now)? {
            return Ok(None);
        }
        take(tx, &self.session, self.task.clone()).map(Some)
    }

    fn finish(self, applied: Option<Claim>) -> Option<Claim> {
        applied
    }
}

/// A write that answers with what it says in the transaction.
pub(crate) struct Plain<F>(pub(crate) F);

impl<T, F> Work for Plain<F>
where
    T: Send + 'static,
    F: FnMut(&mut Tx<'_, '_>) -> Result<T, Stop> + Send + 'static,
{
    type Applied = T;
    type Answer = T;

    fn kind(&self) -> Kind {
        Kind::Other
    }

    fn apply(&mut self, tx: &mut Tx<'_, '_>) -> Result<T, Stop> {
        (self.0)(tx)
    }

    fn finish(self, applied: T) -> T {
        applied
    }
}

/// Registers a session, or starts its lease again.
pub(crate) fn start_session(id: SessionId, lease_ms: i64) -> impl Work<Answer = ()> {
    Plain(move |tx: &mut Tx<'_, '_>| Ok(session::start(tx.sql, &id, tx.now.plus(lease_ms))?))
}

/// Extends a lease that has not expired.
pub(crate) fn renew_session(id: SessionId, lease_ms: i64) -> impl Work<Answer = bool> {
    Plain(move |tx: &mut Tx<'_, '_>| Ok(session::renew(tx.sql, &id, tx.now.plus(lease_ms), tx.now)?))
}

/// Ends a session.
pub(crate) fn end_session(id: SessionId) -> impl Work<Answer = ()> {
    Plain(move |tx: &mut Tx<'_, '_>| Ok(session::end(tx.sql, &id)?))
}

/// Gives a task back.
pub(crate) fn release(
    task: TaskId,
    generation: Generation,
    version: u64,
    due: Option<Millis>,
) -> impl Work<Answer = bool> {
    Plain(move |tx: &mut Tx<'_, '_>| Ok(task::release(tx.sql, &task, generation, (version, due, tx.now))?))
}

/// Keeps a body.
pub(crate) fn put_artifact(bytes: Vec<u8>) -> impl Work<Answer = ArtifactRef> {
    let artifact = Artifact::of(bytes);
    Plain(move |tx: &mut Tx<'_, '_>| {
        artifact::put(tx.sql, &artifact)?;
        Ok(artifact.reference())
    })
}
