//! Tick: what follows from the state and the time, without the outside world. Runs after every input.
//!
//! Invariant: consequences are a function of the state, so a crash loses none; running them twice adds nothing.

use super::{Draft, scope::Scope};
use crate::{
    event::{Event, Proof},
    id::{OperationId, StepName},
    input::Ctx,
    json::Json,
    operation::{Judgement, Operation},
    outcome::{Outcome, Stored},
    recover::{self, Act},
    reject::Reject,
    review::{Decision, Review, ReviewCause},
    step::{Step, StepState},
    task::Task,
    time::{Millis, Now},
};
use alloc::{collections::BTreeSet, format, string::String, vec::Vec};

impl Draft {
    /// Draws consequences until none is left. Each pass settles something, so it ends.
    pub(super) fn consequences(&mut self, ctx: Ctx) -> Result<(), Reject> {
        loop {
            let before = self.events.len();
            let scope = self.scope(ctx.now);
            self.judge_operations(&scope, ctx)?;
            self.settle_steps(&scope, ctx)?;
            self.close_moot_reviews(ctx)?;
            self.finish_recovery(ctx)?;
            self.end(ctx)?;
            self.check_budget(ctx)?;
            if self.events.len() == before {
                return Ok(());
            }
        }
    }

    fn judge_operations(&mut self, scope: &Scope, ctx: Ctx) -> Result<(), Reject> {
        for id in scope.operations(&self.task) {
            let Some(op) = self.task.operations.get(&id) else { continue };
            if self.late_contradiction(op) {
                let step = op.step.clone();
                self.open_review(Some(&step), ReviewCause::Contradiction, ctx)?;
                continue;
            }
            let act = recover::act(&self.task, op, ctx.now);
            let step = op.step.clone();
            self.carry_out(&id, step, act, ctx)?;
        }
        Ok(())
    }

    /// Evidence contradicts a step that is settled: its state stays, and a person is asked, even after the end.
    fn late_contradiction(&self, op: &Operation) -> bool {
        let settled = self.task.steps.get(&op.step).is_some_and(|s| s.is_settled() && s.review.is_none());
        settled && op.judge() == Judgement::Contradiction
    }

    fn carry_out(&mut self, id: &OperationId, step: StepName, act: Act, ctx: Ctx) -> Result<(), Reject> {
        match act {
            Act::Nothing | Act::Wait { .. } | Act::Precheck | Act::Begin { .. } | Act::Probe => Ok(()),
            Act::Lose { attempt, cause } => {
                let op = id.clone();
                let outcome = Outcome::unknown(cause);
                self.record(Event::AttemptUnknown { op, attempt, outcome, shown: Json::Null }, ctx)
            }
            Act::Commit { proof, authorship, output } => {
                self.record(Event::StepCommitted { step: step.clone(), proof, authorship, output }, ctx)?;
                self.close_review(&step, "the outcome is proven now", ctx)
            }
            Act::Fail { code, cause, refusal } => {
                let code = code.into();
                self.record(Event::StepFailed { step, code, cause, fields: Vec::new(), refusal }, ctx)
            }
            Act::Pace { pause_ms, cause } => {
                let at = ctx.now.at.plus(self.jittered(id, pause_ms, ctx));
                self.record(Event::RetryScheduled { op: id.clone(), at, cause }, ctx)
            }
            Act::AcceptLoss => {
                self.record(Event::StepWrittenOff { step, by: "the contract (accept_loss)".into() }, ctx)
            }
            Act::Review { cause } => self.open_review(Some(&step), cause, ctx),
        }
    }

    /// Full jitter, but never earlier than the target asked for.
    fn jittered(&self, id: &OperationId, pause_ms: i64, ctx: Ctx) -> i64 {
        let terms = self.terms_of(id).ok();
        let jitter = terms.is_some_and(|t| t.retry.jitter);
        let drawn = if jitter {
            pause_ms.saturating_mul(i64::from(ctx.draw)) / i64::from(u32::MAX)
        } else {
            pause_ms
        };
        let asked = self.task.operations.get(id).and_then(|o| o.asked_to_wait_ms).unwrap_or(0);
        drawn.max(asked.min(crate::limit::RETRY_AFTER_MS))
    }

    fn close_review(&mut self, step: &StepName, reason: &str, ctx: Ctx) -> Result<(), Reject> {
        let open = self.task.open_reviews().find(|r| r.step.as_ref() == Some(step)).map(|r| r.id.clone());
        let Some(review) = open else { return Ok(()) };
        let decision = Decision::GoOn;
        self.record(
            Event::ReviewDecided { review, decision, actor: "semel".into(), reason: reason.into() },
            ctx,
        )
    }

    /// Reviews that nobody needs to answer any more: the doubt is gone, or nothing new starts anyway.
    fn close_moot_reviews(&mut self, ctx: Ctx) -> Result<(), Reject> {
        let moot: Vec<_> = self
            .task
            .open_reviews()
            .filter_map(|r| moot(&self.task, r).map(|decision| (r.id.clone(), decision)))
            .collect();
        for (review, (decision, reason)) in moot {
            let (actor, reason) = ("semel".into(), reason.into());
            self.record(Event::ReviewDecided { review, decision, actor, reason }, ctx)?;
        }
        Ok(())
    }

    fn settle_steps(&mut self, scope: &Scope, ctx: Ctx) -> Result<(), Reject> {
        if self.task.end.is_some() {
            return Ok(());
        }
        for name in scope.followers(&self.task) {
            let Some(step) = self.task.steps.get(&name) else { continue };
            if step.is_settled() {
                continue;
            }
            if let Some(event) = timer_due(step, ctx.now.at) {
                self.record(event, ctx)?;
            }
            if let Some(event) = self.follows(&name) {
                self.record(event, ctx)?;
            }
        }
        Ok(())
    }

    /// A step that is settled by others: a fired timer, its items, the equal call it shares.
    fn follows(&self, name: &StepName) -> Option<Event> {
        let step = self.task.steps.get(name).filter(|s| !s.is_settled())?;
        if step.same_as.is_some() {
            return self.follows_equal(step);
        }
        if let Some(items) = &step.items {
            return self.follows_items(step, items);
        }
        None
    }

    fn follows_equal(&self, step: &Step) -> Option<Event> {
        let op = self.task.operation_of(step)?;
        let owner = self.task.steps.get(&op.step)?;
        let name = step.name.clone();
        if owner.written_off {
            return Some(Event::StepWrittenOff {
                step: name,
                by: format!("`{}`, its equal call", owner.name),
            });
        }
        match owner.state {
            StepState::Committed | StepState::Compensated => Some(Event::StepCommitted {
                step: name,
                proof: Proof::Replay { of: format!("{}", op.planned.id), at: owner.changed_at },
                authorship: None,
                output: owner.output.clone().unwrap_or(Stored::Inline(Json::Null)),
            }),
            StepState::Failed => Some(Event::StepFailed {
                step: name,
                code: owner.code.clone(),
                cause: owner.cause.clone(),
                fields: Vec::new(),
                refusal: owner.refusal,
            }),
            StepState::Skipped => {
                Some(Event::StepSkipped { step: name, cause: "the equal call was skipped".into() })
            }
            StepState::Planned | StepState::Started | StepState::Unknown => None,
        }
    }

    fn follows_items(&self, step: &Step, items: &[StepName]) -> Option<Event> {
        let open = |n: &StepName| self.task.steps.get(n).is_some_and(|s| !s.is_settled());
        // They start in order, so one that is open is sooner found from the end.
        if items.iter().rev().any(open) {
            return None;
        }
        let items: Vec<&Step> = items.iter().filter_map(|n| self.task.steps.get(n)).collect();
        let failed: Vec<&&Step> = items.iter().filter(|s| s.state == StepState::Failed).collect();
        let name = step.name.clone();
        let Some(first) = failed.first() else {
            let count = Json::from(u32::try_from(items.len()).unwrap_or(u32::MAX));
            let output = Stored::Inline(Json::obj([("items", count)]));
            return Some(Event::StepCommitted { step: name, proof: Proof::Items, authorship: None, output });
        };
        let cause = format!("{} of {} items failed, first `{}`", failed.len(), items.len(), first.name);
        let (code, fields) = (first.code.clone(), Vec::new());
        Some(Event::StepFailed { step: name, code, cause, fields, refusal: first.refusal })
    }

    fn check_budget(&mut self, ctx: Ctx) -> Result<(), Reject> {
        if self.task.end.is_some() || self.task.cancelling.is_some() {
            return Ok(());
        }
        let Some(which) = spent_budget(&self.task, ctx.now) else { return Ok(()) };
        self.open_review(None, ReviewCause::Budget { which }, ctx)
    }

    fn finish_recovery(&mut self, ctx: Ctx) -> Result<(), Reject> {
        let Some(recovery) = &self.task.recovery else { return Ok(()) };
        let steps: Vec<&Step> = recovery.open.iter().filter_map(|n| self.task.steps.get(n)).collect();
        let waits = |s: &Step| s.review.is_some();
        let over = |s: &Step| s.is_settled() || s.state == StepState::Planned;
        if !steps.iter().all(|s| over(s) || waits(s)) {
            return Ok(());
        }
        let names = |test: &dyn Fn(&Step) -> bool| -> Vec<StepName> {
            steps.iter().filter(|s| test(s)).map(|s| s.name.clone()).collect()
        };
        let (settled, in_review) = (names(&|s| over(s) && !waits(s)), names(&waits));
        self.record(Event::RecoveryFinished { settled, in_review }, ctx)
    }

    /// The task ends when nothing is open and nothing can go on.
    fn end(&mut self, ctx: Ctx) -> Result<(), Reject> {
        let ended = self.task.end.is_some() || self.task.open_reviews().next().is_some();
        if ended || goes_on(&self.task) {
            return Ok(());
        }
        let failed = self.task.steps_in_order().find(|s| s.state == StepState::Failed);
        let failed = failed.map(|s| (s.name.clone(), s.code.clone()));
        let written_off = self.task.written_off();
        let event = match failed {
            // What was asked for is what it is called; each step says for itself how it came out (DESIGN section 10).
            _ if self.task.cancelling.is_some() => Event::TaskCancelled { written_off },
            Some((step, code)) => Event::TaskFailed { step, code, written_off },
            None => Event::TaskCompleted { written_off },
        };
        self.record(event, ctx)
    }
}

/// A step is open, and neither given up nor cut off. What can never start is looked for last: that is a long way.
fn goes_on(task: &Task) -> bool {
    let given_up = |s: &Step| task.cancelling.is_some() && is_closed(task, s);
    let mut open = task.steps.values().filter(|s| !s.is_settled() && !given_up(s)).peekable();
    if open.peek().is_none() {
        return false;
    }
    let failed = task.steps.values().any(|s| s.state == StepState::Failed);
    !failed || {
        let cut_off = cut_off(task);
        open.any(|s| !cut_off.contains(&s.name))
    }
}

fn timer_due(step: &Step, now: Millis) -> Option<Event> {
    let due = step.timer.is_some_and(|at| at <= now);
    due.then(|| Event::TimerFired { step: step.name.clone() })
}

/// The first budget that is spent and not extended. Attempts are spent when a further one is due.
fn spent_budget(task: &Task, now: Now) -> Option<String> {
    let budget = &task.plan.budget;
    let late = |ms| now.at >= task.created_at.plus(ms);
    let used_up = |max| {
        let attempts: u32 = task.operations.values().map(Operation::made).sum();
        attempts >= max && task.operations.values().any(|op| is_due(&recover::act(task, op, now)))
    };
    let in_doubt = |max| u32::try_from(task.unknown_operations().count()).unwrap_or(u32::MAX) > max;
    let forgiven = |which: &str| task.forgiven.iter().any(|f| f == which);
    let spent = |which: &str| match which {
        "deadline" => budget.deadline_ms.is_some_and(late),
        "attempts" => budget.attempts.is_some_and(used_up),
        _ => budget.unknowns.is_some_and(in_doubt),
    };
    let which = ["deadline", "attempts", "unknowns"].into_iter().find(|w| !forgiven(w) && spent(w))?;
    Some(which.into())
}

fn is_due(act: &Act) -> bool {
    matches!(act, Act::Begin { .. } | Act::Precheck)
}

/// The decision that closes a review by itself, and why, if nobody needs to answer it.
fn moot(task: &Task, review: &Review) -> Option<(Decision, &'static str)> {
    let cancelling = task.cancelling.is_some().then_some((Decision::Abort, "the task is being cancelled"));
    let Some(step) = &review.step else { return cancelling };
    let op = task.steps.get(step).and_then(|s| task.operation_of(s))?;
    match op.judge() {
        Judgement::NotApplied { .. } if !review.cause.is_about_going_on() => {
            Some((Decision::GoOn, "the outcome is proven now"))
        }
        Judgement::NotApplied { .. } | Judgement::Unsent => cancelling,
        Judgement::InFlight
        | Judgement::Applied
        | Judgement::Pending
        | Judgement::Unknown
        | Judgement::Contradiction => None,
    }
}

/// Nothing of it is in doubt: it was never sent, or every attempt is proven not applied.
fn is_closed(task: &Task, step: &Step) -> bool {
    step.state == StepState::Planned
        && step
            .operation
            .as_ref()
            .and_then(|id| task.operations.get(id))
            .is_none_or(|op| matches!(op.judge(), Judgement::Unsent | Judgement::NotApplied { .. }))
}

/// Steps that can never start: something that they need has failed, or can itself never start.
fn cut_off(task: &Task) -> BTreeSet<StepName> {
    let failed = |n: &StepName| task.steps.get(n).is_some_and(|s| s.state == StepState::Failed);
    let mut cut = BTreeSet::new();
    loop {
        let before = cut.len();
        for step in task.steps_in_order().filter(|s| s.is_unresolved()) {
            if step.needs.iter().any(|n| failed(n) || cut.contains(n)) {
                cut.insert(step.name.clone());
            }
        }
        if cut.len() == before {
            return cut;
        }
    }
}
