//! Many clients at once, owners that are stopped past their lease, and answers that get lost at random.

use crate::{
    batch::{Batch, Worker},
    tools::{Chance, pause, times, until},
    world::Ran,
};
use rustix::process::Signal;
use serde_json::json;

/// Twenty processes mean one thing by one id, while its owners are killed.
#[test]
fn twenty_submits_of_one_id_under_kills_are_one_task() {
    let rounds = u64::from(times("SEMEL_CROWDS", 1, 20));
    let mut chance = Chance::of("twenty submits of one id");
    let batch = Batch::new();
    for round in 0..rounds {
        let (n, id) = (format!("n={round}"), format!("id-{round}"));
        let args = ["run", "mixed.yaml", "--json", "--quiet", "--timeout", "100s", "--id", &id, "-i", &n];
        let mut worker = Worker::start(&batch.world);
        let mut runs: Vec<_> = (0..20).map(|_| Worker(batch.world.spawn(&args))).collect();
        pause(chance.below(150));
        worker.kill();
        // Whoever took the store in its place may be killed as well.
        for run in runs.iter_mut().take(5) {
            pause(chance.below(60));
            run.kill();
        }
        for run in runs.iter_mut().skip(5) {
            let code = run.0.wait().unwrap().code();
            assert!(matches!(code, Some(0 | 3 | 5)), "round {round}: {code:?}");
        }
    }
    batch.settle();
    let tally = batch.tally();
    tally.say("twenty submits of one id, six of their processes killed", rounds);
    tally.must_be_clean();
    assert_eq!(tally.tasks, rounds);
    batch.world.verify();
}

/// Each fourth or fifth answer gets lost, in one way or another, after the target has committed or before.
#[test]
fn answers_lost_at_random_double_nothing() {
    let mut chance = Chance::of("lost answers");
    let lines = u64::from(times("SEMEL_LOST", 60, 1_000));
    let mut batch = Batch::new();
    let ways = ["reset_after", "reset_after", "half_answer", "garbage", "slow_after:3500", "reset_before"];
    let rules: Vec<_> = (0..lines)
        .flat_map(|_| {
            let way = ways[chance.below(ways.len() as u64) as usize];
            let before = 1 + chance.below(6);
            [json!({"fault": "none", "times": before}), json!({"fault": way, "times": 1})]
        })
        .collect();
    batch.world.sink.faults(&json!(rules));
    let feeder = batch.feed(lines, &["--in-flight", "16"]);
    let ran: Ran = batch.take(feeder);
    assert!(matches!(ran.code, Some(0 | 5)), "{:?} {}{}", ran.code, ran.out, ran.err);
    batch.settle();
    let tally = batch.tally();
    tally.say("answers lost at random", lines);
    tally.must_be_clean();
    assert!(tally.asked > 0, "no answer of a blind target was lost");
    assert_eq!(batch.accepted.len() as u64, lines);
    batch.world.verify();
}

/// The lease lasts 15 seconds: the owner is stopped for longer, in the middle of its work, and goes on.
#[test]
fn an_owner_that_was_stopped_past_its_lease_goes_on() {
    let mut batch = Batch::new();
    batch
        .world
        .sink
        .faults(&json!([{"fault": "none", "times": 10}, {"fault": "slow_after:500", "times": 20}]));
    let mut worker = Worker::ready(&batch.world);
    let feeder = batch.feed(24, &["--detach"]);
    batch.take(feeder);
    until("work is under way", || batch.world.sink.effects() > 11);
    worker.signal(Signal::STOP);
    pause(16_500);
    worker.signal(Signal::CONT);
    until("all have come to their end", || {
        batch.tasks().iter().all(|t| t["phase"] == "COMPLETED" || t["phase"] == "NEEDS_REVIEW")
    });
    worker.kill();
    batch.settle();
    let tally = batch.tally();
    tally.say("stopped for 16.5 s past a lease of 15 s", 1);
    tally.must_be_clean();
    batch.world.verify();
}
