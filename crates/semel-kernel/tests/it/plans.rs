//! Plans with several steps: independence, dependants, items of `each`, timers, the end.

use semel_kernel::decide::{Submission, submit};
use semel_kernel::event::{Event, Proof};
use semel_kernel::id::{ClientId, TaskId, Tenant};
use semel_kernel::input::{Ctx, Input, Resolution};
use semel_kernel::json::Json;
use semel_kernel::oblige::{Obligation, wakes_at};
use semel_kernel::outcome::{Outcome, Stored};
use semel_kernel::plan::StepKind;
use semel_kernel::review::{Decision, ReviewCause};
use semel_kernel::step::StepState;
use semel_kernel::task::Phase;
use semel_kernel::terms::Effect;
use semel_kernel::time::{Millis, Now};

use crate::story::{HOUR, Story, T0, applied, lost, name, operation, pay, plan, refused, step, terms, tool};

fn resolves(story: &Story) -> Vec<String> {
    let owed = story.owed().into_iter();
    owed.filter_map(|o| if let Obligation::Resolve(n) = o { Some(n.to_string()) } else { None }).collect()
}

#[test]
fn a_step_is_resolved_only_when_what_it_needs_is_settled() {
    let steps = vec![pay("a", &[]), pay("b", &["a"]), pay("c", &["a", "b"])];
    let mut story = Story::new(plan(steps, terms(Effect::Blind)));
    story.expect_phase(Phase::Created).claim(1).expect_phase(Phase::Running);
    assert_eq!(resolves(&story), ["a"]);
    let early = Resolution::Act { operation: operation(&name("b"), "b", "1", "100") };
    story.refuses(Input::Resolved { step: name("b"), resolution: early }, "SM1005");
    story.plan("a").begin("a").answer("a", 1, applied());
    assert_eq!(resolves(&story), ["b"]);
    story
        .resolve("b", Resolution::Skip { cause: "amount is 0".into() })
        .expect_state("b", StepState::Skipped);
    assert_eq!(resolves(&story), ["c"]);
}

#[test]
fn dependants_of_a_failed_step_never_start_and_independent_ones_do() {
    let steps = vec![pay("a", &[]), pay("b", &["a"]), pay("c", &["b"]), pay("d", &[])];
    let mut story = Story::new(plan(steps, terms(Effect::Blind)));
    story.claim(1).plan("a").begin("a").answer("a", 1, refused(false)).expect_failed("a", "SM3001");
    assert_eq!(resolves(&story), ["d"]);
    story.plan("d").begin("d").answer("d", 1, applied()).expect_phase(Phase::Failed);
    let resolution = Resolution::Act { operation: operation(&name("b"), "b", "1", "100") };
    story.refuses(Input::Resolved { step: name("b"), resolution }, "SM1007");
    story.expect_state("b", StepState::Planned).expect_state("c", StepState::Planned);
    let Some((Event::TaskFailed { step, code, .. }, _)) = story.history.last() else { panic!() };
    assert_eq!((step, code.as_str()), (&name("a"), "SM3001"));
}

#[test]
fn a_task_never_ends_while_one_of_its_operations_is_unknown() {
    let mut story = Story::new(plan(vec![pay("a", &[]), pay("b", &[])], terms(Effect::Blind)));
    story.claim(1).plan("a").plan("b").begin("a").begin("b").answer("a", 1, refused(false));
    story.answer("b", 1, lost()).expect_failed("a", "SM3001").expect_phase(Phase::NeedsReview);
    assert!(story.task.end.is_none());
    story.decide(Decision::WriteOff).expect_phase(Phase::Failed);
}

#[test]
fn independent_branches_go_on_while_one_is_in_review() {
    let steps = vec![pay("a", &[]), pay("b", &[]), pay("c", &["b"])];
    let mut story = Story::new(plan(steps, terms(Effect::Blind)));
    story.claim(1).plan("a").begin("a").answer("a", 1, lost()).expect_review(&ReviewCause::Blind);
    story.expect_phase(Phase::Running);
    story.plan("b").begin("b").answer("b", 1, applied()).plan("c").begin("c").answer("c", 1, applied());
    story.expect_phase(Phase::NeedsReview);
    story.decide(Decision::WriteOff).expect_phase(Phase::Completed);
}

#[test]
fn a_refused_step_fails_with_its_own_code_and_sends_nothing() {
    let mut story = Story::new(plan(vec![pay("a", &[])], terms(Effect::Blind)));
    story.claim(1);
    let (code, cause, fields) = ("SM2001".into(), "not a number".into(), vec!["amount".into()]);
    story.resolve("a", Resolution::Refuse { code, cause, fields }).expect_failed("a", "SM2001");
    story.expect_phase(Phase::Failed);
    assert_eq!(story.step("a").fields, ["amount"]);
}

// --- timers ----------------------------------------------------------------------------------------------------

#[test]
fn a_timer_holds_nothing_and_fires_once() {
    let steps = vec![step("s", StepKind::Sleep, &[]), pay("a", &["s"])];
    let mut story = Story::new(plan(steps, terms(Effect::Blind)));
    let until = Millis(T0 + HOUR);
    story.claim(1).resolve("s", Resolution::Sleep { until }).expect_phase(Phase::Waiting);
    assert_eq!(story.owed(), [Obligation::WaitUntil(until)]);
    assert_eq!(wakes_at(&story.task, story.now), Some(until));
    story.mark().tick_at(HOUR - 1).expect_names(&[]);
    story.tick_at(HOUR).expect_names(&["TimerFired"]).expect_state("s", StepState::Committed);
    assert_eq!(story.step("s").proof, Some(Proof::Timer));
    assert_eq!(resolves(&story), ["a"]);
    story.mark().tick_at(2 * HOUR).expect_names(&[]);
}

#[test]
fn a_timer_in_the_past_fires_at_once_and_a_cancelled_one_never() {
    let steps = || vec![step("s", StepKind::Sleep, &[])];
    let mut story = Story::new(plan(steps(), terms(Effect::Blind)));
    story.claim(1).resolve("s", Resolution::Sleep { until: Millis(T0) }).expect_phase(Phase::Completed);
    let mut story = Story::new(plan(steps(), terms(Effect::Blind)));
    story.claim(1).resolve("s", Resolution::Sleep { until: Millis(T0 + HOUR) });
    story.cancel().expect_phase(Phase::Cancelled).mark().tick_at(HOUR).expect_names(&[]);
}

/// Whoever sleeps too long finds that the state owes a tick, so that nothing waits for ever.
#[test]
fn a_task_that_is_behind_wakes_at_once() {
    let mut story = Story::one(terms(Effect::Blind));
    story.begin("a").at(HOUR);
    assert_eq!(wakes_at(&story.task, story.now), Some(Millis(T0 + HOUR)));
}

// --- items -----------------------------------------------------------------------------------------------------

fn each(parallel: u32, items: usize) -> Story {
    let kind = StepKind::Each { tool: tool("pay"), parallel };
    let mut story = Story::new(plan(vec![step("all", kind, &[]), pay("z", &["all"])], terms(Effect::Blind)));
    let items = (0..items).map(|n| name("all").item(&n.to_string()).unwrap()).collect();
    story.claim(1).resolve("all", Resolution::Each { items, list: Stored::Inline(Json::Null) });
    story
}

fn run_item(story: &mut Story, item: &str, outcome: Outcome) {
    story.plan(item).begin(item).answer(item, 1, outcome);
}

#[test]
fn s46_the_odd_one_of_a_hundred_is_reported_by_itself() {
    let mut story = each(100, 100);
    for n in 0..100 {
        let item = format!("all[{n}]");
        if n == 57 {
            story.plan(&item).begin(&item).answer(&item, 1, Outcome::not_sent("no such recipient"));
            continue;
        }
        run_item(&mut story, &item, applied());
    }
    story.at(10).claim(2).expect_state("all", StepState::Planned);
    for attempt in 2..=5 {
        let due = story.op("all[57]").not_before.unwrap().0 - T0;
        story.tick_at(due.max(20)).begin("all[57]");
        story.answer("all[57]", attempt, Outcome::not_sent("no such recipient"));
    }
    story.expect_failed("all[57]", "SM3004").expect_failed("all", "SM3004").expect_phase(Phase::Failed);
    assert_eq!(story.step("all").cause, "1 of 100 items failed, first `all[57]`");
    assert_eq!(story.task.operations.len(), 100);
    let sent_twice = story.task.operations.values().filter(|o| o.made() > 1).count();
    assert_eq!(sent_twice, 1, "a retry touches only what is not committed");
    story.expect_state("z", StepState::Planned);
}

#[test]
fn items_start_in_order_and_only_as_many_as_there_are_slots() {
    let mut story = each(2, 5);
    assert_eq!(resolves(&story), ["all[0]", "all[1]"]);
    story.plan("all[0]");
    assert_eq!(resolves(&story), ["all[1]"]);
    story.plan("all[1]");
    assert!(resolves(&story).is_empty());
    let resolution = Resolution::Act { operation: operation(&name("all[2]"), "2", "1", "100") };
    story.refuses(Input::Resolved { step: name("all[2]"), resolution }, "SM1005");
    story.begin("all[0]").answer("all[0]", 1, applied());
    assert_eq!(resolves(&story), ["all[2]"]);
    // An item in review holds no slot.
    story.begin("all[1]").answer("all[1]", 1, lost());
    assert_eq!(resolves(&story), ["all[2]", "all[3]"]);
}

#[test]
fn all_items_settled_commit_the_whole_also_when_there_is_none() {
    each(2, 0).expect_state("all", StepState::Committed);
    let mut story = each(2, 2);
    run_item(&mut story, "all[0]", applied());
    story.expect_state("all", StepState::Planned);
    run_item(&mut story, "all[1]", lost());
    story.expect_state("all", StepState::Planned).decide(Decision::WriteOff);
    story.expect_state("all", StepState::Committed);
    assert_eq!(story.step("all").proof, Some(Proof::Items));
    assert_eq!(resolves(&story), ["z"]);
}

#[test]
fn items_that_cannot_be_are_refused_before_anything_changes() {
    let kind = StepKind::Each { tool: tool("pay"), parallel: 1 };
    let mut story = Story::new(plan(vec![step("all", kind, &[]), pay("z", &[])], terms(Effect::Blind)));
    story.claim(1);
    let item = name("all[0]");
    let list = Stored::Inline(Json::Null);
    let expand = |step, items| Input::Resolved {
        step: name(step),
        resolution: Resolution::Each { items, list: list.clone() },
    };
    story.refuses(expand("all", vec![item.clone(), item.clone()]), "SM1005");
    story.refuses(expand("all", vec![name("z")]), "SM1005");
    story.refuses(expand("z", vec![item]), "SM1005");
    let many = (0..1_001).map(|n| name("all").item(&n.to_string()).unwrap()).collect();
    story.refuses(expand("all", many), "SM1008");
}

#[test]
fn s49_cancel_in_the_middle_of_items_tells_each_apart() {
    let mut story = each(5, 5);
    for n in 0..3 {
        run_item(&mut story, &format!("all[{n}]"), applied());
    }
    run_item(&mut story, "all[3]", lost());
    story.plan("all[4]").cancel().claim(2);
    assert!(story.task.end.is_none(), "one is unknown");
    story.expect_review(&ReviewCause::Blind).decide(Decision::WriteOff).expect_phase(Phase::Cancelled);
    story.expect_state("all[0]", StepState::Committed).expect_state("all[3]", StepState::Unknown);
    story.expect_state("all[4]", StepState::Planned);
    assert_eq!(story.started("all[4]"), 0);
}

// --- plans that are refused ------------------------------------------------------------------------------------

#[test]
fn a_plan_that_breaks_its_invariant_is_not_accepted() {
    let bad = [
        vec![],
        vec![pay("a", &[]), pay("a", &[])],
        vec![pay("a", &["b"])],
        vec![pay("a", &["b"]), pay("b", &["a"])],
        vec![pay("a", &["a"])],
        vec![step("a", StepKind::Act(tool("other")), &[])],
        (0..513).map(|n| pay(&format!("s{n}"), &[])).collect(),
    ];
    for steps in bad {
        let submission = Submission {
            task: TaskId::parse("tsk_bad").unwrap(),
            tenant: Tenant::parse("acme").unwrap(),
            client_id: ClientId::parse("c-1").unwrap(),
            plan: plan(steps, terms(Effect::Blind)),
            inputs: Stored::Inline(Json::Null),
            epoch: 1,
            shared_epoch: 0,
            restored: None,
        };
        let refusal = submit(submission, Ctx { now: Now::steady(Millis(T0)), draw: 0 }).unwrap_err();
        assert_eq!(refusal.code(), "SM1008", "{refusal}");
    }
}
