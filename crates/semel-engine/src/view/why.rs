//! `semel why`: two sentences about anything. The first names the state and how we know it; the second says what
//! happens next, with its time. Then the exact commands.
//!
//! Invariant: *unknown* is never worded as *failed*, and a proof is named with its kind: the target's own answer, a
//! look-up, a receipt, a person's word.

mod operation;
mod review;
mod step;
mod task;

use super::{clock::when, command};
use semel_kernel::{
    operation::Operation,
    outcome::RefusalKind,
    review::Review,
    step::Step,
    task::Task,
    time::{Millis, Now},
};
use serde::Serialize;
use std::fmt;

/// What state a thing is in, how we know, and what happens next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Why {
    /// What it is about.
    pub subject: String,
    /// The state's word.
    pub state: String,
    /// The state and its proof, in one sentence.
    pub sentence1: String,
    /// What happens next and when, in one sentence.
    pub sentence2: String,
    /// The exact commands that make sense now.
    pub next: Vec<String>,
    /// For an operation: what is proven, station by station.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rail: Option<String>,
    /// For what the target's state did not allow: which of the four it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<RefusalKind>,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.sentence1)?;
        writeln!(f, "{}", self.sentence2)?;
        if let Some(rail) = &self.rail {
            writeln!(f, "{rail}")?;
        }
        for (at, command) in self.next.iter().enumerate() {
            writeln!(f, "{} {command}", if at == 0 { "next:" } else { "     " })?;
        }
        Ok(())
    }
}

/// What there is to say of a thing, before it is put into sentences.
struct Clause {
    state: String,
    /// How we know, to follow *is STATE:*.
    known: String,
    /// What happens next, a whole clause without its full stop.
    next: String,
    commands: Vec<String>,
}

impl Clause {
    fn new(state: impl Into<String>, known: impl Into<String>, next: impl Into<String>) -> Self {
        Self { state: state.into(), known: known.into(), next: next.into(), commands: Vec::new() }
    }

    fn with(mut self, commands: impl IntoIterator<Item = String>) -> Self {
        self.commands.extend(commands);
        self
    }

    fn into_why(self, subject: String, rail: Option<String>) -> Why {
        let mut name = subject.chars();
        let capital = name.next().map_or_else(String::new, |c| c.to_uppercase().chain(name).collect());
        Why {
            sentence1: format!("{capital} is {}: {}.", self.state, self.known),
            sentence2: format!("{}.", self.next),
            subject,
            state: self.state,
            next: self.commands,
            rail,
            refusal: None,
        }
    }
}

/// About a task.
#[must_use]
pub fn why_task(task: &Task, now: Now) -> Why {
    task::clause(task, now)
}

/// About a step of the task.
#[must_use]
pub fn why_step(task: &Task, step: &Step, now: Now) -> Why {
    let rail = step.operation.as_ref().and_then(|id| task.operations.get(id));
    let rail = rail.map(|op| super::Rail::of(task, op).full());
    let why = step::clause(task, step, now).into_why(format!("step `{}`", step.name), rail);
    Why { refusal: step.refusal, ..why }
}

/// About an operation of the task.
#[must_use]
pub fn why_operation(task: &Task, op: &Operation, now: Now) -> Why {
    let rail = super::Rail::of(task, op).full();
    let subject = format!("operation {}", op.planned.id);
    let refusal = task.steps.get(&op.step).and_then(|step| step.refusal);
    Why { refusal, ..operation::clause(task, op, now).into_why(subject, Some(rail)) }
}

/// About a review of the task.
#[must_use]
pub fn why_review(task: &Task, review: &Review, now: Now) -> Why {
    review::why(task, review, now)
}

/// The step that matters most in an unfinished task.
pub(crate) use task::lead;

/// What is known of a step, as it stands in a sentence; for forecasts.
pub(crate) fn known(task: &Task, step: &Step, now: Now) -> String {
    step::clause(task, step, now).known
}

fn recorded(at: Millis, now: Now) -> String {
    format!("recorded at {}", when(at, now))
}

/// Who decides, and what still settles it meanwhile.
fn person_decides(review: &Review) -> String {
    format!(
        "A person decides it in review {}, and until then nothing is sent for it, though a late answer or a receipt \
         still settles it",
        review.id
    )
}

fn review_commands(review: &Review) -> Vec<String> {
    vec![command::review("show", &review.id), command::review("package", &review.id)]
}
