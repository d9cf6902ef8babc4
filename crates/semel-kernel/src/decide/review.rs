//! Review: a person is asked, and answers with a fact or an order.
//!
//! Invariant: an order never turns *unknown* into *failed*; an open operation is never skipped or aborted except by
//! write off; *it did not* is refused until settled and fenced.

use super::Draft;
use crate::{
    event::Event,
    id::{OperationId, ReviewId, StepName},
    input::Ctx,
    json::Json,
    operation::Judgement,
    outcome::{Outcome, Source, Stored},
    reject::Reject,
    review::{Decision, Review, ReviewCause},
    task::Task,
};
use alloc::{format, string::String};

impl Draft {
    pub(super) fn open_review(
        &mut self,
        step: Option<&StepName>,
        cause: ReviewCause,
        ctx: Ctx,
    ) -> Result<(), Reject> {
        let about = self.task.open_reviews().any(|r| r.step.as_ref() == step && step.is_some());
        if about || self.task.open_reviews().any(|r| r.step.is_none() && r.cause == cause) {
            return Ok(());
        }
        let n = self.task.reviews.len().saturating_add(1);
        let review = ReviewId::nth(&self.task.id, n).map_err(|e| Reject::Limit(format!("{e}")))?;
        let question = question(&self.task, step, &cause);
        self.record(Event::ReviewOpened { review, cause, step: step.cloned(), question }, ctx)
    }

    pub(super) fn decide_review(
        &mut self,
        id: &ReviewId,
        decision: Decision,
        actor: String,
        reason: String,
        page: Option<u64>,
        ctx: Ctx,
    ) -> Result<(), Reject> {
        let review = self.task.review(id).ok_or_else(|| Reject::NoReview(id.clone()))?;
        if let Some(decided) = &review.decided {
            let (by, decision) = (decided.actor.clone(), decided.decision.clone());
            return Err(Reject::Decided { review: id.clone(), by, at: decided.at, decision });
        }
        let current = self.task.page(review);
        if let Some(read) = page.filter(|read| *read != current) {
            return Err(Reject::StalePage { read, current });
        }
        let op = review.step.as_ref().and_then(|s| self.task.steps.get(s)).and_then(|s| s.operation.clone());
        self.allow(op.as_ref(), &decision, ctx)?;
        let review = id.clone();
        self.record(
            Event::ReviewDecided { review, decision: decision.clone(), actor: actor.clone(), reason },
            ctx,
        )?;
        self.follow(op.as_ref(), decision, actor, true, ctx)
    }

    /// *It happened* and *it did not* without a review: `semel op settle`.
    pub(super) fn settle(
        &mut self,
        op: &OperationId,
        decision: Decision,
        actor: String,
        reason: String,
        ctx: Ctx,
    ) -> Result<(), Reject> {
        let found = self.operation(op)?;
        let open = self.task.open_reviews().find(|r| r.step.as_ref() == Some(&found.step));
        if let Some(review) = open.map(|r| r.id.clone()) {
            return self.decide_review(&review, decision, actor, reason, None, ctx);
        }
        if !matches!(decision, Decision::ItHappened { .. } | Decision::ItDidNot) {
            return Err(Reject::Illegal("an operation is settled by `it happened` or `it did not`".into()));
        }
        self.allow(Some(op), &decision, ctx)?;
        self.follow(Some(op), decision, actor, false, ctx)
    }

    fn allow(&self, op: Option<&OperationId>, decision: &Decision, ctx: Ctx) -> Result<(), Reject> {
        let Some(op) = op else {
            return match decision {
                Decision::GoOn | Decision::Abort => Ok(()),
                Decision::ItHappened { .. }
                | Decision::ItDidNot
                | Decision::WaitUntil { .. }
                | Decision::AskAgain
                | Decision::Skip
                | Decision::WriteOff => {
                    Err(Reject::Illegal("this review is about the task: answer `go-on` or `abort`".into()))
                }
            };
        };
        let found = self.operation(op)?;
        let terms = self.terms_of(op)?;
        let judged = found.judge();
        let settled = self.task.end.is_some() || self.step(&found.step)?.is_settled();
        let closed = matches!(judged, Judgement::Unsent | Judgement::NotApplied { .. } | Judgement::Applied);
        let open = !closed && !settled;
        match decision {
            Decision::AskAgain
            | Decision::WaitUntil { .. }
            | Decision::Skip
            | Decision::WriteOff
            | Decision::Abort
                if settled =>
            {
                Err(Reject::Illegal("the step is settled: answer with a fact, or `go-on`".into()))
            }
            Decision::ItHappened { reference, .. } if reference.trim().is_empty() => {
                Err(Reject::Illegal("`it happened` needs the target's own id or another reference".into()))
            }
            Decision::ItHappened { .. } if !settled && found.is_refused() => Err(Reject::Illegal(
                "the target's own answer proves that it did not happen; supersede it by a new version".into(),
            )),
            Decision::WriteOff if matches!(judged, Judgement::Unsent | Judgement::NotApplied { .. }) => {
                Err(Reject::Illegal("it is known that it did not happen: `skip` it, or `abort`".into()))
            }
            Decision::ItDidNot if found.applied.is_some() => {
                Err(Reject::Illegal("the effect is proven; a person's word does not outrank it".into()))
            }
            Decision::ItDidNot if judged == Judgement::InFlight => {
                let until = found.settled_at(terms, ctx.now);
                Err(Reject::NotSettled { until })
            }
            Decision::ItDidNot if found.settled_at(terms, ctx.now) > ctx.now.at => {
                Err(Reject::NotSettled { until: found.settled_at(terms, ctx.now) })
            }
            Decision::AskAgain if terms.probe.is_none() => {
                Err(Reject::Illegal("the contract has no probe; nothing can be asked".into()))
            }
            Decision::Skip | Decision::Abort if open => {
                Err(Reject::Illegal("the outcome is open: only `write-off` leaves it behind".into()))
            }
            Decision::GoOn if open => {
                Err(Reject::Illegal("the outcome is open: answer with a fact, or `write-off`".into()))
            }
            Decision::ItHappened { .. }
            | Decision::ItDidNot
            | Decision::AskAgain
            | Decision::WaitUntil { .. }
            | Decision::Skip
            | Decision::WriteOff
            | Decision::Abort
            | Decision::GoOn => Ok(()),
        }
    }

    /// A fact becomes evidence; *abort* becomes a cancel. The rest is folded from the decision itself.
    fn follow(
        &mut self,
        op: Option<&OperationId>,
        decision: Decision,
        actor: String,
        asked: bool,
        ctx: Ctx,
    ) -> Result<(), Reject> {
        match (op, decision) {
            (Some(op), Decision::ItHappened { reference, result }) => {
                let result = Json::obj([("reference", Json::str(&reference)), ("result", result)]);
                let result = Stored::Inline(result);
                let outcome = Outcome::Applied { result, replayed: false, truncated: false };
                if asked {
                    return self.answer_of_person(op, actor, outcome, Json::str(&reference), ctx);
                }
                self.evidence(op, Source::Person(actor), None, outcome, Json::str(&reference), ctx)
            }
            (Some(op), Decision::ItDidNot) => {
                let cause = format!("{actor} says that it did not happen");
                let outcome = Outcome::NotApplied {
                    retryable: true,
                    sent: true,
                    cause,
                    retry_after_ms: None,
                    refusal: None,
                };
                self.answer_of_person(op, actor, outcome, Json::Null, ctx)
            }
            (Some(op), Decision::WriteOff) => {
                let step = self.operation(op)?.step.clone();
                self.record(Event::StepWrittenOff { step, by: actor }, ctx)
            }
            (Some(op), Decision::Skip) => {
                let step = self.operation(op)?.step.clone();
                let cause = format!("{actor} skips it; it is proven not applied");
                self.record(Event::StepSkipped { step, cause }, ctx)
            }
            (_, Decision::Abort) if self.task.cancelling.is_none() => {
                self.record(Event::CancelRequested { actor, reason: "aborted in a review".into() }, ctx)
            }
            _ => Ok(()),
        }
    }
}

impl Task {
    /// The version of the page about a review: an answer read from an older page is refused.
    #[must_use]
    pub fn page(&self, review: &Review) -> u64 {
        let step = review.step.as_ref().and_then(|s| self.steps.get(s));
        step.map_or(self.reviews.len() as u64, |s| s.touched)
    }
}

fn question(task: &Task, step: Option<&StepName>, cause: &ReviewCause) -> String {
    let Some(step) = step else {
        return format!("May task {} go on? {}.", task.id, capital(&cause.words()));
    };
    let op = task.steps.get(step).and_then(|s| task.operation_of(s));
    let Some(op) = op else { return format!("What about step `{step}`? {}.", capital(&cause.words())) };
    let target = if op.planned.target.is_empty() { "-" } else { &op.planned.target };
    format!("Did `{}` happen for {target}? {}.", op.planned.tool, capital(&cause.words()))
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}
