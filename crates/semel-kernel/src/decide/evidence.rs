//! Evidence: a fact from elsewhere. It is kept whatever the state of the task, even after its end, and it can settle
//! what is unknown; where it contradicts the record it opens a review and counts as a suspected duplicate.

use super::Draft;
use crate::{
    event::Event,
    id::OperationId,
    input::Ctx,
    json::Json,
    operation::{AttemptState, Judgement, Operation},
    outcome::{Outcome, Source},
    reject::Reject,
    step::StepState,
};

impl Draft {
    pub(super) fn evidence(
        &mut self,
        op: &OperationId,
        source: Source,
        attempt: Option<u32>,
        outcome: Outcome,
        shown: Json,
        ctx: Ctx,
    ) -> Result<(), Reject> {
        let found = self.operation(op)?;
        let contradicts = self.contradicts(found, attempt, &outcome);
        let op = op.clone();
        self.record(Event::EvidenceAdded { op, source, attempt, outcome, shown, contradicts }, ctx)
    }

    /// *Applied*, for what the record holds for not applied; or a second effect beside a proven one.
    fn contradicts(&self, op: &Operation, attempt: Option<u32>, outcome: &Outcome) -> bool {
        if matches!(outcome, Outcome::Contradiction { .. }) {
            return true;
        }
        if !matches!(outcome, Outcome::Applied { .. }) {
            return false;
        }
        let failed = self.task.steps.get(&op.step).is_some_and(|s| s.state == StepState::Failed);
        let disproved = attempt
            .and_then(|n| op.attempt(n))
            .is_some_and(|a| matches!(a.state, AttemptState::NotApplied { sent: true, .. }));
        failed || (disproved && !matches!(op.judge(), Judgement::NotApplied { .. }))
    }
}
