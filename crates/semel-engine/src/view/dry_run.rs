//! `semel task recover --dry-run`: what recovery does with every step, by branch where a look-up decides.
//!
//! Nothing is sent, not even a look-up. The forecast lets the kernel take the claim on a copy of the task, reads the
//! act that it chooses, and where that act is a look-up feeds every possible finding to a further copy.
//!
//! Invariant: the forecast is what the kernel does; a test holds the two together. Pauses that are drawn at random are
//! shown at their longest.

use super::{
    act::ActKind,
    clock::{utc, when},
    outlook::{self, Outlook},
    why,
};
use semel_kernel::{
    decide::Draft,
    id::{OperationId, SessionId, StepName},
    input::{Ctx, Input},
    json::Json,
    operation::{Judgement, Operation},
    outcome::{Finding, Look, RefusalKind, Stored},
    recover::{self, Act},
    reject::Reject,
    step::{Step, StepState},
    task::Task,
    terms::Terms,
    time::{Generation, Millis, Now},
};
use serde::Serialize;
use std::fmt;

/// What recovery does with the steps of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DryRun {
    /// The task.
    pub task: String,
    /// The token under which it would be claimed, `epoch.counter`.
    pub generation: String,
    /// The present of the forecast.
    pub at: Millis,
    /// Every step, in order.
    pub steps: Vec<StepForecast>,
}

/// What recovery does with one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepForecast {
    /// The step.
    pub step: StepName,
    /// Its state before the claim.
    pub state: StepState,
    /// How it is found, and how we know.
    pub found: String,
    /// What is done: first what follows from the claim, then, where that is a question to the target, what follows
    /// from each answer.
    pub will: Vec<Branch>,
}

/// One thing that recovery does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Branch {
    /// The answer on which it depends; `None` for what is done in any case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// What is done, to follow the name of who acts.
    pub act: String,
    /// Its kind.
    pub kind: ActKind,
}

impl Branch {
    fn new(when: Option<String>, outlook: Outlook) -> Self {
        Self { when, act: outlook.text, kind: outlook.kind }
    }
}

/// Forecasts a recovery that claims the task under `next_generation`.
///
/// # Errors
/// [`Reject`] when that generation does not follow the task's own.
pub fn dry_run(task: &Task, now: Now, next_generation: Generation) -> Result<DryRun, Reject> {
    let session = SessionId::parse("dry-run").map_err(|e| Reject::Limit(e.to_string()))?;
    let claimed = Input::Claimed { session, generation: next_generation };
    let after = feed(task, claimed, now)?;
    let forecast = Forecast { before: task, after: &after, now };
    Ok(DryRun {
        task: task.id.to_string(),
        generation: next_generation.to_string(),
        at: now.at,
        steps: task.steps_in_order().map(|step| forecast.step(step)).collect(),
    })
}

/// The task after an input, at the longest pause that chance can draw.
pub(crate) fn feed(task: &Task, input: Input, now: Now) -> Result<Task, Reject> {
    let mut draft = Draft::on(task.clone());
    draft.take(input, Ctx { now, draw: u32::MAX })?;
    Ok(draft.finish().0)
}

/// A claim in the making: the task before and after it.
struct Forecast<'a> {
    before: &'a Task,
    after: &'a Task,
    now: Now,
}

impl Forecast<'_> {
    fn step(&self, step: &Step) -> StepForecast {
        let first = outlook::of_step(self.before, self.after, &step.name, self.now);
        let mut will = vec![Branch::new(None, first)];
        will.extend(self.branches(&step.name));
        StepForecast { step: step.name.clone(), state: step.state, found: self.found(step), will }
    }

    /// How the step is found; an attempt of the old owner is named as what the claim makes of it.
    fn found(&self, step: &Step) -> String {
        let op = step.operation.as_ref().and_then(|id| self.before.operations.get(id));
        let lost = op.filter(|o| !step.is_settled() && o.judge() == Judgement::InFlight);
        let attempt = lost.and_then(|o| o.attempts.last());
        attempt.map_or_else(
            || why::known(self.before, step, self.now),
            |a| {
                format!(
                    "attempt {} of generation {} has no recorded answer; under generation {} it becomes unknown, \
                     never failed",
                    a.n, a.generation, self.after.generation
                )
            },
        )
    }

    fn branches(&self, name: &StepName) -> Vec<Branch> {
        let step = self.after.steps.get(name).filter(|s| !s.is_settled());
        let op = step.and_then(|s| s.operation.as_ref()).and_then(|id| self.after.operations.get(id));
        let Some((op, terms)) = op.and_then(|o| self.after.terms(&o.planned).map(|t| (o, t))) else {
            return Vec::new();
        };
        match recover::act(self.after, op, self.now) {
            Act::Precheck => self.after_precheck(op, terms),
            Act::Probe => self.after_probe(op, terms, self.now),
            Act::Wait { until, .. } if until < Millis::MAX => {
                let then = Now { at: until.max(self.now.at), ..self.now };
                let asks = recover::act(self.after, op, then) == Act::Probe;
                if asks { self.after_probe(op, terms, then) } else { Vec::new() }
            }
            Act::Nothing
            | Act::Wait { .. }
            | Act::Begin { .. }
            | Act::Lose { .. }
            | Act::Commit { .. }
            | Act::Fail { .. }
            | Act::Pace { .. }
            | Act::AcceptLoss
            | Act::Review { .. } => Vec::new(),
        }
    }

    fn after_precheck(&self, op: &Operation, terms: &Terms) -> Vec<Branch> {
        let unclear = Finding::Unclear { cause: "no expression matches".to_owned() };
        let mut cases =
            vec![("if the state already holds", found(), true), ("if it does not", Finding::Absent, true)];
        if terms.require {
            cases.push(("if `require` does not hold", unclear, false));
        }
        let branch = |(when, finding, holds): (&str, Finding, bool)| {
            let id = op.planned.id.clone();
            let refusal = (!holds).then_some(RefusalKind::Illegal);
            let look = Look { refusal, ..Look::answered(holds) };
            let input = Input::Prechecked { op: id, finding, look, shown: Json::Null };
            self.branch(&op.step, when.to_owned(), input, self.now)
        };
        cases.into_iter().filter_map(branch).collect()
    }

    /// Every answer that the target can give, and then what follows when it stays unclear to the end.
    fn after_probe(&self, op: &Operation, terms: &Terms, now: Now) -> Vec<Branch> {
        let settled = op.settled_at(terms, now);
        let late = Now { at: settled.max(now.at), ..now };
        let mut cases = vec![("if it is found once".to_owned(), found(), now)];
        cases.push(("if it is found in progress".to_owned(), Finding::Pending, now));
        if now.at < settled {
            let when = format!("if it is absent before the settled moment {}", utc(settled));
            cases.push((when, Finding::Absent, now));
        }
        let proof = if now.at < settled {
            format!("if it is absent at {} or later", utc(late.at))
        } else {
            "if it is absent, as the settled moment is over".to_owned()
        };
        cases.push((proof, Finding::Absent, late));
        cases.push(("if the answer is unclear".to_owned(), unclear(), now));
        cases.push(("if it is found more than once".to_owned(), many(), now));
        let branch = |(when, finding, at): (String, Finding, Now)| {
            self.branch(&op.step, when, probed(&op.planned.id, finding, at), at)
        };
        let mut branches: Vec<Branch> = cases.into_iter().filter_map(branch).collect();
        branches.extend(self.unclear_to_the_end(op, now));
        branches
    }

    fn branch(&self, step: &StepName, when: String, input: Input, now: Now) -> Option<Branch> {
        let then = feed(self.after, input, now).ok()?;
        Some(Branch::new(Some(when), outlook::of_step(self.after, &then, step, now)))
    }

    /// Answers *unclear* until something other than a further look-up follows.
    fn unclear_to_the_end(&self, op: &Operation, now: Now) -> Option<Branch> {
        let (mut task, mut now) = (self.after.clone(), now);
        for _ in 0..LOOK_UPS {
            let current = task.operations.get(&op.planned.id)?;
            match recover::act(&task, current, now) {
                Act::Probe => task = feed(&task, probed(&op.planned.id, unclear(), now), now).ok()?,
                Act::Wait { until, .. } if until < Millis::MAX => now.at = until.max(now.at.plus(1)),
                Act::Nothing
                | Act::Wait { .. }
                | Act::Precheck
                | Act::Begin { .. }
                | Act::Lose { .. }
                | Act::Commit { .. }
                | Act::Fail { .. }
                | Act::Pace { .. }
                | Act::AcceptLoss
                | Act::Review { .. } => break,
            }
        }
        let then = outlook::of_step(self.after, &task, &op.step, now);
        let words = format!("if the answers stay unclear until {}", when(now.at, self.now));
        (then.kind == ActKind::Review).then(|| Branch::new(Some(words), then))
    }
}

/// Look-ups and waits after which a forecast gives up; above every sensible limit of a contract.
const LOOK_UPS: u32 = 256;

fn found() -> Finding {
    Finding::Applied { result: Stored::Inline(Json::Null) }
}

fn unclear() -> Finding {
    Finding::Unclear { cause: "no expression of the contract matches".to_owned() }
}

fn many() -> Finding {
    Finding::Many { cause: "found more than once".to_owned() }
}

fn probed(op: &OperationId, finding: Finding, now: Now) -> Input {
    Input::Probed { op: op.clone(), asked_at: now.at, finding, confirm: None, shown: Json::Null }
}

impl fmt::Display for DryRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} under generation {} at {}; nothing is sent",
            self.task,
            self.generation,
            utc(self.at)
        )?;
        for step in &self.steps {
            writeln!(f, "{} {}: {}", step.step, step.state.word(), step.found)?;
            for branch in &step.will {
                let (lead, when) =
                    branch.when.as_ref().map_or(("  →", String::new()), |w| ("    ·", format!(" {w}:")));
                writeln!(f, "{lead} [{}]{when} {}", branch.kind.word(), branch.act)?;
            }
        }
        Ok(())
    }
}
