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
        late_ms: i64,
        ctx: Ctx,
    ) -> Result<(), Reject> {
        let found = self.operation(op)?.attempt(attempt);
        let found = found.ok_or_else(|| Reject::Illegal(format!("`{op}` has no attempt {attempt}")))?;
        if found.state != AttemptState::Open {
            // Its owner was fenced or had given up; what it heard is evidence and is read before anybody is asked.
            return self.evidence(op, Source::LateAnswer, Some(attempt), outcome, shown, ctx);
        }
        if late_ms > 0 {
            self.record(Event::SentLate { op: op.clone(), attempt, late_ms }, ctx)?;
        }
        let op = op.clone();
        let event = match &outcome {
            Outcome::Applied { .. } | Outcome::NotApplied { .. } | Outcome::Contradiction { .. } => {
                Event::AttemptAnswered { op, attempt, outcome, shown }
            }
            Outcome::Pending { .. } => Event::AttemptPending { op, attempt, outcome, shown },
            Outcome::Unknown { .. } => Event::AttemptUnknown { op, attempt, outcome, shown },
        };
        self.record(event, ctx)
    }
}
