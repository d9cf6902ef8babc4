//! People: reviews, orders, cancel and pause (DESIGN sections 9 and 10).

use semel_kernel::event::{Event, Proof, Why};
use semel_kernel::input::Input;
use semel_kernel::json::Json;
use semel_kernel::oblige::{Obligation, wakes_at};
use semel_kernel::operation::Judgement;
use semel_kernel::outcome::{Finding, Outcome};
use semel_kernel::plan::Budget;
use semel_kernel::recover::Act;
use semel_kernel::reject::Reject;
use semel_kernel::review::{Decision, ReviewCause};
use semel_kernel::step::StepState;
use semel_kernel::task::Phase;
use semel_kernel::terms::{Effect, Offline, OnUnknown, Terms};
use semel_kernel::time::Millis;

use crate::story::{
    CLOCK, DEAD, HOUR, SETTLED, Story, T0, applied, found, lost, many, name, pay, pending, plan, probed,
    refused, terms, unclear,
};

fn it_happened() -> Decision {
    Decision::ItHappened { reference: "4711".into(), result: Json::from(7) }
}

// --- facts -----------------------------------------------------------------------------------------------------

#[test]
fn it_happened_commits_with_the_persons_name_on_it() {
    let mut story = Story::lost(terms(Effect::Blind));
    let bare = Decision::ItHappened { reference: " ".into(), result: Json::Null };
    let bare = story.decision(bare);
    story.refuses(bare, "SM1005");
    story.decide(it_happened()).expect_state("a", StepState::Committed).expect_phase(Phase::Completed);
    assert_eq!(story.step("a").proof, Some(Proof::Person { actor: "ann".into() }));
}

#[test]
fn it_did_not_is_refused_until_settled_and_then_allows_a_resend() {
    let settled = DEAD + 60_000 + CLOCK;
    let mut story = Story::lost(terms(Effect::Blind));
    let early = story.at(settled - 1).decision(Decision::ItDidNot);
    let refusal = story.try_give(early).unwrap_err();
    assert_eq!(refusal, Reject::NotSettled { until: Millis(T0 + settled) });
    story.at(settled).decide(Decision::ItDidNot).expect_state("a", StepState::Planned);
    story.expect_begin("a", Why::Retry).begin("a").answer("a", 2, applied()).expect_phase(Phase::Completed);
}

#[test]
fn it_did_not_is_refused_while_in_flight_and_against_proof() {
    let mut story = Story::one(terms(Effect::Blind));
    story.begin("a").at(HOUR);
    let early = story.settle_input("a", Decision::ItDidNot);
    story.refuses(early, "SM1004");
    let mut story = Story::one(terms(Effect::Blind));
    story.begin("a").answer("a", 1, applied()).at(HOUR);
    let wrong = story.settle_input("a", Decision::ItDidNot);
    story.refuses(wrong, "SM1005");
}

#[test]
fn an_operation_is_settled_without_a_review_by_a_fact_only() {
    let mut story = Story::lost(probed(Effect::Queryable));
    for order in [Decision::WriteOff, Decision::Skip, Decision::GoOn, Decision::AskAgain, Decision::Abort] {
        let input = story.settle_input("a", order);
        story.refuses(input, "SM1005");
    }
    let fact = story.settle_input("a", it_happened());
    story.give(fact).expect_phase(Phase::Completed);
}

#[test]
fn a_fact_against_a_failed_step_asks_another_person_once() {
    let mut story = Story::one(terms(Effect::Blind));
    story.begin("a").answer("a", 1, refused(false));
    let fact = story.settle_input("a", it_happened());
    story.give(fact).expect_review(&ReviewCause::Contradiction).expect_failed("a", "SM3001");
    story.decide(Decision::GoOn).expect_no_review().expect_failed("a", "SM3001");
}

#[test]
fn a_contradiction_is_settled_by_a_fact_and_then_nothing_asks_again() {
    let contradicted = || {
        let mut story = Story::lost(probed(Effect::Queryable));
        story.at(200).probe("a", many());
        story
    };
    contradicted().decide(it_happened()).expect_no_review().expect_state("a", StepState::Committed);
    contradicted().at(SETTLED).decide(Decision::ItDidNot).expect_no_review().expect_begin("a", Why::Retry);
    contradicted().decide(Decision::AskAgain).expect_act("a", &Act::Probe);
    contradicted().decide(Decision::WriteOff).expect_state("a", StepState::Unknown).expect_no_review();
}

/// A contradiction about what was never sent, or is in flight: once it is settled the step is what its operation is.
#[test]
fn a_settled_contradiction_leaves_the_step_where_its_operation_is() {
    let contradiction = || Outcome::Contradiction { cause: "other parameters".into() };
    let mut story = Story::one(terms(Effect::Blind));
    story.receipt("a", None, contradiction()).expect_state("a", StepState::Unknown);
    story.at(HOUR).decide(Decision::ItDidNot).expect_state("a", StepState::Planned);
    story.expect_begin("a", Why::First).cancel().expect_phase(Phase::Cancelled);
    let mut story = Story::one(probed(Effect::Queryable));
    story.begin("a").receipt("a", None, contradiction()).expect_state("a", StepState::Unknown);
    story.decide(Decision::AskAgain).expect_state("a", StepState::Started);
}

// --- orders ----------------------------------------------------------------------------------------------------

#[test]
fn write_off_leaves_unknown_lets_dependants_go_on_and_is_named_in_the_end() {
    let steps = vec![pay("a", &[]), pay("b", &["a"])];
    let mut story = Story::new(plan(steps, terms(Effect::Blind)));
    story.claim(1).plan("a").begin("a").answer("a", 1, lost()).decide(Decision::WriteOff);
    story.expect_state("a", StepState::Unknown).plan("b").begin("b").answer("b", 1, applied());
    story.expect_phase(Phase::Completed).expect_state("a", StepState::Unknown);
    let Some((Event::TaskCompleted { written_off }, _)) = story.history.last() else { panic!() };
    assert_eq!(*written_off, [name("a")]);
    assert_eq!(story.task.unknown_operations().count(), 0);
    story.answer("a", 1, applied()).expect_state("a", StepState::Unknown).expect_no_review();
    story.expect_judged("a", Judgement::Applied);
}

#[test]
fn an_open_operation_is_never_skipped_aborted_or_passed_over() {
    let mut story = Story::lost(terms(Effect::Blind));
    for order in [Decision::Skip, Decision::Abort, Decision::GoOn, Decision::AskAgain] {
        let input = story.decision(order);
        story.refuses(input, "SM1005");
    }
    story.expect_state("a", StepState::Unknown).expect_review(&ReviewCause::Blind);
}

#[test]
fn ask_again_starts_the_look_ups_anew() {
    let mut story = Story::lost(probed(Effect::Queryable));
    for _ in 0..7 {
        story.at((story.now.at.0 - T0) + 20_000).probe("a", unclear());
    }
    story.expect_review(&ReviewCause::ProbesExhausted);
    story.decide(Decision::AskAgain).expect_act("a", &Act::Probe).expect_no_review();
    story.probe("a", found()).expect_phase(Phase::Completed);
}

#[test]
fn wait_until_is_obeyed_whatever_the_cause() {
    let asked = [
        Story::lost(terms(Effect::Blind)),
        {
            let mut story = Story::lost(terms(Effect::Keyed));
            story.tick_at(25 * HOUR);
            story
        },
        {
            let mut story = Story::lost(probed(Effect::Queryable));
            story.probe("a", many());
            story
        },
        offline(),
        {
            let mut story = Story::lost(terms(Effect::Keyed));
            story.cancel();
            story
        },
    ];
    for mut story in asked {
        let review = story.open_review();
        let cause = story.task.review(&review).unwrap().cause.clone();
        story.decide(Decision::WaitUntil { at: Millis(T0 + 30 * HOUR) });
        story.expect_no_review().expect_wait("a", 30 * HOUR);
        assert_eq!(wakes_at(&story.task, story.now), Some(Millis(T0 + 30 * HOUR)), "{cause:?}");
        story.tick_at(30 * HOUR);
        if cause == ReviewCause::Offline {
            story.expect_begin("a", Why::Retry);
        } else {
            assert_eq!(story.task.open_reviews().count(), 1, "{cause:?} is asked again");
        }
    }
}

#[test]
fn a_contradiction_is_asked_about_whatever_was_ordered_before() {
    let mut story = Story::lost(terms(Effect::Blind));
    story.decide(Decision::WaitUntil { at: Millis(T0 + HOUR) }).expect_no_review();
    story.probe("a", many()).expect_review(&ReviewCause::Contradiction);
}

/// An unreachable target after all retries, in review.
fn offline() -> Story {
    let mut story = Story::one(Terms { offline: Offline::Review, ..terms(Effect::Blind) });
    for attempt in 1..=5 {
        story.begin("a").answer("a", attempt, Outcome::not_sent("no route"));
        story.at((story.now.at.0 - T0) + 60_000).give(Input::Tick);
    }
    story.expect_review(&ReviewCause::Offline);
    story
}

#[test]
fn go_on_after_an_outage_gives_the_retries_back() {
    let mut story = offline();
    story.decide(Decision::GoOn).expect_no_review().expect_begin("a", Why::Retry);
    for attempt in 6..=10 {
        story.begin("a").answer("a", attempt, Outcome::not_sent("no route"));
        story.at((story.now.at.0 - T0) + 60_000).give(Input::Tick);
    }
    story.expect_review(&ReviewCause::Offline);
}

#[test]
fn what_is_proven_not_applied_can_be_skipped_or_aborted() {
    let mut story = offline();
    story.decide(Decision::Skip).expect_state("a", StepState::Skipped).expect_phase(Phase::Completed);
    let mut story = offline();
    story.decide(Decision::Abort).expect_phase(Phase::Cancelled).expect_state("a", StepState::Planned);
}

#[test]
fn s29_a_second_answer_is_told_who_was_first_and_an_old_page_is_refused() {
    let mut story = Story::lost(terms(Effect::Blind));
    let first = story.decision(it_happened());
    let Input::Decide { review, page, .. } = first.clone() else { panic!() };
    let old = Input::Decide {
        review: review.clone(),
        decision: Decision::WriteOff,
        actor: "bob".into(),
        reason: "?".into(),
        page: page.map(|p| p - 1),
    };
    story.refuses(old, "SM1003");
    story.give(first.clone());
    let loser = story.try_give(first).unwrap_err();
    let (at, decision) = (story.now.at, it_happened());
    assert_eq!(loser, Reject::Decided { review, by: "ann".into(), at, decision });
}

#[test]
fn a_page_is_old_once_new_evidence_came() {
    let mut story = Story::lost(probed(Effect::Queryable));
    story.probe("a", many());
    let read = story.decision(Decision::WriteOff);
    story.probe("a", found());
    story.refuses(read, "SM1003");
}

// --- cancel and pause ------------------------------------------------------------------------------------------

#[test]
fn s53_a_cancelled_task_settles_what_is_in_flight_and_starts_nothing() {
    let steps = vec![pay("a", &[]), pay("b", &[]), pay("c", &["b"])];
    let mut story = Story::new(plan(steps, terms(Effect::Blind)));
    story.claim(1).plan("a").begin("a").answer("a", 1, applied()).plan("b").begin("b").cancel();
    story.expect_phase(Phase::Running).expect_state("b", StepState::Started);
    story.cancel();
    let asked = story.history.iter().filter(|(e, _)| matches!(e, Event::CancelRequested { .. })).count();
    assert_eq!(asked, 1, "asking twice changes nothing");
    story.answer("b", 1, applied()).expect_state("b", StepState::Committed).expect_phase(Phase::Cancelled);
    story.expect_state("c", StepState::Planned);
}

#[test]
fn a_cancelled_task_asks_about_what_is_unknown_and_never_resends() {
    let twice = Terms { on_unknown: OnUnknown::AcceptDuplicate, ..terms(Effect::Blind) };
    for terms in [terms(Effect::Keyed), terms(Effect::Natural), twice] {
        let mut story = Story::lost(terms);
        story.cancel().tick_at(DEAD + CLOCK + HOUR);
        story.expect_review(&ReviewCause::CancelledWhileUnknown).expect_state("a", StepState::Unknown);
        let input = story.begin_input("a");
        story.refuses(input, "SM1005");
        story.decide(it_happened()).expect_phase(Phase::Cancelled);
    }
}

#[test]
fn a_cancelled_task_goes_on_asking_the_target() {
    for effect in [Effect::Keyed, Effect::Natural, Effect::Queryable] {
        let mut story = Story::lost(probed(effect));
        story.cancel().at(200).probe("a", Finding::Absent).expect_no_review();
        story.at(SETTLED).give(Input::Tick).expect_act("a", &Act::Probe);
        story.probe("a", Finding::Absent).expect_phase(Phase::Cancelled);
        let mut story = Story::lost(probed(effect));
        story.cancel();
        for _ in 0..7 {
            story.at((story.now.at.0 - T0) + 20_000).probe("a", unclear());
        }
        assert_eq!(story.task.open_reviews().count(), 1, "{effect:?}");
        story.expect_state("a", StepState::Unknown);
    }
}

#[test]
fn cancel_never_sends_what_was_only_planned_or_is_to_be_retried() {
    let mut story = Story::one(terms(Effect::Keyed));
    story.cancel().expect_phase(Phase::Cancelled);
    let mut story = Story::one(terms(Effect::Keyed));
    story.begin("a").answer("a", 1, refused(true)).cancel().expect_phase(Phase::Cancelled);
    assert_eq!(story.started("a"), 1);
}

#[test]
fn cancel_closes_reviews_that_nobody_needs_any_more() {
    offline().cancel().expect_no_review().expect_phase(Phase::Cancelled);
    let mut story = Story::one(terms(Effect::Blind));
    story.give(Input::NeedPerson { cause: ReviewCause::NoProgress { claims: 3 } });
    story.expect_phase(Phase::NeedsReview).cancel().expect_phase(Phase::Cancelled);
}

#[test]
fn a_paused_task_never_resends_and_goes_on_when_resumed() {
    let mut story = Story::lost(terms(Effect::Keyed));
    story.pause().pause().tick_at(HOUR).expect_stuck("a").expect_no_review().expect_phase(Phase::Waiting);
    let input = story.begin_input("a");
    story.refuses(input, "SM1005");
    story.resume().resume().tick_at(HOUR + 1_000).expect_begin("a", Why::SameKey);
}

#[test]
fn a_paused_task_resolves_nothing_and_still_hears_answers() {
    let mut story = Story::new(plan(vec![pay("a", &[]), pay("b", &["a"])], terms(Effect::Blind)));
    story.claim(1).plan("a").begin("a").pause().answer("a", 1, applied());
    story.expect_state("a", StepState::Committed);
    assert_eq!(story.owed(), []);
    let operation = crate::story::operation(&name("b"), "b", "1", "100");
    let resolution = semel_kernel::input::Resolution::Act { operation };
    story.refuses(Input::Resolved { step: name("b"), resolution }, "SM1005");
    story.resume();
    assert_eq!(story.owed(), [Obligation::Resolve(name("b"))]);
}

#[test]
fn a_paused_task_asks_the_target_but_no_person() {
    let mut story = Story::lost(probed(Effect::Keyed));
    story.pause();
    for _ in 0..30 {
        match story.act("a") {
            Act::Probe => story.probe("a", unclear()),
            Act::Wait { until, .. } if until < Millis::MAX => story.tick_at(until.0 - T0),
            _ => break,
        };
    }
    story.expect_stuck("a").expect_no_review();
    assert!(story.op("a").probes.asked > 3);
}

#[test]
fn an_ended_task_takes_no_orders_and_ends_once() {
    let mut story = Story::one(terms(Effect::Blind));
    story.begin("a").answer("a", 1, applied());
    let (actor, reason) = ("ann".to_string(), "?".to_string());
    for input in [
        Input::Cancel { actor: actor.clone(), reason: reason.clone() },
        Input::Pause { actor: actor.clone(), reason },
        Input::Resume { actor },
        Input::NeedPerson { cause: ReviewCause::NoProgress { claims: 3 } },
    ] {
        story.refuses(input, "SM1007");
    }
    story.mark().tick_at(HOUR).tick_at(2 * HOUR).expect_names(&[]);
    assert_eq!(story.owed(), []);
    assert_eq!(wakes_at(&story.task, story.now), None);
}

// --- the whole task --------------------------------------------------------------------------------------------

fn with_budget(budget: Budget, terms: Terms) -> Story {
    let mut plan = plan(vec![pay("a", &[]), pay("b", &[])], terms);
    plan.budget = budget;
    let mut story = Story::new(plan);
    story.claim(1).plan("a").plan("b");
    story
}

fn spent(which: &str) -> ReviewCause {
    ReviewCause::Budget { which: which.into() }
}

#[test]
fn a_spent_deadline_holds_the_task_until_a_person_extends_it() {
    let budget = Budget { deadline_ms: Some(HOUR), ..Budget::default() };
    let mut story = with_budget(budget.clone(), terms(Effect::Blind));
    assert!(story.owed().contains(&Obligation::WaitUntil(Millis(T0 + HOUR))));
    story.tick_at(HOUR).expect_review(&spent("deadline")).expect_phase(Phase::NeedsReview).expect_stuck("a");
    assert_eq!(wakes_at(&story.task, story.now), None, "nobody is to be woken while a person is asked");
    let wait = story.decision(Decision::WaitUntil { at: Millis(T0 + 2 * HOUR) });
    story.refuses(wait, "SM1005");
    story.decide(Decision::GoOn).expect_no_review().expect_begin("a", Why::First);
    story.tick_at(9 * HOUR).expect_no_review();
    let mut story = with_budget(budget, terms(Effect::Blind));
    story.tick_at(HOUR).decide(Decision::Abort).expect_no_review().expect_phase(Phase::Cancelled);
}

#[test]
fn a_deadline_that_passes_with_the_last_answer_asks_nobody() {
    let mut plan = plan(vec![pay("a", &[])], terms(Effect::Blind));
    plan.budget.deadline_ms = Some(HOUR);
    let mut story = Story::new(plan);
    story.claim(1).plan("a").at(HOUR - 10).begin("a").at(HOUR + 10).answer("a", 1, applied());
    story.expect_no_review().expect_phase(Phase::Completed);
}

#[test]
fn no_attempt_beyond_the_budget_is_made() {
    let budget = Budget { attempts: Some(2), ..Budget::default() };
    let mut story = with_budget(budget.clone(), terms(Effect::Blind));
    story.begin("a").answer("a", 1, applied()).begin("b").answer("b", 1, refused(true));
    story.tick_at(HOUR).expect_review(&spent("attempts"));
    let input = story.begin_input("b");
    story.refuses(input, "SM1005");
    let mut story = with_budget(budget, terms(Effect::Blind));
    story.begin("a").answer("a", 1, applied()).begin("b").answer("b", 1, applied());
    story.expect_no_review().expect_phase(Phase::Completed);
}

#[test]
fn too_many_unknowns_hold_the_task() {
    let budget = Budget { unknowns: Some(1), ..Budget::default() };
    let mut story = with_budget(budget, probed(Effect::Queryable));
    story.begin("a").begin("b").answer("a", 1, lost()).expect_no_review();
    story.answer("b", 1, lost()).expect_review(&spent("unknowns"));
    story.probe("a", found()).expect_state("a", StepState::Committed);
}

#[test]
fn s44_a_task_without_progress_is_held_for_a_person() {
    let mut story = Story::one(terms(Effect::Blind));
    story.give(Input::NeedPerson { cause: ReviewCause::NoProgress { claims: 3 } });
    story.expect_phase(Phase::NeedsReview).expect_stuck("a");
    story.mark().give(Input::NeedPerson { cause: ReviewCause::NoProgress { claims: 3 } }).expect_names(&[]);
    story.decide(Decision::GoOn).expect_begin("a", Why::First);
}

#[test]
fn a_pending_operation_keeps_a_cancelled_task_open() {
    let mut story = Story::one(probed(Effect::Queryable));
    story.begin("a").answer("a", 1, pending()).cancel();
    assert!(story.task.end.is_none());
    story.probe("a", found()).expect_phase(Phase::Cancelled);
}

/// Found by kills in quick succession: nobody probes what nobody may take up, so nobody may be told to wait for it.
#[test]
fn a_task_that_is_set_aside_waits_for_a_person_whatever_it_owes() {
    let mut story = Story::lost(probed(Effect::Queryable));
    story.expect_act("a", &Act::Probe).expect_phase(Phase::Running);
    story.give(Input::NeedPerson { cause: ReviewCause::NoProgress { claims: 4 } });
    story.expect_phase(Phase::NeedsReview);
}
