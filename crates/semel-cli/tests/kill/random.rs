//! SIGKILL at random moments: the real binary, some two hundred tasks at least, counted at the sink.

use crate::{
    batch::{Batch, Worker},
    tools::{Chance, pause, times},
};
use serde_json::json;

/// How long a life lasts at most.
const LIFE_MS: u64 = 500;

/// Lines that each life is given.
const LINES: u64 = 10;

/// Answers that are lost, late or broken; each is met by one request.
const FAULTS: [&str; 5] =
    ["reset_after", "reset_before", "slow_after:3500", "half_answer", "status_500_after"];

/// A worker that is fed by another process; both may be killed.
fn worker_and_feeder(batch: &mut Batch, chance: &mut Chance) -> bool {
    let mut worker = Worker::start(&batch.world);
    let mut feeder = batch.feed(LINES, &["--detach"]);
    pause(chance.below(LIFE_MS));
    let alive = worker.kill();
    if chance.one_in(3) {
        feeder.kill();
    }
    batch.take(feeder);
    alive
}

/// A batch that runs on its own.
fn batch_alone(batch: &mut Batch, chance: &mut Chance) -> bool {
    let mut feeder = batch.feed(LINES, &["--in-flight", "8"]);
    pause(chance.below(LIFE_MS));
    feeder.kill();
    batch.take(feeder).killed
}

#[test]
fn random_kills_double_nothing_and_lose_nothing() {
    let wanted = times("SEMEL_KILLS", 15, 500);
    let mut chance = Chance::of("random kills");
    let mut batch = Batch::new();
    let (mut kills, mut lives, mut busy, mut last) = (0, 0, 0, 0);
    while kills < wanted {
        lives += 1;
        assert!(lives < 100 + wanted * 4, "{kills} kills in {lives} lives");
        if chance.one_in(3) {
            let at = chance.below(FAULTS.len() as u64) as usize;
            batch.world.sink.faults(&json!([{"fault": FAULTS[at], "times": 1}]));
        }
        let alone = chance.one_in(3);
        let killed = if alone {
            batch_alone(&mut batch, &mut chance)
        } else {
            worker_and_feeder(&mut batch, &mut chance)
        };
        kills += u32::from(killed);
        let effects = batch.world.sink.effects();
        busy += u32::from(killed && effects > last);
        last = effects;
    }
    batch.no_request_without_started();
    batch.settle();
    let tally = batch.tally();
    tally.say(&format!("{kills} random kills, {busy} of them after an effect of that life"), kills.into());
    tally.must_be_clean();
    assert!(batch.accepted.len() > 20, "too little was accepted to mean anything: {}", batch.accepted.len());
    assert!(busy > 0, "no life got as far as an effect");
    batch.world.verify();
}
