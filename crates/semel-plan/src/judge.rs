//! The failure window (DESIGN section 4): what one attempt, or one look-up, proves.
//!
//! | what one attempt shows                                                | proves        | attempt is               |
//! |-----------------------------------------------------------------------|---------------|--------------------------|
//! | zero request bytes handed to the connection                           | no ①          | not sent, retryable      |
//! | time-out, reset, broken or garbled answer                             | nothing of ④  | **unknown**              |
//! | `key_reused`: the key was used with other parameters                  | contradiction | review                   |
//! | `key_in_use`: another attempt is being worked on                      | ①②            | pending                  |
//! | a declared refusal, final                                             | no ④          | not applied, final       |
//! | a declared refusal, retryable                                         | no ④          | not applied, retryable   |
//! | `pending`, else status 202                                            | ①②            | pending                  |
//! | `success`, else any 2xx                                               | ①–⑦           | applied                  |
//! | a 2xx that fails `success`, or for which it cannot be evaluated       | nothing of ④  | **unknown**              |
//! | 400 401 403 405 406 411 413 414 415 428 431                           | no ④          | not applied, final       |
//! | 429                                                                   | no ④          | not applied, retryable   |
//! | 412 to a request that named a version (`if_match`)                    | no ④          | not applied, final       |
//! | every other status: 3xx, 404, 408, 409, 410, 412, 422, 5xx, …         | nothing of ④  | **unknown**              |
//!
//! | what one look-up shows                                                | finding                                  |
//! |-----------------------------------------------------------------------|------------------------------------------|
//! | no full answer                                                        | unclear                                  |
//! | a rule up to the first that holds cannot be evaluated                 | unclear                                  |
//! | `many`                                                                | many                                     |
//! | `applied`                                                             | applied                                  |
//! | `pending`                                                             | pending                                  |
//! | `absent`, in a whole answer of a look-up that worked                  | absent                                   |
//! | none of them                                                          | unclear; never decays into *absent*      |
//!
//! Rows are tried from the top. Invariant: nothing maps an error to *failed* by default, and no rule that cannot be
//! evaluated counts as one that does not hold where that would prove something. Rules read the answer as it came, and
//! nothing leaves here that holds a secret of the call. This judges one attempt; the kernel judges the operation by all
//! of them.

mod answer;
mod body;
mod redact;

use crate::contract::{Contract, IfMatch, ProbeRules, Seen};
use answer::{Rules, View};
pub(crate) use redact::is_secret_name;
use semel_kernel::{
    json::Json,
    limit,
    outcome::{Finding, Look, Outcome, RefusalKind, Stored, UnknownCause},
};
use semel_ports::connector::{Report, Transport};

/// Statuses that prove by HTTP's own meaning that nothing was done, for good.
const FINAL: [u16; 11] = [400, 401, 403, 405, 406, 411, 413, 414, 415, 428, 431];
/// The status that proves it for now.
const TOO_MANY: u16 = 429;
/// The status of a request whose If-Match names another version than the object has.
const PRECONDITION_FAILED: u16 = 412;

/// What one attempt shows, and the answer as it may be kept.
#[must_use]
pub fn outcome(contract: &Contract, report: &Report, seen: &Seen<'_>) -> (Outcome, Json) {
    let eraser = report.secrets.eraser();
    match &report.transport {
        Transport::NotSent { cause } if report.bytes_out == 0 => {
            let cause = eraser.text(cause);
            (Outcome::not_sent(&*cause), redact::transport("not sent", &cause))
        }
        Transport::NotSent { cause } => {
            let shown = redact::transport("broken off while sending", &eraser.text(cause));
            (Outcome::unknown(UnknownCause::Lost), shown)
        }
        Transport::Lost { cause, detail } => {
            (Outcome::unknown(cause.clone()), redact::transport(cause.words(), &eraser.text(detail)))
        }
        Transport::Answered(answer) => {
            let raw = View::of(answer);
            let mut rules = Rules::new(&raw, seen, &eraser);
            let view = raw.without(&report.secrets, &eraser);
            let outcome = judged(contract, &view, &mut rules);
            let notes = rules.into_notes();
            (outcome, redact::answer(&view, &notes))
        }
    }
}

fn judged(contract: &Contract, view: &View<'_>, rules: &mut Rules<'_>) -> Outcome {
    let declared = &contract.rules;
    if rules.holds("key_reused", declared.key_reused.as_ref()) {
        return Outcome::Contradiction { cause: view.cause("the key was used with other parameters") };
    }
    if rules.holds("key_in_use", declared.key_in_use.as_ref()) {
        let cause = view.cause("the target still works on this key");
        return Outcome::Pending { handle: Json::Null, cause };
    }
    for refusal in &declared.refusals {
        if rules.holds("refusals", Some(&refusal.when)) {
            return not_applied(contract, view, refusal.retryable, refusal.cause.as_deref());
        }
    }
    let pending = match &declared.pending {
        Some(rule) => rules.verdict("pending", rule),
        None => Some(view.status == 202),
    };
    match pending {
        Some(true) => pending_with(handle(contract, rules), view),
        Some(false) => success(contract, view, rules),
        // Whether it is done or only begun cannot be told; a refusal by status still can.
        None if view.is_2xx() => Outcome::unknown(UnknownCause::NotASuccess),
        None => success(contract, view, rules),
    }
}

fn success(contract: &Contract, view: &View<'_>, rules: &mut Rules<'_>) -> Outcome {
    let holds = match &contract.rules.success {
        Some(rule) => rules.verdict("success", rule) == Some(true),
        None if view.is_2xx() && view.is_garbled() => return Outcome::unknown(UnknownCause::Garbled),
        None => view.is_2xx(),
    };
    match (holds, view.status) {
        (true, _) => applied(contract, view, rules),
        (false, 200..=299) => Outcome::unknown(UnknownCause::NotASuccess),
        (false, TOO_MANY) => not_applied(contract, view, true, None),
        (false, PRECONDITION_FAILED) if contract.if_match().is_some() => stale(view),
        (false, status) if FINAL.contains(&status) => not_applied(contract, view, false, None),
        (false, _) => Outcome::unknown(UnknownCause::Undeclared),
    }
}

/// The effect is there, whatever else is wrong with the answer: a bad body is noted, never a reason to send again.
fn applied(contract: &Contract, view: &View<'_>, rules: &mut Rules<'_>) -> Outcome {
    let result = match &contract.rules.result {
        Some(rule) => rules.value("result", rule).unwrap_or_else(|| view.body.clone()),
        None => view.body.clone(),
    };
    let violations = contract.output.as_ref().map(|schema| schema.violations(&result)).unwrap_or_default();
    for violation in violations {
        rules.note(&format!(
            "the result breaks the contract's `output` at `{}`: {}",
            violation.path, violation.message
        ));
    }
    let replayed = match &contract.rules.replayed {
        Some(rule) => rules.verdict("replayed", rule) == Some(true),
        None => view.says_replayed(),
    };
    Outcome::Applied { result: Stored::Inline(result), replayed, truncated: view.truncated }
}

fn not_applied(contract: &Contract, view: &View<'_>, passes: bool, cause: Option<&str>) -> Outcome {
    let usual = if passes { "refused for now" } else { "refused" };
    let listed = contract.rules.retry_on.as_ref().is_none_or(|on| on.contains(&view.status));
    let retryable = passes && listed;
    let left_out = if passes && !listed { ", and not retried, as `retry.on` leaves it out" } else { "" };
    let cause = view.cause(&format!("{}{left_out}", cause.unwrap_or(usual)));
    let retry_after_ms = view.retry_after_ms().filter(|_| retryable).map(|ms| ms.min(limit::RETRY_AFTER_MS));
    Outcome::NotApplied { retryable, sent: true, cause, retry_after_ms, refusal: None }
}

/// A handle is part of an event, which is small: one that is too large to keep is none, and then it is not known what the
/// target's promise can be asked by.
fn pending_with(handle: Json, view: &View<'_>) -> Outcome {
    if handle.size_bytes() > limit::INLINE_BYTES {
        return Outcome::unknown(UnknownCause::Garbled);
    }
    Outcome::Pending { handle, cause: view.cause("the target works on it") }
}

/// The target compared the version and set nothing.
fn stale(view: &View<'_>) -> Outcome {
    let kind = RefusalKind::Stale;
    let (cause, refusal) = (view.cause(kind.words()), Some(kind));
    Outcome::NotApplied { retryable: false, sent: true, cause, retry_after_ms: None, refusal }
}

fn handle(contract: &Contract, rules: &mut Rules<'_>) -> Json {
    contract.rules.handle.as_ref().and_then(|rule| rules.value("handle", rule)).unwrap_or(Json::Null)
}

/// What the answer to one attempt says that it cost.
#[must_use]
pub fn cost(contract: &Contract, report: &Report, seen: &Seen<'_>) -> i64 {
    let (Transport::Answered(answer), Some(rule)) = (&report.transport, &contract.rules.cost) else {
        return 0;
    };
    let (raw, eraser) = (View::of(answer), report.secrets.eraser());
    match Rules::new(&raw, seen, &eraser).value("limits.cost.answer", rule) {
        Some(Json::Num(number)) => whole(number.as_f64()),
        Some(Json::Null | Json::Bool(_) | Json::Str(_) | Json::Arr(_) | Json::Obj(_)) | None => 0,
    }
}

#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "JSON numbers are within ±2^53 or cut to it"
)]
fn whole(number: f64) -> i64 {
    number.ceil().clamp(0.0, 9_007_199_254_740_991.0) as i64
}

/// What one look-up shows, and the answer as it may be kept.
#[must_use]
pub fn finding(contract: &Contract, report: &Report, seen: &Seen<'_>) -> (Finding, Json) {
    let (finding, _, shown) = requirement(contract, report, seen);
    (finding, shown)
}

/// What one look-up shows, and what that means for a send. An answer that did not come satisfies no requirement.
#[must_use]
pub fn requirement(contract: &Contract, report: &Report, seen: &Seen<'_>) -> (Finding, Look, Json) {
    let say = |view: &View<'_>, rules: &mut Rules<'_>| {
        (found(contract.probe.as_ref(), view, rules), Some(look(contract, view, rules)))
    };
    let (finding, shown, look) = looked_up(report, seen, say);
    let silent = || Look { holds: !contract.terms.require, ..Look::default() };
    (finding, look.unwrap_or_else(silent), shown)
}

/// What an answer means for a send. A target in trouble says nothing about its state.
fn look(contract: &Contract, view: &View<'_>, rules: &mut Rules<'_>) -> Look {
    let Some(probe) = &contract.probe else { return Look::answered(true) };
    let answered = !matches!(view.status, 408 | 429 | 500..);
    let require = probe.require.as_ref();
    let refusal = require.and_then(|require| require.refusal(|path, rule| rules.verdict(path, rule)));
    let tag = probe.if_match.as_ref().and_then(|from| tag(from, view, rules));
    let holds = refusal.is_none() && (answered || probe.if_match.is_none());
    Look { holds, answered, refusal: refusal.filter(|_| answered), tag }
}

fn tag(from: &IfMatch, view: &View<'_>, rules: &mut Rules<'_>) -> Option<String> {
    let told = match from {
        IfMatch::Etag => view.header("etag").map(str::to_owned),
        IfMatch::Rule(rule) => rules.value("if_match", rule).and_then(|v| v.as_str().map(str::to_owned)),
    };
    if told.as_ref().is_none_or(String::is_empty) {
        rules.note("`if_match`: the answer tells no version, which must be a text");
        return None;
    }
    told
}

/// What the answer of the second source shows, and the answer as it may be kept.
#[must_use]
pub fn confirming_finding(contract: &Contract, report: &Report, seen: &Seen<'_>) -> (Finding, Json) {
    let confirm = contract.probe.as_ref().and_then(|probe| probe.confirm.as_ref());
    let probe = confirm.map(|confirm| &*confirm.rules);
    let (finding, shown, ()) = looked_up(report, seen, |view, rules| (found(probe, view, rules), ()));
    (finding, shown)
}

/// Reads the answer to a look-up; without one it is unclear, and nothing further is known.
fn looked_up<T: Default>(
    report: &Report,
    seen: &Seen<'_>,
    say: impl FnOnce(&View<'_>, &mut Rules<'_>) -> (Finding, T),
) -> (Finding, Json, T) {
    let eraser = report.secrets.eraser();
    let (said, detail) = match &report.transport {
        Transport::NotSent { cause } => ("the look-up was not sent", cause),
        Transport::Lost { cause, detail } => (cause.words(), detail),
        Transport::Answered(answer) => {
            let raw = View::of(answer);
            let mut rules = Rules::new(&raw, seen, &eraser);
            let view = raw.without(&report.secrets, &eraser);
            let (finding, more) = say(&view, &mut rules);
            let notes = rules.into_notes();
            return (finding, redact::answer(&view, &notes), more);
        }
    };
    let detail = eraser.text(detail);
    let cause = format!("{said}: {}", redact::text(&detail));
    (Finding::Unclear { cause }, redact::transport(said, &detail), T::default())
}

fn found(probe: Option<&ProbeRules>, view: &View<'_>, rules: &mut Rules<'_>) -> Finding {
    let Some(probe) = probe else {
        return Finding::Unclear { cause: "the contract has no probe".to_owned() };
    };
    let order = [
        ("many", &probe.many),
        ("applied", &probe.applied),
        ("pending", &probe.pending),
        ("absent", &probe.absent),
    ];
    for (name, rule) in order {
        let Some(rule) = rule else { continue };
        match (rules.verdict(name, rule), name) {
            (None, _) => {
                let cause = rules.last_note().unwrap_or("a rule cannot be evaluated").to_owned();
                return Finding::Unclear { cause };
            }
            (Some(false), _) => {}
            (Some(true), "many") => return Finding::Many { cause: view.cause("found more than once") },
            (Some(true), "applied") => {
                let result = probe.result.as_ref().and_then(|rule| rules.value("result", rule));
                let result = Stored::Inline(result.unwrap_or_else(|| view.body.clone()));
                return Finding::Applied { result };
            }
            (Some(true), "pending") => return Finding::Pending,
            (Some(true), _) => return absent(view),
        }
    }
    Finding::Unclear { cause: view.cause("no rule of the probe holds") }
}

/// *Absent* leads to sending again, so a look-up that failed itself, or a cut list, never says it.
fn absent(view: &View<'_>) -> Finding {
    if view.truncated {
        return Finding::Unclear { cause: view.cause("the answer was cut, so absence is not proven") };
    }
    if matches!(view.status, 100..=199 | 300..=399 | 401 | 403 | 407 | 408 | 429 | 500..) {
        return Finding::Unclear { cause: view.cause("the look-up itself failed") };
    }
    Finding::Absent
}
