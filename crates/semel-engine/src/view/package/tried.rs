//! What was already tried about an operation: requests, look-ups and facts, with their raw answers.

use crate::view::timeline::text::{finding_words, outcome_words, source_words};
use semel_kernel::{
    event::{Event, Recorded},
    id::OperationId,
    json::Json,
    time::Millis,
};
use serde::Serialize;

/// One thing that was tried, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// When it was recorded.
    pub at: Millis,
    /// The operation.
    pub operation: OperationId,
    /// What was done.
    pub what: String,
    /// What came of it.
    pub result: String,
    /// The raw answer, redacted and cut; `null` where nothing came.
    pub shown: Json,
}

/// Everything that was tried about one operation, or about all of them.
pub(super) fn of(history: &[Recorded], only: Option<&OperationId>) -> Vec<Tried> {
    let about = |t: &Tried| only.is_none_or(|op| *op == t.operation);
    history.iter().filter_map(one).filter(about).collect()
}

fn one(recorded: &Recorded) -> Option<Tried> {
    let (operation, what, result, shown) = match &recorded.event {
        Event::PrecheckAnswered { op, finding, shown, .. } => {
            (op, "look before the first send".to_owned(), finding_words(finding), shown)
        }
        Event::AttemptAnswered { op, attempt, outcome, shown }
        | Event::AttemptUnknown { op, attempt, outcome, shown }
        | Event::AttemptPending { op, attempt, outcome, shown } => {
            (op, format!("attempt {attempt}"), outcome_words(outcome), shown)
        }
        Event::ProbeAnswered { op, asked_at, finding, settled, shown, .. } => {
            let sent = crate::view::clock::utc(*asked_at);
            let place = if *settled { "after" } else { "before" };
            let what = format!("look-up sent at {sent}, {place} the settled moment");
            (op, what, finding_words(finding), shown)
        }
        Event::EvidenceAdded { op, source, outcome, shown, .. } => {
            (op, source_words(source), outcome_words(outcome), shown)
        }
        Event::TaskCreated { .. }
        | Event::LeaseAcquired { .. }
        | Event::RecoveryStarted { .. }
        | Event::RecoveryFinished { .. }
        | Event::StepExpanded { .. }
        | Event::StepPlanned { .. }
        | Event::StepAttached { .. }
        | Event::StepSkipped { .. }
        | Event::StepStarted { .. }
        | Event::SentLate { .. }
        | Event::AccountSeen { .. }
        | Event::CostCounted { .. }
        | Event::ArtifactCreated { .. }
        | Event::StepCommitted { .. }
        | Event::StepFailed { .. }
        | Event::StepWrittenOff { .. }
        | Event::RetryScheduled { .. }
        | Event::TimerSet { .. }
        | Event::TimerFired { .. }
        | Event::ReviewOpened { .. }
        | Event::ReviewDecided { .. }
        | Event::CancelRequested { .. }
        | Event::Paused { .. }
        | Event::Resumed { .. }
        | Event::SnapshotAdopted { .. }
        | Event::TaskCompleted { .. }
        | Event::TaskFailed { .. }
        | Event::TaskCancelled { .. } => return None,
    };
    Some(Tried { at: recorded.at, operation: operation.clone(), what, result, shown: shown.clone() })
}
