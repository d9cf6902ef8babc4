//! What people met elsewhere, on the real binary (`cases.md` by number), and the acceptance of the core.

use crate::{
    points::{BLIND, KEYED, QUERYABLE},
    world::World,
};
use serde_json::json;

fn world(kind: &str, plan: &str) -> World {
    let world = World::new(kind);
    world.write("plan.yaml", plan);
    world
}

const RUN: [&str; 3] = ["run", "plan.yaml", "--json"];

/// A time-out is unknown, then known; it is never FAILED.
#[test]
fn s03_two_seconds_of_patience_three_seconds_of_work() {
    let world = world("tickets", QUERYABLE);
    world.sink.faults(&json!([{"fault": "slow_before:2500", "times": 1}]));
    let ran = world.run(&RUN, None);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(world.sink.effects(), 1);
    let events = world.events();
    assert!(events.contains("AttemptUnknown") && events.contains("timeout"), "{events}");
    assert!(events.contains("ProbeAnswered"), "{events}");
    assert!(!events.contains("StepFailed"), "{events}");
}

#[test]
fn s04_no_retries_inside_the_transport() {
    let world = world("sms", BLIND);
    world.sink.faults(&json!([{"fault": "reset_after", "times": 1}]));
    let ran = world.run(&RUN, None);
    assert_eq!(ran.code, Some(5), "{}{}", ran.out, ran.err);
    assert_eq!(world.sink.posts().len(), 1);
}

/// The answer of the second attempt says nothing about the first.
#[test]
fn a_refusal_of_attempt_two_is_not_taken_for_attempt_one() {
    for refusal in ["refuse_401", "refuse_404", "refuse_429"] {
        let world = world("tickets", KEYED);
        world.sink.faults(&json!([{"fault": "reset_after", "times": 1}, {"fault": refusal, "times": 1}]));
        let ran = world.run(&RUN, None);
        assert_eq!(ran.code, Some(0), "{refusal}: {}{}", ran.out, ran.err);
        assert_eq!(world.sink.effects(), 1, "{refusal}");
        assert!(world.sink.posts().len() >= 3, "{refusal}: {:?}", world.sink.posts());
        assert!(!world.events().contains("StepFailed"), "{refusal}");
    }
}

/// The desk shows a ticket only after three seconds; what is not seen before the settled moment releases nothing.
#[test]
fn a_probe_before_the_settled_moment_releases_nothing() {
    let world = world("tickets", &QUERYABLE.replace("settle: 1s", "settle: 4s"));
    world.sink.faults(&json!([{"fault": "read_lag:3000"}, {"fault": "reset_after", "times": 1}]));
    let ran = world.run(&RUN, None);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(world.sink.effects(), 1);
    assert_eq!(world.sink.posts().len(), 1);
    let events = world.events();
    assert!(events.contains("absent"), "the early look-ups saw nothing: {events}");
}

/// The desk did nothing; after the settled moment the request is sent a second time.
#[test]
fn s23_absent_after_the_settled_moment_releases_one_send() {
    let world = world("tickets", QUERYABLE);
    world.sink.faults(&json!([{"fault": "reset_before", "times": 1}]));
    let ran = world.run(&RUN, None);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!((world.sink.effects(), world.sink.posts().len()), (1, 2));
}

const PAY: &str = r#"
semel: 1
name: pay
inputs: { order: { type: string }, amount: { type: integer } }
tools:
  pay:
    effect: keyed
    key: [order]
    key_window: 24h
    scope: tenant
    within: 7d
    timeout: 2s
    http: { method: POST, url: "{SINK}/charges", body: json }
steps:
  - step: charge
    act: pay
    with: { order: "${{ inputs.order }}", amount: "${{ inputs.amount }}" }
"#;

fn pay(world: &World, id: &str, amount: u32) -> crate::world::Ran {
    let amount = format!("amount={amount}");
    world.run(&["run", "plan.yaml", "--json", "--id", id, "-i", "order=o-1", "-i", &amount], None)
}

#[test]
fn two_tasks_with_one_order_make_one_charge() {
    let world = world("payments", PAY);
    let (a, b) = (pay(&world, "first", 100), pay(&world, "second", 100));
    assert_eq!((a.code, b.code), (Some(0), Some(0)), "{}{}{}", a.err, b.out, b.err);
    assert_eq!((world.sink.effects(), world.sink.posts().len()), (1, 1));
    assert!(b.out.contains("COMMITTED"), "{}", b.out);
}

#[test]
fn pay_100_then_1000_is_refused_before_anything_is_sent() {
    let world = world("payments", PAY);
    assert_eq!(pay(&world, "first", 100).code, Some(0));
    let second = pay(&world, "second", 1000);
    assert_eq!(second.code, Some(6), "{}{}", second.out, second.err);
    assert_eq!(second.json()["steps"][0]["fields"], json!(["amount"]), "the differing field is named");
    assert_eq!((world.sink.effects(), world.sink.posts().len()), (1, 1));
}

/// The same client id with other inputs is another intent, and is refused with the difference.
#[test]
fn s20_same_id_with_other_inputs_is_a_conflict() {
    let world = world("payments", &PAY.replace("    scope: tenant\n    within: 7d\n", ""));
    assert_eq!(pay(&world, "one", 100).code, Some(0));
    let second = pay(&world, "one", 1000);
    assert_eq!(second.code, Some(6), "{}{}", second.out, second.err);
    assert!(second.out.contains("inputs.amount"), "{}", second.out);
    assert_eq!(world.sink.effects(), 1);
}

#[test]
fn s21_twenty_submits_with_one_id_make_one_ticket() {
    let world = world("tickets", KEYED);
    let mut owner = world.spawn(&["worker"]);
    let wait_for_door = || {
        (0..200).any(|_| {
            let ready = world.dir.path().join("semel.db.sock").exists();
            if !ready {
                drop(std::process::Command::new("sleep").arg("0.05").status());
            }
            ready
        })
    };
    assert!(wait_for_door(), "the owner opens its door");
    let runs: Vec<_> = (0..20).map(|_| world.spawn(&["run", "plan.yaml", "--json", "--id", "1"])).collect();
    for mut run in runs {
        assert_eq!(run.wait().unwrap().code(), Some(0));
    }
    drop(owner.kill());
    drop(owner.wait());
    assert_eq!(world.sink.effects(), 1);
    let tasks = world.run(&["task", "list", "--json"], None);
    assert_eq!(tasks.out.matches("\"tsk_").count(), 1, "{}", tasks.out);
}

#[test]
fn running_again_attaches_and_a_new_intent_is_a_new_effect() {
    let world = world("tickets", KEYED);
    assert_eq!(world.run(&RUN, None).code, Some(0));
    let again = world.run(&RUN, None);
    assert_eq!(again.code, Some(0));
    assert!(again.err.contains("ATTACHED"), "{}", again.err);
    assert_eq!(world.sink.effects(), 1);
    assert_eq!(world.run(&["run", "plan.yaml", "--new-intent"], None).code, Some(0));
    assert_eq!(world.sink.effects(), 2);
}

#[test]
fn s44_a_task_that_kills_its_workers_goes_to_review() {
    let world = world("tickets", KEYED);
    let mut killed = 0;
    for _ in 0..8 {
        let point = if killed == 0 { "submit.after_commit" } else { "claim.after_commit" };
        killed += i32::from(world.run(&RUN, Some(point)).killed);
    }
    assert!(killed >= 4, "{killed}");
    let ran = world.run(&RUN, None);
    assert!(matches!(ran.code, Some(3 | 5)), "{:?} {}{}", ran.code, ran.out, ran.err);
    assert!(ran.out.contains("NEEDS_REVIEW"), "{}", ran.out);
    assert!(world.sink.effects() <= 1);
}

/// A copied file starts paused; adopted, it looks before it sends.
#[test]
fn s64_the_copy_woke_up_and_went_to_work() {
    let world = world("tickets", QUERYABLE);
    assert!(world.run(&RUN, Some("call.before_send")).killed);
    std::fs::copy(world.dir.path().join("semel.db"), world.dir.path().join("copy.db")).unwrap();
    let wal = world.dir.path().join("semel.db-wal");
    if wal.exists() {
        std::fs::copy(wal, world.dir.path().join("copy.db-wal")).unwrap();
    }
    assert_eq!(world.settle(&RUN).code, Some(0), "the original runs to the end");
    let on_copy = ["--store", "copy.db", "worker", "--until-idle", "1s"];
    let held = world.run(&on_copy, None);
    assert_eq!(held.code, Some(7), "{}{}", held.out, held.err);
    assert_eq!(world.run(&["--store", "copy.db", "db", "adopt", "--yes"], None).code, Some(0));
    let adopted = world.run(&["--store", "copy.db", "run", "plan.yaml", "--json"], None);
    assert_eq!(adopted.code, Some(0), "{}{}", adopted.out, adopted.err);
    assert_eq!((world.sink.effects(), world.sink.posts().len()), (1, 1));
}

/// What the dry run says is what recovery then does.
#[test]
fn recover_dry_run_agrees_and_sends_nothing() {
    let world = world("tickets", QUERYABLE);
    assert!(world.run(&RUN, Some("call.after_answer")).killed);
    let before = world.sink.count()["requests"].clone();
    let id = first_task(&world);
    let dry = world.run(&["task", "recover", "--dry-run", &id], None);
    assert_eq!(dry.code, Some(0), "{}{}", dry.out, dry.err);
    assert!(dry.out.to_lowercase().contains("look"), "{}", dry.out);
    assert_eq!(world.sink.count()["requests"], before, "a dry run sends nothing, not even look-ups");
    assert_eq!(world.settle(&RUN).code, Some(0));
    assert_eq!(world.sink.posts().len(), 1);
}

fn first_task(world: &World) -> String {
    let tasks = world.run(&["task", "list", "--json"], None);
    tasks.out.split('"').find(|t| t.starts_with("tsk_")).unwrap().to_owned()
}

/// A person answers with a fact, and the task goes on; the same answer from an old page is refused.
#[test]
fn a_person_settles_a_blind_unknown() {
    let world = world("sms", BLIND);
    world.sink.faults(&json!([{"fault": "reset_after", "times": 1}]));
    assert_eq!(world.run(&RUN, None).code, Some(5));
    let reviews = world.run(&["review", "list", "--json"], None);
    let id = reviews.out.split('"').find(|t| t.starts_with("rev_")).unwrap().to_owned();
    let page = world.run(&["review", "show", &id, "--json"], None).json()["review"]["page"].to_string();
    let decide = |answer: &[&str], page: &str| {
        let head = ["review", "decide", &id, "--reason", "seen", "--page", page];
        world.run(&[&head[..], answer].concat(), None)
    };
    let too_early = decide(&["--did-not"], &page);
    assert_eq!(too_early.code, Some(4), "{}{}", too_early.out, too_early.err);
    let stale = decide(&["--happened", "--ref", "sms-77"], "1");
    assert_eq!(stale.code, Some(6), "{}{}", stale.out, stale.err);
    let decided = decide(&["--happened", "--ref", "sms-77"], &page);
    assert_eq!(decided.code, Some(0), "{}{}", decided.out, decided.err);
    let ran = world.run(&RUN, None);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("sms-77"), "{}", ran.out);
    let twice = decide(&["--happened", "--ref", "other"], &page);
    assert_eq!(twice.code, Some(6), "{}{}", twice.out, twice.err);
    assert_eq!(world.sink.posts().len(), 1);
}
