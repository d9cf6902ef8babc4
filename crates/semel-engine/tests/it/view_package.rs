//! The recovery package: complete, exact, and without secrets.

use crate::view_world::{HOUR, MINUTE, World, applied, blind, refused, terms};
use semel_engine::view::Package;
use semel_kernel::{
    input::{Ctx, Input},
    json::Json,
    outcome::{Finding, Outcome},
    review::{Decision, ReviewCause},
    terms::{Effect, Offline, OnUnknown, RetryTerms, Terms},
    time::Now,
};

fn package(world: &World) -> Package {
    Package::of(&world.task, world.review(), &world.history, world.now())
}

#[test]
fn blind_unknown() {
    let world = World::timed_out(blind(OnUnknown::Review));
    let text = package(&world).to_markdown();
    insta::assert_snapshot!(text);
}

#[test]
fn key_window_over() {
    let world = World::timed_out(terms(Effect::Keyed)).pass(24 * HOUR);
    let text = package(&world).to_markdown();
    insta::assert_snapshot!(text);
}

#[test]
fn contradiction() {
    let world = World::timed_out(terms(Effect::Queryable));
    let world = world.probed("charge", Finding::Many { cause: "2 charges carry the key".into() });
    let text = package(&world).to_markdown();
    insta::assert_snapshot!(text);
}

#[test]
fn confirmed_effects_carry_the_targets_ids() {
    let world = World::started(terms(Effect::Keyed)).answer("charge", applied("ch_1"));
    let world = world.need_person(ReviewCause::VersionMissing { what: "model acme@09".into() });
    let shown = package(&world);
    let ids = &shown.confirmed[0].external_ids;
    assert_eq!(ids["id"], "ch_1");
    assert_eq!(ids["href"], "https://pay.example/charges/1", "a link loses its query");
    assert!(shown.unknown.is_empty());
    assert_eq!(shown.choices.iter().map(|c| c.answer).collect::<Vec<_>>(), ["go on", "abort", "wait until"]);
}

/// DESIGN section 9 lists what a person is given. Each is in the data and on the page.
#[test]
fn all_that_a_person_is_promised_is_there() {
    let world = World::timed_out(blind(OnUnknown::Review)).pause();
    let shown = package(&world);
    let json = serde_json::to_value(&shown).unwrap();
    let page = shown.to_markdown();
    let op = &world.op("charge").planned;
    let promised: [(&str, &str, &str); 24] = [
        ("the question", "/question", "# Did "),
        ("why it is asked", "/review/because", ", because the target offers neither"),
        ("the page's version", "/review/page", "page version "),
        ("the last checkpoint", "/checkpoint/version", "## Last checkpoint"),
        ("the workflow's version", "/checkpoint/plan_hash", &shown.checkpoint.plan_hash.to_string()),
        ("the pins", "/checkpoint/pins/model", "pins: model acme@09"),
        ("the generation", "/checkpoint/generation", "generation 0.1"),
        ("who holds it", "/checkpoint/held/0", "the task is paused by "),
        ("event history", "/history/0", "TaskCreated"),
        ("operation ids", "/operations/0/id", op.id.as_str()),
        ("keys", "/operations/0/key", &op.key),
        ("hashes", "/operations/0/request_hash", &op.request_hash.to_string()),
        ("contract hashes", "/operations/0/contract", "(contract `sha256:"),
        ("the request", "/operations/0/request/0", "POST https://pay.example/charges"),
        ("confirmed effects", "/confirmed", "## Confirmed effects"),
        ("unknown effects", "/unknown/0/operation", "## Unknown effects"),
        ("effects proven absent", "/absent", "## Effects proven absent"),
        ("what was tried", "/tried/0/result", "## What was tried"),
        ("raw answers", "/tried/0/shown", "no raw answer"),
        ("clocks", "/clocks/settled_at", "settled moment"),
        ("the next act", "/advice/act", "**Do:** "),
        ("why", "/advice/why", "**Why:** "),
        ("what would change our mind", "/advice/unless/0", "**What would change our mind:**"),
        ("the exact commands", "/choices/0/command", "--page "),
    ];
    for (what, place, words) in promised {
        assert!(json.pointer(place).is_some(), "{what} is not in the data at {place}: {json:#}");
        assert!(page.contains(words), "{what} is not on the page as `{words}`:\n{page}");
    }
    let clocks =
        ["key_window_ends_at", "resend_until", "attempts_dead_at", "approval_expires_at", "deadline_at"];
    assert!(clocks.iter().all(|clock| json["clocks"].get(clock).is_some()), "{}", json["clocks"]);
}

#[test]
fn a_decided_review_says_who_when_and_what() {
    let world = World::timed_out(blind(OnUnknown::Review)).pass(5 * MINUTE);
    let id = world.review().id.clone();
    let world = world.decide(Decision::WriteOff);
    let review = world.task.review(&id).unwrap();
    let shown = Package::of(&world.task, review, &world.history, world.now());
    assert_eq!(shown.review.decided_at, Some(world.now().at));
    assert!(shown.to_markdown().contains(": write off."), "{}", shown.to_markdown());
}

#[test]
fn it_holds_no_secret() {
    let world = World::timed_out(blind(OnUnknown::Review));
    let text = serde_json::to_string(&package(&world)).unwrap() + &package(&world).to_markdown();
    assert!(text.contains("{secret env:PAY_KEY}"), "the reference is shown");
    assert!(text.contains("idempotency-key: {key}"));
    assert!(!text.contains("token=hidden"));
}

/// What is offered is taken, and what is said to be refused is refused.
#[test]
fn choices_are_what_the_kernel_takes() {
    let worlds = [
        World::timed_out(blind(OnUnknown::Review)),
        World::timed_out(blind(OnUnknown::Review)).pass(5 * MINUTE),
        World::timed_out(terms(Effect::Keyed)).pass(24 * HOUR),
        World::timed_out(terms(Effect::Queryable)).probed("charge", Finding::Many { cause: "2".into() }),
        World::started(terms(Effect::Keyed)).need_person(ReviewCause::NoProgress { claims: 3 }),
    ];
    for world in &worlds {
        for choice in package(world).choices {
            let decision = decision(choice.answer, world.now());
            let (actor, reason) = ("lin".to_owned(), "test".to_owned());
            let review = world.review().id.clone();
            let input = Input::Decide { review, decision, actor, reason, page: None };
            let ctx = Ctx { now: world.now(), draw: 0 };
            let taken = semel_kernel::decide::decide(&world.task, input, ctx).is_ok();
            assert_eq!(taken, choice.refused.is_none(), "{choice:?}");
            assert_eq!(taken, choice.then.is_some(), "{choice:?}");
        }
    }
}

fn decision(answer: &str, now: Now) -> Decision {
    match answer {
        "it happened" => Decision::ItHappened { reference: "ch_1".into(), result: Json::Null },
        "it did not" => Decision::ItDidNot,
        "ask again" => Decision::AskAgain,
        "wait until" => Decision::WaitUntil { at: now.at.plus(HOUR) },
        "go on" => Decision::GoOn,
        "skip" => Decision::Skip,
        "write off" => Decision::WriteOff,
        "abort" => Decision::Abort,
        other => panic!("no such answer: {other}"),
    }
}

#[test]
fn an_unreachable_target_is_proven_absent() {
    let once = Terms {
        offline: Offline::Review,
        retry: RetryTerms { max: 1, ..terms(Effect::Keyed).retry },
        ..terms(Effect::Keyed)
    };
    let world = World::started(once).answer("charge", Outcome::not_sent("connection refused"));
    let shown = package(&world);
    assert_eq!(shown.absent[0].because, "attempt 1: connection refused");
    assert!(shown.unknown.is_empty());
    assert!(shown.advice.act.contains("--go-on"));
}

#[test]
fn a_failed_step_beside_the_question_is_absent() {
    let world = World::started(terms(Effect::Keyed)).answer("charge", refused(false, "card declined"));
    let world = world.evidence(semel_kernel::outcome::Source::Receipt, Some(1), applied("ch_1"));
    let shown = package(&world);
    assert_eq!(shown.review.cause, ReviewCause::Contradiction);
    assert_eq!(shown.tried.len(), 2, "the refusal and the receipt");
    assert!(shown.checkpoint.phase.is_end(), "the state stays");
}
