//! One line of a run as it goes: when, which step, what became of it, and how we know.

use crate::ui::{self, Ui, time};
use semel_engine::view::timeline;
use semel_kernel::{
    event::{Event, Recorded},
    id::SessionId,
};

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
        Event::AccountSeen { .. } => "ACCOUNT",
        Event::CostCounted { .. } => "COST",
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

/// How many events of a history were there before this session took the task up; none for a task that no other had.
pub(super) fn before(history: &[Recorded], session: &SessionId) -> usize {
    let mut leases = history.iter().enumerate().filter_map(|(at, recorded)| match &recorded.event {
        Event::LeaseAcquired { session, .. } => Some((at, session)),
        _ => None,
    });
    match leases.next() {
        None => 0,
        Some((_, first)) if first == session => 0,
        Some(_) => leases.find(|(_, owner)| *owner == session).map_or(history.len(), |(at, _)| at),
    }
}

/// Says it on stderr, unless JSON is asked for.
pub(crate) fn print(recorded: &Recorded, ui: Ui) {
    let Some(word) = word(&recorded.event).filter(|_| !ui.json) else { return };
    let line = timeline::line(recorded);
    let step = line.step.as_ref().map_or("·", |s| s.as_str());
    let word = ui::state(&format!("{word:<9}"));
    ui.say(&format!("  {}  {step:<14} {word}  {}", time::clock(line.at), line.text));
}

#[cfg(test)]
mod tests {
    use super::*;
    use semel_kernel::time::{Generation, Millis};

    fn history(sessions: &[&str]) -> Vec<Recorded> {
        let event = |name: &&str| match *name {
            "-" => Event::Resumed { actor: "ann".into() },
            name => Event::LeaseAcquired {
                session: SessionId::parse(name).expect("an id"),
                generation: Generation::default(),
            },
        };
        sessions.iter().map(|s| Recorded { seq: 1, at: Millis(0), event: event(s) }).collect()
    }

    #[test]
    fn only_what_others_did_before_us_is_earlier() {
        let us = SessionId::parse("us").expect("an id");
        let before = |sessions: &[&str]| before(&history(sessions), &us);
        assert_eq!(before(&["-", "us", "-"]), 0);
        assert_eq!(before(&["-"]), 0);
        assert_eq!(before(&["-", "them", "-", "us", "-"]), 3);
        assert_eq!(before(&["-", "them", "-"]), 3);
    }
}
