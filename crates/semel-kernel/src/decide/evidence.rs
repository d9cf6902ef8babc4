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
        let contradicts = self.contradicts(self.operation(op)?, &source, attempt, &outcome);
        let op = op.clone();
        self.record(Event::EvidenceAdded { op, source, attempt, outcome, shown, contradicts }, ctx)
    }

    /// An answer in time that contradicts the record is kept as evidence, too.
    pub(super) fn dispute(
        &mut self,
        op: &OperationId,
        attempt: u32,
        outcome: Outcome,
        shown: Json,
        ctx: Ctx,
    ) -> Result<(), Reject> {
        let (op, source, attempt) = (op.clone(), Source::LateAnswer, Some(attempt));
        self.record(Event::EvidenceAdded { op, source, attempt, outcome, shown, contradicts: true }, ctx)
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

    pub(super) fn contradicts(
        &self,
        op: &Operation,
        source: &Source,
        attempt: Option<u32>,
        outcome: &Outcome,
    ) -> bool {
        if self.task.changes_nothing(op) {
            return false;
        }
        // A person's reference is not in the target's words, so it is not compared with what the target said.
        let comparable = !matches!(source, Source::Person(_)) && !self.is_natural(op);
        match outcome {
            Outcome::Contradiction { .. } => true,
            Outcome::Applied { .. } => {
                self.task.is_closed(op)
                    || is_second_effect(op, attempt)
                    || comparable && is_other_effect(op, attempt, outcome)
            }
            Outcome::NotApplied { .. } => self.is_disproof(op, attempt),
            Outcome::Pending { .. } | Outcome::Unknown { .. } => false,
        }
    }

    /// The record holds for applied what can, after this, not have been. A natural state may be another's doing.
    fn is_disproof(&self, op: &Operation, attempt: Option<u32>) -> bool {
        let spoken_of = |a: &&Attempt| attempt.is_none() || attempt == Some(a.n);
        let named = op.attempts.iter().any(|a| spoken_of(&a));
        let rest = op.attempts.iter().filter(|a| !spoken_of(a));
        let others_did = attempt.is_none() && op.attempts.len() > 1;
        let refuted = rest.into_iter().all(|a| matches!(a.state, AttemptState::NotApplied { .. }));
        op.applied.is_some() && !self.is_natural(op) && named && refuted && !others_did
    }

    fn is_natural(&self, op: &Operation) -> bool {
        self.task.terms(&op.planned).is_some_and(|t| t.effect == Effect::Natural)
    }
}

/// It speaks of an attempt that counted as not applied, and another one was made since.
fn is_second_effect(op: &Operation, attempt: Option<u32>) -> bool {
    let disproved = attempt
        .and_then(|n| op.attempt(n))
        .is_some_and(|a| matches!(a.state, AttemptState::NotApplied { .. }));
    disproved && !matches!(op.judge(), Judgement::NotApplied { .. })
}

/// Another request than the one that is proven has had an effect of its own: it brings a result that the target has not
/// given before, and more than one request can be behind the results.
fn is_other_effect(op: &Operation, attempt: Option<u32>, outcome: &Outcome) -> bool {
    let Outcome::Applied { result, replayed: false, .. } = outcome else { return false };
    let repeated = attempt.and_then(|n| op.attempt(n)).is_some_and(|a| a.state == AttemptState::Applied);
    let can_be = |a: &&Attempt| a.is_open() || a.state == AttemptState::Applied;
    let others = op.attempts.iter().filter(can_be).filter(|a| Some(a.n) != attempt).count();
    let another = others > usize::from(attempt.is_none());
    let new = op.results().next().is_some() && op.results().all(|known| known != result);
    another && new && !repeated
}
