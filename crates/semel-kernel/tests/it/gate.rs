//! When a request may leave: the gate before first sends and resends, `require`, natural targets, keys, the lease.

use semel_kernel::event::{Event, Why, is_progress};
use semel_kernel::input::{Input, Resolution};
use semel_kernel::json::Json;
use semel_kernel::limit::{PRECHECK_FRESH_MS, PROGRESS_MS};
use semel_kernel::oblige::{Obligation, progress_until};
use semel_kernel::operation::Judgement;
use semel_kernel::outcome::{Finding, Look, Outcome};
use semel_kernel::plan::StepKind;
use semel_kernel::recover::Act;
use semel_kernel::review::{Decision, ReviewCause};
use semel_kernel::step::StepState;
use semel_kernel::task::Phase;
use semel_kernel::terms::{Effect, Terms};
use semel_kernel::time::Millis;

use crate::story::{
    CLOCK, DEAD, HOUR, SETTLED, Story, T0, applied, found, lost, name, operation, pay, plan, probed, refused,
    step, terms, tool, unclear,
};

/// Steps `a` and `b` that act on one target, `a` by `pay` and `b` by this tool, on purpose each.
fn on_one_target(terms_of_pay: Terms, other: Terms, target: &str) -> Story {
    let of_b = other.tool.clone();
    let mut plan = plan(vec![pay("a", &[]), step("b", StepKind::Act(of_b.clone()), &[])], terms_of_pay);
    plan.tools.insert(of_b.clone(), other);
    let mut story = Story::new(plan);
    story.claim(1);
    for (at, intent, tool) in [("a", 1, tool("pay")), ("b", 2, of_b)] {
        let mut operation = operation(&name(at), target, "1", at);
        (operation.intent, operation.tool) = (intent, tool);
        story.resolve(at, Resolution::Act { operation });
    }
    story
}

fn other(effect: Effect) -> Terms {
    Terms { tool: tool("unblock"), ..terms(effect) }
}

// --- the gate --------------------------------------------------------------------------------------------------

#[test]
fn what_contradicts_a_settled_step_stops_all_that_is_not_sent() {
    let steps = vec![pay("a", &[]), pay("b", &["a"]), pay("c", &[])];
    let mut story = Story::new(plan(steps, probed(Effect::Queryable)));
    story.claim(1).plan("a").plan("c").begin("a").at(100).answer("a", 1, lost());
    story.at(SETTLED).probe("a", Finding::Absent).begin("a").answer("a", 2, applied());
    story.expect_begin("c", Why::First);
    assert!(story.owed().contains(&Obligation::Resolve(name("b"))));
    story.receipt("a", Some(1), applied()).expect_review(&ReviewCause::Contradiction);
    story.expect_state("a", StepState::Committed).expect_stuck("c").expect_phase(Phase::NeedsReview);
    assert_eq!(story.owed(), [Obligation::Person], "nothing goes on beside the contradiction");
    story.decide(Decision::GoOn).expect_begin("c", Why::First);
    assert!(story.owed().contains(&Obligation::Resolve(name("b"))));
}

#[test]
fn a_resend_waits_for_a_frozen_target_as_a_first_send_does() {
    let mut story = on_one_target(terms(Effect::Keyed), terms(Effect::Keyed), "x");
    story.begin("a").begin("b").at(100).answer("a", 1, lost());
    story.answer("b", 1, Outcome::Contradiction { cause: "other parameters".into() });
    story.tick_at(2 * DEAD).expect_stuck("a");
    let input = story.begin_input("a");
    story.refuses(input, "SM1005");
    story.at(DEAD + HOUR).decide(Decision::ItDidNot);
    story.tick_at(DEAD + HOUR + 5_000).expect_begin("a", Why::SameKey);
}

#[test]
fn a_resend_behind_a_frozen_target_goes_on_asking() {
    let mut story = on_one_target(probed(Effect::Keyed), probed(Effect::Keyed), "x");
    story.begin("a").at(100).answer("a", 1, lost());
    story.receipt("b", None, Outcome::Contradiction { cause: "other parameters".into() });
    story.at(200).probe("a", Finding::Absent).expect_wait("a", 1_200);
    story.tick_at(1_200).expect_act("a", &Act::Probe);
    story.probe("a", found()).expect_state("a", StepState::Committed);
}

#[test]
fn nothing_is_begun_when_the_lease_is_over() {
    for lease_left_ms in [0, -1] {
        let mut story = Story::one(terms(Effect::Keyed));
        let Input::Begin { op, request, next_key, .. } = story.begin_input("a") else { panic!() };
        let late = Input::Begin { op, request, lease_left_ms, next_key };
        assert!(story.refuses(late, "SM1005").contains("lease"));
        assert_eq!(story.op("a").attempts, [], "no attempt is burnt");
    }
}

#[test]
fn a_late_send_moves_the_settled_moment() {
    for fenced in [false, true] {
        let mut story = Story::one(probed(Effect::Queryable));
        story.begin("a").at(DEAD + 1_000);
        if fenced {
            story.claim(2);
        }
        let op = story.op_id("a");
        let (outcome, shown) = (lost(), Json::Null);
        story.give(Input::Answered { op, attempt: 1, outcome, shown, late_ms: 34_000, cost: 0 });
        assert_eq!(story.op("a").attempts[0].dead_at(), Millis(T0 + DEAD + 34_000));
        story.at(SETTLED).probe("a", Finding::Absent).expect_judged("a", Judgement::Unknown);
        story.at(SETTLED + 34_000).probe("a", Finding::Absent).expect_begin("a", Why::Retry);
    }
}

// --- require ---------------------------------------------------------------------------------------------------

fn requires(effect: Effect) -> Terms {
    Terms { require: true, ..probed(effect) }
}

#[test]
fn a_look_at_the_targets_state_is_not_good_for_long() {
    for terms in [requires(Effect::Keyed), probed(Effect::Natural)] {
        let mut story = Story::one(terms);
        story.precheck("a", Finding::Absent, true).tick_at(PRECHECK_FRESH_MS).expect_begin("a", Why::First);
        story.tick_at(PRECHECK_FRESH_MS + 1).expect_act("a", &Act::Precheck);
        let input = story.begin_input("a");
        story.refuses(input, "SM1005");
        story.precheck("a", Finding::Absent, true).expect_begin("a", Why::First);
    }
}

#[test]
fn a_paused_task_looks_again_when_it_is_resumed() {
    let mut story = Story::one(requires(Effect::Keyed));
    story.precheck("a", Finding::Absent, true).pause();
    story.at(72 * HOUR).resume().expect_act("a", &Act::Precheck);
    story.precheck("a", unclear(), false).expect_failed("a", "SM3006");
}

#[test]
fn a_retry_looks_again_however_soon_it_comes() {
    let mut story = Story::one(requires(Effect::Keyed));
    story.precheck("a", Finding::Absent, true).begin("a").answer("a", 1, refused(true));
    story.tick_at(1_000).expect_act("a", &Act::Precheck);
    let input = story.begin_input("a");
    story.refuses(input, "SM1005");
    story.precheck("a", Finding::Absent, true).expect_begin("a", Why::Retry).begin("a");
    story.answer("a", 2, refused(true)).tick_at(4_000).expect_act("a", &Act::Precheck);
    story.precheck("a", unclear(), false).expect_failed("a", "SM3006");
    assert_eq!(story.started("a"), 2);
}

/// The target may have changed by our own request, so its state says nothing about whether we may repeat it.
#[test]
fn a_resend_in_doubt_does_not_ask_for_require() {
    let mut story = Story::one(Terms { probe: None, ..requires(Effect::Keyed) });
    story.precheck("a", Finding::Absent, true).begin("a").at(100).answer("a", 1, lost());
    story.tick_at(DEAD + CLOCK).tick_at(2 * DEAD).expect_begin("a", Why::SameKey);
    let op = story.op_id("a");
    let (finding, shown) = (Finding::Absent, Json::Null);
    story.refuses(Input::Prechecked { op, finding, look: Look::answered(true), shown }, "SM1005");
}

#[test]
fn a_copy_looks_before_its_first_own_send() {
    for looked_before in [false, true] {
        let mut story = Story::one(requires(Effect::Keyed));
        if looked_before {
            story.precheck("a", Finding::Absent, true);
        }
        story.tick_at(20_000).adopt(10).claim(1).tick_at(50_000).probe("a", Finding::Absent);
        story.expect_judged("a", Judgement::NotApplied { retryable: true }).expect_act("a", &Act::Precheck);
        story.precheck("a", Finding::Absent, true).expect_begin("a", Why::Retry);
    }
}

/// Silence is counted from when the retry was due, not from when the operation was planned.
#[test]
fn a_silent_target_is_asked_again_before_a_late_retry() {
    let mut story = Story::one(requires(Effect::Keyed));
    let busy = Outcome::NotApplied {
        retryable: true,
        sent: true,
        cause: "429".into(),
        retry_after_ms: Some(HOUR),
        refusal: None,
    };
    story.precheck("a", Finding::Absent, true).begin("a").answer("a", 1, busy).tick_at(HOUR);
    let silent = |story: &mut Story| {
        let (op, finding, shown) = (story.op_id("a"), unclear(), Json::Null);
        story.give(Input::Prechecked { op, finding, look: Look::default(), shown });
    };
    silent(&mut story);
    story.expect_wait("a", HOUR + 1_000).tick_at(HOUR + 120_000).expect_act("a", &Act::Precheck);
    silent(&mut story);
    story.expect_failed("a", "SM3007");
}

// --- natural ---------------------------------------------------------------------------------------------------

#[test]
fn natural_never_overwrites_what_it_cannot_read() {
    let mut story = Story::lost(probed(Effect::Natural));
    story.at(200).probe("a", unclear()).expect_wait("a", 1_200);
    for _ in 0..20 {
        match story.act("a") {
            Act::Probe => story.probe("a", unclear()),
            Act::Wait { until, .. } if until < Millis::MAX => story.tick_at(until.0 - T0),
            _ => break,
        };
    }
    story.expect_review(&ReviewCause::ProbesExhausted).expect_state("a", StepState::Unknown);
    assert_eq!(story.started("a"), 1, "what somebody else has set since is not overwritten");
}

#[test]
fn natural_in_progress_is_polled_and_sent_again_once_it_is_absent() {
    let mut story = Story::lost(probed(Effect::Natural));
    story.at(200).probe("a", Finding::Pending).expect_wait("a", 1_200);
    story.tick_at(1_200).probe("a", Finding::Absent).tick_at(3_000).expect_act("a", &Act::Probe);
    story.at(SETTLED).probe("a", Finding::Absent).expect_begin("a", Why::Retry);
}

#[test]
fn natural_on_one_target_is_one_after_the_other_whatever_the_tool() {
    let mut story = on_one_target(terms(Effect::Natural), other(Effect::Natural), "user-1");
    story.begin("a").expect_stuck("b").at(100).answer("a", 1, lost()).expect_stuck("b");
    story.tick_at(1_100).begin("a").answer("a", 2, applied()).expect_begin("b", Why::First);
    let mut story = on_one_target(terms(Effect::Natural), other(Effect::Keyed), "user-1");
    story.begin("a").expect_stuck("b");
    let mut story = on_one_target(terms(Effect::Natural), other(Effect::None), "user-1");
    story.begin("a").expect_begin("b", Why::First);
    let mut story = on_one_target(terms(Effect::Natural), other(Effect::Natural), "");
    story.begin("a").expect_begin("b", Why::First);
}

/// In a copy both may have been sent: the earlier goes first, and neither waits for the other for ever.
#[test]
fn two_natural_operations_of_a_copy_go_one_after_the_other() {
    let mut story = on_one_target(terms(Effect::Natural), other(Effect::Natural), "user-1");
    story.tick_at(HOUR).adopt(10).claim(1);
    story.expect_begin("a", Why::Harmless).expect_stuck("b");
    story.begin("a").answer("a", 1, applied()).expect_begin("b", Why::Harmless);
}

/// Two versions of one intent, both in doubt: the earlier is settled first, and the other is a person's then.
#[test]
fn two_versions_in_doubt_are_not_both_sent_again() {
    // Also where only what the input has touched is looked at: the other version is on the same target.
    for narrow in [false, true] {
        let mut story = Story::new(plan(vec![pay("a", &[]), pay("b", &[])], terms(Effect::Keyed)));
        story.narrow = narrow;
        story.claim(1);
        for (at, version) in [("a", "1"), ("b", "2")] {
            let operation = operation(&name(at), "x", version, "100");
            story.resolve(at, Resolution::Act { operation });
        }
        story.tick_at(HOUR).adopt(10).claim(1).tick_at(HOUR + CLOCK);
        story.expect_begin("a", Why::SameKey).expect_stuck("b");
        story.begin("a").answer("a", 1, applied()).expect_review(&ReviewCause::Contradiction);
        story.expect_state("b", StepState::Unknown);
        assert_eq!(story.started("b"), 0);
        story.at(3 * HOUR).decide(Decision::ItDidNot).expect_failed("b", "SM1006");
    }
}

// --- keys ------------------------------------------------------------------------------------------------------

/// A doubt that a look-up or a person has settled is no refusal: the key goes on protecting from it.
#[test]
fn the_key_stays_where_the_target_did_not_refuse_it() {
    let mut terms = probed(Effect::Keyed);
    terms.refusals_stick = true;
    let mut story = Story::lost(terms.clone());
    story.at(SETTLED).probe("a", Finding::Absent).expect_begin("a", Why::Retry).begin("a");
    assert_eq!(story.op("a").key(), story.op("a").planned.key);
    assert_eq!(story.op("a").key_epoch, 0);
    story.answer("a", 2, refused(true)).tick_at(SETTLED + 2_000).begin("a");
    assert_eq!(story.op("a").key_epoch, 1, "this one was refused");
    assert_ne!(story.op("a").key(), story.op("a").planned.key);
    // The new key was not refused yet.
    story.answer("a", 3, lost()).at(3 * HOUR).probe("a", Finding::Absent).begin("a");
    assert_eq!(story.op("a").key_epoch, 1);
    assert_eq!(story.op("a").attempts[3].key, story.op("a").attempts[2].key);
    let mut story = Story::lost(terms);
    let it_did_not = story.at(HOUR).settle_input("a", Decision::ItDidNot);
    story.give(it_did_not).begin("a");
    assert_eq!(story.op("a").key_epoch, 0, "a person is not the target");
}

/// The window of a grown key opens with the first request under it.
#[test]
fn the_window_counts_for_the_current_key() {
    let mut story = Story::one(Terms { refusals_stick: true, ..terms(Effect::Keyed) });
    story.begin("a").answer("a", 1, refused(true)).tick_at(20 * HOUR).begin("a");
    assert_eq!(story.op("a").key_used_since(), Some(Millis(T0 + 20 * HOUR)));
    story
        .answer("a", 2, lost())
        .tick_at(25 * HOUR)
        .tick_at(25 * HOUR + 2_000)
        .expect_begin("a", Why::SameKey);
}

// --- for the stores --------------------------------------------------------------------------------------------

#[test]
fn an_owner_has_until_its_requests_are_dead() {
    let mut story = Story::one(Terms { timeout_ms: HOUR, ..terms(Effect::Blind) });
    assert_eq!(progress_until(&story.task, story.now), Millis(T0 + PROGRESS_MS));
    story.begin("a");
    let dead = story.op("a").dead_at().unwrap();
    assert_eq!(progress_until(&story.task, story.now), dead.plus(CLOCK + 1_000));
    let told = Outcome::Contradiction { cause: "other parameters".into() };
    story.receipt("a", None, told);
    assert_eq!(
        progress_until(&story.task, story.now),
        dead.plus(CLOCK + 1_000),
        "the answer is still awaited"
    );
    story.answer("a", 1, applied());
    assert_eq!(progress_until(&story.task, story.now), Millis(T0 + PROGRESS_MS));
}

#[test]
fn taking_a_task_over_is_no_progress() {
    let mut story = Story::one(probed(Effect::Queryable));
    let turn = |story: &Story, from: usize| -> Vec<Event> {
        story.history[from..].iter().map(|(e, _)| e.clone()).collect()
    };
    let from = story.history.len();
    story.begin("a");
    assert!(is_progress(&turn(&story, from)));
    let from = story.history.len();
    story.claim(2);
    assert_eq!(turn(&story, from).len(), 3, "taken, recovery begun, the attempt lost");
    assert!(!is_progress(&turn(&story, from)));
    let from = story.history.len();
    story.probe("a", unclear());
    assert!(is_progress(&turn(&story, from)));
    assert!(!is_progress(&[]));
}

/// What cannot be written down was not sent: a known failure, unless somebody else may have sent it.
#[test]
fn a_request_that_cannot_be_written_fails_only_what_is_proven_unsent() {
    let unwritable = |story: &mut Story| {
        let (op, code, cause) = (story.op_id("a"), "SM4405".into(), "a header with a line break".into());
        story.give(Input::CannotWrite { op, code, cause, fields: Vec::new() });
    };
    let mut story = Story::one(terms(Effect::Keyed));
    unwritable(&mut story);
    story.expect_failed("a", "SM4405").expect_phase(Phase::Failed);
    assert_eq!(story.started("a"), 0);
    let mut story = Story::lost(terms(Effect::Keyed));
    unwritable(&mut story);
    story.expect_state("a", StepState::Unknown).expect_phase(Phase::NeedsReview);
}
