//! Probe: the target was asked. *Absent* is proof only if the question left after the settled moment; the moment at
//! which the answer came does not matter.

use super::Draft;
use crate::{
    event::Event,
    id::OperationId,
    input::Ctx,
    json::Json,
    operation::{Judgement, Operation},
    outcome::{Finding, Look},
    reject::Reject,
    terms::Terms,
    time::Millis,
};
use alloc::format;

impl Draft {
    pub(super) fn probed(
        &mut self,
        op: &OperationId,
        asked_at: Millis,
        (finding, confirm): (Finding, Option<Finding>),
        shown: Json,
        ctx: Ctx,
    ) -> Result<(), Reject> {
        let found = self.operation(op)?;
        let settled = is_proof(found, self.terms_of(op)?, asked_at, ctx);
        let finding = confirm.iter().fold(finding, |first, second| first.confirmed_by(second, settled));
        let op = op.clone();
        self.record(Event::ProbeAnswered { op, asked_at, finding, confirm, settled, shown }, ctx)
    }

    pub(super) fn prechecked(
        &mut self,
        op: &OperationId,
        finding: Finding,
        look: Look,
        shown: Json,
        ctx: Ctx,
    ) -> Result<(), Reject> {
        self.not_ended()?;
        let judged = self.operation(op)?.judge();
        if !matches!(judged, Judgement::Unsent | Judgement::NotApplied { retryable: true }) {
            return Err(Reject::Illegal(format!("`{op}` was sent before its state was looked at")));
        }
        let op = op.clone();
        let Look { holds, answered, refusal, tag } = look;
        self.record(Event::PrecheckAnswered { op, finding, holds, answered, refusal, tag, shown }, ctx)
    }
}

/// Asked after the settled moment, under the account of the first request, with nothing of ours in flight.
fn is_proof(op: &Operation, terms: &Terms, asked_at: Millis, ctx: Ctx) -> bool {
    op.judge() != Judgement::InFlight && !op.has_moved() && asked_at >= op.settled_at(terms, ctx.now)
}
