//! Answer: an attempt ended. It is judged singly; what it means for the operation is judged over all attempts.

use super::Draft;
use crate::{
    event::Event,
    id::OperationId,
    input::Ctx,
    json::Json,
    operation::AttemptState,
    outcome::{Outcome, Source},
    reject::Reject,
};
use alloc::format;

impl Draft {
    pub(super) fn answered(
        &mut self,
        op: &OperationId,
        attempt: u32,
        outcome: Outcome,
        shown: Json,
        (late_ms, cost): (i64, i64),
        ctx: Ctx,
    ) -> Result<(), Reject> {
        let found = self.operation(op)?.attempt(attempt);
        let found = found.ok_or_else(|| Reject::Illegal(format!("`{op}` has no attempt {attempt}")))?;
        let is_open = found.state == AttemptState::Open;
        if late_ms > 0 {
            self.record(Event::SentLate { op: op.clone(), attempt, late_ms }, ctx)?;
        }
        if cost > 0 {
            self.record(Event::CostCounted { op: op.clone(), attempt, cost }, ctx)?;
        }
        if !is_open {
            // Its owner was fenced or had given up; what it heard is evidence and is read before anybody is asked.
            return self.evidence(op, Source::LateAnswer, Some(attempt), outcome, shown, ctx);
        }
        let answer = ended(op.clone(), attempt, outcome.clone(), shown.clone());
        if !self.is_disputed(op, attempt, &outcome)? {
            return self.record(answer, ctx);
        }
        self.record(answer, ctx)?;
        self.dispute(op, attempt, outcome, shown, ctx)
    }

    /// Somebody else, a person for one, was believed while the attempt was under way, and the target says otherwise.
    fn is_disputed(&self, op: &OperationId, attempt: u32, outcome: &Outcome) -> Result<bool, Reject> {
        // The fold of such an answer opens the contradiction by itself.
        let says_so = matches!(outcome, Outcome::Contradiction { .. });
        let op = self.operation(op)?;
        Ok(!says_so && self.contradicts(op, &Source::LateAnswer, Some(attempt), outcome))
    }
}

/// The event that ends an attempt.
fn ended(op: OperationId, attempt: u32, outcome: Outcome, shown: Json) -> Event {
    match &outcome {
        Outcome::Applied { .. } | Outcome::NotApplied { .. } | Outcome::Contradiction { .. } => {
            Event::AttemptAnswered { op, attempt, outcome, shown }
        }
        Outcome::Pending { .. } => Event::AttemptPending { op, attempt, outcome, shown },
        Outcome::Unknown { .. } => Event::AttemptUnknown { op, attempt, outcome, shown },
    }
}
