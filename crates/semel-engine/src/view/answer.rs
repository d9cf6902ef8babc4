//! The target's own words in the last answer that did not say what became of an attempt.
//!
//! Invariant: it shows only what was recorded as fit to be shown, which is redacted and cut already.

use super::act::cut;
use semel_kernel::{
    event::{Event, Recorded},
    id::OperationId,
    json::Json,
    outcome::{Outcome, UnknownCause},
    time::Millis,
};
use serde::Serialize;

/// Characters of an answer that are repeated.
const SHOWN: usize = 200;

/// An answer whose meaning is not known, or that says *no*.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RawAnswer {
    /// The attempt that it ended.
    pub attempt: u32,
    /// When it was recorded.
    pub at: Millis,
    /// The status, where the target's protocol has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The beginning of its body.
    pub body: String,
}

impl std::fmt::Display for RawAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let status = self.status.as_ref().map_or_else(String::new, |s| format!(" status {s}"));
        write!(f, "answer to attempt {}:{status} {}", self.attempt, self.body)
    }
}

/// The last answer to an attempt of the operation that is no proof of its effect, as far as anything of it was kept.
#[must_use]
pub fn raw_answer(history: &[Recorded], of: &OperationId) -> Option<RawAnswer> {
    history.iter().rev().find_map(|recorded| {
        let (Event::AttemptAnswered { op, attempt, outcome, shown }
        | Event::AttemptUnknown { op, attempt, outcome, shown }) = &recorded.event
        else {
            return None;
        };
        let told = op == of && is_puzzling(outcome) && !shown.is_null();
        told.then(|| self::told(*attempt, recorded.at, shown))
    })
}

const fn is_puzzling(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Unknown { cause } => match cause {
            UnknownCause::Garbled
            | UnknownCause::Undeclared
            | UnknownCause::NotASuccess
            | UnknownCause::Body => true,
            UnknownCause::Timeout
            | UnknownCause::Lost
            | UnknownCause::OwnerGone
            | UnknownCause::Deadline
            | UnknownCause::Restored => false,
        },
        Outcome::NotApplied { sent, .. } => *sent,
        Outcome::Contradiction { .. } => true,
        Outcome::Applied { .. } | Outcome::Pending { .. } => false,
    }
}

fn told(attempt: u32, at: Millis, shown: &Json) -> RawAnswer {
    let body = shown.get("body").unwrap_or(shown);
    RawAnswer { attempt, at, status: shown.get("status").map(text), body: cut(&text(body), SHOWN) }
}

/// A text as it is, anything else as JSON; on one line.
fn text(json: &Json) -> String {
    let text = json.as_str().map_or_else(|| json.canonical(), ToOwned::to_owned);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What was kept of an answer, in a line: its status and the beginning of its body.
#[must_use]
pub fn shown_words(shown: &Json) -> String {
    let told = told(0, Millis(0), shown);
    told.status.map_or(told.body.clone(), |status| format!("status {status} {}", told.body))
}
