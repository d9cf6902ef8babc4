//! The forecast of a recovery is what the recovery then does.

use crate::view_world::{
    HOUR, MINUTE, SECOND, World, applied, blind, name, pending, plan, refused, sleeping, terms, with_probe,
};
use semel_engine::view::{ActKind, DryRun, dry_run};
use semel_kernel::{
    id::SessionId,
    input::{Ctx, Input},
    json::Json,
    oblige::{Obligation, obligations},
    outcome::{Finding, Outcome, UnknownCause},
    step::StepState,
    task::Task,
    terms::{Effect, OnUnknown, RetryTerms, Terms},
    time::Now,
};

fn forecast(world: &World) -> DryRun {
    dry_run(&world.task, world.now(), world.next_generation()).unwrap()
}

/// The real thing: the kernel takes the claim.
fn claimed(world: &World) -> Task {
    let session = SessionId::parse("ses_next").unwrap();
    let generation = world.next_generation();
    feed(&world.task, Input::Claimed { session, generation }, world.now())
}

fn feed(task: &Task, input: Input, now: Now) -> Task {
    let mut draft = semel_kernel::decide::Draft::on(task.clone());
    draft.take(input, Ctx { now, draw: u32::MAX }).unwrap();
    draft.finish().0
}

/// What the shell owes for `charge`, as the kind of a forecast.
fn owed(before: &Task, task: &Task, now: Now) -> ActKind {
    let step = &task.steps[&name("charge")];
    if step.is_settled() {
        return match step.state {
            StepState::Committed => ActKind::Commit,
            StepState::Failed => ActKind::Fail,
            _ => ActKind::WriteOff,
        };
    }
    if step.review.is_some() {
        let open = before.steps[&name("charge")].review == step.review;
        return if open { ActKind::Wait } else { ActKind::Review };
    }
    let id = step.operation.as_ref();
    let of_step = obligations(task, now).into_iter().find_map(|owed| match owed {
        Obligation::Resolve(name) if name == step.name => Some(ActKind::Resolve),
        Obligation::Precheck(op) if Some(&op) == id => Some(ActKind::Precheck),
        Obligation::Begin { op, .. } if Some(&op) == id => Some(ActKind::Begin),
        Obligation::Probe(op) if Some(&op) == id => Some(ActKind::Probe),
        Obligation::WaitUntil(_) => Some(ActKind::Wait),
        _ => None,
    });
    of_step.unwrap_or(ActKind::Hold)
}

/// One task for each line of the recovery table.
fn worlds() -> Vec<(&'static str, World)> {
    let gone = |terms: Terms| World::started(terms).skip_time(48 * SECOND);
    let unknown = |terms: Terms| World::timed_out(terms);
    let keyed = || terms(Effect::Keyed);
    let short = || Terms { retry: RetryTerms { max: 1, ..keyed().retry }, ..keyed() };
    vec![
        ("unplanned", World::new(plan(keyed()))),
        ("planned", World::planned(plan(keyed()))),
        ("planned, precheck", World::planned(plan(with_probe(Effect::Natural)))),
        ("planned, require", World::planned(plan(Terms { require: true, ..terms(Effect::Queryable) }))),
        ("owner gone, none", gone(terms(Effect::None))),
        ("owner gone, natural", gone(terms(Effect::Natural))),
        ("owner gone, natural with look-up", World::natural_gone()),
        ("owner gone, keyed", gone(keyed())),
        ("owner gone, keyed, early", World::started(keyed()).skip_time(SECOND)),
        ("owner gone, keyed with look-up", gone(with_probe(Effect::Keyed))),
        ("owner gone, keyed, window over", World::started(keyed()).skip_time(25 * HOUR)),
        ("owner gone, attempts spent", gone(short())),
        ("owner gone, queryable", gone(terms(Effect::Queryable))),
        ("owner gone, blind", gone(blind(OnUnknown::Review))),
        ("owner gone, blind, duplicate accepted", gone(blind(OnUnknown::AcceptDuplicate))),
        ("owner gone, blind, loss accepted", gone(blind(OnUnknown::AcceptLoss))),
        ("unknown, keyed", unknown(keyed())),
        ("unknown, queryable", unknown(terms(Effect::Queryable))),
        ("unknown, asked before", unknown(terms(Effect::Queryable)).probed("charge", Finding::Absent)),
        ("pending, queryable", World::started(terms(Effect::Queryable)).answer("charge", pending("202"))),
        ("pending, keyed", World::started(keyed()).answer("charge", pending("in use"))),
        ("retry scheduled", World::started(keyed()).answer("charge", refused(true, "429"))),
        ("retry due", World::started(keyed()).answer("charge", refused(true, "429")).pass(MINUTE)),
        ("paused", gone(keyed()).pause()),
        ("cancelling", gone(terms(Effect::Queryable)).cancel()),
        ("restored", World::planned(plan(terms(Effect::Queryable))).adopt()),
        ("restored, blind", World::planned(plan(blind(OnUnknown::Review))).adopt()),
    ]
}

impl World {
    fn natural_gone() -> Self {
        let world = World::planned(plan(with_probe(Effect::Natural))).prechecked(Finding::Absent, true);
        world.begin("charge").skip_time(48 * SECOND)
    }
}

#[test]
fn the_first_act_is_what_recovery_then_does() {
    for (case, world) in worlds() {
        let shown = forecast(&world);
        let first = shown.steps[0].will[0].clone();
        let after = claimed(&world);
        let expected = owed(&world.task, &after, world.now());
        let waits = |k| matches!(k, ActKind::Wait | ActKind::Hold);
        assert!(
            first.kind == expected || (waits(first.kind) && waits(expected)),
            "{case}: {first:?} / {expected:?}"
        );
        assert!(first.when.is_none(), "{case}");
    }
}

#[test]
fn each_branch_is_what_follows_from_its_answer() {
    let world = World::started(terms(Effect::Queryable)).skip_time(48 * SECOND);
    let shown = forecast(&world);
    let kinds: Vec<(Option<&str>, ActKind)> =
        shown.steps[0].will.iter().map(|b| (b.when.as_deref(), b.kind)).collect();
    assert_eq!(kinds[0], (None, ActKind::Probe));
    let after = claimed(&world);
    let answers = [Finding::Applied { result: crate::view_world::result("ch_1") }, Finding::Pending];
    for (at, finding) in answers.into_iter().enumerate() {
        let op = after.operations.keys().next().unwrap().clone();
        let input = Input::Probed { op, asked_at: world.now().at, finding, confirm: None, shown: Json::Null };
        let then = feed(&after, input, world.now());
        assert_eq!(kinds[at + 1].1, owed(&world.task, &then, world.now()), "{:?}", kinds[at + 1]);
    }
}

#[test]
fn forecasts_in_words() {
    let shown = [
        "owner gone, keyed with look-up",
        "owner gone, queryable",
        "unknown, asked before",
        "owner gone, keyed, early",
        "owner gone, keyed, window over",
        "owner gone, blind",
        "planned, require",
        "paused",
        "restored",
    ];
    let all = worlds();
    let text: String = shown
        .iter()
        .filter_map(|case| all.iter().find(|(name, _)| name == case))
        .map(|(case, world)| format!("## {case}\n{}\n", forecast(world)))
        .collect();
    insta::assert_snapshot!(text);
}

#[test]
fn what_is_settled_is_skipped_and_nothing_of_the_task_changes() {
    let world = World::started(terms(Effect::Keyed)).answer("charge", applied("ch_1"));
    let before = world.task.clone();
    let shown = forecast(&world);
    assert_eq!(world.task, before);
    assert_eq!(shown.steps[0].will[0].kind, ActKind::Skip);
    assert_eq!(shown.steps[1].will[0].kind, ActKind::Resolve);
    let asleep = World::new(sleeping()).claim();
    assert_eq!(forecast(&asleep).steps[0].will[0].kind, ActKind::Resolve);
}

#[test]
fn a_generation_that_does_not_follow_is_refused() {
    let world = World::started(terms(Effect::Keyed)).answer("charge", Outcome::unknown(UnknownCause::Lost));
    let error = dry_run(&world.task, world.now(), world.task.generation).unwrap_err();
    assert_eq!(error.code(), "SM1005");
}
