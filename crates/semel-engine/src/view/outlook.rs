//! What happens next about a step, read off the task after something was fed to it.
//!
//! Explanations, forecasts and reviews all ask this one function, so they cannot disagree.
//!
//! Invariant: the answer is a function of the two states and the present; it is never guessed from the input.

use super::{
    act::{self, ActKind},
    clock::when,
};
use semel_kernel::{
    id::StepName,
    recover,
    step::{Step, StepState},
    task::Task,
    time::Now,
};
use serde::Serialize;

/// The next act about a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outlook {
    /// Its kind.
    pub kind: ActKind,
    /// In words, to follow the name of who acts.
    pub text: String,
}

impl Outlook {
    pub(crate) fn new(kind: ActKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}

/// What happens next about a step of `after`, which stood as in `before` when it was last looked at. What the step of
/// one to the other did by itself (settle, open a review) counts as what happens next.
#[must_use]
pub fn of_step(before: &Task, after: &Task, name: &StepName, now: Now) -> Outlook {
    let Some(step) = after.steps.get(name) else {
        return Outlook::new(ActKind::Skip, "does nothing: there is no such step");
    };
    let was = before.steps.get(name);
    if step.is_settled() {
        return settled(step, was.is_some_and(Step::is_settled));
    }
    if step.review.is_some() {
        return in_review(after, step, was.is_some_and(|w| w.review == step.review));
    }
    let own = step.operation.as_ref().and_then(|id| after.operations.get(id));
    if let Some(op) = own {
        let next = recover::act(after, op, now);
        return Outlook::new(act::kind(&next), act::words(after, op, &next, now));
    }
    waiting(after, step, now)
}

fn settled(step: &Step, before: bool) -> Outlook {
    let word = step.state.word();
    if before {
        let end = if step.written_off { "written off" } else { word };
        return Outlook::new(ActKind::Skip, format!("skips it, as it is {end}"));
    }
    if step.written_off {
        return Outlook::new(ActKind::WriteOff, "writes it off: it stays unknown for ever");
    }
    let proof = step.proof.as_ref().map_or_else(String::new, act::proof_words);
    match step.state {
        StepState::Failed => Outlook::new(
            ActKind::Fail,
            format!("records FAILED ({}): {}", step.code, act::clean(&step.cause)),
        ),
        StepState::Skipped => {
            Outlook::new(ActKind::Skip, format!("records SKIPPED: {}", act::clean(&step.cause)))
        }
        StepState::Committed
        | StepState::Compensated
        | StepState::Planned
        | StepState::Started
        | StepState::Unknown => Outlook::new(ActKind::Commit, format!("records {word}, proven by {proof}")),
    }
}

fn in_review(task: &Task, step: &Step, before: bool) -> Outlook {
    let review = step.review.as_ref().and_then(|id| task.review(id));
    let Some(review) = review else { return Outlook::new(ActKind::Wait, "waits for a person") };
    if before {
        return Outlook::new(ActKind::Wait, format!("waits for a person in review {}", review.id));
    }
    Outlook::new(ActKind::Review, format!("opens review {}, because {}", review.id, review.cause.words()))
}

/// A step that acts through others, or has not been planned.
fn waiting(task: &Task, step: &Step, now: Now) -> Outlook {
    if task.end.is_some() {
        return Outlook::new(ActKind::Skip, "does nothing about it, as the task has ended");
    }
    if let Some((to, _)) = &step.attached {
        return Outlook::new(ActKind::Watch, format!("waits for the outcome of task {to}, and takes it"));
    }
    if let Some(at) = step.timer {
        let text = format!("waits until {}, and then records COMMITTED by its timer", when(at, now));
        return Outlook::new(ActKind::Wait, text);
    }
    if let Some(items) = &step.items {
        let open = items.iter().filter_map(|n| task.steps.get(n)).filter(|s| !s.is_settled()).count();
        let text = format!("waits for its items, {open} of {} of which are not settled", items.len());
        return Outlook::new(ActKind::Hold, text);
    }
    if let Some(of) = &step.same_as {
        return Outlook::new(ActKind::Hold, format!("waits for operation {of}, whose answer it gets"));
    }
    unplanned(task, step)
}

fn unplanned(task: &Task, step: &Step) -> Outlook {
    if let Some(why) = stopped(task) {
        return Outlook::new(ActKind::Hold, format!("starts nothing, as {why}"));
    }
    let needs: Vec<&Step> = step.needs.iter().filter_map(|n| task.steps.get(n)).collect();
    if let Some(failed) = needs.iter().find(|s| s.state == StepState::Failed) {
        return Outlook::new(
            ActKind::Hold,
            format!("never starts it, as it needs `{}`, which failed", failed.name),
        );
    }
    let open: Vec<String> = needs.iter().filter(|s| !s.releases()).map(|s| format!("`{}`", s.name)).collect();
    if !open.is_empty() {
        return Outlook::new(ActKind::Hold, format!("waits for {}", open.join(" and ")));
    }
    if task.is_ready(step) {
        return Outlook::new(ActKind::Resolve, "evaluates its expressions and plans it");
    }
    Outlook::new(ActKind::Hold, "waits for a free place among the items that run at once")
}

/// Why the task starts nothing new, to follow *as*.
pub(crate) fn stopped(task: &Task) -> Option<String> {
    if task.cancelling.is_some() {
        return Some("the task is being cancelled".to_owned());
    }
    if task.paused.is_some() {
        return Some("the task is paused".to_owned());
    }
    let held = task.open_reviews().find(|r| r.step.is_none())?;
    Some(format!("review {} about the whole task is open", held.id))
}
