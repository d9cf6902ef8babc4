//! Takeovers, late facts, contradictions and restored copies: what history may still say.

use semel_kernel::event::{Event, Proof, Why};
use semel_kernel::input::Input;
use semel_kernel::input::{Resolution, Settlement};
use semel_kernel::json::Json;
use semel_kernel::operation::Judgement;
use semel_kernel::outcome::{Finding, Outcome, Stored};
use semel_kernel::review::{Decision, ReviewCause};
use semel_kernel::step::StepState;
use semel_kernel::task::Phase;
use semel_kernel::terms::{Effect, OnUnknown, Terms};
use semel_kernel::time::{Generation, Millis};

use crate::story::{
    CLOCK, DEAD, HOUR, SETTLED, Story, T0, applied, found, lost, name, pay, plan, probed, refused, step,
    terms, unclear,
};
use semel_kernel::plan::StepKind;

fn it_happened() -> Decision {
    Decision::ItHappened { reference: "4711".into(), result: Json::Null }
}

// --- takeovers -------------------------------------------------------------------------------------------------

#[test]
fn a_generation_never_falls_or_stays() {
    let mut story = Story::one(terms(Effect::Blind));
    story.claim(7);
    for counter in [0, 6, 7] {
        let session = semel_kernel::id::SessionId::parse("ses_x").unwrap();
        let generation = Generation { epoch: 1, counter };
        story.refuses(Input::Claimed { session, generation }, "SM1005");
    }
}

#[test]
fn recovery_is_two_events_around_what_was_left_open() {
    let mut story = Story::one(probed(Effect::Queryable));
    story.begin("a").mark().at(10).claim(2);
    story.expect_names(&["LeaseAcquired", "RecoveryStarted", "AttemptUnknown"]);
    assert!(story.task.recovery.is_some());
    story.mark().at(200).probe("a", found());
    story.expect_names(&["ProbeAnswered", "StepCommitted", "RecoveryFinished", "TaskCompleted"]);
    let finished = story.history.iter().find_map(|(e, _)| match e {
        Event::RecoveryFinished { settled, in_review } => Some((settled.clone(), in_review.clone())),
        _ => None,
    });
    assert_eq!(finished, Some((vec![name("a")], vec![])));
}

#[test]
fn recovery_ends_in_a_review_too() {
    let mut story = Story::one(terms(Effect::Blind));
    story.begin("a").mark().at(10).claim(2);
    story.expect_names(&[
        "LeaseAcquired",
        "RecoveryStarted",
        "AttemptUnknown",
        "ReviewOpened",
        "RecoveryFinished",
    ]);
    story.expect_review(&ReviewCause::Blind);
}

#[test]
fn a_takeover_that_finds_nothing_open_is_no_recovery() {
    let mut story = Story::one(terms(Effect::Blind));
    story.mark().claim(2).expect_names(&["LeaseAcquired"]);
}

#[test]
fn what_was_written_off_under_way_is_nobodys_to_recover() {
    let mut story = Story::one(terms(Effect::Blind));
    let other = Outcome::Contradiction { cause: "other parameters".into() };
    story.begin("a").receipt("a", None, other).decide(Decision::WriteOff).expect_phase(Phase::Completed);
    story.mark().claim(2).expect_names(&["LeaseAcquired"]);
}

#[test]
fn s12_a_second_crash_during_recovery_loses_nothing() {
    let mut story = Story::one(terms(Effect::Keyed));
    story.begin("a").at(10).claim(2).tick_at(DEAD + CLOCK).begin("a").claim(3).claim(4);
    let later = 2 * (DEAD + CLOCK);
    story.tick_at(later).expect_begin("a", Why::SameKey).begin("a").answer("a", 3, applied());
    story.expect_phase(Phase::Completed);
    let keys: Vec<_> = story.op("a").attempts.iter().map(|a| a.key.clone()).collect();
    assert!(keys.iter().all(|k| *k == keys[0]));
}

// --- late facts ------------------------------------------------------------------------------------------------

#[test]
fn s08_s52_a_late_answer_of_a_fenced_attempt_settles_the_review() {
    let mut story = Story::one(terms(Effect::Blind));
    story.begin("a").at(10).claim(2).expect_review(&ReviewCause::Blind);
    story.mark().at(500).answer("a", 1, applied());
    story.expect_names(&["EvidenceAdded", "StepCommitted", "ReviewDecided", "TaskCompleted"]);
    story.expect_no_review().expect_phase(Phase::Completed);
    assert_eq!(story.step("a").proof, Some(Proof::Evidence));
    assert_eq!(story.started("a"), 1);
}

#[test]
fn a_late_refusal_settles_the_review_too_and_the_step_goes_on() {
    let mut story = Story::one(terms(Effect::Blind));
    story.begin("a").at(10).claim(2).expect_review(&ReviewCause::Blind);
    story.at(500).answer("a", 1, refused(true)).expect_no_review();
    story.expect_state("a", StepState::Planned).tick_at(1_500).expect_begin("a", Why::Retry);
    let mut story = Story::one(terms(Effect::Blind));
    story.begin("a").at(10).claim(2).at(500).answer("a", 1, refused(false));
    story.expect_failed("a", "SM3001").expect_phase(Phase::Failed);
}

#[test]
fn a_late_unknown_changes_nothing() {
    let mut story = Story::one(terms(Effect::Blind));
    story.begin("a").at(10).claim(2).answer("a", 1, lost());
    story.expect_review(&ReviewCause::Blind).expect_state("a", StepState::Unknown);
}

#[test]
fn a_receipt_for_the_whole_operation_settles_it() {
    let mut story = Story::lost(probed(Effect::Queryable));
    story.receipt("a", None, applied()).expect_state("a", StepState::Committed);
}

/// An attempt that a look-up had disproved is proven applied after all, before another one left: no second send.
#[test]
fn a_late_success_of_a_disproved_attempt_stops_the_retry() {
    let mut story = Story::lost(probed(Effect::Queryable));
    story.at(SETTLED).probe("a", Finding::Absent).expect_begin("a", Why::Retry);
    story.answer("a", 1, applied()).expect_state("a", StepState::Committed);
    assert_eq!(story.started("a"), 1);
}

#[test]
fn a_late_success_of_a_disproved_attempt_beside_another_is_a_suspected_duplicate() {
    let mut story = Story::lost(probed(Effect::Queryable));
    story.at(SETTLED).probe("a", Finding::Absent).begin("a").answer("a", 1, applied());
    story.expect_review(&ReviewCause::Contradiction);
    let mut story = Story::lost(probed(Effect::Queryable));
    story.at(SETTLED).probe("a", Finding::Absent).begin("a").answer("a", 2, applied());
    story.expect_phase(Phase::Completed);
    story.answer("a", 1, applied()).expect_review(&ReviewCause::Contradiction);
    story.expect_state("a", StepState::Committed).expect_phase(Phase::Completed);
    story.decide(Decision::GoOn).expect_no_review().expect_state("a", StepState::Committed);
}

#[test]
fn s51_evidence_against_a_failed_step_opens_a_review_and_keeps_the_state() {
    for attempt in [Some(1), None] {
        let mut story = Story::one(terms(Effect::Blind));
        story.begin("a").answer("a", 1, refused(false)).expect_phase(Phase::Failed);
        story.receipt("a", attempt, applied()).expect_review(&ReviewCause::Contradiction);
        story.expect_failed("a", "SM3001").expect_phase(Phase::Failed);
        story.decide(it_happened()).expect_no_review().expect_failed("a", "SM3001");
        assert_eq!(story.op("a").evidence.len(), 2, "both facts are kept");
    }
}

#[test]
fn evidence_against_a_committed_step_opens_a_review_and_keeps_the_state() {
    let mut story = Story::one(terms(Effect::Blind));
    story.begin("a").answer("a", 1, applied());
    story.receipt("a", Some(1), refused(false)).expect_review(&ReviewCause::Contradiction);
    story.expect_state("a", StepState::Committed).expect_phase(Phase::Completed);
    let write_off = story.decision(Decision::WriteOff);
    story.refuses(write_off, "SM1005");
    let it_did_not = story.at(HOUR).decision(Decision::ItDidNot);
    story.refuses(it_did_not, "SM1005");
    story.decide(it_happened()).expect_no_review();
}

#[test]
fn a_repeated_success_contradicts_nothing() {
    let mut story = Story::one(terms(Effect::Blind));
    story.begin("a").answer("a", 1, applied()).answer("a", 1, applied()).receipt("a", None, applied());
    story.expect_no_review().expect_state("a", StepState::Committed);
}

#[test]
fn evidence_outranks_a_person() {
    let mut story = Story::lost(terms(Effect::Blind));
    story.decide(it_happened()).expect_phase(Phase::Completed);
    story.answer("a", 1, refused(false)).expect_review(&ReviewCause::Contradiction);
    story.expect_state("a", StepState::Committed);
}

#[test]
fn nothing_is_committed_or_fired_after_the_end() {
    let steps = vec![pay("a", &[]), step("s", StepKind::Sleep, &[]), pay("t", &[])];
    let mut story = Story::new(plan(steps, probed(Effect::Queryable)));
    story.claim(1).plan("a").resolve("s", Resolution::Sleep { until: Millis(T0 + HOUR) });
    let to = semel_kernel::id::TaskId::parse("opt_shared").unwrap();
    story.resolve("t", Resolution::Attach { to, epoch: 1 });
    story.begin("a").answer("a", 1, lost()).at(SETTLED).probe("a", Finding::Absent);
    story.cancel().expect_phase(Phase::Cancelled);
    let settled = Settlement::WrittenOff;
    story.refuses(Input::AttachSettled { step: name("t"), settlement: settled }, "SM1007");
    story.tick_at(2 * HOUR).expect_state("s", StepState::Planned);
    story.mark().answer("a", 1, applied());
    story.expect_names(&["EvidenceAdded", "ReviewOpened"]);
    story.expect_state("a", StepState::Planned).expect_phase(Phase::Cancelled);
    story.decide(it_happened()).expect_no_review().expect_phase(Phase::Cancelled);
    story.mark().tick_at(3 * HOUR).expect_names(&[]);
}

#[test]
fn a_look_up_that_comes_after_the_end_is_a_contradiction_not_a_commit() {
    let mut story = Story::lost(probed(Effect::Queryable));
    story.at(SETTLED).probe("a", Finding::Absent).cancel().expect_phase(Phase::Cancelled);
    story
        .probe("a", found())
        .expect_review(&ReviewCause::Contradiction)
        .expect_state("a", StepState::Planned);
    let mut story = Story::one(probed(Effect::Queryable));
    story.begin("a").answer("a", 1, refused(false)).probe("a", found());
    story.expect_failed("a", "SM3001").expect_review(&ReviewCause::Contradiction);
}

// --- equal calls -----------------------------------------------------------------------------------------------

fn twins(terms: Terms) -> Story {
    let mut story = Story::new(plan(vec![pay("a", &[]), pay("b", &[])], terms));
    story.claim(1);
    for at in ["a", "b"] {
        let operation = crate::story::operation(&name(at), "x", "1", "100");
        story.resolve(at, Resolution::Act { operation });
    }
    story
}

#[test]
fn equal_calls_are_one_operation_and_the_later_gets_a_marked_replay() {
    let mut story = twins(terms(Effect::Blind));
    assert_eq!(story.task.operations.len(), 1);
    story.begin("a").at(900).answer("a", 1, applied()).expect_state("b", StepState::Committed);
    let of = story.op_id("a").to_string();
    assert_eq!(story.step("b").proof, Some(Proof::Replay { of, at: Millis(T0 + 900) }));
    assert_eq!(story.step("b").output, story.step("a").output);
    story.expect_phase(Phase::Completed);
}

#[test]
fn an_equal_call_waits_with_an_unknown_one_and_shares_its_end() {
    let mut story = twins(terms(Effect::Blind));
    story.begin("a").answer("a", 1, lost()).expect_state("b", StepState::Planned);
    story.decide(Decision::WriteOff).expect_state("b", StepState::Unknown).expect_phase(Phase::Completed);
    let Some((Event::TaskCompleted { written_off }, _)) = story.history.last() else { panic!() };
    assert_eq!(*written_off, [name("a"), name("b")], "neither is known to have happened");
    let mut failed = twins(terms(Effect::Blind));
    failed.begin("a").answer("a", 1, refused(false)).expect_failed("b", "SM3001");
    let mut skipped = twins(Terms { offline: semel_kernel::terms::Offline::Review, ..terms(Effect::Blind) });
    for attempt in 1..=5 {
        skipped.begin("a").answer("a", attempt, Outcome::not_sent("no route"));
        skipped.at((skipped.now.at.0 - T0) + 60_000).give(Input::Tick);
    }
    skipped.decide(Decision::Skip).expect_state("b", StepState::Skipped).expect_phase(Phase::Completed);
}

#[test]
fn two_equal_reads_are_two_reads() {
    assert_eq!(twins(terms(Effect::None)).task.operations.len(), 2);
}

#[test]
fn an_unequal_call_beside_an_unsettled_twin_is_refused_and_names_the_fields() {
    let mut story = Story::new(plan(vec![pay("a", &[]), pay("b", &[])], terms(Effect::Blind)));
    story.claim(1);
    for (at, amount) in [("a", "100"), ("b", "250")] {
        let operation = crate::story::operation(&name(at), "x", "1", amount);
        story.resolve(at, Resolution::Act { operation });
    }
    story.expect_failed("b", "SM1006");
    assert_eq!(story.step("b").fields, ["amount"]);
    assert!(story.step("b").cause.contains("planned and differs in: amount"), "{}", story.step("b").cause);
}

#[test]
fn s20_the_same_id_with_other_parameters_is_refused_even_when_the_first_is_settled() {
    let mut story = Story::new(plan(vec![pay("a", &[]), pay("b", &[])], terms(Effect::Blind)));
    story.claim(1).plan("a").begin("a").answer("a", 1, refused(true));
    let operation = crate::story::operation(&name("a"), "a", "1", "250");
    story.resolve("b", Resolution::Act { operation }).expect_failed("b", "SM1006");
    assert_eq!(story.step("b").fields, ["amount"]);
    assert!(story.step("b").cause.contains("failed_retryable"), "{}", story.step("b").cause);
}

#[test]
fn s20_a_new_version_takes_over_only_what_is_proven_not_applied() {
    let versions = || {
        let steps = vec![pay("a", &[]), pay("b", &[])];
        let mut story = Story::new(plan(steps, terms(Effect::Keyed)));
        story.claim(1);
        for (at, version) in [("a", "1"), ("b", "2")] {
            let operation = crate::story::operation(&name(at), "x", version, "100");
            story.resolve(at, Resolution::Act { operation });
        }
        story
    };
    let mut story = versions();
    story.begin("a").expect_stuck("b").answer("a", 1, lost()).expect_stuck("b");
    story.answer("a", 1, applied()).expect_failed("b", "SM1006");
    let mut story = versions();
    story.begin("a").answer("a", 1, refused(false)).begin("b").answer("b", 1, applied());
    story.expect_state("b", StepState::Committed);
    // A retry of the superseded version is no way to a second effect.
    let mut story = versions();
    story.begin("a").answer("a", 1, refused(true)).begin("b").answer("b", 1, applied());
    story.tick_at(5_000).expect_failed("a", "SM1006");
    // Written off: the person answers for it.
    let mut story = versions();
    story.begin("a").answer("a", 1, lost()).tick_at(25 * HOUR).decide(Decision::WriteOff);
    story.expect_begin("b", Why::First);
}

// --- restored copies -------------------------------------------------------------------------------------------

#[test]
fn s64_in_a_restored_copy_every_open_operation_may_have_been_sent() {
    let mut story = Story::new(plan(vec![pay("a", &[]), pay("b", &[])], probed(Effect::Queryable)));
    story.claim(1).plan("a");
    story.tick_at(HOUR).pause().adopt(10).expect_state("a", StepState::Unknown).claim(1).resume();
    story.expect_judged("a", Judgement::Unknown).plan("b").expect_state("b", StepState::Unknown);
    let input = story.begin_input("a");
    story.refuses(input, "SM1005");
    story.probe("a", Finding::Absent).expect_judged("a", Judgement::Unknown);
    let settled = HOUR + 10_000 + CLOCK;
    story.at(settled).probe("a", Finding::Absent).begin("a").answer("a", 1, applied());
    story.expect_state("a", StepState::Committed);
    story.probe("b", found()).expect_phase(Phase::Completed);
    assert_eq!(story.started("b"), 0, "the original had sent it");
}

#[test]
fn a_restored_copy_is_recovered_by_class() {
    let adopted = |terms: Terms, at: i64| {
        let mut story = Story::one(terms);
        story.tick_at(at).adopt(10).claim(1);
        story
    };
    adopted(terms(Effect::None), HOUR).expect_begin("a", Why::Harmless);
    adopted(terms(Effect::Natural), HOUR).expect_begin("a", Why::Harmless);
    adopted(terms(Effect::Keyed), HOUR).expect_wait("a", HOUR + CLOCK);
    adopted(terms(Effect::Keyed), 25 * HOUR).expect_review(&ReviewCause::KeyWindowOver);
    let sticky = Terms { refusals_stick: true, ..terms(Effect::Keyed) };
    adopted(sticky, HOUR).expect_review(&ReviewCause::KeyWindowOver);
    adopted(terms(Effect::Blind), HOUR).expect_review(&ReviewCause::Blind);
    let loss = Terms { on_unknown: OnUnknown::AcceptLoss, ..terms(Effect::Blind) };
    assert!(adopted(loss, HOUR).step("a").written_off);
}

#[test]
fn attempt_numbers_go_on_in_a_restored_copy_and_settled_steps_stay() {
    let mut story = Story::new(plan(vec![pay("a", &[]), pay("b", &[])], terms(Effect::Keyed)));
    story.claim(1).plan("a").plan("b").begin("a").begin("b").answer("a", 1, applied());
    story.tick_at(HOUR).adopt(10).claim(1).expect_state("a", StepState::Committed);
    story.tick_at(HOUR + CLOCK).tick_at(HOUR + CLOCK + 1_000).begin("b");
    let numbers: Vec<u32> = story.op("b").attempts.iter().map(|a| a.n).collect();
    assert_eq!(numbers, [0, 1, 2]);
    assert_eq!(story.op("b").attempts[2].generation, Generation { epoch: 2, counter: 1 });
}

#[test]
fn an_answer_that_only_the_original_knows_settles_the_copy() {
    let mut story = Story::one(terms(Effect::Blind));
    story.tick_at(HOUR).adopt(10).claim(1).receipt("a", Some(3), applied());
    story.expect_phase(Phase::Completed);
}

#[test]
fn adopting_needs_a_new_epoch_and_leaves_ended_tasks_alone() {
    let mut story = Story::one(terms(Effect::Blind));
    story.refuses(Input::Adopt { epoch: 1, copied_at: Millis(T0), actor: "ann".into() }, "SM1005");
    story.begin("a").answer("a", 1, applied()).mark().adopt(0).expect_names(&[]);
}

// --- attached steps --------------------------------------------------------------------------------------------

#[test]
fn an_attached_step_gets_the_outcome_of_the_shared_operation() {
    let attached = || {
        let mut story = Story::new(plan(vec![pay("a", &[])], terms(Effect::Blind)));
        let to = semel_kernel::id::TaskId::parse("opt_shared").unwrap();
        story.claim(1).resolve("a", Resolution::Attach { to, epoch: 1 }).expect_phase(Phase::Waiting);
        story
    };
    let settle = |settlement| Input::AttachSettled { step: name("a"), settlement };
    let output = Stored::Inline(Json::from("shared"));
    let mut story = attached();
    let done = Settlement::Applied { output, of: "opt_shared/x".into(), at: Millis(T0) };
    story.give(settle(done.clone())).expect_state("a", StepState::Committed).expect_phase(Phase::Completed);
    story.refuses(settle(done), "SM1007");
    let failed = Settlement::Failed { code: "SM3001".into(), cause: "declined".into() };
    attached().give(settle(failed)).expect_failed("a", "SM3001");
    let mut lost = attached();
    lost.give(settle(Settlement::WrittenOff)).expect_state("a", StepState::Unknown);
    lost.expect_phase(Phase::Completed);
    assert_eq!(lost.task.written_off(), [name("a")], "skipped would mean that nothing was ever intended");
    attached().cancel().expect_phase(Phase::Cancelled);
}

#[test]
fn unclear_look_ups_of_a_late_kind_do_not_reopen_a_settled_step() {
    let mut story = Story::lost(probed(Effect::Queryable));
    story.receipt("a", None, applied()).probe("a", unclear()).probe("a", Finding::Absent);
    story.expect_no_review().expect_state("a", StepState::Committed);
}
