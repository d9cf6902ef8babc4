//! Power cuts: the store lies on an ext4 of its own, which forgets whatever was not flushed.
//!
//! What a client was told of has to be there afterwards, at least as far as the client saw it go. Under
//! `synchronous=NORMAL` the same cut is seen losing it, or the cut would prove nothing.

use crate::{
    batch::{Batch, Worker},
    disk::Disk,
    tools::{Chance, pause, skip, times, until, upper_bound},
    world::World,
};
use std::{collections::BTreeMap, process::Stdio};

/// Lines that one client submits.
const LINES: u64 = 4;

fn world(disk: &Disk) -> Batch {
    Batch::on(World::at("tickets", disk.path().join("semel.db")))
}

/// Submits while a worker works, reads along, and cuts; what the client saw, by task.
fn work_and_cut(
    batch: &mut Batch,
    disk: &Disk,
    chance: &mut Chance,
    chaos: Option<&str>,
) -> BTreeMap<String, u64> {
    let door = disk.path().join("semel.db.sock");
    drop(std::fs::remove_file(&door));
    let mut command = batch.world.command(&["worker"], chaos);
    let mut worker = Worker(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    until("the worker opens its door", || door.exists());
    for _ in 0..=chance.below(3) {
        let feeder = batch.feed(LINES, &["--detach"]);
        batch.take(feeder);
    }
    let racing = batch.feed(LINES, &["--detach"]);
    pause(chance.below(40));
    let seen = batch.tasks().iter().map(seen).collect();
    pause(chance.below(20));
    disk.cut();
    worker.kill();
    batch.take(racing);
    disk.on_again();
    seen
}

fn seen(task: &serde_json::Value) -> (String, u64) {
    (task["id"].as_str().unwrap().to_owned(), task["version"].as_u64().unwrap())
}

/// Everything that was acknowledged or seen is there, and nothing has gone back.
fn nothing_is_lost(batch: &Batch, before: &BTreeMap<String, u64>, cut: u32) {
    let after: BTreeMap<String, u64> = batch.tasks().iter().map(seen).collect();
    for task in batch.accepted.values() {
        assert!(after.contains_key(task), "cut {cut}: {task} was accepted and is lost");
    }
    for (task, version) in before {
        assert!(
            after.get(task) >= Some(version),
            "cut {cut}: {task} was at {version}, and is at {:?}",
            after.get(task)
        );
    }
}

#[test]
fn a_power_cut_loses_nothing_that_was_acknowledged() {
    let test = "power cuts";
    let disk = match Disk::ext4() {
        Ok(disk) => disk,
        Err(why) => return skip(test, why),
    };
    let mut chance = Chance::of(test);
    let mut batch = world(&disk);
    let cuts = times("SEMEL_CUTS", 4, 50);
    let mut last = BTreeMap::new();
    for cut in 1..=cuts {
        let mut before = work_and_cut(&mut batch, &disk, &mut chance, None);
        nothing_is_lost(&batch, &before, cut);
        nothing_is_lost(&batch, &last, cut);
        batch.no_request_without_started();
        batch.world.verify();
        last.append(&mut before);
    }
    batch.settle();
    let tally = batch.tally();
    let accepted = batch.accepted.len();
    tally.say(&format!("{cuts} power cuts under FULL: {accepted} acknowledged tasks, 0 lost"), cuts.into());
    tally.must_be_clean();
    assert!(accepted as u64 >= u64::from(cuts) * LINES, "{accepted}");
    batch.world.verify();
}

#[test]
fn the_same_cut_is_seen_losing_under_normal() {
    let test = "power cuts, control";
    let mut chance = Chance::of(test);
    let cuts = times("SEMEL_CONTROL_CUTS", 1, 10);
    let (mut accepted, mut lost, mut losing) = (0, 0, 0);
    for _ in 0..cuts {
        let disk = match Disk::ext4() {
            Ok(disk) => disk,
            Err(why) => return skip(test, why),
        };
        let mut batch = world(&disk);
        work_and_cut(&mut batch, &disk, &mut chance, Some("store.sync_normal"));
        let ran = batch.world.run(&["task", "list", "--json", "--limit", "1000000"], None);
        let gone = batch.accepted.values().filter(|task| !ran.out.contains(task.as_str())).count();
        accepted += batch.accepted.len();
        lost += gone;
        losing += u64::from(gone > 0);
    }
    eprintln!(
        "{cuts} power cuts under NORMAL, the control: {lost} of {accepted} acknowledged tasks lost, in {losing} cuts"
    );
    assert!(
        lost > 0,
        "the cut takes nothing away, so the other test proves nothing (bound {})",
        upper_bound(1)
    );
}
