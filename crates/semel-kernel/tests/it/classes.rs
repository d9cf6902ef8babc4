//! The recovery table, cell by cell: effect class × what is found (DESIGN sections 4 and 6).

use semel_kernel::event::{Authorship, Event, Proof, Why};
use semel_kernel::input::Input;
use semel_kernel::json::Json;
use semel_kernel::oblige::Obligation;
use semel_kernel::operation::{AttemptState, Judgement, Status};
use semel_kernel::outcome::{Finding, Look, Outcome, UnknownCause};
use semel_kernel::recover::Act;
use semel_kernel::review::ReviewCause;
use semel_kernel::step::StepState;
use semel_kernel::task::Phase;
use semel_kernel::terms::{Effect, Offline, OnUnknown, Terms};
use semel_kernel::time::Millis;

use crate::story::{
    CLOCK, DEAD, HOUR, SEND, SETTLED, Story, T0, applied, found, lost, many, pending, probed, refused, terms,
    unclear,
};

const ALL: [Effect; 5] = [Effect::None, Effect::Natural, Effect::Keyed, Effect::Queryable, Effect::Blind];

// --- rows that are the same for every class --------------------------------------------------------------------

#[test]
fn nothing_sent_begins_in_every_class() {
    for effect in ALL {
        let mut story = Story::one(terms(effect));
        story
            .expect_begin("a", Why::First)
            .expect_state("a", StepState::Planned)
            .expect_phase(Phase::Running);
        assert_eq!(story.op("a").status(), Status::Planned);
    }
}

#[test]
fn in_flight_of_ours_is_waited_for_until_it_is_dead() {
    for effect in ALL {
        let mut story = Story::one(terms(effect));
        story.begin("a").expect_state("a", StepState::Started).expect_wait("a", DEAD + CLOCK);
        assert_eq!(story.owed(), [Obligation::Answer(story.op_id("a"))]);
        story.tick_at(DEAD + CLOCK - 1).expect_judged("a", Judgement::InFlight);
        story.tick_at(DEAD + CLOCK).expect_state("a", StepState::Unknown);
        let state = &story.op("a").attempts[0].state;
        assert_eq!(*state, AttemptState::Unknown { cause: UnknownCause::Deadline }, "{effect:?}");
    }
}

#[test]
fn in_flight_of_an_older_generation_is_unknown_at_once() {
    for effect in ALL {
        let mut story = Story::one(terms(effect));
        story.begin("a").at(10).claim(2);
        let state = &story.op("a").attempts[0].state;
        assert_eq!(*state, AttemptState::Unknown { cause: UnknownCause::OwnerGone }, "{effect:?}");
        story.expect_state("a", StepState::Unknown);
    }
}

#[test]
fn an_answer_that_proves_it_commits_in_every_class() {
    for effect in ALL {
        let mut story = Story::one(terms(effect));
        story.begin("a").answer("a", 1, applied()).expect_state("a", StepState::Committed);
        story.expect_phase(Phase::Completed);
        assert_eq!(story.step("a").proof, Some(Proof::Answer { attempt: 1 }));
        let ours = (effect == Effect::Natural).then_some(Authorship::Ours);
        assert_eq!(story.step("a").authorship, ours);
    }
}

#[test]
fn a_final_refusal_of_the_only_attempt_fails_in_every_class() {
    for effect in ALL {
        let mut story = Story::one(terms(effect));
        story.begin("a").answer("a", 1, refused(false)).expect_failed("a", "SM3001");
        story.expect_phase(Phase::Failed);
        assert_eq!(story.started("a"), 1);
    }
}

#[test]
fn a_passing_refusal_is_tried_again_up_to_the_limit_in_every_class() {
    for effect in ALL {
        let mut story = Story::one(terms(effect));
        for attempt in 1..=5 {
            story.begin("a").answer("a", attempt, refused(true));
            story.expect_judged("a", Judgement::NotApplied { retryable: true });
            if attempt < 5 {
                story.expect_state("a", StepState::Planned);
                let due = story.op("a").not_before.unwrap().0 - T0;
                story.tick_at(due).expect_begin("a", Why::Retry);
            }
        }
        story.expect_failed("a", "SM3002");
        assert_eq!(story.started("a"), 5, "{effect:?}");
    }
}

#[test]
fn a_contradiction_is_a_review_in_every_class() {
    for effect in ALL {
        let mut story = Story::one(terms(effect));
        let cause = "key was used with other parameters".to_string();
        story.begin("a").answer("a", 1, Outcome::Contradiction { cause });
        story.expect_state("a", StepState::Unknown).expect_review(&ReviewCause::Contradiction);
        story.expect_phase(Phase::NeedsReview);
    }
}

#[test]
fn zero_bytes_sent_is_never_unknown_whatever_the_error_is_called() {
    for effect in ALL {
        let mut story = Story::one(terms(effect));
        story.begin("a").answer("a", 1, Outcome::not_sent("time-out of the pool"));
        story.expect_state("a", StepState::Planned);
        story.tick_at(1_000).expect_begin("a", Why::Retry);
        assert_eq!(story.op("a").key_used_since(), None, "{effect:?}: the key's window has not begun");
    }
}

// --- none ------------------------------------------------------------------------------------------------------

#[test]
fn none_is_begun_again_after_a_pause() {
    let mut story = Story::lost(terms(Effect::None));
    story.expect_wait("a", 1_100);
    story.tick_at(1_100).expect_begin("a", Why::Harmless);
}

#[test]
fn none_after_a_crash_is_begun_again_without_a_pause() {
    let mut story = Story::one(terms(Effect::None));
    story.begin("a").at(10).claim(2).expect_begin("a", Why::Harmless);
}

/// A read that got no answer five times is a known failure: it cannot have changed anything.
#[test]
fn none_that_never_answers_fails_and_the_task_ends() {
    let mut story = Story::one(terms(Effect::None));
    for attempt in 1..=5 {
        story.begin("a").answer("a", attempt, lost());
        story.at((story.now.at.0 - T0) + 120_000).give(Input::Tick);
    }
    story.expect_failed("a", "SM3003").expect_phase(Phase::Failed);
}

#[test]
fn none_of_a_cancelled_task_is_not_read_again() {
    let mut story = Story::lost(terms(Effect::None));
    story.cancel().expect_failed("a", "SM3003");
    assert!(story.task.end.is_some(), "the task must end: {:#?}", story.owed());
}

#[test]
fn a_late_answer_of_a_failed_read_is_kept_and_asks_nobody() {
    let mut terms = terms(Effect::None);
    terms.retry.max = 1;
    let mut story = Story::lost(terms);
    story.expect_failed("a", "SM3003");
    story.answer("a", 1, applied()).expect_no_review().expect_failed("a", "SM3003");
    assert_eq!(story.op("a").evidence.len(), 1);
}

// --- natural ---------------------------------------------------------------------------------------------------

#[test]
fn natural_without_a_probe_is_begun_again() {
    let mut story = Story::lost(terms(Effect::Natural));
    story.tick_at(1_100).expect_begin("a", Why::Harmless);
}

#[test]
fn natural_with_a_probe_looks_first_and_sends_nothing_when_the_state_holds() {
    let mut story = Story::one(probed(Effect::Natural));
    assert_eq!(story.owed(), [Obligation::Precheck(story.op_id("a"))]);
    story.precheck("a", found(), true).expect_state("a", StepState::Committed);
    assert_eq!(story.step("a").authorship, Some(Authorship::Unproven));
    assert_eq!(story.started("a"), 0);
}

#[test]
fn natural_with_a_probe_is_asked_before_it_is_begun_again() {
    let mut story = Story::lost(probed(Effect::Natural));
    story.expect_act("a", &Act::Probe);
    // Set again too early, it could be set over what somebody else has set since.
    story.at(200).probe("a", Finding::Absent).tick_at(1_200).expect_act("a", &Act::Probe);
    story.at(SETTLED).probe("a", Finding::Absent).expect_begin("a", Why::Retry);
    let mut story = Story::lost(probed(Effect::Natural));
    story.at(200).probe("a", found()).expect_state("a", StepState::Committed);
    assert_eq!(story.step("a").authorship, Some(Authorship::Unproven));
}

#[test]
fn natural_on_a_busy_target_waits() {
    let mut story = two_on_one_target(terms(Effect::Natural));
    story.begin("a").at(100).answer("a", 1, lost());
    story.expect_stuck("b").tick_at(1_100);
    story.begin("a").answer("a", 2, applied()).expect_begin("b", Why::First);
}

/// Two steps with different amounts and intents on one target.
fn two_on_one_target(terms: Terms) -> Story {
    use crate::story::{name, operation, pay, plan};
    use semel_kernel::input::Resolution;
    let mut story = Story::new(plan(vec![pay("a", &[]), pay("b", &[])], terms));
    story.claim(1);
    for (step, intent) in [("a", 1), ("b", 2)] {
        let mut operation = operation(&name(step), "x", "1", step);
        operation.intent = intent;
        story.resolve(step, Resolution::Act { operation });
    }
    story
}

#[test]
fn natural_runs_out_of_tries_into_a_review_never_into_a_failure() {
    let mut story = Story::one(terms(Effect::Natural));
    for attempt in 1..=5 {
        story.begin("a").answer("a", attempt, lost());
        story.at((story.now.at.0 - T0) + 120_000).give(Input::Tick);
    }
    story.expect_state("a", StepState::Unknown).expect_review(&ReviewCause::AttemptsExhausted);
}

#[test]
fn require_that_does_not_hold_fails_before_anything_is_sent() {
    let mut story = Story::one(Terms { require: true, ..terms(Effect::Keyed) });
    story.expect_act("a", &Act::Precheck);
    story.precheck("a", Finding::Absent, false).expect_failed("a", "SM3006");
    assert_eq!(story.started("a"), 0);
}

/// A target that is silent when asked says nothing: it is asked again, and in the end nothing was sent.
#[test]
fn require_is_asked_again_while_the_target_is_silent() {
    let silent = |story: &mut Story| {
        let (op, shown) = (story.op_id("a"), semel_kernel::json::Json::Null);
        let finding = Finding::Unclear { cause: "no answer".into() };
        story.give(Input::Prechecked { op, finding, look: Look::default(), shown });
    };
    let mut story = Story::one(Terms { require: true, ..probed(Effect::Keyed) });
    silent(&mut story);
    story.tick_at(60_000).expect_act("a", &Act::Precheck);
    story.precheck("a", Finding::Absent, true).expect_begin("a", Why::First);
    let mut story = Story::one(Terms { require: true, ..probed(Effect::Keyed) });
    story.at(16 * 60_000);
    silent(&mut story);
    story.expect_failed("a", "SM3007");
    assert_eq!(story.started("a"), 0);
}

// --- keyed -----------------------------------------------------------------------------------------------------

#[test]
fn s02_keyed_without_a_probe_is_sent_again_under_the_same_key_once_the_first_is_dead() {
    let mut story = Story::one(terms(Effect::Keyed));
    story.begin("a").at(10).claim(2).expect_wait("a", DEAD + CLOCK);
    story.tick_at(DEAD + CLOCK).expect_begin("a", Why::SameKey);
    story.begin("a");
    let op = story.op("a");
    assert_eq!(op.attempts[1].key, op.attempts[0].key);
    assert_eq!(op.attempts[1].key, op.planned.key);
}

#[test]
fn keyed_graded_atomic_does_not_wait_for_the_first_to_be_dead() {
    let mut story = Story::one(Terms { dedupe_atomic: true, ..terms(Effect::Keyed) });
    story.begin("a").at(10).claim(2).expect_begin("a", Why::SameKey);
}

#[test]
fn keyed_with_a_probe_asks_first_and_sends_the_same_key_after_absent_or_unclear() {
    for finding in [Finding::Absent, unclear()] {
        let mut story = Story::lost(probed(Effect::Keyed));
        story.expect_act("a", &Act::Probe);
        story.at(200).probe("a", finding).expect_wait("a", DEAD + CLOCK);
        story.tick_at(DEAD + CLOCK).tick_at(DEAD + CLOCK + 1_000).expect_begin("a", Why::SameKey);
    }
    let mut story = Story::lost(probed(Effect::Keyed));
    story.at(200).probe("a", found()).expect_state("a", StepState::Committed);
    assert_eq!(story.step("a").proof, Some(Proof::Probe));
    assert_eq!(story.step("a").authorship, None);
}

#[test]
fn keyed_that_is_pending_at_the_target_is_polled_not_resent() {
    let mut story = Story::lost(probed(Effect::Keyed));
    story.at(200).probe("a", Finding::Pending).expect_wait("a", 1_200);
    story.at(DEAD + CLOCK).expect_act("a", &Act::Probe);
}

#[test]
fn s22_after_the_window_a_keyed_operation_is_not_sent_on_the_strength_of_its_key() {
    let mut inside = Story::lost(terms(Effect::Keyed));
    inside.tick_at(23 * HOUR).tick_at(23 * HOUR + 1_000).expect_begin("a", Why::SameKey);
    let mut over = Story::lost(terms(Effect::Keyed));
    over.tick_at(25 * HOUR).expect_review(&ReviewCause::KeyWindowOver);
    over.expect_state("a", StepState::Unknown);
    assert_eq!(over.started("a"), 1);
}

#[test]
fn keyed_after_the_window_is_asked_where_it_can_be() {
    let mut story = Story::lost(probed(Effect::Keyed));
    story.tick_at(25 * HOUR).expect_act("a", &Act::Probe);
    story.probe("a", Finding::Absent);
    story.expect_failed("a", "SM3005");
    let mut story = Story::lost(probed(Effect::Keyed));
    story.tick_at(25 * HOUR).probe("a", unclear());
    story.expect_no_review().expect_wait("a", 25 * HOUR + 1_000);
}

/// A resend ends, time-out and settle included, before the window closes, less its margin.
#[test]
fn a_keyed_resend_is_sent_before_the_margin_of_the_window_or_never() {
    let margin = 24 * HOUR / 100;
    let last = 24 * HOUR - margin - 30_000 - 60_000 - CLOCK;
    let mut story = Story::lost(terms(Effect::Keyed));
    story.tick_at(last - 2_000).tick_at(last - 1_000).begin("a");
    let op = story.op("a");
    assert_eq!(op.attempts[1].send_by, Millis(T0 + last), "shorter than the usual {SEND} ms");
    assert_eq!(op.attempts[1].key, op.planned.key);
    let mut story = Story::lost(terms(Effect::Keyed));
    story.tick_at(last - 1_000).expect_wait("a", last);
    story.tick_at(last + 1).expect_review(&ReviewCause::KeyWindowOver);
    let input = story.begin_input("a");
    story.refuses(input, "SM1005");
}

#[test]
fn a_window_binds_keyed_operations_only() {
    let mut story = Story::one(Terms { key_window_ms: Some(1), ..terms(Effect::Blind) });
    story.begin("a").answer("a", 1, refused(true)).tick_at(HOUR).begin("a");
    assert_eq!(story.op("a").attempts[1].send_by, Millis(T0 + HOUR + SEND));
}

#[test]
fn a_retry_of_what_is_not_applied_ends_with_the_window() {
    let mut story = Story::one(terms(Effect::Keyed));
    story.begin("a").answer("a", 1, refused(true)).tick_at(25 * HOUR).expect_failed("a", "SM3005");
}

#[test]
fn the_key_changes_only_where_refusals_stick_and_only_after_proof() {
    let sticky = Terms { refusals_stick: true, ..terms(Effect::Keyed) };
    let mut story = Story::one(sticky.clone());
    story.begin("a").answer("a", 1, refused(true)).tick_at(1_000).begin("a");
    let op = story.op("a").clone();
    assert_ne!(op.attempts[1].key, op.attempts[0].key);
    assert_eq!(op.key_epoch, 1);
    // The second is lost: its own key goes on, and no further epoch opens while it is in doubt.
    story.answer("a", 2, lost()).tick_at(60_000).tick_at(62_000).expect_begin("a", Why::SameKey).begin("a");
    assert_eq!(story.op("a").attempts[2].key, op.attempts[1].key);
    assert_eq!(story.op("a").key_epoch, 1);

    let mut story = Story::lost(sticky.clone());
    story.tick_at(DEAD + CLOCK).tick_at(DEAD + CLOCK + 1_000).begin("a").answer("a", 2, refused(true));
    story.expect_judged("a", Judgement::Unknown);
    story.tick_at(90_000).tick_at(93_000).begin("a");
    assert_eq!(story.op("a").key_epoch, 0, "the first attempt is not proven not applied");

    let mut story = Story::one(sticky);
    story.begin("a").answer("a", 1, Outcome::not_sent("refused")).tick_at(1_000).begin("a");
    assert_eq!(story.op("a").key_epoch, 0, "nothing was refused");

    let mut story = Story::one(terms(Effect::Keyed));
    story.begin("a").answer("a", 1, refused(true)).tick_at(1_000).begin("a");
    assert_eq!(story.op("a").key_epoch, 0, "refusals do not stick");
}

#[test]
fn a_refusal_of_the_second_attempt_says_nothing_about_a_lost_first() {
    for retryable in [false, true] {
        for cause in ["401", "404", "429"] {
            let mut story = Story::lost(terms(Effect::Keyed));
            story.tick_at(DEAD + CLOCK).tick_at(DEAD + CLOCK + 1_000).begin("a");
            let outcome = Outcome::NotApplied {
                retryable,
                sent: true,
                cause: cause.into(),
                retry_after_ms: None,
                refusal: None,
            };
            story.answer("a", 2, outcome);
            story.expect_state("a", StepState::Unknown).expect_judged("a", Judgement::Unknown);
            assert_eq!(story.op("a").status(), Status::Unknown);
        }
    }
}

#[test]
fn keyed_pending_without_a_probe_repeats_the_key() {
    let mut story = Story::one(terms(Effect::Keyed));
    story.begin("a").at(100).answer("a", 1, pending()).expect_state("a", StepState::Started);
    story.expect_wait("a", DEAD + CLOCK);
    story.tick_at(DEAD + CLOCK).tick_at(DEAD + CLOCK + 1_000).expect_begin("a", Why::SameKey);
}

// --- queryable -------------------------------------------------------------------------------------------------

#[test]
fn s03_a_time_out_is_unknown_and_the_look_up_commits_it() {
    let mut story = Story::one(probed(Effect::Queryable));
    story.begin("a").mark().at(2_000).answer("a", 1, Outcome::unknown(UnknownCause::Timeout));
    story.expect_state("a", StepState::Unknown).expect_act("a", &Act::Probe);
    story.at(3_000).probe("a", found()).expect_state("a", StepState::Committed);
    story.expect_names(&["AttemptUnknown", "ProbeAnswered", "StepCommitted", "TaskCompleted"]);
    assert_eq!(story.started("a"), 1);
}

#[test]
fn queryable_absent_counts_only_when_asked_after_the_settled_moment() {
    for (asked_at, proof) in [(200, false), (SETTLED - 1, false), (SETTLED, true), (SETTLED + 1, true)] {
        let mut story = Story::lost(probed(Effect::Queryable));
        story.at(SETTLED + 60_000).probe_asked("a", asked_at, Finding::Absent);
        if proof {
            story.expect_judged("a", Judgement::NotApplied { retryable: true });
            story.expect_state("a", StepState::Planned).expect_begin("a", Why::Retry);
        } else {
            story.expect_judged("a", Judgement::Unknown).expect_state("a", StepState::Unknown);
            let input = story.begin_input("a");
            story.refuses(input, "SM1005");
        }
    }
}

#[test]
fn absent_is_no_proof_while_the_attempt_counts_as_in_flight() {
    let mut story = Story::one(probed(Effect::Queryable));
    story.begin("a").at(SETTLED).probe("a", Finding::Absent).expect_judged("a", Judgement::Unknown);
    story.at(SETTLED + 1).probe("a", Finding::Absent).expect_begin("a", Why::Retry);
}

#[test]
fn queryable_absent_early_is_asked_again_and_once_more_when_settled() {
    let mut story = Story::lost(probed(Effect::Queryable));
    let mut asked = Vec::new();
    let mut at = 100;
    for _ in 0..20 {
        match story.act("a") {
            Act::Probe => {
                asked.push(at);
                story.probe("a", Finding::Absent);
            }
            Act::Wait { until, .. } => {
                at = until.0 - T0;
                story.tick_at(at);
            }
            _ => break,
        }
    }
    story.expect_begin("a", Why::Retry);
    assert_eq!(
        asked,
        [100, 1_100, 2_600, 4_850, 8_225, 13_287, SETTLED],
        "ever less often, then for certain"
    );
}

#[test]
fn queryable_pending_is_polled_until_it_is_found() {
    let mut story = Story::lost(probed(Effect::Queryable));
    story.at(200).probe("a", Finding::Pending).tick_at(1_200).expect_act("a", &Act::Probe);
    story.probe("a", Finding::Pending).tick_at(2_700).probe("a", found());
    story.expect_state("a", StepState::Committed);
}

#[test]
fn queryable_unclear_never_decays_into_absent() {
    let mut story = Story::lost(probed(Effect::Queryable));
    for _ in 0..20 {
        match story.act("a") {
            Act::Probe => story.probe("a", unclear()),
            Act::Wait { until, .. } if until < Millis::MAX => story.tick_at(until.0 - T0),
            _ => break,
        };
    }
    story.expect_review(&ReviewCause::ProbesExhausted).expect_state("a", StepState::Unknown);
    assert_eq!(story.op("a").probes.asked, 7, "six, and once for certain");
    assert!(story.op("a").probes.last_at.unwrap().0 >= T0 + SETTLED);
    assert_eq!(story.started("a"), 1);
}

#[test]
fn queryable_found_twice_is_a_contradiction_and_freezes_the_target() {
    let mut story = two_on_one_target(probed(Effect::Queryable));
    story.begin("a").answer("a", 1, lost()).at(200).probe("a", many());
    story.expect_review(&ReviewCause::Contradiction).expect_state("a", StepState::Unknown);
    story.expect_stuck("b");
}

#[test]
fn queryable_that_was_answered_pending_is_polled() {
    let mut story = Story::one(probed(Effect::Queryable));
    story.begin("a").answer("a", 1, pending()).expect_state("a", StepState::Started);
    story.expect_act("a", &Act::Probe).expect_judged("a", Judgement::Pending);
    story.probe("a", found()).expect_state("a", StepState::Committed);
}

/// The limits on asking count from the last send, not from the first.
#[test]
fn a_second_attempt_is_asked_about_as_often_as_the_first() {
    let mut story = Story::lost(probed(Effect::Queryable));
    for _ in 0..5 {
        story.at((story.now.at.0 - T0) + 6_000).probe("a", unclear());
    }
    story.at(SETTLED).probe("a", Finding::Absent).begin("a").answer("a", 2, lost());
    story.expect_act("a", &Act::Probe);
    story.probe("a", unclear());
    let first_again = (story.now.at.0 - T0) + 1_000;
    story.expect_wait("a", first_again);
}

#[test]
fn s23_killed_between_started_and_send_is_looked_up_and_sent_once_more() {
    let mut story = Story::one(probed(Effect::Queryable));
    story.begin("a").at(10).claim(2).expect_act("a", &Act::Probe);
    let input = story.begin_input("a");
    story.refuses(input, "SM1005");
    story.at(SETTLED).probe("a", Finding::Absent).begin("a").answer("a", 2, applied());
    story.expect_state("a", StepState::Committed).expect_phase(Phase::Completed);
}

#[test]
fn a_look_up_that_left_before_a_resend_proves_nothing_about_it() {
    let mut story = Story::lost(probed(Effect::Queryable));
    story.at(SETTLED).probe("a", Finding::Absent).begin("a");
    story.at(SETTLED + 100).probe_asked("a", SETTLED + 50, Finding::Absent);
    story.expect_judged("a", Judgement::InFlight);
    story.answer("a", 2, lost()).probe_asked("a", SETTLED + 60, Finding::Absent);
    story.expect_judged("a", Judgement::Unknown);
}

// --- the clock -------------------------------------------------------------------------------------------------

#[test]
fn a_clock_that_jumped_restarts_the_settle_wait() {
    let mut story = Story::lost(probed(Effect::Queryable));
    story.now.steady_since = Millis(T0 + SETTLED - 1_000);
    story.at(SETTLED).probe("a", Finding::Absent).expect_judged("a", Judgement::Unknown);
    story.at(SETTLED - 1_000 + 12_000).probe("a", Finding::Absent);
    story.expect_judged("a", Judgement::NotApplied { retryable: true });
}

#[test]
fn a_clock_that_jumped_closes_open_key_windows() {
    let mut story = Story::lost(terms(Effect::Keyed));
    story.now.windows_void_before = Millis(T0 + 1_000);
    story.tick_at(HOUR).expect_review(&ReviewCause::KeyWindowOver);
    let mut later = Story::lost(terms(Effect::Keyed));
    later.now.windows_void_before = Millis(T0);
    later.tick_at(HOUR).tick_at(HOUR + 1_000).expect_begin("a", Why::SameKey);
}

// --- blind -----------------------------------------------------------------------------------------------------

#[test]
fn s04_blind_is_sent_once_and_then_a_person_is_asked() {
    let mut story = Story::lost(terms(Effect::Blind));
    story.expect_review(&ReviewCause::Blind).expect_state("a", StepState::Unknown);
    story.expect_phase(Phase::NeedsReview);
    assert_eq!(story.owed(), [Obligation::Person]);
    assert_eq!(story.started("a"), 1);
}

#[test]
fn blind_does_as_on_unknown_says_unless_it_is_irreversible() {
    let blind =
        |on_unknown, irreversible| Story::lost(Terms { on_unknown, irreversible, ..terms(Effect::Blind) });
    let mut duplicate = blind(OnUnknown::AcceptDuplicate, false);
    duplicate.tick_at(1_100).expect_begin("a", Why::AcceptedDuplicate);
    let mut loss = blind(OnUnknown::AcceptLoss, false);
    assert!(loss.step("a").written_off);
    loss.expect_state("a", StepState::Unknown).expect_phase(Phase::Completed);
    assert_eq!(loss.task.written_off().len(), 1);
    blind(OnUnknown::Compensate, false).expect_review(&ReviewCause::Compensate);
    for on_unknown in
        [OnUnknown::Review, OnUnknown::AcceptDuplicate, OnUnknown::AcceptLoss, OnUnknown::Compensate]
    {
        blind(on_unknown, true).expect_review(&ReviewCause::Blind).expect_state("a", StepState::Unknown);
    }
}

#[test]
fn blind_pending_waits_for_a_receipt_and_not_for_ever() {
    let mut story = Story::one(terms(Effect::Blind));
    story.begin("a").answer("a", 1, pending()).expect_wait("a", 900_000);
    story.tick_at(900_000).expect_review(&ReviewCause::ProbesExhausted);
    let mut story = Story::one(terms(Effect::Blind));
    story.begin("a").answer("a", 1, pending()).receipt("a", Some(1), applied());
    story.expect_state("a", StepState::Committed);
    assert_eq!(story.step("a").proof, Some(Proof::Evidence));
}

// --- retries ---------------------------------------------------------------------------------------------------

#[test]
fn s25_not_yet_due_is_no_final_answer() {
    let mut story = Story::one(terms(Effect::Keyed));
    let not_due = Outcome::NotApplied {
        retryable: true,
        sent: true,
        cause: "not yet due".into(),
        retry_after_ms: Some(HOUR),
        refusal: None,
    };
    story.begin("a").answer("a", 1, not_due).expect_wait("a", HOUR);
    story.tick_at(HOUR).begin("a").answer("a", 2, applied()).expect_state("a", StepState::Committed);
}

#[test]
fn a_pause_is_drawn_between_zero_and_its_doubled_length_and_obeys_the_target() {
    let pause = |made: u32, draw: u32, asked: Option<i64>| {
        let mut terms = terms(Effect::Blind);
        terms.retry.jitter = true;
        terms.retry.max = 100;
        let mut story = Story::one(terms);
        story.draw = draw;
        for attempt in 1..=made {
            let outcome = Outcome::NotApplied {
                retryable: true,
                sent: true,
                cause: "busy".into(),
                retry_after_ms: if attempt == made { asked } else { None },
                refusal: None,
            };
            story.begin("a").answer("a", attempt, outcome);
            if attempt < made {
                let due = story.op("a").not_before.unwrap().0 - T0;
                story.tick_at(due);
            }
        }
        story.op("a").not_before.unwrap().0 - story.now.at.0
    };
    assert_eq!(pause(1, 0, None), 0);
    assert_eq!(pause(1, u32::MAX, None), 1_000);
    assert_eq!(pause(3, u32::MAX, None), 4_000);
    assert_eq!(pause(40, u32::MAX, None), 60_000, "the cap");
    assert!((1_900..=2_100).contains(&pause(3, u32::MAX / 2, None)));
    assert_eq!(pause(1, 0, Some(30_000)), 30_000, "never earlier than the target asked for");
    assert_eq!(pause(1, 0, Some(i64::MAX)), HOUR, "but not for ever");
}

#[test]
fn an_unreachable_target_fails_is_waited_for_or_is_a_review() {
    let dead = |offline| {
        let mut story = Story::one(Terms { offline, ..terms(Effect::Blind) });
        for attempt in 1..=5 {
            story.begin("a").answer("a", attempt, Outcome::not_sent("no route"));
            story.at((story.now.at.0 - T0) + 60_000).give(Input::Tick);
        }
        story
    };
    dead(Offline::Fail).expect_failed("a", "SM3004");
    let mut waits = dead(Offline::Wait(HOUR));
    waits.expect_state("a", StepState::Planned).expect_begin("a", Why::Retry);
    waits.tick_at(HOUR).expect_failed("a", "SM3004");
    let mut review = dead(Offline::Review);
    review.expect_review(&ReviewCause::Offline).expect_state("a", StepState::Planned);
}

#[test]
fn a_refused_begin_leaves_no_trace_and_the_request_is_frozen_once() {
    let mut story = Story::one(terms(Effect::Blind));
    let bare =
        Input::Begin { op: story.op_id("a"), request: None, lease_left_ms: HOUR, next_key: String::new() };
    story.refuses(bare, "SM1005");
    let good = story.begin_input("a");
    story.give(good.clone());
    story.refuses(good.clone(), "SM1005");
    story.answer("a", 1, refused(true)).tick_at(1_000);
    story.refuses(good, "SM1005");
    story.begin("a");
    let requests =
        story.history.iter().filter(|(e, _)| matches!(e, Event::StepStarted { request: Some(_), .. }));
    assert_eq!(requests.count(), 1);
}

#[test]
fn a_lease_that_ends_sooner_shortens_the_send() {
    let mut story = Story::one(terms(Effect::Blind));
    let Input::Begin { op, request, next_key, .. } = story.begin_input("a") else { panic!() };
    story.give(Input::Begin { op, request, lease_left_ms: 700, next_key });
    assert_eq!(story.op("a").attempts[0].send_by, Millis(T0 + 700));
}

#[test]
fn a_send_that_was_late_is_filed() {
    let mut story = Story::one(terms(Effect::Blind));
    story.begin("a").mark();
    let op = story.op_id("a");
    story.give(Input::Answered {
        op,
        attempt: 1,
        outcome: applied(),
        shown: Json::Null,
        late_ms: 40,
        cost: 0,
    });
    story.expect_names(&["SentLate", "AttemptAnswered", "StepCommitted", "TaskCompleted"]);
}
