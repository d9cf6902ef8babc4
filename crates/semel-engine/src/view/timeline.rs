//! The history for people: one line for each event, and a text Gantt of the steps.
//!
//! Invariant: a line says what the event says and nothing that it does not prove; every kind of event has its line, by
//! an exhaustive match.

mod gantt;
pub(crate) mod text;

pub use gantt::{Gantt, Look, Row, Span, gantt};

use super::clock::utc;
use semel_kernel::{
    event::{Event, Recorded},
    id::{OperationId, StepName},
    time::Millis,
};
use serde::Serialize;
use std::fmt;

/// One event in a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Its number in the task.
    pub seq: u64,
    /// When it was recorded.
    pub at: Millis,
    /// Its name.
    pub kind: &'static str,
    /// The step that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<StepName>,
    /// What it says.
    pub text: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = self.step.as_ref().map_or("-", StepName::as_str);
        write!(f, "{:>4}  {}  {:<17}  {step:<12}  {}", self.seq, utc(self.at), self.kind, self.text)
    }
}

/// The event in a line.
#[must_use]
pub fn line(recorded: &Recorded) -> Line {
    Line {
        seq: recorded.seq,
        at: recorded.at,
        kind: kind(&recorded.event),
        step: step(&recorded.event),
        text: text::of(&recorded.event),
    }
}

/// The name of the event, as it is stored.
#[must_use]
pub const fn kind(event: &Event) -> &'static str {
    match event {
        Event::TaskCreated { .. } => "TaskCreated",
        Event::LeaseAcquired { .. } => "LeaseAcquired",
        Event::RecoveryStarted { .. } => "RecoveryStarted",
        Event::RecoveryFinished { .. } => "RecoveryFinished",
        Event::StepExpanded { .. } => "StepExpanded",
        Event::StepPlanned { .. } => "StepPlanned",
        Event::StepAttached { .. } => "StepAttached",
        Event::StepSkipped { .. } => "StepSkipped",
        Event::PrecheckAnswered { .. } => "PrecheckAnswered",
        Event::StepStarted { .. } => "StepStarted",
        Event::AttemptAnswered { .. } => "AttemptAnswered",
        Event::AttemptUnknown { .. } => "AttemptUnknown",
        Event::AttemptPending { .. } => "AttemptPending",
        Event::SentLate { .. } => "SentLate",
        Event::AccountSeen { .. } => "AccountSeen",
        Event::CostCounted { .. } => "CostCounted",
        Event::ProbeAnswered { .. } => "ProbeAnswered",
        Event::EvidenceAdded { .. } => "EvidenceAdded",
        Event::ArtifactCreated { .. } => "ArtifactCreated",
        Event::StepCommitted { .. } => "StepCommitted",
        Event::StepFailed { .. } => "StepFailed",
        Event::StepWrittenOff { .. } => "StepWrittenOff",
        Event::RetryScheduled { .. } => "RetryScheduled",
        Event::TimerSet { .. } => "TimerSet",
        Event::TimerFired { .. } => "TimerFired",
        Event::ReviewOpened { .. } => "ReviewOpened",
        Event::ReviewDecided { .. } => "ReviewDecided",
        Event::CancelRequested { .. } => "CancelRequested",
        Event::Paused { .. } => "Paused",
        Event::Resumed { .. } => "Resumed",
        Event::SnapshotAdopted { .. } => "SnapshotAdopted",
        Event::TaskCompleted { .. } => "TaskCompleted",
        Event::TaskFailed { .. } => "TaskFailed",
        Event::TaskCancelled { .. } => "TaskCancelled",
    }
}

fn step(event: &Event) -> Option<StepName> {
    match event {
        Event::StepExpanded { step, .. }
        | Event::StepPlanned { step, .. }
        | Event::StepAttached { step, .. }
        | Event::StepSkipped { step, .. }
        | Event::StepStarted { step, .. }
        | Event::StepCommitted { step, .. }
        | Event::StepFailed { step, .. }
        | Event::StepWrittenOff { step, .. }
        | Event::TimerSet { step, .. }
        | Event::TimerFired { step }
        | Event::TaskFailed { step, .. } => Some(step.clone()),
        Event::ReviewOpened { step, .. } => step.clone(),
        Event::PrecheckAnswered { op, .. }
        | Event::AttemptAnswered { op, .. }
        | Event::AttemptUnknown { op, .. }
        | Event::AttemptPending { op, .. }
        | Event::SentLate { op, .. }
        | Event::AccountSeen { op, .. }
        | Event::CostCounted { op, .. }
        | Event::ProbeAnswered { op, .. }
        | Event::EvidenceAdded { op, .. }
        | Event::RetryScheduled { op, .. } => step_of(op),
        Event::TaskCreated { .. }
        | Event::LeaseAcquired { .. }
        | Event::RecoveryStarted { .. }
        | Event::RecoveryFinished { .. }
        | Event::ArtifactCreated { .. }
        | Event::ReviewDecided { .. }
        | Event::CancelRequested { .. }
        | Event::Paused { .. }
        | Event::Resumed { .. }
        | Event::SnapshotAdopted { .. }
        | Event::TaskCompleted { .. }
        | Event::TaskCancelled { .. } => None,
    }
}

/// An operation id is `task/step/target@version`, and no step name holds a slash.
fn step_of(op: &OperationId) -> Option<StepName> {
    op.as_str().split('/').nth(1).and_then(|name| StepName::parse(name).ok())
}
