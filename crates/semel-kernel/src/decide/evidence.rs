//! Evidence: a fact from elsewhere. It is kept whatever the state of the task, even after its end, and it can settle
//! what is unknown; where it contradicts the record it opens a review and counts as a suspected duplicate.

use super::Draft;
use crate::{
    event::Event,
    id::OperationId,
    input::Ctx,
    json::Json,
    operation::{Attempt, AttemptState, Judgement, Operation},
    outcome::{Outcome, Source},
    reject::Reject,
    terms::Effect,
};
use alloc::string::String;

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
        let contradicts = self.contradicts(self.operation(op)?, attempt, &outcome);
        let op = op.clone();
        self.record(Event::EvidenceAdded { op, source, attempt, outcome, shown, contradicts }, ctx)
    }

    /// A person's answer to a review. It was asked for because of a contradiction, so it is none itself.
    pub(super) fn answer_of_person(
        &mut self,
        op: &OperationId,
        actor: String,
        outcome: Outcome,
        shown: Json,
        ctx: Ctx,
    ) -> Result<(), Reject> {
        let (op, source) = (op.clone(), Source::Person(actor));
        let fact = Event::EvidenceAdded { op, source, attempt: None, outcome, shown, contradicts: false };
        self.record(fact, ctx)
    }

    fn contradicts(&self, op: &Operation, attempt: Option<u32>, outcome: &Outcome) -> bool {
        if self.task.changes_nothing(op) {
            return false;
        }
        match outcome {
            Outcome::Contradiction { .. } => true,
            Outcome::Applied { .. } => self.task.is_closed(op) || is_second_effect(op, attempt),
            Outcome::NotApplied { .. } => self.is_disproof(op, attempt),
            Outcome::Pending { .. } | Outcome::Unknown { .. } => false,
        }
    }

    /// The record holds for applied what can, after this, not have been. A natural state may be another's doing.
    fn is_disproof(&self, op: &Operation, attempt: Option<u32>) -> bool {
        let natural = self.task.terms(&op.planned).is_some_and(|t| t.effect == Effect::Natural);
        let spoken_of = |a: &&Attempt| attempt.is_none() || attempt == Some(a.n);
        let named = op.attempts.iter().any(|a| spoken_of(&a));
        let rest = op.attempts.iter().filter(|a| !spoken_of(a));
        let others_did = attempt.is_none() && op.attempts.len() > 1;
        let refuted = rest.into_iter().all(|a| matches!(a.state, AttemptState::NotApplied { .. }));
        op.applied.is_some() && !natural && named && refuted && !others_did
    }
}

/// It speaks of an attempt that counted as not applied, and another one was made since.
fn is_second_effect(op: &Operation, attempt: Option<u32>) -> bool {
    let disproved = attempt
        .and_then(|n| op.attempt(n))
        .is_some_and(|a| matches!(a.state, AttemptState::NotApplied { .. }));
    disproved && !matches!(op.judge(), Judgement::NotApplied { .. })
}
