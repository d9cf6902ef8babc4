//! Sentences about a review.

use super::{Clause, Why};
use crate::view::{
    act::{reason, settled},
    clock::when,
    command,
    package::choices::choices,
};
use semel_kernel::{
    operation::Operation,
    review::{Decided, Decision, Review},
    task::Task,
    time::Now,
};

pub(super) fn why(task: &Task, review: &Review, now: Now) -> Why {
    let subject = format!("review {}", review.id);
    let clause = match &review.decided {
        Some(by) => decided(task, by, now),
        None => open(task, review, now),
    };
    clause.into_why(subject, None)
}

fn decided(task: &Task, by: &Decided, now: Now) -> Clause {
    let word = decision_words(&by.decision, now);
    let known = format!("{} answered “{word}” at {}{}", by.actor, when(by.at, now), reason(&by.reason));
    let next = "Nothing more is asked here, and a second answer is refused";
    Clause::new("decided", known, next).with([command::why(&task.id)])
}

fn open(task: &Task, review: &Review, now: Now) -> Clause {
    let op = review.step.as_ref().and_then(|s| task.steps.get(s)).and_then(|s| task.operation_of(s));
    let asks = op.map_or_else(
        || format!("whether task {} may go on", task.id),
        |op| format!("whether `{}` happened for {} ({})", op.planned.tool, target(op), rail(task, op)),
    );
    let known = format!(
        "it asks {asks}, because {}; opened at {}",
        review.cause.words(),
        when(review.opened_at, now)
    );
    Clause::new("open", known, what_follows(task, op, now)).with(open_commands(task, review, now))
}

/// The file of the review, and every answer that would be taken now.
pub(super) fn open_commands(task: &Task, review: &Review, now: Now) -> Vec<String> {
    let allowed = choices(task, review, now).into_iter().filter(|c| c.refused.is_none());
    let mut commands = vec![command::review("package", &review.id)];
    commands.extend(allowed.map(|c| c.command));
    commands
}

fn what_follows(task: &Task, op: Option<&Operation>, now: Now) -> String {
    let Some(op) = op else {
        return "A person decides, and until then the task starts nothing new while what is in flight is settled"
            .to_owned();
    };
    let terms = task.terms(&op.planned);
    let believed = terms
        .filter(|t| op.settled_at(t, now) > now.at)
        .map_or_else(String::new, |t| format!("; “it did not” is believed from {} on", settled(op, t, now)));
    format!(
        "A person decides, and until then nothing is sent for it, though late evidence still settles it{believed}"
    )
}

fn target(op: &Operation) -> &str {
    if op.planned.target.is_empty() { "-" } else { &op.planned.target }
}

fn rail(task: &Task, op: &Operation) -> String {
    crate::view::Rail::of(task, op).strip()
}

pub(super) fn decision_words(decision: &Decision, now: Now) -> String {
    match decision {
        Decision::ItHappened { reference, .. } => format!("it happened: {reference}"),
        Decision::ItDidNot => "it did not".to_owned(),
        Decision::AskAgain => "ask again".to_owned(),
        Decision::WaitUntil { at } => format!("wait until {}", when(*at, now)),
        Decision::Skip => "skip".to_owned(),
        Decision::WriteOff => "write off".to_owned(),
        Decision::Abort => "abort".to_owned(),
        Decision::GoOn => "go on".to_owned(),
    }
}
