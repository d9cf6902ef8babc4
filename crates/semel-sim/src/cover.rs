//! Coverage: what a batch of runs has met. A batch that has not met everything that it should proves less than it says,
//! and fails.

use semel_kernel::{event::Event, id::StepName, step::StepState, task::Task};
use std::collections::BTreeMap;

/// Marks, and how often each was met.
#[derive(Clone, Debug, Default)]
pub struct Cover(BTreeMap<String, u64>);

impl Cover {
    /// Something was met.
    pub fn mark(&mut self, what: &str) {
        match self.0.get_mut(what) {
            Some(n) => *n += 1,
            None => drop(self.0.insert(what.to_owned(), 1)),
        }
    }

    /// States of steps changed.
    pub(crate) fn steps(&mut self, before: &BTreeMap<StepName, StepState>, after: &Task) {
        for (name, step) in &after.steps {
            let from = before.get(name).copied().unwrap_or(StepState::Planned);
            if from != step.state {
                self.mark(&format!("step: {} → {}", from.word(), step.state.word()));
            }
        }
    }

    /// An event was folded.
    pub(crate) fn event(&mut self, task: &Task, event: &Event) {
        let name = format!("{event:?}");
        let name = name.split([' ', '{']).next().unwrap_or_default();
        self.mark(&format!("event: {name}"));
        match event {
            Event::ReviewOpened { cause, .. } => {
                let cause = format!("{cause:?}");
                let word = cause.split([' ', '{']).next().unwrap_or_default();
                self.mark(&format!("review: {word}"));
            }
            Event::StepPlanned { operation, .. } => {
                if let Some(terms) = task.terms(operation) {
                    self.mark(&format!("class: {}", terms.guarantee().word()));
                }
            }
            Event::StepStarted { why, .. } => self.mark(&format!("attempt: {why:?}")),
            Event::StepCommitted { proof, .. } => {
                let proof = format!("{proof:?}");
                let word = proof.split([' ', '{']).next().unwrap_or_default();
                self.mark(&format!("proof: {word}"));
            }
            _ => {}
        }
    }

    /// Adds the marks of another run.
    pub fn add(&mut self, other: &Self) {
        for (what, n) in &other.0 {
            *self.0.entry(what.clone()).or_default() += n;
        }
    }

    /// How often something was met.
    #[must_use]
    pub fn count(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    /// Faults that struck.
    #[must_use]
    pub fn faults(&self) -> u64 {
        let struck = self.0.iter().filter(|(k, _)| k.starts_with("fault:") || k.starts_with("crash:"));
        struck.map(|(_, n)| n).sum()
    }

    /// All marks.
    pub fn all(&self) -> impl Iterator<Item = (&String, &u64)> {
        self.0.iter()
    }

    /// What should have been met and was not.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        EXPECTED.iter().copied().filter(|what| self.count(what) == 0).collect()
    }
}

/// What every batch must meet: each way of a step that the built verbs allow, each crash point, each class, each fault.
pub const EXPECTED: &[&str] = &[
    "step: PLANNED → STARTED",
    "step: PLANNED → COMMITTED",
    "step: PLANNED → FAILED",
    "step: PLANNED → SKIPPED",
    "step: STARTED → COMMITTED",
    "step: STARTED → PLANNED",
    "step: STARTED → UNKNOWN",
    "step: UNKNOWN → COMMITTED",
    "step: UNKNOWN → FAILED",
    "step: UNKNOWN → PLANNED",
    "step: UNKNOWN → STARTED",
    "crash: submit.before_commit",
    "crash: submit.after_commit",
    "crash: claim.before_commit",
    "crash: claim.after_commit",
    "crash: turn.before_commit",
    "crash: turn.after_commit",
    "crash: call.before_send",
    "crash: call.after_send",
    "crash: call.after_answer",
    "crash: probe.before",
    "crash: probe.after",
    "class: keyed+probed",
    "class: keyed",
    "class: probed",
    "class: natural",
    "class: repeatable",
    "class: at-most-once",
    "class: may-duplicate",
    "class: may-lose",
    "attempt: First",
    "attempt: Retry",
    "attempt: SameKey",
    "attempt: Harmless",
    "attempt: AcceptedDuplicate",
    "proof: Answer",
    "proof: Probe",
    "proof: Evidence",
    "proof: Person",
    "proof: Replay",
    "proof: Items",
    "review: Blind",
    "review: KeyWindowOver",
    "review: ProbesExhausted",
    "review: AttemptsExhausted",
    "review: NoProgress",
    "review: CancelledWhileUnknown",
    "review: Contradiction",
    "refused: version",
    "refused: generation",
    "clock: thrown back",
    "clock: thrown forward",
    "fault: pause",
    "fault: pause past the lease",
    "fault: power cut",
    "fault: deploy",
    "fault: request lost",
    "fault: answer lost",
    "fault: delay",
    "fault: request repeated by the network",
    "fault: answer heard twice",
    "fault: unreachable",
    "fault: first byte late",
    "fault: store busy",
    "fault: store cannot be written",
    "fault: commit answer lost",
    "fault: commit not made and not known",
    "fault: turn of a dead owner",
    "fault: submitted again",
    "fault: a colleague changes a state",
    "lease lost",
    "late truth is filed",
    "not sent: late",
    "event: SentLate",
    "event: Paused",
    "event: Resumed",
    "event: CancelRequested",
    "event: StepWrittenOff",
    "event: StepAttached",
    "event: TimerFired",
    "event: RecoveryFinished",
    "event: TaskCancelled",
    "event: TaskFailed",
];
