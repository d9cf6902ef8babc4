//! A disk that is full for a while, and one that refuses writes.

use crate::{
    batch::{Batch, Worker},
    disk::Disk,
    tools::{pause, skip, until},
    world::World,
};
use std::io::Read as _;

/// Whoever asks how things are is told that nothing is sent, since when, and why.
fn says_degraded(batch: &Batch, code: &str) {
    let ps = batch.world.run(&["ps", "--json"], None).json();
    assert_eq!(ps["degraded"]["code"], code, "{ps}");
    assert!(ps["degraded"]["since"].is_number() && ps["worked_on"] == true, "{ps}");
    let people = batch.world.run(&["ps"], None);
    assert!(people.err.contains("degraded since") && people.err.contains(code), "{}", people.err);
    let doctor = batch.world.run(&["doctor"], None);
    assert!(doctor.code == Some(9) && doctor.out.contains("degraded since"), "{}", doctor.out);
}

/// Counts until nothing moves any more.
fn stands_still(batch: &Batch) -> u64 {
    let mut last = u64::MAX;
    until("the sink hears nothing more", || {
        let now = batch.world.sink.effects();
        let still = now == last;
        last = now;
        pause(300);
        still
    });
    last
}

#[test]
fn a_full_disk_sends_nothing_and_goes_on_when_there_is_room() {
    let disk = match Disk::memory(32_768) {
        Ok(disk) => disk,
        Err(why) => return skip("a full disk", why),
    };
    let mut batch = Batch::on(World::at("tickets", disk.path().join("semel.db")));
    // The first lives with room, so that all files of the store are there.
    let first = batch.feed(10, &[]);
    assert_eq!(batch.take(first).code, Some(0));
    disk.fill_but(2_500);
    let rest = batch.feed(150, &["--in-flight", "16"]);
    until("there is no room left", || disk.free() < 64 << 10);
    let stood = stands_still(&batch);
    assert!(stood < 480, "the disk was never full: {stood}");
    batch.no_request_without_started();
    disk.make_room();
    // A task that was being created when the disk was full is not known to be there: then the run ends and says so.
    let ran = batch.take(rest);
    let told = format!("{}{}", ran.out, ran.err);
    assert!(matches!(ran.code, Some(0 | 7)), "{:?} {told}", ran.code);
    assert!(told.contains("SM2002"), "it says that there is no room: {told}");
    let again = batch.again(10, 150);
    assert!(matches!(again.code, Some(0 | 5)), "{:?} {}{}", again.code, again.out, again.err);
    batch.settle();
    let tally = batch.tally();
    tally.say(&format!("full at effect {stood} of 480, exit {:?}, then room again", ran.code), 1);
    tally.must_be_clean();
    assert_eq!(batch.accepted.len(), 160);
    batch.world.verify();
}

#[test]
fn a_disk_that_refuses_writes_sends_nothing_more() {
    let disk = match Disk::ext4() {
        Ok(disk) => disk,
        Err(why) => return skip("a read-only disk", why),
    };
    let mut batch = Batch::on(World::at("tickets", disk.path().join("semel.db")));
    let mut worker = Worker::ready(&batch.world);
    let first = batch.feed(30, &["--detach"]);
    batch.take(first);
    let mut racing = batch.feed(40, &["--detach"]);
    until("work goes on", || batch.world.sink.effects() > 20);
    // The owner stands still meanwhile, with no sync under way: ext4 in Linux 6.18 may answer one that it is overtaken in by
    // `abort` as done although it is not (docs/guarantees.md), and no store can know that.
    worker.signal(rustix::process::Signal::STOP);
    pause(200);
    disk.refuse_writes();
    worker.signal(rustix::process::Signal::CONT);
    pause(300);
    // When the worker has ended, whoever fed it waits in its place for a disk that can be written.
    racing.kill();
    batch.take(racing);
    let stood = stands_still(&batch);
    let ended = worker.0.try_wait().unwrap();
    worker.kill();
    disk.on_again();
    let there = batch.tasks().len();
    assert!(batch.accepted.len() <= there, "{} {there}", batch.accepted.len());
    batch.no_request_without_started();
    batch.settle();
    let tally = batch.tally();
    tally.say(&format!("read-only at effect {stood}, the worker then: {ended:?}"), 1);
    tally.must_be_clean();
    batch.world.verify();
}

/// It stays, says that it is degraded, and goes on by itself.
#[test]
fn s57_a_worker_on_a_full_disk_is_degraded_and_goes_on() {
    let disk = match Disk::memory(32_768) {
        Ok(disk) => disk,
        Err(why) => return skip("a worker on a disk that fills up", why),
    };
    let mut batch = Batch::on(World::at("tickets", disk.path().join("semel.db")));
    let mut worker = Worker::ready(&batch.world);
    let first = batch.feed(10, &["--detach"]);
    assert_eq!(batch.take(first).code, Some(0));
    disk.fill_but(2_500);
    let rest = batch.feed(150, &["--detach"]);
    until("there is no room left", || disk.free() < 64 << 10);
    let stood = stands_still(&batch);
    batch.no_request_without_started();
    says_degraded(&batch, "SM2002");
    disk.make_room();
    batch.take(rest);
    until("work goes on by itself", || batch.world.sink.effects() > stood);
    until("and it is no longer degraded", || {
        batch.world.run(&["ps", "--json"], None).json()["degraded"].is_null()
    });
    worker.signal(rustix::process::Signal::TERM);
    until("it drains", || worker.0.try_wait().unwrap().is_some());
    batch.again(10, 150);
    batch.settle();
    let tally = batch.tally();
    tally.say(&format!("a worker degraded at effect {stood} of 480, then room again"), 1);
    tally.must_be_clean();
    assert_eq!(batch.accepted.len(), 160);
    batch.world.verify();
}

/// Mended while the worker is there: it says what it needs, and goes on or ends with 7.
#[test]
fn a_worker_without_room_says_so() {
    let disk = match Disk::memory(32_768) {
        Ok(disk) => disk,
        Err(why) => return skip("a worker on a full disk", why),
    };
    let mut batch = Batch::on(World::at("tickets", disk.path().join("semel.db")));
    let first = batch.feed(60, &["--detach"]);
    assert_eq!(batch.take(first).code, Some(0));
    let mut command = batch.world.command(&["worker", "--until-idle", "2s"], None);
    disk.fill_but(0);
    let mut child =
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    pause(1_500);
    disk.make_room();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    let code = child.wait().unwrap().code();
    assert!(said.contains("SM2") && matches!(code, Some(0 | 7)), "{code:?} {said}");
    batch.settle();
    let tally = batch.tally();
    tally.say(&format!("a worker on a full disk, exit {code:?}"), 1);
    tally.must_be_clean();
}
