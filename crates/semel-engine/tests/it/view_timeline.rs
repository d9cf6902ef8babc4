//! The history for people.

use crate::view_world::{MINUTE, SECOND, World, applied, blind, refused, result, terms};
use semel_engine::view::{Line, gantt, line, timeline::Look};
use semel_kernel::{
    input::Resolution,
    outcome::{Finding, Source},
    review::Decision,
    terms::{Effect, OnUnknown},
};

fn lines(world: &World) -> String {
    world.history.iter().map(line).map(|l: Line| format!("{l}\n")).collect()
}

fn recovered() -> World {
    let world = World::started(terms(Effect::Queryable)).pass(20 * SECOND).claim();
    let world = world.pass(SECOND).probed("charge", Finding::Absent).pass(2 * SECOND);
    let world = world.probed("charge", Finding::Applied { result: result("ch_1") });
    world.pass(5 * SECOND).resolve("notify", Resolution::Skip { cause: "nobody to tell".into() })
}

fn reviewed() -> World {
    let world =
        World::timed_out(blind(OnUnknown::Review)).pause().pass(5 * MINUTE).decide(Decision::ItDidNot);
    world.take(semel_kernel::input::Input::Resume { actor: "lin".into() }).begin("charge")
}

#[test]
fn a_recovery_line_by_line() {
    let text = lines(&recovered());
    insta::assert_snapshot!(text);
}

#[test]
fn a_review_line_by_line() {
    let world = reviewed().answer("charge", refused(true, "429"));
    let world = world.evidence(Source::LateAnswer, Some(1), applied("ch_1")).adopt();
    let text = lines(&world);
    insta::assert_snapshot!(text);
}

#[test]
fn each_line_names_its_step_and_its_event() {
    let world = recovered();
    let shown: Vec<Line> = world.history.iter().map(line).collect();
    let probe = shown.iter().find(|l| l.kind == "ProbeAnswered").unwrap();
    assert_eq!(probe.step.as_ref().unwrap().as_str(), "charge");
    for (line, recorded) in shown.iter().zip(&world.history) {
        let stored = serde_json::to_value(&recorded.event).unwrap();
        assert_eq!(stored["type"], line.kind, "the shown name is the stored one");
        assert!(!line.text.is_empty() && !line.text.contains('\n'), "{line}");
    }
}

#[test]
fn the_gantt_shows_what_was_known_when() {
    let chart = gantt(&recovered().history);
    let looks: Vec<Look> = chart.rows[0].spans.iter().map(|s| s.look).collect();
    assert_eq!(looks, [Look::Started, Look::Unknown, Look::Done]);
    let text = chart.to_text(40);
    insta::assert_snapshot!(text);
}

#[test]
fn a_gantt_of_nothing_or_of_one_moment_is_drawn_too() {
    assert!(gantt(&[]).rows.is_empty());
    let world = World::started(terms(Effect::Keyed));
    assert!(gantt(&world.history).to_text(0).contains("charge"));
    assert!(gantt(&world.history[1..]).rows.is_empty(), "a history without its beginning does not fold");
}
