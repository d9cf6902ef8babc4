//! The window between the effect and its record (S01 is with the faults of the store).

use crate::{
    desk::{Answer, Desk},
    plans::{BLIND, KEYED, QUERYABLE, chain},
    support::{at_most_one_each, done, events, must_be_killed, run_with, step, world},
};
use serde_json::json;

fn killed_after_the_send(kind: &str, plan: &str) -> crate::world::World {
    let world = world(kind, plan);
    must_be_killed(&world, "call.after_send");
    world
}

#[test]
fn s02_keyed_in_flight_is_sent_again_with_the_same_key() {
    let world = killed_after_the_send("tickets", KEYED);
    done(&world);
    let posts = world.sink.posts();
    assert_eq!((world.sink.effects(), posts.len()), (1, 2));
    assert_eq!(posts[0], posts[1], "same key, same bytes");
    world.verify();
}

#[test]
fn s02_queryable_in_flight_is_looked_up_and_not_sent_again() {
    let world = killed_after_the_send("tickets", QUERYABLE);
    done(&world);
    assert_eq!((world.sink.effects(), world.sink.posts().len()), (1, 1));
    world.verify();
}

/// A tool that says nothing of itself is blind, and a blind one is never sent again by itself.
#[test]
fn s02_blind_or_undeclared_in_flight_is_a_review_that_names_the_operation() {
    for plan in [BLIND.to_owned(), BLIND.replace("    effect: blind\n", "")] {
        let world = killed_after_the_send("sms", &plan);
        let ran = run_with(&world, &[], None);
        assert_eq!(ran.code, Some(5), "{}{}", ran.out, ran.err);
        let operation = step(&ran.json(), "send")["operation"].as_str().unwrap().to_owned();
        assert_eq!(world.sink.posts().len(), 1);
        let id = review(&world);
        let package = world.run(&["review", "package", "--json", &id], None);
        assert!(package.out.contains(&operation), "{}", package.out);
        world.verify();
    }
}

fn review(world: &crate::world::World) -> String {
    let reviews = world.run(&["review", "list", "--json"], None);
    reviews.out.split('"').find(|t| t.starts_with("rev_")).unwrap().to_owned()
}

const GAPS: [&str; 7] = [
    "submit.before_commit",
    "submit.after_commit",
    "turn.before_commit",
    "turn.after_commit",
    "call.before_send",
    "call.after_send",
    "call.after_answer",
];

/// A step is never recorded as done before the one that it needs.
fn in_order(world: &crate::world::World) {
    let committed = events(world).into_iter().filter(|(kind, _)| kind == "StepCommitted");
    let names: Vec<String> = committed.map(|(_, e)| e["step"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["one", "two", "three"]);
}

fn killed_in_every_gap(nth: u32, least: usize) {
    let mut killed = 0;
    for gap in GAPS {
        let world = world("tickets", &chain(&["one", "two", "three"]));
        let first = run_with(&world, &[], Some(&format!("{gap}:{nth}")));
        assert!(first.killed || first.code == Some(0), "{gap}:{nth}: {}{}", first.out, first.err);
        killed += usize::from(first.killed);
        done(&world);
        assert_eq!(world.sink.effects(), 3, "{gap}:{nth}");
        at_most_one_each(&world);
        in_order(&world);
        world.verify();
    }
    assert!(killed >= least, "only {killed} of the {} gaps were reached", GAPS.len());
}

#[test]
fn s05_killed_in_every_gap_of_the_first_step() {
    killed_in_every_gap(1, 7);
}

#[test]
fn s05_killed_in_every_gap_of_the_second_step() {
    killed_in_every_gap(2, 5);
}

#[test]
fn s05_killed_in_every_gap_of_the_third_step() {
    killed_in_every_gap(3, 5);
}

/// The target hears the request and never answers, while the heart of the owner beats on.
#[test]
fn s11_alive_and_getting_nowhere_is_interrupted_and_named() {
    let desk = Desk::open(|_| Answer::Never);
    let world = world("sms", &BLIND.replace("{SINK}", &desk.address));
    let ran = run_with(&world, &[], None);
    assert_eq!(ran.code, Some(5), "{}{}", ran.out, ran.err);
    assert_eq!(desk.posts(), 1);
    let why = world.run(&["why", ran.json()["task"].as_str().unwrap()], None);
    assert!(why.out.contains("send"), "the step is named: {}", why.out);
    assert!(
        events(&world).iter().any(|(kind, e)| kind == "AttemptUnknown" && e.to_string().contains("timeout"))
    );
}

/// A first refusal that passes, then success; the process dies when the next step is on its way.
#[test]
fn s06_a_committed_step_is_skipped_with_and_without_a_retry_policy() {
    let chain = chain(&["one", "two"]);
    let policy = chain.replace("    timeout:", "    retry: { max: 3, wait: 50ms }\n    timeout:");
    for plan in [chain, policy] {
        let world = world("tickets", &plan);
        world.sink.faults(&json!([{"fault": "refuse_429", "times": 1}]));
        must_be_killed(&world, "call.before_send:3");
        let before = operation(&world, "one");
        assert_eq!(before["state"], "COMMITTED");
        done(&world);
        assert_eq!(before, operation(&world, "one"), "same id, same key, same hash, as many attempts");
        assert_eq!((world.sink.effects(), world.sink.posts().len()), (2, 3));
        world.verify();
    }
}

fn operation(world: &crate::world::World, name: &str) -> serde_json::Value {
    let listed = world.run(&["op", "list", "--json"], None).json();
    let rows = listed["operations"].as_array().unwrap();
    let mut row = rows.iter().find(|r| r["step"] == name).unwrap().clone();
    // What is left of the key's window shrinks with time.
    row.as_object_mut().unwrap().remove("key_left_ms");
    row
}
