//! Two sentences for every state: a catalogue in snapshots, so that a changed word is a visible change.

use crate::view_world::{
    HOUR, MINUTE, SECOND, START, World, applied, blind, each, pending, plan, probe, refused, result,
    sleeping, terms, twice, with_probe,
};
use semel_engine::view::{Why, why_operation, why_review, why_step, why_task};
use semel_kernel::{
    id::TaskId,
    input::{Input, Resolution, Settlement},
    json::Json,
    outcome::{Finding, Outcome, Source, UnknownCause},
    review::{Decision, ReviewCause},
    terms::{Effect, Offline, OnUnknown, RetryTerms, Terms},
    time::Millis,
};

/// Each case with what is said of its task and of its first unsettled or first step.
fn catalogue(cases: &[(&str, World)]) -> String {
    cases.iter().map(|(case, world)| format!("## {case}\n{}\n", said(world))).collect()
}

fn said(world: &World) -> String {
    let (task, now) = (&world.task, world.now());
    let mut whys = vec![why_task(task, now)];
    whys.extend(task.steps_in_order().next().map(|step| why_step(task, step, now)));
    whys.extend(task.open_reviews().map(|review| why_review(task, review, now)));
    for why in &whys {
        assert_sentences(why, &world.moment());
    }
    whys.iter().map(Why::to_string).collect::<Vec<_>>().join("\n")
}

/// One sentence each, and never a word that unknown is not.
fn assert_sentences(why: &Why, at: &str) {
    for sentence in [&why.sentence1, &why.sentence2] {
        assert!(sentence.ends_with('.'), "{at}: {sentence}");
        let inner = sentence.trim_end_matches('.');
        assert!(!inner.contains(". "), "two sentences at {at}: {sentence}");
        assert!(!sentence.to_lowercase().contains("exactly once"), "{sentence}");
    }
    assert!(why.sentence1.contains(&why.state), "the state is named: {why:?}");
    if why.state == "UNKNOWN" {
        assert!(!why.sentence1.contains("FAILED"), "unknown is not failed: {why:?}");
    }
}

fn keyed() -> Terms {
    terms(Effect::Keyed)
}

fn queryable() -> Terms {
    terms(Effect::Queryable)
}

#[test]
fn before_anything_is_in_doubt() {
    let text = catalogue(&[
        ("created", World::new(plan(keyed()))),
        ("ready", World::new(plan(keyed())).pause().take(Input::Resume { actor: "lin".into() })),
        ("ready to be planned", World::new(plan(keyed())).claim()),
        ("ready to be sent", World::planned(plan(keyed()))),
        ("running, answer awaited", World::started(keyed()).pass(2 * SECOND)),
        (
            "retry scheduled after a refusal",
            World::started(keyed()).answer("charge", refused(true, "429: slow down.")),
        ),
        (
            "retry after a refused connection",
            World::started(keyed()).answer("charge", Outcome::not_sent("connection refused")),
        ),
        ("waiting on a timer", World::new(sleeping()).claim().resolve("rest", until(HOUR))),
        ("waiting on a tenant-scoped operation", attached()),
        ("precheck", World::planned(plan(with_probe(Effect::Natural)))),
        ("paused", World::planned(plan(keyed())).pause()),
        ("waiting for an equal call", equal_calls()),
    ]);
    insta::assert_snapshot!(text);
}

fn until(ms: i64) -> Resolution {
    Resolution::Sleep { until: Millis(START + ms) }
}

fn attached() -> World {
    let to = TaskId::parse("opt_shared").unwrap();
    World::new(plan(keyed())).claim().resolve("charge", Resolution::Attach { to, epoch: 2 })
}

fn equal_calls() -> World {
    let world = World::new(twice(keyed())).claim().act("again", "o-1").begin("again");
    world.act("charge", "o-1")
}

#[test]
fn while_the_outcome_is_unknown() {
    let late = Terms { timeout_ms: 30 * SECOND, ..keyed() };
    let text = catalogue(&[
        ("time-out, keyed: the earlier attempt is not dead", early_time_out(late)),
        ("keyed: the next attempt is due", World::timed_out(keyed()).pass(10 * SECOND)),
        ("queryable: first look-up", World::timed_out(queryable())),
        (
            "queryable: absent before the settled moment",
            World::timed_out(queryable()).probed("charge", Finding::Absent),
        ),
        ("queryable: waiting for the settled moment", near_settled()),
        (
            "queryable: absent and settled",
            World::timed_out(queryable()).pass(MINUTE).probed("charge", Finding::Absent),
        ),
        (
            "queryable: unclear",
            World::timed_out(queryable()).probed("charge", Finding::Unclear { cause: "503".into() }),
        ),
        ("202, polling", World::started(with_probe(Effect::Keyed)).answer("charge", pending("202, job 7"))),
        ("key in use", World::started(keyed()).answer("charge", pending("409: key in use"))),
        ("natural, probed", World::timed_out_natural()),
        ("a refusal says nothing about the attempt before", refused_after_time_out()),
        ("owner gone, in recovery", World::started(queryable()).skip_time(48 * SECOND).claim()),
        (
            "owner gone, natural without a look-up",
            World::started(terms(Effect::Natural)).skip_time(MINUTE).claim(),
        ),
        ("a read is made again", World::started(terms(Effect::None)).skip_time(MINUTE).claim()),
        ("restored copy adopted", World::planned(plan(queryable())).adopt()),
        ("paused while unknown", World::timed_out(queryable()).pause()),
        ("cancelling while unknown", World::timed_out(queryable()).cancel()),
    ]);
    insta::assert_snapshot!(text);
}

fn early_time_out(terms: Terms) -> World {
    World::started(terms)
        .pass(20 * SECOND)
        .answer("charge", Outcome::unknown(UnknownCause::Lost))
        .pass(SECOND)
}

fn near_settled() -> World {
    let world = World::timed_out(queryable()).probed("charge", Finding::Absent).pass(2 * SECOND);
    let world = world.probed("charge", Finding::Absent).pass(3 * SECOND).probed("charge", Finding::Absent);
    let world = world.pass(4 * SECOND + 500).probed("charge", Finding::Absent);
    world.pass(6 * SECOND)
}

fn refused_after_time_out() -> World {
    let second = World::timed_out(queryable()).adopted_second();
    second.answer("charge", refused(false, "401: who are you"))
}

impl World {
    fn timed_out_natural() -> Self {
        let world = World::planned(plan(with_probe(Effect::Natural))).prechecked(Finding::Absent, true);
        world.begin("charge").pass(30 * SECOND).answer("charge", Outcome::unknown(UnknownCause::Timeout))
    }

    /// A second attempt beside one that is still in doubt: only a keyed target allows it.
    fn adopted_second(self) -> Self {
        World::timed_out(keyed()).pass(10 * SECOND).pass(10 * SECOND).begin("charge")
    }
}

#[test]
fn in_review() {
    let blind_unknown = || World::timed_out(blind(OnUnknown::Review));
    let once = RetryTerms { max: 1, ..keyed().retry };
    let text = catalogue(&[
        ("blind", blind_unknown()),
        ("blind, settled", blind_unknown().pass(5 * MINUTE)),
        ("keyed, window over", World::timed_out(keyed()).pass(24 * HOUR)),
        ("look-ups ran out", looked_in_vain()),
        ("attempts ran out", World::timed_out(Terms { retry: once.clone(), ..keyed() }).pass(MINUTE)),
        ("contradiction: many", World::timed_out(queryable()).probed("charge", found_twice())),
        ("contradiction: other parameters", World::started(keyed()).answer("charge", other_parameters())),
        ("cancelling while unknown, keyed", World::timed_out(keyed()).cancel()),
        (
            "the target is unreachable",
            World::started(Terms { offline: Offline::Review, retry: once, ..keyed() })
                .answer("charge", Outcome::not_sent("connection refused")),
        ),
        ("undo wanted", World::timed_out(blind(OnUnknown::Compensate))),
        ("each: one item in review while others go on", item_in_review()),
        ("the deadline is spent", deadline()),
        ("version not available", missing_version()),
        ("no progress", World::started(keyed()).need_person(ReviewCause::NoProgress { claims: 3 })),
        ("late evidence against a failure", contradicted_end()),
    ]);
    insta::assert_snapshot!(text);
}

fn looked_in_vain() -> World {
    let few = semel_kernel::terms::ProbeTerms { max: 2, ..probe() };
    let unclear = || Finding::Unclear { cause: "503".into() };
    let world = World::timed_out(Terms { probe: Some(few), ..queryable() }).probed("charge", unclear());
    world.pass(20 * SECOND).probed("charge", unclear()).pass(20 * SECOND).probed("charge", unclear())
}

fn found_twice() -> Finding {
    Finding::Many { cause: "2 charges carry the key".into() }
}

fn other_parameters() -> Outcome {
    Outcome::Contradiction { cause: "the key was used with other parameters".into() }
}

fn item_in_review() -> World {
    let world = World::new(each(blind(OnUnknown::Review))).claim().expand(&["ann", "bob", "cid"]);
    let world = world.act("pay-all[ann]", "ann").begin("pay-all[ann]");
    let world = world.answer("pay-all[ann]", Outcome::unknown(UnknownCause::Lost));
    world.act("pay-all[bob]", "bob").begin("pay-all[bob]")
}

fn deadline() -> World {
    let mut plan = plan(keyed());
    plan.budget.deadline_ms = Some(MINUTE);
    World::planned(plan).pass(2 * MINUTE)
}

fn missing_version() -> World {
    World::new(plan(keyed()))
        .claim()
        .need_person(ReviewCause::VersionMissing { what: "model acme@09".into() })
}

fn contradicted_end() -> World {
    World::started(keyed()).answer("charge", refused(false, "card declined")).evidence(
        Source::Receipt,
        Some(1),
        applied("ch_1"),
    )
}

#[test]
fn settled() {
    let found = || Finding::Applied { result: result("ch_1") };
    let once = RetryTerms { max: 1, ..keyed().retry };
    let reviewed = || World::timed_out(blind(OnUnknown::Review)).pass(5 * MINUTE);
    let text = catalogue(&[
        ("committed by its answer", World::started(keyed()).answer("charge", applied("ch_1"))),
        ("committed by a replayed answer", replayed()),
        ("committed by a look-up", World::timed_out(queryable()).probed("charge", found())),
        (
            "committed by a look-up, natural: by whom is not proven",
            World::timed_out_natural().probed("charge", found()),
        ),
        (
            "committed: the state held before",
            World::planned(plan(with_probe(Effect::Natural))).prechecked(found(), true),
        ),
        ("committed by a person", reviewed().decide(happened())),
        (
            "committed by a late answer",
            World::timed_out(keyed()).evidence(Source::LateAnswer, Some(1), applied("ch_1")),
        ),
        (
            "committed by a receipt",
            World::timed_out(keyed()).evidence(Source::Receipt, None, applied("ch_1")),
        ),
        ("failed: final refusal", World::started(keyed()).answer("charge", refused(false, "card declined."))),
        (
            "failed: retries ran out",
            World::started(Terms { retry: once, ..keyed() }).answer("charge", refused(true, "429")),
        ),
        (
            "failed: require",
            World::planned(plan(Terms { require: true, ..queryable() })).prechecked(Finding::Absent, false),
        ),
        (
            "failed: refused before it was planned",
            World::new(plan(keyed())).claim().resolve(
                "charge",
                Resolution::Refuse {
                    code: "SM1006".into(),
                    cause: "no such input".into(),
                    fields: Vec::new(),
                },
            ),
        ),
        ("failed: the operation in another task did not happen", elsewhere(not_happened())),
        ("written off in another task", elsewhere(Settlement::WrittenOff)),
        ("skipped", World::new(plan(keyed())).claim().resolve("charge", skip())),
        ("written off by a person", reviewed().decide(Decision::WriteOff)),
        ("written off by the contract", World::timed_out(blind(OnUnknown::AcceptLoss))),
        ("completed", World::started(keyed()).answer("charge", applied("ch_1")).resolve("notify", skip())),
        ("cancelled", World::planned(plan(keyed())).cancel()),
        ("cancelled before anything was planned", World::new(plan(keyed())).claim().cancel()),
        (
            "timer fired, task completed",
            World::new(sleeping()).claim().resolve("rest", until(MINUTE)).pass(MINUTE),
        ),
    ]);
    insta::assert_snapshot!(text);
}

fn happened() -> Decision {
    Decision::ItHappened { reference: "ch_77".into(), result: Json::Null }
}

fn skip() -> Resolution {
    Resolution::Skip { cause: "its `if` was false".into() }
}

fn elsewhere(settlement: Settlement) -> World {
    let step = crate::view_world::name("charge");
    attached().pass(SECOND).take(Input::AttachSettled { step, settlement })
}

fn not_happened() -> Settlement {
    Settlement::Failed { code: "SM3001".into(), cause: "422: no such account".into() }
}

fn replayed() -> World {
    let world = attached().pass(SECOND);
    let settlement = Settlement::Applied {
        output: result("ch_1"),
        of: "opt_shared/pay/o-1@1".into(),
        at: Millis(START - HOUR),
    };
    world.take(Input::AttachSettled { step: crate::view_world::name("charge"), settlement })
}

#[test]
fn an_operation_says_what_its_step_says_and_a_decided_review_who_decided() {
    let world = World::timed_out(queryable());
    let op = why_operation(&world.task, world.op("charge"), world.now());
    let step = why_step(&world.task, world.step("charge"), world.now());
    assert_eq!(op.sentence2, step.sentence2);
    assert_eq!(op.rail, step.rail);
    let world = World::timed_out(blind(OnUnknown::Review)).decide(happened());
    let decided = why_review(&world.task, &world.task.reviews[0], world.now());
    assert_eq!(decided.state, "decided");
    assert!(decided.sentence1.contains("lin answered “it happened: ch_77”"), "{decided}");
}

#[test]
fn only_commands_of_the_command_line_are_offered() {
    let known = [
        "semel worker",
        "semel explain ",
        "semel why ",
        "semel task show ",
        "semel task tail ",
        "semel task timeline ",
        "semel task resume ",
        "semel task recover ",
        "semel op show ",
        "semel op probe ",
        "semel op settle ",
        "semel review show ",
        "semel review package ",
        "semel review decide ",
    ];
    let worlds = [
        World::new(plan(keyed())),
        World::timed_out(queryable()),
        World::timed_out(blind(OnUnknown::Review)),
        World::planned(plan(keyed())).pause(),
        World::started(keyed()).answer("charge", refused(false, "no")),
        World::planned(plan(queryable())).adopt(),
        attached(),
        missing_version(),
    ];
    for world in &worlds {
        let mut whys = vec![why_task(&world.task, world.now())];
        whys.extend(world.task.steps_in_order().map(|s| why_step(&world.task, s, world.now())));
        whys.extend(world.task.open_reviews().map(|r| why_review(&world.task, r, world.now())));
        for command in whys.iter().flat_map(|w| &w.next) {
            assert!(known.iter().any(|k| command.starts_with(k)), "{command}");
        }
    }
}
