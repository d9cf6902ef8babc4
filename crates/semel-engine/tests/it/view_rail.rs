//! The failure window: each state of knowledge has its rail, and none claims more than was shown.

use crate::view_world::{
    SECOND, World, applied, blind, pending, plan, probe, refused, result, terms, with_probe,
};
use semel_engine::view::{Mark, Rail};
use semel_kernel::{
    outcome::{Finding, Outcome, Source, UnknownCause},
    review::Decision,
    terms::{Effect, OnUnknown, Terms},
};

fn rail(world: &World) -> String {
    Rail::of(&world.task, world.op("charge")).full()
}

#[test]
fn each_state_of_knowledge_has_its_rail() {
    let queryable = || terms(Effect::Queryable);
    let ended = |outcome| World::started(queryable()).answer("charge", outcome);
    let unknown = |cause| ended(Outcome::unknown(cause));
    let twice = World::timed_out(terms(Effect::Keyed)).pass(10 * SECOND).pass(10 * SECOND).begin("charge");
    let cases: Vec<(&str, World, &str)> = vec![
        ("not planned to leave", World::planned(plan(queryable())), "L0✕ ①✕ ②✕ ③✕ ④✕ ⑤✕ ⑥✕ ⑦✕ L8✕"),
        ("in flight", World::started(queryable()), "L0● ①▨ ②▨ ③▨ ④▨ ⑤▨ ⑥▨ ⑦▨ L8✕"),
        ("time-out, owner alive", World::timed_out(queryable()), "L0● ①▨ ②▨ ③▨ ④▨ ⑤▨ ⑥▨ ⑦✕ L8✕"),
        ("connection lost", unknown(UnknownCause::Lost), "L0● ①▨ ②▨ ③▨ ④▨ ⑤▨ ⑥▨ ⑦✕ L8✕"),
        ("owner gone", World::started(queryable()).claim(), "L0● ①▨ ②▨ ③▨ ④▨ ⑤▨ ⑥▨ ⑦▨ L8✕"),
        ("5xx", unknown(UnknownCause::Undeclared), "L0● ①● ②▨ ③▨ ④▨ ⑤▨ ⑥● ⑦● L8✕"),
        ("body said nothing", unknown(UnknownCause::Body), "L0● ①▨ ②▨ ③▨ ④▨ ⑤▨ ⑥▨ ⑦▨ L8✕"),
        ("202", ended(pending("accepted")), "L0● ①● ②● ③▨ ④▨ ⑤▨ ⑥● ⑦● L8✕"),
        ("not sent", ended(Outcome::not_sent("refused")), "L0● ①✕ ②✕ ③✕ ④✕ ⑤✕ ⑥✕ ⑦✕ L8✕"),
        ("refused, final", ended(refused(false, "no card")), "L0● ①● ②✕ ③✕ ④✕ ⑤▨ ⑥● ⑦● L8●"),
        ("answered", ended(applied("ch_1")), "L0● ①● ②● ③● ④● ⑤● ⑥● ⑦● L8●"),
        (
            "look-up in progress",
            World::timed_out(queryable()).probed("charge", Finding::Pending),
            "L0● ①● ②● ③▨ ④▨ ⑤▨ ⑥▨ ⑦✕ L8✕",
        ),
        (
            "look-up before the settled moment",
            World::timed_out(queryable()).probed("charge", Finding::Absent),
            "L0● ①▨ ②▨ ③▨ ④▨ ⑤▨ ⑥▨ ⑦✕ L8✕",
        ),
        (
            "look-up after it",
            World::timed_out(queryable()).pass(60 * SECOND).probed("charge", Finding::Absent),
            "L0● ①▨ ②▨ ③▨ ④✕ ⑤▨ ⑥▨ ⑦▨ L8✕",
        ),
        (
            "look-up finds it",
            World::timed_out(queryable()).probed("charge", Finding::Applied { result: result("ch_1") }),
            "L0● ①● ②● ③● ④● ⑤▨ ⑥▨ ⑦✕ L8●",
        ),
        (
            "receipt",
            World::timed_out(queryable()).evidence(Source::Receipt, None, applied("ch_1")),
            "L0● ①● ②● ③● ④● ⑤▨ ⑥▨ ⑦✕ L8●",
        ),
        (
            "receipt that names its attempt",
            World::timed_out(queryable()).evidence(Source::Receipt, Some(1), applied("ch_1")),
            "L0● ①● ②● ③● ④● ⑤▨ ⑥▨ ⑦▨ L8●",
        ),
        (
            "late answer",
            World::timed_out(queryable()).evidence(Source::LateAnswer, Some(1), applied("ch_1")),
            "L0● ①● ②● ③● ④● ⑤● ⑥● ⑦● L8●",
        ),
        (
            "a person says it did not",
            World::timed_out(blind(OnUnknown::Review)).pass(120 * SECOND).decide(Decision::ItDidNot),
            "L0● ①▨ ②▨ ③▨ ④✕ ⑤▨ ⑥▨ ⑦▨ L8✕",
        ),
        (
            "refusal after a time-out",
            twice.answer("charge", refused(false, "401")),
            "L0● ①● ②▨ ③▨ ④▨ ⑤▨ ⑥● ⑦● L8✕",
        ),
        (
            "a receipt contradicts a refusal",
            ended(refused(false, "no card")).evidence(Source::Receipt, Some(1), applied("ch_1")),
            "L0● ①● ②▨ ③▨ ④▨ ⑤▨ ⑥● ⑦● L8●",
        ),
        ("restored", World::planned(plan(queryable())).adopt(), "L0▨ ①▨ ②▨ ③▨ ④▨ ⑤▨ ⑥▨ ⑦▨ L8✕"),
        (
            "the state held before",
            World::planned(plan(with_probe(Effect::Natural)))
                .prechecked(Finding::Applied { result: result("on") }, true),
            "L0✕ ①✕ ②✕ ③✕ ④● ⑤✕ ⑥✕ ⑦✕ L8●",
        ),
    ];
    for (case, world, expected) in &cases {
        assert_eq!(rail(world), *expected, "{case}");
    }
}

#[test]
fn a_strip_is_the_seven_points_and_every_station_names_its_rule() {
    let world = World::timed_out(Terms { probe: Some(probe()), ..terms(Effect::Keyed) });
    let rail = Rail::of(&world.task, world.op("charge"));
    assert_eq!(rail.strip(), "▨▨▨▨▨▨✕");
    assert_eq!(rail.marks[0], Mark::Proven);
    let rules = rail.why();
    assert!(rules.iter().all(|station| !station.rule.is_empty()));
    assert_eq!(rules[7].rule, "the worker lived and heard no answer");
    let reaches: Vec<String> = rail.reaches().iter().map(ToString::to_string).collect();
    assert_eq!(reaches.len(), 4, "neighbours of one rule stand together: {reaches:?}");
    assert!(reaches[1].starts_with("▨ ①–⑥ open: "), "{}", reaches[1]);
    let json = serde_json::to_value(rail).unwrap();
    assert_eq!(json["stations"][7]["mark"], "proven_not");
    assert_eq!(json["strip"], "▨▨▨▨▨▨✕");
}
