//! SIGKILL and errors at single system calls, by `strace`: of the writer, and of the runtime that speaks to the target.
//!
//! `strace` counts for each thread, so the N-th call is that of whichever thread comes to it first.

use crate::{
    batch::{Batch, under},
    tools::{Chance, is_long, skip, times, works},
    world::Ran,
};
use std::{collections::BTreeMap, process::Command};

/// What makes a turn durable.
const WRITER: &str = "pwrite64,fsync,fdatasync,ftruncate,rename,unlink";

/// What carries bytes to the target, and wakes those who do.
const RUNTIME: &str = "sendto,sendmsg,write,writev";

const ENDS: [i32; 2] = [0, 5];

fn has_strace(test: &str) -> bool {
    let there =
        works("strace", &["-f", "-qq", "-e", "trace=fsync", "-e", "inject=fsync:error=EIO:when=99", "true"]);
    if !there {
        skip(test, "`strace` is not here, or may not trace");
    }
    there
}

fn strace<'a>(calls: &'a str, inject: &'a str, log: &'a str) -> Vec<&'a str> {
    // Not with `--seccomp-bpf`: some versions inject no signals under it.
    let mut words = vec!["strace", "-f", "-qq", "-o", log, "-e", calls];
    if !inject.is_empty() {
        words.extend(["-e", inject]);
    }
    words
}

fn one(batch: &Batch, n: u64) -> Command {
    let n = format!("n={n}");
    let mut command = batch.world.command(&["run", "mixed.yaml", "--json", "--quiet", "-i", &n], None);
    command.env("TOKIO_WORKER_THREADS", "1");
    command
}

fn ran(mut command: Command) -> Ran {
    Ran::of(&command.output().unwrap())
}

/// Every call of a run, as its name and its number in the thread that makes most of them.
fn points(batch: &Batch, calls: &str) -> Vec<(String, u64)> {
    let trace = format!("trace={calls}");
    let ran = ran(under(&strace(&trace, "", "calls.txt"), &one(batch, 0)));
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let log = std::fs::read_to_string(batch.world.dir.path().join("calls.txt")).unwrap();
    let mut made: BTreeMap<(String, String), u64> = BTreeMap::new();
    for (thread, rest) in log.lines().filter_map(|line| line.split_once(' ')) {
        // A call that another thread cuts in two is told twice, the second time without its name in front.
        if let Some((call, _)) =
            rest.trim().split_once('(').filter(|(call, _)| calls.split(',').any(|c| c == *call))
        {
            *made.entry((call.to_owned(), thread.to_owned())).or_insert(0) += 1;
        }
    }
    let mut most: BTreeMap<String, u64> = BTreeMap::new();
    for ((call, _), count) in made {
        let known = most.entry(call).or_insert(0);
        *known = count.max(*known);
    }
    most.into_iter().flat_map(|(call, count)| (1..=count).map(move |nth| (call.clone(), nth))).collect()
}

/// Kills a run at each of the calls, or at some of them, and lets nobody repair in between: the next run is the repair.
fn killed_at(test: &str, calls: &str) {
    if !has_strace(test) {
        return;
    }
    let batch = Batch::new();
    let points = points(&batch, calls);
    let wanted = points.len().min(times("SEMEL_CALLS", 12, 10_000) as usize);
    let chosen: Vec<_> = (0..wanted).map(|k| &points[k * points.len() / wanted]).collect();
    let (trace, mut killed) = (format!("trace={calls}"), 0);
    for (n, (call, nth)) in (1..).zip(&chosen) {
        let inject = format!("inject={call}:signal=KILL:when={nth}");
        let ran = ran(under(&strace(&trace, &inject, "/dev/null"), &one(&batch, n)));
        killed += u64::from(ran.killed);
        let ended = ran.code.is_some_and(|c| ENDS.contains(&c));
        assert!(ran.killed || ended, "{inject}: {:?} {}{}", ran.code, ran.out, ran.err);
        batch.no_request_without_started();
    }
    // A run that was killed before it was accepted is submitted again, as its submitter would.
    for (n, _) in (1..).zip(&chosen) {
        let ran = ran(one(&batch, n));
        assert!(ran.code.is_some_and(|c| c != 7 && c != 9), "{:?} {}{}", ran.code, ran.out, ran.err);
    }
    batch.settle();
    let tally = batch.tally();
    tally.say(&format!("{test}: killed at {killed} of the {} calls of a run", points.len()), killed);
    tally.must_be_clean();
    assert_eq!(tally.tasks, wanted as u64 + 1);
    assert!(killed * 3 > wanted as u64 * 2, "{killed} of {wanted}");
    batch.world.verify();
}

#[test]
fn killed_at_the_calls_of_the_writer() {
    killed_at("kill at the writer's calls", WRITER);
}

#[test]
fn killed_at_the_calls_of_the_runtime() {
    killed_at("kill at the runtime's calls", RUNTIME);
}

/// An error that a system call gives, and when: `N` once, `N+` from then on.
const ERRORS: [(&str, &str, bool); 6] = [
    ("fsync,fdatasync", "EIO", false),
    ("fsync,fdatasync", "EIO", true),
    ("pwrite64", "EIO", false),
    ("pwrite64", "EIO", true),
    ("pwrite64", "ENOSPC", false),
    ("fsync,fdatasync", "ENOSPC", true),
];

/// Tasks that share the commits while the error comes.
const LINES: u64 = 16;

/// One batch under one error. What the store needs is said where the work could not go on.
fn under_error(batch: &mut Batch, (calls, error, lasting): (&str, &str, bool), nth: u64) {
    let plus = if lasting { "+" } else { "" };
    let inject = format!("inject={calls}:error={error}:when={nth}{plus}");
    let trace = format!("trace={calls}");
    let mut wrapper = strace(&trace, &inject, "/dev/null");
    // An error that passes by itself is waited for; somebody loses patience.
    wrapper.extend(["timeout", "-s", "KILL", "4"]);
    let feeder = batch.feed_under(LINES, &wrapper, &["--in-flight", "8"]);
    let ran = batch.take(feeder);
    let told = ran.code.is_some_and(|c| ENDS.contains(&c)) || lasting && ran.killed;
    let said = format!("{}{}", ran.out, ran.err);
    let closed = ran.code == Some(7) && said.contains("SM2") && said.contains("next");
    assert!(told || closed, "{inject}: {:?} {}{}", ran.code, ran.out, ran.err);
    if closed {
        let (code, message) = (&ran.json()["code"], &ran.json()["message"]);
        eprintln!("{inject}: exit 7, {code} {message}");
    }
    batch.no_request_without_started();
}

#[test]
fn errors_of_the_disk_in_the_middle_of_a_group_commit() {
    let test = "errors of the disk";
    if !has_strace(test) || !works("timeout", &["1", "true"]) {
        return;
    }
    let mut chance = Chance::of(test);
    let mut batch = Batch::new();
    let each = if is_long() { 25 } else { 1 };
    let mut trials = 0;
    for harm in ERRORS {
        for _ in 0..each {
            let nth = 3 + chance.below(if harm.0 == "pwrite64" { 120 } else { 25 });
            under_error(&mut batch, harm, nth);
            trials += 1;
        }
    }
    batch.settle();
    let tally = batch.tally();
    tally.say(&format!("{trials} batches of {LINES} tasks under an error of the disk"), trials);
    tally.must_be_clean();
    batch.world.verify();
}
