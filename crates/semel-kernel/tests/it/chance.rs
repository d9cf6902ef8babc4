//! Random plans, terms and inputs for [`crate::prop`].

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use semel_kernel::json::Json;
use semel_kernel::outcome::{Finding, Outcome, UnknownCause};
use semel_kernel::plan::{Budget, Plan, PlanStep, StepKind};
use semel_kernel::review::Decision;
use semel_kernel::terms::{Effect, Offline, OnUnknown, ProbeTerms, RetryTerms, Terms};

use crate::story::{HOUR, applied, found, many, name, pending, plan, terms, tool, unclear};

/// What happens next; indices are taken modulo what there is.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// Time passes.
    Pass(i64),
    /// Time passes up to the moment at which the task wants to be woken.
    Sleep,
    /// The shell does one of the things that are owed; a call it makes has this outcome, or none yet.
    Owed(usize, Option<Outcome>, Finding),
    /// Another worker takes the task.
    Claim,
    /// Any attempt is answered, in any order, however late.
    Answer(usize, usize, Outcome),
    /// A look-up, asked so many milliseconds ago, is answered.
    Probe(usize, i64, Finding),
    /// A receipt for an attempt or for the whole.
    Receipt(usize, Option<u32>, Outcome),
    /// A begin that nobody owes.
    Begin(usize),
    /// A person answers one of the reviews.
    Decide(usize, Decision),
    /// A person settles an operation without being asked.
    Settle(usize, Decision),
    Cancel,
    Pause,
    Resume,
    /// The store is found to be a copy made so many milliseconds ago.
    Adopt(i64),
    /// The clock jumped: nothing before this moment is vouched for.
    Jump,
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    let refusal = (any::<bool>(), any::<bool>(), option::of(0..7_200_000_i64)).prop_map(
        |(retryable, sent, retry_after_ms)| Outcome::NotApplied {
            retryable: retryable || !sent,
            sent,
            cause: "refused".into(),
            retry_after_ms,
            refusal: None,
        },
    );
    prop_oneof![
        3 => Just(applied()),
        3 => refusal,
        1 => Just(pending()),
        3 => Just(Outcome::unknown(UnknownCause::Timeout)),
        1 => Just(Outcome::Contradiction { cause: "other parameters".into() }),
    ]
}

fn any_finding() -> impl Strategy<Value = Finding> {
    prop_oneof![
        2 => Just(found()),
        4 => Just(Finding::Absent),
        1 => Just(Finding::Pending),
        1 => Just(unclear()),
        1 => Just(many()),
    ]
}

fn any_decision() -> impl Strategy<Value = Decision> {
    prop_oneof![
        Just(Decision::ItHappened { reference: "4711".into(), result: Json::Null }),
        Just(Decision::ItDidNot),
        Just(Decision::AskAgain),
        (0..HOUR)
            .prop_map(|ms| Decision::WaitUntil { at: semel_kernel::time::Millis(crate::story::T0 + ms) }),
        Just(Decision::Skip),
        Just(Decision::WriteOff),
        Just(Decision::Abort),
        Just(Decision::GoOn),
    ]
}

fn any_deed() -> impl Strategy<Value = Deed> {
    let which = || any::<usize>();
    let lag = || select(vec![0, 10, 1_000, 40_000, 90_000]);
    prop_oneof![
        4 => select(vec![1, 900, 5_000, 40_000, 120_000, HOUR, 30 * HOUR]).prop_map(Deed::Pass),
        4 => Just(Deed::Sleep),
        20 => (which(), option::weighted(0.8, any_outcome()), any_finding())
            .prop_map(|(n, outcome, finding)| Deed::Owed(n, outcome, finding)),
        2 => Just(Deed::Claim),
        2 => (which(), which(), any_outcome()).prop_map(|(op, n, outcome)| Deed::Answer(op, n, outcome)),
        2 => (which(), lag(), any_finding()).prop_map(|(op, lag, finding)| Deed::Probe(op, lag, finding)),
        2 => (which(), option::of(0..4_u32), any_outcome())
            .prop_map(|(op, n, outcome)| Deed::Receipt(op, n, outcome)),
        1 => which().prop_map(Deed::Begin),
        4 => (which(), any_decision()).prop_map(|(n, decision)| Deed::Decide(n, decision)),
        1 => (which(), any_decision()).prop_map(|(n, decision)| Deed::Settle(n, decision)),
        1 => prop_oneof![Just(Deed::Cancel), Just(Deed::Pause), Just(Deed::Pause)],
        2 => Just(Deed::Resume),
        1 => prop_oneof![lag().prop_map(Deed::Adopt), Just(Deed::Jump)],
    ]
}

fn any_probe() -> impl Strategy<Value = ProbeTerms> {
    (0..20_000_i64, 1..5_000_i64, 0..60_000_i64, 1..4_u32).prop_map(|(settle_ms, poll_ms, for_ms, max)| {
        ProbeTerms { settle_ms, poll_ms, poll_cap_ms: 8_000, for_ms, max }
    })
}

fn any_terms() -> impl Strategy<Value = Terms> {
    let effects = vec![Effect::None, Effect::Natural, Effect::Keyed, Effect::Queryable, Effect::Blind];
    let unknowns =
        vec![OnUnknown::Review, OnUnknown::AcceptDuplicate, OnUnknown::AcceptLoss, OnUnknown::Compensate];
    let offline = vec![Offline::Fail, Offline::Wait(HOUR), Offline::Review];
    let windows = vec![50_000, 600_000, HOUR, 24 * HOUR];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let choice = (select(effects), select(unknowns), select(offline), option::weighted(0.9, select(windows)));
    (choice, flags, option::of(any_probe()), 1..4_u32).prop_map(|(choice, flags, probe, max)| {
        let (effect, on_unknown, offline, key_window_ms) = choice;
        let (refusals_stick, dedupe_atomic, require, irreversible, jitter) = flags;
        let retry = RetryTerms { max, wait_ms: 500, cap_ms: 4_000, jitter };
        let fixed = terms(effect);
        Terms {
            on_unknown,
            offline,
            key_window_ms,
            refusals_stick,
            dedupe_atomic,
            require,
            irreversible,
            probe,
            retry,
            ..fixed
        }
    })
}

fn any_budget() -> impl Strategy<Value = Budget> {
    let few = || option::weighted(0.2, 0..4_u32);
    (option::weighted(0.2, 0..2 * HOUR), few(), few()).prop_map(|(deadline_ms, attempts, unknowns)| Budget {
        deadline_ms,
        attempts,
        unknowns,
    })
}

/// Steps need any of those before them; one in six sleeps, one in six calls its tool for each of three items.
fn any_plan() -> impl Strategy<Value = Plan> {
    let step = (any_terms(), 0..6_u8, any::<u8>());
    (vec(step, 1..4), any_budget()).prop_map(|(steps, budget)| {
        let mut made = plan(Vec::new(), terms(Effect::Blind));
        made.budget = budget;
        for (n, (mut terms, kind, needs)) in steps.into_iter().enumerate() {
            terms.tool = tool(&format!("t{n}"));
            let kind = match kind {
                0 => StepKind::Sleep,
                1 => StepKind::Each { tool: terms.tool.clone(), parallel: 2 },
                _ => StepKind::Act(terms.tool.clone()),
            };
            let needs = (0..n).filter(|m| needs >> m & 1 == 1).map(|m| name(&format!("s{m}"))).collect();
            made.steps.push(PlanStep { name: name(&format!("s{n}")), needs, kind });
            made.tools.insert(terms.tool.clone(), terms);
        }
        made
    })
}

/// A plan and what happens to it.
pub(crate) fn any_life() -> impl Strategy<Value = (Plan, Vec<Deed>, u32)> {
    (any_plan(), vec(any_deed(), 1..70), any::<u32>())
}
