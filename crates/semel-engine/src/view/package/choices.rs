//! The answers that a review can get: whether each would be taken now, and what would follow.
//!
//! Both are found by letting the kernel take the answer on a copy of the task.
//!
//! Invariant: an answer that is offered would be taken at the moment of the page, and one that would be refused says
//! why and, where time mends it, from when on.

use crate::view::{clock::when, command, dry_run::feed, outlook};
use semel_kernel::{
    input::Input,
    json::Json,
    oblige,
    reject::Reject,
    review::{Decision, Review},
    task::Task,
    time::Now,
};
use serde::Serialize;

/// Milliseconds ahead of the moment that is shown for *wait until*.
const WAIT_MS: i64 = 60 * 60 * 1_000;

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// What it says.
    pub answer: &'static str,
    /// The exact command.
    pub command: String,
    /// Why it would be refused now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// What would follow, to follow the name of who acts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub then: Option<String>,
}

/// Every answer to an open review, those that would be refused now last; none for a decided one.
#[must_use]
pub fn choices(task: &Task, review: &Review, now: Now) -> Vec<Choice> {
    if review.decided.is_some() {
        return Vec::new();
    }
    let all = answers(review, now).into_iter();
    let mut all: Vec<Choice> = all.map(|(answer, to)| choice(task, review, answer, to, now)).collect();
    all.sort_by_key(|c| c.refused.is_some());
    all
}

fn answers(review: &Review, now: Now) -> Vec<(&'static str, Decision)> {
    let wait = ("wait until", Decision::WaitUntil { at: now.at.plus(WAIT_MS) });
    if review.step.is_none() {
        return vec![("go on", Decision::GoOn), wait, ("abort", Decision::Abort)];
    }
    let happened = Decision::ItHappened { reference: "REFERENCE".to_owned(), result: Json::Null };
    vec![
        ("it happened", happened),
        ("it did not", Decision::ItDidNot),
        ("ask again", Decision::AskAgain),
        wait,
        ("go on", Decision::GoOn),
        ("skip", Decision::Skip),
        ("write off", Decision::WriteOff),
        ("abort", Decision::Abort),
    ]
}

fn choice(task: &Task, review: &Review, answer: &'static str, decision: Decision, now: Now) -> Choice {
    let command = command::decide(task, review, &decision);
    let input = Input::Decide {
        review: review.id.clone(),
        decision,
        actor: "a person".to_owned(),
        reason: "-".to_owned(),
        page: None,
    };
    match feed(task, input, now) {
        Ok(after) => {
            Choice { answer, command, refused: None, then: Some(follows(task, &after, review, now)) }
        }
        Err(reject) => Choice { answer, command, refused: Some(refusal(&reject, now)), then: None },
    }
}

fn refusal(reject: &Reject, now: Now) -> String {
    if let Reject::NotSettled { until } = reject {
        return format!(
            "not believed before {}: an earlier request may still be on its way",
            when(*until, now)
        );
    }
    reject.to_string()
}

fn follows(before: &Task, after: &Task, review: &Review, now: Now) -> String {
    if let Some(step) = &review.step {
        let next = outlook::of_step(before, after, step, now).text;
        return if after.end.is_some() { format!("{next}; the task is then {}", phase(after)) } else { next };
    }
    let again = after.open_reviews().find(|r| r.step.is_none());
    again.map_or_else(
        || format!("goes on; the task is then {}", phase(after)),
        |r| format!("asks again in review {}, because {}", r.id, r.cause.words()),
    )
}

fn phase(task: &Task) -> &'static str {
    oblige::phase(task).word()
}
