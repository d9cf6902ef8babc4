//! Who acts: sessions, claims, releases.
//!
//! Invariant: a claim is the only thing that changes an owner, and it always makes a new generation.

use super::{Kept, State};
use crate::{error::StoreError, store::Claim};
use semel_kernel::limit::PROGRESS_MS;
use semel_kernel::{
    id::{SessionId, TaskId},
    time::{Generation, Millis},
};

impl State {
    pub(super) fn start_session(&mut self, session: &SessionId, lease_ms: i64) {
        self.sessions.insert(session.clone(), self.now.at.plus(lease_ms));
    }

    /// An expired lease is not renewed: its tasks may be owned by others.
    pub(super) fn renew_session(&mut self, session: &SessionId, lease_ms: i64) -> bool {
        let lives = self.lives(session);
        if lives {
            self.start_session(session, lease_ms);
        }
        lives
    }

    pub(super) fn lives(&self, session: &SessionId) -> bool {
        self.sessions.get(session).is_some_and(|until| self.now.at < *until)
    }

    /// A live session owns it.
    pub(super) fn is_owned(&self, kept: &Kept) -> bool {
        kept.session.as_ref().is_some_and(|s| self.lives(s))
    }

    /// Nobody owns it, or its owner makes no progress.
    fn is_free(&self, kept: &Kept) -> bool {
        !kept.row.phase.is_end() && (!self.is_owned(kept) || kept.progress_until <= self.now.at)
    }

    pub(super) fn claim(&mut self, session: &SessionId, limit: u32) -> Result<Vec<Claim>, StoreError> {
        self.adopted()?;
        if !self.lives(session) {
            return Ok(Vec::new());
        }
        let now = self.now.at;
        let mut due: Vec<(Millis, TaskId)> = self.dues().filter(|(at, _)| *at <= now).collect();
        due.sort();
        due.truncate(limit as usize);
        Ok(due.iter().filter_map(|(_, task)| self.take(session, task)).collect())
    }

    /// Due moments of all tasks that could be claimed at them.
    fn dues(&self) -> impl Iterator<Item = (Millis, TaskId)> {
        let free = self.tasks.iter().filter(|(_, kept)| self.is_free(kept));
        free.filter_map(|(id, kept)| Some((kept.due?, id.clone())))
    }

    pub(super) fn claim_task(
        &mut self,
        session: &SessionId,
        task: &TaskId,
    ) -> Result<Option<Claim>, StoreError> {
        self.adopted()?;
        let free = self.is_free(self.task(task)?);
        if !free || !self.lives(session) {
            return Ok(None);
        }
        Ok(self.take(session, task))
    }

    fn take(&mut self, session: &SessionId, task: &TaskId) -> Option<Claim> {
        let (now, epoch) = (self.now.at, self.epoch);
        let kept = self.tasks.get_mut(task)?;
        kept.generation = Generation { epoch, counter: kept.generation.counter.saturating_add(1) };
        kept.session = Some(session.clone());
        kept.due = Some(now);
        kept.progress_until = now.plus(PROGRESS_MS);
        kept.claims = kept.claims.saturating_add(1);
        Some(Claim { task: task.clone(), generation: kept.generation, claims: kept.claims })
    }

    /// Only the present owner gives back, and only once.
    pub(super) fn release(
        &mut self,
        task: &TaskId,
        generation: Generation,
        version: u64,
        due: Option<Millis>,
    ) -> bool {
        let now = self.now.at;
        let Some(kept) = self.tasks.get_mut(task) else { return false };
        let holds = kept.generation == generation && kept.session.is_some();
        if holds {
            kept.session = None;
            if due.is_none_or(|at| at > now) {
                kept.claims = 0;
            }
            kept.due = if kept.version() > version { Some(now) } else { due };
        }
        holds
    }

    pub(super) fn next_due(&self) -> Option<Millis> {
        self.dues().map(|(at, _)| at).min()
    }
}
