//! The kernel's words for what the world says, and the terms of a contract that leaves a rule out.

use crate::{
    rule::{Off, Rule},
    world::{Permit, Said, Saw},
};
use semel_kernel::{
    json::Json,
    operation::{Attempt, Operation},
    outcome::{Finding, Outcome, Stored, UnknownCause},
    terms::{OnUnknown, Terms},
};

/// Terms of a contract that leaves a rule out.
pub(super) fn switched(mut terms: Terms, off: Off) -> Terms {
    if off.has(Rule::DeadFirst) {
        terms.dedupe_atomic = true;
    }
    if off.has(Rule::KeyWindow) {
        terms.key_window_ms = terms.key_window_ms.map(|_| i64::MAX / 4);
    }
    if off.has(Rule::KeyMargin) {
        let margin = terms.key_margin_ms();
        terms.key_window_ms = terms.key_window_ms.map(|w| w + margin);
    }
    if off.has(Rule::BlindStops) {
        terms.on_unknown = OnUnknown::AcceptDuplicate;
    }
    if off.has(Rule::LookFirst) {
        terms.probe = None;
    }
    terms
}

pub(super) fn small(n: u32) -> u8 {
    u8::try_from(n).unwrap_or(u8::MAX)
}

pub(super) fn permit(op: &Operation, attempt: &Attempt) -> Permit {
    let n = small(attempt.n);
    let key = if attempt.key == op.planned.key { 0 } else { n };
    Permit { attempt: n, send_by: super::tick(attempt.send_by), key, checked: false }
}

pub(super) fn refused(cause: &str, retryable: bool) -> Outcome {
    Outcome::NotApplied {
        retryable,
        sent: true,
        cause: cause.to_owned(),
        retry_after_ms: None,
        refusal: None,
    }
}

pub(super) fn outcome(said: Said) -> Outcome {
    let applied = |effect: u8, replayed| Outcome::Applied {
        result: Stored::Inline(Json::from(u32::from(effect))),
        replayed,
        truncated: false,
    };
    match said {
        Said::Applied(effect) => applied(effect, false),
        Said::Replayed(effect) => applied(effect, true),
        Said::NotNow => refused("not now", true),
        Said::Never => refused("never", false),
        Said::Lost => Outcome::unknown(UnknownCause::Lost),
        Said::NotSent => Outcome::not_sent("too late"),
    }
}

pub(super) fn finding(saw: Saw) -> Finding {
    match saw {
        Saw::There => Finding::Applied { result: Stored::Inline(Json::Null) },
        Saw::Absent => Finding::Absent,
        Saw::Unclear => Finding::Unclear { cause: "unclear".into() },
    }
}
