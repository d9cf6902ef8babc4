//! Reads what the kernel needs: effect, windows, probes, retries, and refuses terms that contradict themselves.
//!
//! Invariant: nothing dangerous has a default: a key window and a settle time are said or the contract is refused.

use super::expr::{rule, word, wrong};
use crate::{
    cel::Program,
    duration,
    problem::Problems,
    yaml::{Fields, Node},
};
use semel_kernel::{
    hash::Hash,
    id::ToolName,
    limit,
    terms::{CostTerms, Effect, Offline, OnUnknown, ProbeTerms, RetryTerms, Scope, Terms},
};

const EFFECTS: [(&str, Effect); 5] = [
    ("none", Effect::None),
    ("natural", Effect::Natural),
    ("keyed", Effect::Keyed),
    ("queryable", Effect::Queryable),
    ("blind", Effect::Blind),
];
const ON_UNKNOWN: [(&str, OnUnknown); 4] = [
    ("review", OnUnknown::Review),
    ("accept_duplicate", OnUnknown::AcceptDuplicate),
    ("accept_loss", OnUnknown::AcceptLoss),
    ("compensate", OnUnknown::Compensate),
];
/// Milliseconds an unreachable target is waited for when nobody says how long.
const OFFLINE_WAIT_MS: i64 = 30 * 60_000;
const POLL_MS: i64 = 2_000;
const POLL_CAP_MS: i64 = 60_000;
const PROBE_MAX: u32 = 20;
/// The settle time that is proposed where none is given.
const PROPOSED_SETTLE: &str = "10s";

pub(super) fn read(f: &mut Fields<'_>, contract: Hash, problems: &mut Problems) -> Option<Terms> {
    let tool = tool(f, problems);
    let effect = word(f, "effect", &EFFECTS, Effect::Blind, problems);
    let limits = limits(f, problems);
    let probe = probe(f, effect, limits.probes, problems);
    let key_window_ms = f.duration("key_window", problems);
    let terms = Terms {
        effect,
        key_window_ms,
        probe,
        refusals_stick: f.bool("refusals_stick", problems).unwrap_or(false),
        dedupe_atomic: word(f, "dedupe", &[("atomic", true), ("unknown", false)], false, problems),
        irreversible: f.node("undo").and_then(Node::as_text) == Some("none"),
        on_unknown: word(f, "on_unknown", &ON_UNKNOWN, OnUnknown::Review, problems),
        offline: offline(f, problems),
        timeout_ms: positive(f, "timeout", problems).unwrap_or(limit::TIMEOUT_MS),
        send_within_ms: positive(f, "send_within", problems).unwrap_or(limit::SEND_WITHIN_MS),
        retry: retry(f, limits.attempts, problems),
        cost: limits.cost,
        scope: scope(f, problems),
        ..Terms::new(tool?, contract)
    };
    check(f, &terms, problems);
    Some(terms)
}

fn tool(f: &mut Fields<'_>, problems: &mut Problems) -> Option<ToolName> {
    let text = f.text("tool", problems)?;
    match ToolName::parse(text) {
        Ok(tool) => Some(tool),
        Err(bad) => wrong(f, "SM4210", "tool", &bad.to_string(), "choose such a name", problems),
    }
}

/// What contradicts itself, or cannot be safe.
fn check(f: &mut Fields<'_>, terms: &Terms, problems: &mut Problems) {
    if terms.effect == Effect::Keyed && !f.has("key_window") {
        let message = "`keyed` needs `key_window`: how long the target remembers a key. After it, the same request is a second effect";
        wrong::<()>(
            f,
            "SM4301",
            "effect",
            message,
            "look it up at the target; many keep keys for 24h",
            problems,
        );
    }
    if terms.effect == Effect::Queryable && !f.has("probe") {
        let message = "`queryable` needs `probe`: how the target is asked";
        wrong::<()>(
            f,
            "SM4302",
            "effect",
            message,
            "add `probe:` with `http`, `applied`, `absent` and `settle`",
            problems,
        );
    }
    if terms.effect == Effect::Blind && f.has("probe") {
        let message = "a tool with a probe is not blind";
        wrong::<()>(f, "SM4305", "effect", message, "say `effect: queryable`", problems);
    }
    if terms.irreversible && terms.on_unknown != OnUnknown::Review {
        let message = "an irreversible act that may have happened is never sent again, written off or undone without a person";
        wrong::<()>(f, "SM4304", "on_unknown", message, "say `on_unknown: review`", problems);
    }
}

fn positive(f: &mut Fields<'_>, key: &'static str, problems: &mut Problems) -> Option<i64> {
    let found = f.duration(key, problems)?;
    if found > 0 {
        return Some(found);
    }
    wrong(
        f,
        "SM4203",
        key,
        &format!("`{key}` must be longer than nothing"),
        "write a duration such as 30s",
        problems,
    )
}

#[derive(Default)]
struct Limits {
    attempts: Option<u32>,
    probes: Option<u32>,
    cost: Option<CostTerms>,
}

/// `limits.cost`: a maximum, and what an attempt costs, whatever comes of it or as its answer says.
fn cost(limits: &mut Fields<'_>, problems: &mut Problems) -> Option<CostTerms> {
    let mut cost = limits.map("cost", problems)?;
    cost.required("max", problems);
    let max = cost.count("max", 1, problems).map(i64::from);
    let attempt = cost.count("attempt", 1, problems).map(i64::from);
    let by_answer = cost.has("answer");
    if attempt.is_none() && !by_answer {
        let hint = "add `attempt:`, what each costs, or `answer:`, a rule over the answer";
        wrong::<()>(&mut cost, "SM4209", "max", "nothing says what an attempt costs", hint, problems);
    }
    if let (Some(max), Some(attempt)) = (max, attempt)
        && attempt > max
    {
        let message = format!("one attempt costs {attempt}, more than all of them may");
        wrong::<()>(&mut cost, "SM4203", "attempt", &message, "raise `max`", problems);
    }
    cost.finish(problems);
    Some(CostTerms { max: max?, attempt: attempt.unwrap_or(0) })
}

/// The rule of `limits.cost.answer`; what stands beside it is read with the terms.
pub(super) fn cost_rule(f: &mut Fields<'_>, problems: &mut Problems) -> Option<Program> {
    let limits = f.node("limits").filter(|node| node.as_map().is_some())?;
    let mut limits = Fields::of(limits, f.file(), f.path_of("limits"), problems)?;
    let cost = limits.node("cost").filter(|node| node.as_map().is_some())?;
    rule(&mut Fields::of(cost, f.file(), limits.path_of("cost"), problems)?, "answer", problems)
}

fn limits(f: &mut Fields<'_>, problems: &mut Problems) -> Limits {
    let Some(mut limits) = f.map("limits", problems) else { return Limits::default() };
    let (attempts, probes) = (limits.count("attempts", 1, problems), limits.count("probes", 1, problems));
    let cost = cost(&mut limits, problems);
    limits.finish(problems);
    Limits { attempts, probes, cost }
}

/// Marks the keys of `probe` that belong to the terms as known.
pub(super) fn probe_keys(probe: &mut Fields<'_>) {
    for key in ["settle", "poll", "poll_cap", "for", "max"] {
        probe.has(key);
    }
}

fn probe(
    f: &mut Fields<'_>,
    effect: Effect,
    most: Option<u32>,
    problems: &mut Problems,
) -> Option<ProbeTerms> {
    let node = f.node("probe")?;
    let path = f.path_of("probe");
    node.as_map()?;
    let mut probe = Fields::of(node, f.file(), path, problems)?;
    if effect == Effect::Queryable && !probe.has("settle") {
        let message = "`settle` is missing: how long the target's answers lag behind. An *absent* before it proves nothing";
        let hint = format!("add `settle:`; {PROPOSED_SETTLE} suits targets that read their own writes");
        wrong::<()>(&mut probe, "SM4302", "settle", message, &hint, problems);
    }
    let settle = probe.duration("settle", problems);
    let poll_ms = positive(&mut probe, "poll", problems).unwrap_or(POLL_MS);
    let poll_cap_ms = positive(&mut probe, "poll_cap", problems).unwrap_or(POLL_CAP_MS);
    let max = probe.count("max", 1, problems).unwrap_or(PROBE_MAX);
    Some(ProbeTerms {
        settle_ms: settle.unwrap_or(limit::DEFAULT_SETTLE_MS),
        poll_ms,
        poll_cap_ms: poll_cap_ms.max(poll_ms),
        for_ms: positive(&mut probe, "for", problems).unwrap_or(limit::PROBE_FOR_MS),
        max: most.map_or(max, |most| max.min(most)),
    })
}

fn retry(f: &mut Fields<'_>, most: Option<u32>, problems: &mut Problems) -> RetryTerms {
    let usual = RetryTerms::default();
    let mut terms = match f.map("retry", problems) {
        None => usual,
        Some(mut retry) => {
            let wait_ms = retry.duration("wait", problems).unwrap_or(usual.wait_ms);
            let read = RetryTerms {
                max: retry.count("max", 1, problems).unwrap_or(usual.max),
                wait_ms,
                cap_ms: retry.duration("cap", problems).unwrap_or(usual.cap_ms).max(wait_ms),
                jitter: word(&mut retry, "jitter", &[("full", true), ("none", false)], true, problems),
            };
            // Which answers it is about is read with what they mean.
            retry.has("on");
            retry.finish(problems);
            read
        }
    };
    terms.max = most.map_or(terms.max, |most| terms.max.min(most));
    terms
}

fn scope(f: &mut Fields<'_>, problems: &mut Problems) -> Scope {
    let tenant = word(f, "scope", &[("task", false), ("tenant", true)], false, problems);
    let within = positive(f, "within", problems);
    match (tenant, within) {
        (false, None) => Scope::Task,
        (true, Some(within_ms)) => Scope::Tenant { within_ms },
        (true, None) => {
            let message = "`scope: tenant` needs `within`: for how long an equal call of another task is the same operation";
            wrong(f, "SM4209", "scope", message, "add `within: 7d`", problems).unwrap_or(Scope::Task)
        }
        (false, Some(_)) => {
            let message = "`within` has a meaning only for `scope: tenant`";
            wrong(f, "SM4203", "within", message, "add `scope: tenant`, or leave it out", problems)
                .unwrap_or(Scope::Task)
        }
    }
}

/// `fail`, `review`, `wait`, `wait(30m)` or `{ wait: 30m }`.
fn offline(f: &mut Fields<'_>, problems: &mut Problems) -> Offline {
    let Some(node) = f.node("offline") else { return Offline::Fail };
    let duration = match (node.as_text(), node.as_map()) {
        (Some("fail"), _) => return Offline::Fail,
        (Some("review"), _) => return Offline::Review,
        (Some("wait"), _) => return Offline::Wait(OFFLINE_WAIT_MS),
        (Some(text), _) => text.strip_prefix("wait(").and_then(|rest| rest.strip_suffix(')')),
        (None, Some([(key, value)])) if key.text == "wait" => value.as_scalar(),
        (None, _) => None,
    };
    if let Some(Ok(ms)) = duration.map(duration::parse) {
        return Offline::Wait(ms);
    }
    let hint = "say fail, review, wait(30m) or `{ wait: 30m }`";
    wrong(f, "SM4203", "offline", "this does not say what an unreachable target leads to", hint, problems)
        .unwrap_or(Offline::Fail)
}
