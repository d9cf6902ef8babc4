//! Claim: a session takes the task. What an older generation left open becomes unknown and is reconciled; it is never
//! taken for failed, and never begun again unseen.

use super::Draft;
use crate::{
    event::Event,
    id::{SessionId, StepName},
    input::Ctx,
    operation::{Judgement, Operation},
    reject::Reject,
    review::ReviewCause,
    step::Step,
    time::Generation,
};
use alloc::{format, vec::Vec};

impl Draft {
    pub(super) fn claimed(
        &mut self,
        session: SessionId,
        generation: Generation,
        ctx: Ctx,
    ) -> Result<(), Reject> {
        if generation <= self.task.generation {
            let held = self.task.generation;
            return Err(Reject::Illegal(format!("generation {generation} does not follow {held}")));
        }
        self.record(Event::LeaseAcquired { session, generation }, ctx)?;
        let open: Vec<StepName> = self.open_steps();
        if open.is_empty() || self.task.recovery.is_some() || !self.left_behind() {
            return Ok(());
        }
        self.record(Event::RecoveryStarted { generation, open }, ctx)
    }

    /// An attempt of an older generation was never ended: its owner died. What was recorded as UNKNOWN before that is
    /// reconciled all the same, and opens no recovery of its own.
    fn left_behind(&self) -> bool {
        self.unsettled().any(|o| o.judge() == Judgement::InFlight)
    }

    fn open_steps(&self) -> Vec<StepName> {
        let open = |j| matches!(j, Judgement::InFlight | Judgement::Pending | Judgement::Unknown);
        self.unsettled().filter(|o| open(o.judge())).map(|o| o.step.clone()).collect()
    }

    /// What a person has written off while it was under way is nobody's to recover.
    fn unsettled(&self) -> impl Iterator<Item = &Operation> {
        let settled = |o: &Operation| self.task.steps.get(&o.step).is_some_and(Step::is_settled);
        self.task.operations.values().filter(move |o| !settled(o))
    }

    pub(super) fn need_person(&mut self, cause: ReviewCause, ctx: Ctx) -> Result<(), Reject> {
        self.not_ended()?;
        self.open_review(None, cause, ctx)
    }
}
