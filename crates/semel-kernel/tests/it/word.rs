//! Whose word counts: the target's above a person's, a proven refusal above both, and two different results at once.

use semel_kernel::event::Why;
use semel_kernel::input::{Input, Resolution};
use semel_kernel::json::Json;
use semel_kernel::operation::{Attempt, AttemptState, Judgement};
use semel_kernel::outcome::{Finding, Outcome, Source, Stored};
use semel_kernel::recover::Act;
use semel_kernel::review::{Decision, ReviewCause};
use semel_kernel::step::StepState;
use semel_kernel::task::Phase;
use semel_kernel::terms::{Effect, Offline, Terms};
use semel_kernel::time::Millis;

use crate::story::{
    CLOCK, DEAD, HOUR, SETTLED, Story, T0, applied, found, lost, name, operation, pay, pending, plan, probed,
    refused, terms,
};

fn it_happened() -> Decision {
    Decision::ItHappened { reference: "4711".into(), result: Json::Null }
}

fn gave(id: &str, replayed: bool) -> Outcome {
    Outcome::Applied { result: Stored::Inline(Json::from(id)), replayed, truncated: false }
}

// --- the target and people -------------------------------------------------------------------------------------

#[test]
fn a_refusal_in_time_contradicts_a_person_who_was_quicker() {
    let mut story = Story::one(terms(Effect::Blind));
    let quick = story.begin("a").settle_input("a", it_happened());
    story.give(quick).expect_state("a", StepState::Committed).expect_phase(Phase::Completed);
    story.mark().answer("a", 1, refused(false));
    story.expect_names(&["AttemptAnswered", "EvidenceAdded", "ReviewOpened"]);
    story.expect_review(&ReviewCause::Contradiction).expect_state("a", StepState::Committed);
    story.decide(Decision::GoOn).expect_no_review();
}

#[test]
fn an_answer_in_time_that_agrees_with_a_person_asks_nobody() {
    let mut story = Story::one(terms(Effect::Blind));
    let quick = story.begin("a").settle_input("a", it_happened());
    story.give(quick).mark().answer("a", 1, gave("T-1", false));
    story.expect_names(&["AttemptAnswered"]).expect_no_review();
}

/// The person was wrong, and nothing was sent since: the target's word simply counts.
#[test]
fn a_success_after_it_did_not_commits_before_a_resend_and_contradicts_after_one() {
    let denied = || {
        let mut story = Story::lost(terms(Effect::Blind));
        story.at(HOUR).decide(Decision::ItDidNot).expect_begin("a", Why::Retry);
        story
    };
    denied().answer("a", 1, applied()).expect_state("a", StepState::Committed).expect_no_review();
    denied().begin("a").answer("a", 1, applied()).expect_review(&ReviewCause::Contradiction);
}

#[test]
fn a_person_does_not_outrank_the_targets_refusal() {
    let mut story = Story::one(terms(Effect::Blind));
    story.begin("a").answer("a", 1, refused(true));
    let wrong = story.settle_input("a", it_happened());
    assert!(story.refuses(wrong, "SM1005").contains("supersede it by a new version"));
    story.expect_state("a", StepState::Planned);
    // What was never sent, or only looked up, the target has not refused: the person may have done it by hand.
    let mut story = Story::one(terms(Effect::Blind));
    let by_hand = story.begin("a").answer("a", 1, Outcome::not_sent("dns")).settle_input("a", it_happened());
    story.give(by_hand).expect_state("a", StepState::Committed);
    let mut story = Story::lost(probed(Effect::Queryable));
    let by_hand = story.at(SETTLED).probe("a", Finding::Absent).settle_input("a", it_happened());
    story.give(by_hand).expect_state("a", StepState::Committed);
}

#[test]
fn nobody_writes_off_what_is_known_not_to_have_happened() {
    let unsent = Terms { offline: Offline::Review, ..terms(Effect::Blind) };
    let mut story = Story::one(Terms {
        retry: semel_kernel::terms::RetryTerms { max: 1, ..unsent.retry.clone() },
        ..unsent
    });
    story.begin("a").answer("a", 1, Outcome::not_sent("dns")).expect_review(&ReviewCause::Offline);
    let write_off = story.decision(Decision::WriteOff);
    story.refuses(write_off, "SM1005");
    assert!(!story.step("a").written_off);
    story.decide(Decision::Skip).expect_state("a", StepState::Skipped);
}

/// The second attempt was refused for good; that the first is absent, too, makes no passing refusal of it.
#[test]
fn a_final_refusal_stays_final_when_the_rest_is_disproved() {
    for by_person in [false, true] {
        let mut story = Story::lost(probed(Effect::Keyed));
        story.probe("a", Finding::Absent).tick_at(DEAD + CLOCK).tick_at(DEAD + CLOCK + 5_000);
        story.begin("a").answer("a", 2, refused(false)).expect_judged("a", Judgement::Unknown).at(HOUR);
        if by_person {
            let denied = story.settle_input("a", Decision::ItDidNot);
            story.give(denied);
        } else {
            story.probe("a", Finding::Absent);
        }
        story.expect_failed("a", "SM3001");
    }
}

// --- two results -----------------------------------------------------------------------------------------------

/// Attempt 1 lost, attempt 2 under the same key answered with `T-2`.
fn second_answered(effect: Effect) -> Story {
    let mut story = Story::lost(terms(effect));
    story.tick_at(DEAD + CLOCK).tick_at(DEAD + CLOCK + 5_000).begin("a").answer("a", 2, gave("T-2", false));
    story.expect_phase(Phase::Completed);
    story
}

#[test]
fn another_result_of_another_attempt_is_a_suspected_duplicate() {
    let mut story = second_answered(Effect::Keyed);
    story.answer("a", 1, gave("T-1", false)).expect_review(&ReviewCause::Contradiction);
    story.expect_state("a", StepState::Committed).decide(Decision::GoOn);
    story.answer("a", 1, gave("T-1", false)).expect_no_review();
    let mut story = second_answered(Effect::Keyed);
    story.receipt("a", None, gave("T-1", false)).expect_review(&ReviewCause::Contradiction);
}

#[test]
fn the_same_result_a_replay_or_the_same_attempt_is_none() {
    second_answered(Effect::Keyed).answer("a", 1, gave("T-2", false)).expect_no_review();
    second_answered(Effect::Keyed).answer("a", 1, gave("T-1", true)).expect_no_review();
    second_answered(Effect::Keyed).receipt("a", Some(2), gave("done", false)).expect_no_review();
    second_answered(Effect::Natural).answer("a", 1, gave("T-1", false)).expect_no_review();
    // One request can have had one effect only, however it is told of.
    let mut story = Story::one(terms(Effect::Keyed));
    story.begin("a").answer("a", 1, gave("T-1", false)).receipt("a", None, gave("done", false));
    story.expect_no_review();
}

#[test]
fn an_answer_in_time_is_compared_with_a_late_one_that_came_before() {
    let mut story = Story::lost(terms(Effect::Keyed));
    story.tick_at(DEAD + CLOCK).tick_at(DEAD + CLOCK + 5_000).begin("a");
    story.answer("a", 1, gave("T-1", false)).expect_phase(Phase::Completed);
    story.answer("a", 2, gave("T-2", false)).expect_review(&ReviewCause::Contradiction);
}

/// A look-up does not answer in the words of the request, so its result is compared with none; two answers are.
#[test]
fn answers_after_a_look_up_are_compared_with_each_other() {
    let mut story = Story::lost(probed(Effect::Keyed));
    story.probe("a", Finding::Absent).tick_at(DEAD + CLOCK).tick_at(DEAD + CLOCK + 5_000).begin("a");
    story.answer("a", 2, lost()).probe("a", found()).expect_phase(Phase::Completed);
    story.answer("a", 1, gave("T-1", false)).expect_no_review();
    story.answer("a", 2, gave("T-2", false)).expect_review(&ReviewCause::Contradiction);
}

// --- copies ----------------------------------------------------------------------------------------------------

/// The first original may have used the key soon after the first copy was made; the second copy does not change that.
#[test]
fn a_copy_of_a_copy_counts_the_window_from_the_older_one() {
    let mut story = Story::one(terms(Effect::Keyed));
    story.tick_at(HOUR).adopt(10).tick_at(23 * HOUR).adopt(23 * HOUR - 5).claim(1);
    assert_eq!(story.op("a").key_used_since(), Some(Millis(T0 + 10)));
    story.tick_at(30 * HOUR).expect_review(&ReviewCause::KeyWindowOver);
}

#[test]
fn a_step_planned_in_a_copy_of_a_copy_counts_from_the_older_one_too() {
    let mut story = Story::new(plan(vec![pay("a", &[])], terms(Effect::Keyed)));
    story.claim(1).tick_at(HOUR).adopt(10).tick_at(2 * HOUR).adopt(2 * HOUR - 5).claim(1).plan("a");
    assert_eq!(story.op("a").key_used_since(), Some(Millis(T0 + 10)));
}

#[test]
fn a_shadow_that_was_disproved_does_not_come_back() {
    let mut story = Story::one(probed(Effect::Keyed));
    story.tick_at(HOUR).adopt(10).claim(1).tick_at(2 * HOUR).probe("a", Finding::Absent);
    story.tick_at(5 * HOUR).adopt(4 * HOUR).claim(1);
    assert_eq!(story.op("a").key_used_since(), Some(Millis(T0 + 4 * HOUR)));
}

// --- handles and stored forms ----------------------------------------------------------------------------------

#[test]
fn the_handle_of_the_last_pending_answer_is_kept_to_ask_with() {
    let mut story = Story::one(probed(Effect::Queryable));
    story.begin("a");
    assert_eq!(story.op("a").handle(), None);
    story.answer("a", 1, pending()).expect_act("a", &Act::Probe);
    assert_eq!(story.op("a").handle(), Some(&Json::from("h-1")));
    let mut story = Story::one(terms(Effect::Keyed));
    story.begin("a").answer("a", 1, pending()).tick_at(DEAD + CLOCK).tick_at(2 * DEAD).begin("a");
    let bare = Outcome::Pending { handle: Json::Null, cause: "accepted".into() };
    story.answer("a", 2, bare);
    assert_eq!(story.op("a").handle(), Some(&Json::from("h-1")), "the one that can be asked with");
}

/// Checkpoints that were written before these fields are read as what they meant.
#[test]
fn attempts_of_older_checkpoints_are_read() {
    let bare: AttemptState = serde_json::from_str(r#"{"state":"pending"}"#).unwrap();
    assert_eq!(bare, AttemptState::Pending { handle: Json::Null });
    assert_eq!(serde_json::to_string(&bare).unwrap(), r#"{"state":"pending"}"#);
    let mut story = Story::one(terms(Effect::Blind));
    story.begin("a").answer("a", 1, applied());
    let stored = serde_json::to_string(&story.op("a").attempts[0]).unwrap();
    assert!(!stored.contains("late_ms") && !stored.contains("refused"), "{stored}");
    let read: Attempt = serde_json::from_str(&stored).unwrap();
    assert_eq!(read, story.op("a").attempts[0]);
}

#[test]
fn a_persons_fact_beside_a_receipt_is_not_compared_with_it() {
    let mut story = second_answered(Effect::Keyed);
    let fact = story.settle_input("a", it_happened());
    story.give(fact).expect_no_review();
    let op = story.op_id("a");
    let (source, shown) = (Source::Person("bob".into()), Json::Null);
    story.give(Input::Evidence { op, source, attempt: None, outcome: gave("T-9", false), shown });
    story.expect_no_review();
}

#[test]
fn a_followers_end_names_what_was_written_off() {
    let mut story =
        Story::new(plan(vec![pay("a", &[]), pay("b", &[]), pay("c", &["b"])], terms(Effect::Blind)));
    story.claim(1);
    for at in ["a", "b"] {
        let operation = operation(&name(at), "x", "1", "100");
        story.resolve(at, Resolution::Act { operation });
    }
    story.begin("a").answer("a", 1, lost()).decide(Decision::WriteOff);
    story.expect_state("b", StepState::Unknown).plan("c").begin("c").answer("c", 1, applied());
    story.expect_phase(Phase::Completed);
    assert_eq!(story.task.written_off(), [name("a"), name("b")]);
    assert_eq!(story.task.unknown_operations().count(), 0);
}
