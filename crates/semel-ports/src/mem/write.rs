//! What is written: creations and turns.
//!
//! Invariant: everything is checked before anything is changed, so a refused turn leaves nothing: no event, no row, no
//! artifact.

use super::{Kept, State};
use crate::{
    error::{CommitError, StoreError},
    receipt::Receipt,
    store::{Created, Creation},
    turn::{Authority, Due, Turn},
};
use semel_kernel::{
    event::{Event, Recorded},
    id::{SessionId, TaskId},
    limit,
    time::{Generation, Millis},
};
use std::collections::{BTreeMap, BTreeSet};

impl State {
    pub(super) fn create(&mut self, creation: Creation) -> Result<Created, CommitError> {
        let Creation { turn, digest } = creation;
        if turn.owner.is_some() {
            self.adopted()?;
        }
        check_events(&turn.events)?;
        let row = &turn.projection.task;
        let client = (row.tenant.clone(), row.client_id.clone());
        if let Some(exists) = self.taken(self.clients.get(&client).unwrap_or(&turn.task)) {
            return Ok(exists);
        }
        let receipt = Receipt::attest(&turn);
        let (generation, session, due) = self.first_owner(&turn);
        let mut kept = Kept {
            digest,
            history: Vec::new(),
            turns: BTreeSet::new(),
            checkpoint: None,
            row: row.clone(),
            operations: BTreeMap::new(),
            reviews: Vec::new(),
            generation,
            session,
            due,
            progress_until: self.now.at,
            claims: 0,
        };
        let id = turn.task.clone();
        self.write(&mut kept, turn);
        self.clients.insert(client, id.clone());
        self.tasks.insert(id, kept);
        self.answer(receipt).map(Created::New)
    }

    fn taken(&self, id: &TaskId) -> Option<Created> {
        self.tasks.get(id).map(|kept| Created::Exists { task: id.clone(), digest: kept.digest })
    }

    /// A creation is owned from its first turn on when it names an owner and does not park the task.
    fn first_owner(&self, turn: &Turn) -> (Generation, Option<SessionId>, Option<Millis>) {
        let counter = u64::from(turn.owner.is_some());
        let generation = Generation { epoch: self.epoch, counter };
        match turn.due {
            Due::Park(due) => (generation, None, due),
            Due::Held | Due::Wake => (generation, turn.owner.clone(), Some(self.now.at)),
        }
    }

    pub(super) fn commit(&mut self, turn: Turn) -> Result<Receipt, CommitError> {
        if matches!(turn.authority, Authority::Owner(_)) {
            self.adopted()?;
        }
        check_events(&turn.events)?;
        check_right(self.task(&turn.task)?, &turn)?;
        let Some(mut kept) = self.tasks.remove(&turn.task) else {
            return Err(StoreError::NoTask(turn.task).into());
        };
        let (id, receipt) = (turn.task.clone(), Receipt::attest(&turn));
        self.schedule(&mut kept, &turn);
        self.write(&mut kept, turn);
        self.tasks.insert(id, kept);
        self.answer(receipt)
    }

    /// Only an owner parks; whoever else writes can wake a task and never takes it from its owner.
    fn schedule(&self, kept: &mut Kept, turn: &Turn) {
        let now = self.now.at;
        match (turn.due, &turn.authority) {
            (Due::Park(due), Authority::Owner(_)) => {
                kept.session = None;
                kept.due = due;
            }
            (Due::Wake, _) | (Due::Park(_), Authority::Anyone) => {
                kept.due = Some(kept.due.map_or(now, |due| due.min(now)));
            }
            (Due::Held, _) => {}
        }
    }

    fn write(&mut self, kept: &mut Kept, turn: Turn) {
        let progress_until = turn.progress_until(self.now.at);
        let Turn { turn: id, at, events, projection, checkpoint, artifacts, progress, .. } = turn;
        for event in events {
            kept.history.push(Recorded { seq: kept.version().saturating_add(1), at, event });
        }
        kept.turns.insert(id);
        kept.row = projection.task;
        kept.operations.extend(projection.operations.into_iter().map(|row| (row.id.clone(), row)));
        kept.reviews = projection.reviews;
        kept.checkpoint = checkpoint.or_else(|| kept.checkpoint.take());
        if progress {
            kept.claims = 0;
        }
        kept.progress_until = kept.progress_until.max(progress_until);
        self.artifacts.extend(artifacts.into_iter().map(|a| (a.hash, a.bytes)));
    }

    /// The answer, unless a test has ordered that it is lost.
    fn answer(&mut self, receipt: Receipt) -> Result<Receipt, CommitError> {
        if std::mem::take(&mut self.lose_next_answer) {
            let what = format!("the answer to turn {} was lost", receipt.turn());
            return Err(StoreError::CommitUnknown(what).into());
        }
        Ok(receipt)
    }
}

/// First the version, then the generation: a writer that is behind reads on before it learns that it was fenced.
fn check_right(kept: &Kept, turn: &Turn) -> Result<(), CommitError> {
    if kept.version() != turn.base {
        return Err(CommitError::Conflict { actual: kept.version() });
    }
    match &turn.authority {
        Authority::Owner(generation) if *generation != kept.generation => {
            Err(CommitError::Fenced { current: kept.generation })
        }
        Authority::Owner(_) | Authority::Anyone => Ok(()),
    }
}

fn check_events(events: &[Event]) -> Result<(), StoreError> {
    events.iter().try_for_each(check_size)
}

fn check_size(event: &Event) -> Result<(), StoreError> {
    let text = serde_json::to_string(event).map_err(|e| StoreError::Corrupt(e.to_string()))?;
    if text.len() <= limit::EVENT_BYTES {
        return Ok(());
    }
    let most = limit::EVENT_BYTES;
    Err(StoreError::Limit(format!("an event may have {most} bytes, this one has {}", text.len())))
}
