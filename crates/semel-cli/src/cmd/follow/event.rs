//! One line of a run as it goes: when, which step, what became of it, and how we know.

use crate::ui::{self, Ui, time};
use semel_engine::view::timeline;
use semel_kernel::event::{Event, Recorded};

/// The word for an event that a follower wants to see; book-keeping has none.
const fn word(event: &Event) -> Option<&'static str> {
    Some(match event {
        Event::TaskCreated { .. }
        | Event::LeaseAcquired { .. }
        | Event::StepPlanned { .. }
        | Event::ArtifactCreated { .. } => return None,
        Event::RecoveryStarted { .. } => "RECOVERY",
        Event::RecoveryFinished { .. } => "RECOVERED",
        Event::StepExpanded { .. } => "ITEMS",
        Event::StepAttached { .. } => "ATTACHED",
        Event::StepSkipped { .. } => "SKIPPED",
        Event::PrecheckAnswered { .. } | Event::ProbeAnswered { .. } => "LOOKED UP",
        Event::StepStarted { .. } => "STARTED",
        Event::AttemptAnswered { .. } => "ANSWERED",
        Event::AttemptUnknown { .. } => "UNKNOWN",
        Event::AttemptPending { .. } => "PENDING",
        Event::SentLate { .. } => "SENT LATE",
        Event::EvidenceAdded { .. } => "EVIDENCE",
        Event::StepCommitted { .. } | Event::TimerFired { .. } => "COMMITTED",
        Event::StepFailed { .. } => "FAILED",
        Event::StepWrittenOff { .. } => "WRITTEN OFF",
        Event::RetryScheduled { .. } => "WAITS",
        Event::TimerSet { .. } => "SLEEPS",
        Event::ReviewOpened { .. } => "ASKS",
        Event::ReviewDecided { .. } => "DECIDED",
        Event::CancelRequested { .. } => "CANCEL",
        Event::Paused { .. } => "PAUSED",
        Event::Resumed { .. } => "RESUMED",
        Event::SnapshotAdopted { .. } => "ADOPTED",
        Event::TaskCompleted { .. } => "COMPLETED",
        Event::TaskFailed { .. } => "FAILED",
        Event::TaskCancelled { .. } => "CANCELLED",
    })
}

/// Says it on stderr, unless JSON is asked for.
pub(crate) fn print(recorded: &Recorded, ui: Ui) {
    let Some(word) = word(&recorded.event).filter(|_| !ui.json) else { return };
    let line = timeline::line(recorded);
    let step = line.step.as_ref().map_or("·", |s| s.as_str());
    let word = ui::state(&format!("{word:<9}"));
    ui.say(&format!("  {}  {step:<14} {word}  {}", time::clock(line.at), line.text));
}
