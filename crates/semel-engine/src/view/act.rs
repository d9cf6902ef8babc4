//! The acts of the recovery table in words. Each is a phrase that follows the name of who acts: *Semel asks …*.
//!
//! Invariant: the words describe an act that the kernel chose; they never choose one.

use super::{
    clock::{length, when},
    outlook,
};
use semel_kernel::{
    event::{Proof, Why},
    operation::Operation,
    recover::{self, Act},
    task::Task,
    terms::{Effect, Terms},
    time::{Millis, Now},
};
use serde::Serialize;

/// What kind of act it is, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ActKind {
    /// Nothing: it is settled.
    Skip,
    /// Its expressions are evaluated and it is planned.
    Resolve,
    /// Nothing until other steps are settled, or the task may go on.
    Hold,
    /// Another task's outcome is awaited.
    Watch,
    /// Time has to pass, an answer to come, or somebody to act.
    Wait,
    /// The target's state is looked at before the first send.
    Precheck,
    /// An attempt is recorded and sent.
    Begin,
    /// The target is asked.
    Probe,
    /// An attempt is recorded as unknown.
    Lose,
    /// The effect is recorded as proven.
    Commit,
    /// It is recorded as known not to have happened.
    Fail,
    /// The next attempt is scheduled.
    Pace,
    /// It stays unknown for ever.
    WriteOff,
    /// A person is asked.
    Review,
}

impl ActKind {
    /// The word shown in tables.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Resolve => "plan",
            Self::Hold => "hold",
            Self::Watch => "watch",
            Self::Wait => "wait",
            Self::Precheck => "precheck",
            Self::Begin => "begin",
            Self::Probe => "probe",
            Self::Lose => "lose",
            Self::Commit => "commit",
            Self::Fail => "fail",
            Self::Pace => "pace",
            Self::WriteOff => "write-off",
            Self::Review => "review",
        }
    }
}

pub(crate) const fn kind(act: &Act) -> ActKind {
    match act {
        Act::Nothing => ActKind::Skip,
        Act::Wait { .. } => ActKind::Wait,
        Act::Precheck => ActKind::Precheck,
        Act::Begin { .. } => ActKind::Begin,
        Act::Probe => ActKind::Probe,
        Act::Lose { .. } => ActKind::Lose,
        Act::Commit { .. } => ActKind::Commit,
        Act::Fail { .. } => ActKind::Fail,
        Act::Pace { .. } => ActKind::Pace,
        Act::AcceptLoss => ActKind::WriteOff,
        Act::Review { .. } => ActKind::Review,
    }
}

/// The act as a phrase without its subject and without a full stop.
pub(crate) fn words(task: &Task, op: &Operation, act: &Act, now: Now) -> String {
    match act {
        Act::Nothing => "does nothing more about it".to_owned(),
        Act::Wait { until, why } => waits(task, op, *until, why, now),
        Act::Precheck => "looks at the target's state before the first send".to_owned(),
        Act::Begin { why } => begins(task, op, *why),
        Act::Probe => asks(task, op),
        Act::Lose { attempt, cause } => {
            format!(
                "records attempt {attempt} as unknown, never as failed ({}), and reconciles it",
                cause.words()
            )
        }
        Act::Commit { proof, .. } => format!("records COMMITTED, proven by {}", proof_words(proof)),
        Act::Fail { code, cause, .. } => format!("records FAILED ({code}): {}", clean(cause)),
        Act::Pace { pause_ms, .. } => {
            format!("schedules the next attempt after a pause of up to {}", length(*pause_ms))
        }
        Act::AcceptLoss => {
            "writes it off, because the owner of the contract accepts that it may be lost".to_owned()
        }
        Act::Review { cause } => format!("opens a review, because {}", cause.words()),
    }
}

/// What the kernel would do once the wait is over is read from the kernel, one step ahead.
fn waits(task: &Task, op: &Operation, until: Millis, why: &str, now: Now) -> String {
    if until == Millis::MAX {
        return outlook::stopped(task).map_or_else(
            || format!("waits for {why}"),
            |reason| format!("sends nothing for it, as {reason}"),
        );
    }
    let reason =
        if why == "a person's order" { "as a person ordered".to_owned() } else { format!("for {why}") };
    let later = recover::act(task, op, Now { at: until.max(now.at), ..now });
    let then = match later {
        Act::Wait { .. } | Act::Nothing => "looks again".to_owned(),
        later => words(task, op, &later, Now { at: until, ..now }),
    };
    format!("waits until {} {reason}, and then {then}", when(until, now))
}

fn begins(task: &Task, op: &Operation, why: Why) -> String {
    let n = op.attempts.iter().map(|a| a.n).max().unwrap_or(0).saturating_add(1);
    let terms = task.terms(&op.planned);
    let max = terms.map_or(0, |t| t.retry.max.saturating_add(op.granted));
    let again = if n > 1 { "sends again" } else { "sends it" };
    match why {
        Why::First => "records STARTED and sends the request".to_owned(),
        Why::Retry => {
            format!(
                "sends again as attempt {n} of at most {max}, as every earlier attempt is proven not applied"
            )
        }
        Why::SameKey => format!(
            "sends the same request with the same key as attempt {n} of at most {max}, which the target deduplicates"
        ),
        Why::Harmless if terms.is_some_and(|t| t.effect == Effect::None) => {
            format!("{again} as attempt {n}, as it changes nothing")
        }
        Why::Harmless => format!("{again} as attempt {n}, as setting the state twice is harmless"),
        Why::AcceptedDuplicate => {
            format!("{again} as attempt {n}, as the owner of the contract accepts a duplicate")
        }
    }
}

fn asks(task: &Task, op: &Operation) -> String {
    let next = op.probes.asked.saturating_add(1);
    let max = task.terms(&op.planned).and_then(|t| t.probe.as_ref()).map_or(next, |p| p.max);
    if next > max {
        return format!(
            "asks the target once more whether it happened (look-up {next}, after the settled moment)"
        );
    }
    format!("asks the target whether it happened (look-up {next} of at most {max})")
}

pub(crate) fn proof_words(proof: &Proof) -> String {
    match proof {
        Proof::Answer { attempt } => format!("the target's answer to attempt {attempt}"),
        Proof::Probe => "a look-up at the target".to_owned(),
        Proof::Evidence => "a late answer or a receipt".to_owned(),
        Proof::Person { actor } => format!("the word of {actor}"),
        Proof::Replay { of, .. } => format!("the answer of {of}"),
        Proof::Timer => "its timer".to_owned(),
        Proof::Items => "its items".to_owned(),
    }
}

/// A text from outside made fit to stand inside a sentence: one line, no full stop at its end.
pub(crate) fn clean(text: &str) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    joined.trim_end_matches(['.', ' ']).to_owned()
}

/// At most so many characters; a cut is marked.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let mut chars = text.chars();
    let kept: String = chars.by_ref().take(most).collect();
    if chars.next().is_some() { format!("{kept}…") } else { kept }
}

/// A person's reason in parentheses, with the blank before it; nothing where none was given.
pub(crate) fn reason(text: &str) -> String {
    let text = clean(text);
    if text.is_empty() { text } else { format!(" ({text})") }
}

/// `1 step`, `2 steps`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// The settled moment, as people read it.
pub(crate) fn settled(op: &Operation, terms: &Terms, now: Now) -> String {
    when(op.settled_at(terms, now), now)
}
