//! Crashes in the middle of `db restore`: what lies there afterwards is the old store whole, or it is held. Never the old
//! store short of what it acknowledged, and free to send it again.

use crate::{
    batch::{Batch, Worker, under},
    tools::{skip, times, until, works},
    world::Ran,
};
use std::collections::BTreeMap;

/// A store whose owner was killed: turns that were acknowledged are in its WAL only, after a checkpoint in the middle.
fn with_a_wal() -> Batch {
    let mut batch = Batch::new();
    let mut worker = Worker::ready(&batch.world);
    let first = batch.feed(6, &["--detach"]);
    batch.take(first);
    until("the first are done", || all_done(&batch, 6));
    let backed_up = batch.world.run(&["db", "backup", "backup.db"], None);
    assert_eq!(backed_up.code, Some(0), "{}", backed_up.err);
    let checkpoint = "import sqlite3; sqlite3.connect('semel.db').execute('PRAGMA wal_checkpoint(PASSIVE)')";
    let folder = batch.world.dir.path();
    let mut python = std::process::Command::new("python3");
    assert!(python.args(["-c", checkpoint]).current_dir(folder).status().unwrap().success());
    let second = batch.feed(6, &["--detach"]);
    batch.take(second);
    until("the second are done", || all_done(&batch, 12));
    worker.kill();
    batch
}

fn all_done(batch: &Batch, count: usize) -> bool {
    batch.tasks().iter().filter(|task| task["phase"] == "COMPLETED").count() == count
}

fn versions(batch: &Batch) -> BTreeMap<String, u64> {
    let tasks = batch.tasks();
    let version =
        |t: &serde_json::Value| (t["id"].as_str().unwrap().to_owned(), t["version"].as_u64().unwrap());
    tasks.iter().map(version).collect()
}

fn restore_under(batch: &Batch, wrapper: &[&str]) -> Ran {
    let plain = batch.world.command(&["db", "restore", "backup.db", "--force"], None);
    Ran::of(&under(wrapper, &plain).output().unwrap())
}

/// The old store with all of its turns, or a store that sends nothing until somebody adopts it.
fn whole_or_held(batch: &Batch, before: &BTreeMap<String, u64>, inject: &str) -> bool {
    let effects = batch.world.sink.effects();
    let worked = batch.world.run(&["worker", "--until-idle", "0s"], None);
    assert_eq!(batch.world.sink.effects(), effects, "{inject}");
    if worked.code == Some(7) {
        assert!(worked.err.contains("SM2006"), "{inject}: {}", worked.err);
        return true;
    }
    assert_eq!(worked.code, Some(0), "{inject}: {}{}", worked.out, worked.err);
    assert_eq!(&versions(batch), before, "{inject}: the old store is not whole, and is not held");
    false
}

#[test]
fn a_crash_in_the_middle_of_a_restore_leaves_the_old_store_whole_or_held() {
    let test = "a crash in a restore";
    if !works("strace", &["-f", "-qq", "-e", "trace=fsync", "true"])
        || !works("python3", &["-c", "import sqlite3"])
    {
        return skip(test, "it needs strace, and python3 with sqlite3");
    }
    // A kill leaves the store as another one has it next, so each kill has its own.
    let calls =
        ["rename:1", "unlink:4", "rename:2", "unlink:2", "unlink:3", "fsync:2", "pwrite64:3", "fsync:4"];
    let chosen = times("SEMEL_CALLS", 4, 8).min(8) as usize;
    let (mut killed, mut held) = (0, 0);
    for call in &calls[..chosen] {
        let (call, nth) = call.split_once(':').unwrap();
        let inject = format!("inject={call}:signal=KILL:when={nth}");
        let batch = with_a_wal();
        let before = versions(&batch);
        let trace = format!("trace={call}");
        let ran =
            restore_under(&batch, &["strace", "-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject]);
        killed += u32::from(ran.killed);
        held += u32::from(whole_or_held(&batch, &before, &inject));
        let again = batch.world.run(&["db", "restore", "backup.db", "--force"], None);
        assert_eq!(again.code, Some(0), "{inject}: {}{}", again.out, again.err);
        let worked = batch.world.run(&["worker", "--until-idle", "0s"], None);
        assert_eq!(worked.code, Some(7), "{inject}: a restored store is held: {}{}", worked.out, worked.err);
    }
    eprintln!("{test}: {killed} kills, {held} times held, else the old store whole");
    assert!(killed > 1, "{killed}");
}
