//! What the fields of a contract lead to: refusals by the target's state, and what they are called.

use semel_kernel::event::Why;
use semel_kernel::input::Input;
use semel_kernel::operation::Judgement;
use semel_kernel::outcome::{Finding, RefusalKind};
use semel_kernel::recover::Act;
use semel_kernel::review::{Decision, ReviewCause};
use semel_kernel::step::StepState;
use semel_kernel::terms::{CostTerms, Effect, OnUnknown, Terms};

use crate::story::{
    CLOCK, DEAD, SETTLED, Story, applied, found, lost, many, probed, refused, stale, terms, unclear,
};

// --- require and If-Match --------------------------------------------------------------------------------------

#[test]
fn a_refusal_says_which_of_the_four_it_was() {
    for (kind, code, words) in [
        (RefusalKind::Duplicate, "SM3006", "duplicate"),
        (RefusalKind::Stale, "SM3008", "stale version"),
        (RefusalKind::Changed, "SM3006", "changed by others"),
        (RefusalKind::Illegal, "SM3006", "illegal in this state"),
    ] {
        let mut story = Story::one(Terms { require: true, ..probed(Effect::Keyed) });
        story.forbid("a", Finding::Absent, kind).expect_failed("a", code);
        let step = story.step("a");
        assert_eq!(step.refusal, Some(kind));
        assert_eq!(step.cause, format!("{words}: `require` does not hold: absent"));
        assert_eq!(story.started("a"), 0);
    }
}

/// A history of before the kinds has none, and reads as it did.
#[test]
fn a_refusal_without_a_kind_reads_as_before() {
    let mut story = Story::one(Terms { require: true, ..probed(Effect::Keyed) });
    story.precheck("a", Finding::Absent, false).expect_failed("a", "SM3006");
    assert_eq!(
        (story.step("a").refusal, story.step("a").cause.as_str()),
        (None, "`require` does not hold: absent")
    );
}

#[test]
fn a_refused_compare_and_set_is_final_and_named() {
    let mut story = Story::one(Terms { require: true, ..probed(Effect::Keyed) });
    story
        .precheck("a", Finding::Absent, true)
        .begin("a")
        .answer("a", 1, stale())
        .expect_failed("a", "SM3008");
    assert_eq!((story.step("a").refusal, story.started("a")), (Some(RefusalKind::Stale), 1));
}

/// Our own first request may be what made the version stale: the second answer says nothing about it.
#[test]
fn a_stale_version_after_a_lost_answer_proves_nothing_about_the_first_attempt() {
    let mut story = Story::one(Terms { require: true, probe: None, ..terms(Effect::Keyed) });
    story.precheck("a", Finding::Absent, true).begin("a").at(100).answer("a", 1, lost());
    story.tick_at(DEAD + CLOCK).tick_at(2 * DEAD).expect_begin("a", Why::SameKey).begin("a");
    story.answer("a", 2, stale()).expect_judged("a", Judgement::Unknown);
    assert_eq!(story.step("a").refusal, None);
    for attempt in 3..=5 {
        story.tick_at(attempt * 4 * DEAD).begin("a").answer("a", u32::try_from(attempt).unwrap(), stale());
    }
    story.expect_review(&ReviewCause::AttemptsExhausted);
}

#[test]
fn the_version_is_that_of_the_last_look() {
    let mut story = Story::one(Terms { require: true, ..probed(Effect::Keyed) });
    let look = |story: &mut Story, tag: &str| {
        let look = semel_kernel::outcome::Look {
            tag: Some(tag.into()),
            ..semel_kernel::outcome::Look::answered(true)
        };
        let (op, shown) = (story.op_id("a"), semel_kernel::json::Json::Null);
        story.give(Input::Prechecked { op, finding: Finding::Absent, look, shown });
    };
    look(&mut story, "v1");
    assert_eq!(story.op("a").tag(), Some("v1"));
    look(&mut story, "v2");
    assert_eq!(story.op("a").tag(), Some("v2"));
    // After a send the look is used up.
    story.begin("a");
    assert_eq!(story.op("a").tag(), None);
}

// --- cost ------------------------------------------------------------------------------------------------------

fn dear(effect: Effect, max: i64, attempt: i64) -> Terms {
    Terms { cost: Some(CostTerms { max, attempt }), ..terms(effect) }
}

fn spent() -> ReviewCause {
    ReviewCause::Budget { which: "cost".into() }
}

#[test]
fn what_is_proven_not_applied_is_not_tried_again_beyond_the_cost() {
    let mut story = Story::one(dear(Effect::Blind, 5, 2));
    story.begin("a").answer("a", 1, refused(true)).tick_at(1_000).begin("a").answer("a", 2, refused(true));
    // Four are spent, and a third attempt would make it six.
    story.expect_review(&spent());
    assert_eq!(story.started("a"), 2);
    // A person extends it: the count begins anew, and ends anew.
    story.at(10_000).decide(Decision::GoOn).expect_begin("a", Why::Retry).begin("a");
    story.answer("a", 3, refused(true)).tick_at(60_000).begin("a").answer("a", 4, refused(true));
    story.expect_review(&spent());
}

#[test]
fn the_first_attempt_is_never_too_dear_and_neither_is_an_answer_that_applies() {
    let mut story = Story::one(dear(Effect::Blind, 5, 5));
    story.expect_begin("a", Why::First).begin("a").answer_at_cost("a", 1, applied(), 900);
    assert_eq!(story.op("a").cost(&dear(Effect::Blind, 5, 5)), 905);
    assert_eq!(story.step("a").state, StepState::Committed);
}

#[test]
fn an_unknown_outcome_that_has_cost_enough_is_a_review_and_not_a_resend() {
    for effect in [Effect::Keyed, Effect::Natural] {
        let mut story = Story::one(dear(effect, 10, 0));
        story.begin("a").at(100).answer_at_cost("a", 1, lost(), 10);
        story.tick_at(2 * DEAD).expect_review(&spent()).expect_state("a", StepState::Unknown);
        assert_eq!(story.started("a"), 1);
    }
}

#[test]
fn below_the_cost_it_is_sent_again() {
    let mut story = Story::one(dear(Effect::Keyed, 10, 3));
    story.begin("a").at(100).answer_at_cost("a", 1, lost(), 4);
    story.tick_at(DEAD + CLOCK).tick_at(2 * DEAD).expect_begin("a", Why::SameKey);
}

// --- a second source -------------------------------------------------------------------------------------------

fn both(story: &mut Story, first: Finding, second: Finding) {
    let (op, asked_at, shown) = (story.op_id("a"), story.now.at, semel_kernel::json::Json::Null);
    story.give(Input::Probed { op, asked_at, finding: first, confirm: Some(second), shown });
}

/// Before the settled moment one of them may lag behind; after it they contradict each other.
#[test]
fn two_sources_that_disagree_are_a_contradiction_once_it_is_settled() {
    for (first, second) in [(Finding::Absent, found()), (found(), Finding::Absent)] {
        let mut story = Story::lost(probed(Effect::Queryable));
        story.at(1_000);
        both(&mut story, first.clone(), second.clone());
        story.expect_judged("a", Judgement::Unknown);
        story.tick_at(SETTLED);
        both(&mut story, first, second);
        story.expect_judged("a", Judgement::Contradiction).expect_review(&ReviewCause::Contradiction);
        assert!(story.op("a").contradiction.as_ref().unwrap().contains("two sources disagree"));
        assert_eq!(story.started("a"), 1);
    }
}

#[test]
fn two_sources_that_agree_prove_what_one_would() {
    let mut story = Story::lost(probed(Effect::Queryable));
    story.tick_at(SETTLED);
    both(&mut story, Finding::Absent, Finding::Absent);
    story.expect_judged("a", Judgement::NotApplied { retryable: true });
    let mut story = Story::lost(probed(Effect::Queryable));
    story.at(1_000);
    both(&mut story, found(), found());
    assert_eq!(story.step("a").state, StepState::Committed);
}

/// A second source that does not answer clearly takes the proof away, and adds none.
#[test]
fn what_is_not_confirmed_is_asked_again() {
    for second in [unclear(), Finding::Pending] {
        for first in [Finding::Absent, found()] {
            let mut story = Story::lost(probed(Effect::Queryable));
            story.tick_at(SETTLED);
            both(&mut story, first, second.clone());
            story.expect_judged("a", Judgement::Unknown);
        }
    }
    let mut story = Story::lost(probed(Effect::Queryable));
    story.tick_at(SETTLED);
    both(&mut story, found(), many());
    story.expect_judged("a", Judgement::Contradiction);
}

// --- account ---------------------------------------------------------------------------------------------------

fn account(story: &mut Story, label: &str) {
    let op = story.op_id("a");
    story.give(Input::AccountSeen { op, account: label.into() });
}

/// The first attempt is lost under `main`; then the credential is that of `other`.
fn moved(terms: Terms) -> Story {
    let mut story = Story::one(terms);
    account(&mut story, "main");
    story.begin("a").at(100).answer("a", 1, lost());
    account(&mut story, "other");
    story
}

#[test]
fn under_another_account_nothing_is_sent_again_and_a_person_is_asked() {
    for effect in [Effect::Keyed, Effect::Natural, Effect::Blind] {
        let terms = Terms { on_unknown: OnUnknown::AcceptDuplicate, ..terms(effect) };
        let mut story = moved(terms);
        story.expect_review(&ReviewCause::AccountChanged).tick_at(10 * DEAD);
        story.expect_state("a", StepState::Unknown);
        assert_eq!(story.started("a"), 1);
    }
}

/// The target does not show another account's effects, so *absent* proves nothing; what is found is found.
#[test]
fn under_another_account_absent_is_no_proof_and_found_is() {
    for effect in [Effect::Keyed, Effect::Queryable] {
        let mut story = moved(probed(effect));
        story.tick_at(SETTLED).expect_act("a", &Act::Probe).probe("a", Finding::Absent);
        story.expect_judged("a", Judgement::Unknown);
        story.at(SETTLED + 10_000).probe("a", found());
        assert_eq!((story.step("a").state, story.started("a")), (StepState::Committed, 1));
        // Back under the first account, *absent* counts again.
        let mut story = moved(probed(effect));
        story.tick_at(SETTLED);
        account(&mut story, "main");
        story.probe("a", Finding::Absent).expect_judged("a", Judgement::NotApplied { retryable: true });
        story.tick_at(SETTLED + 60_000).expect_begin("a", Why::Retry);
    }
}

#[test]
fn what_is_proven_not_applied_is_not_tried_again_under_another_account() {
    let mut story = Story::one(terms(Effect::Keyed));
    account(&mut story, "main");
    story.begin("a").answer("a", 1, refused(true));
    account(&mut story, "other");
    story.tick_at(1_000).expect_failed("a", "SM3009");
    assert!(story.step("a").cause.ends_with("its account has changed from main to other"));
}

/// Until something has left, no account is pinned; and a call without effect belongs to none.
#[test]
fn an_account_is_pinned_by_the_first_request_that_changes_something() {
    let mut story = Story::one(terms(Effect::Keyed));
    account(&mut story, "main");
    account(&mut story, "other");
    story.expect_begin("a", Why::First).begin("a");
    assert!(!story.op("a").has_moved());
    let mut story = moved(terms(Effect::None));
    story.tick_at(1_100).expect_begin("a", Why::Harmless);
}
