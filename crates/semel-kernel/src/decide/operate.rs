//! What an operator asks of a whole task: cancel, pause, resume, adopt. Asking twice changes nothing.

use super::Draft;
use crate::{event::Event, input::Ctx, reject::Reject, time::Millis};
use alloc::{format, string::String};

impl Draft {
    pub(super) fn cancel(&mut self, actor: String, reason: String, ctx: Ctx) -> Result<(), Reject> {
        self.not_ended()?;
        if self.task.cancelling.is_some() {
            return Ok(());
        }
        self.record(Event::CancelRequested { actor, reason }, ctx)
    }

    pub(super) fn pause(&mut self, actor: String, reason: String, ctx: Ctx) -> Result<(), Reject> {
        self.not_ended()?;
        if self.task.paused.is_some() {
            return Ok(());
        }
        self.record(Event::Paused { actor, reason }, ctx)
    }

    pub(super) fn resume(&mut self, actor: String, ctx: Ctx) -> Result<(), Reject> {
        self.not_ended()?;
        if self.task.paused.is_none() {
            return Ok(());
        }
        self.record(Event::Resumed { actor }, ctx)
    }

    /// A restored or copied store: everything that is not settled may have been sent by the original.
    pub(super) fn adopt(
        &mut self,
        epoch: u32,
        copied_at: Millis,
        actor: String,
        ctx: Ctx,
    ) -> Result<(), Reject> {
        if self.task.end.is_some() {
            return Ok(());
        }
        if epoch <= self.task.generation.epoch {
            return Err(Reject::Illegal(format!("epoch {epoch} is not new")));
        }
        self.record(Event::SnapshotAdopted { epoch, copied_at, actor }, ctx)
    }
}
