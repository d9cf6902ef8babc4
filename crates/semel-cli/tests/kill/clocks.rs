//! The wall clock of the process is thrown forward and back while it works, by a library that is loaded before all others
//! and adds what a file says. The clock that counts from boot is nobody's to set, and stays.

use crate::{
    batch::{Batch, Worker},
    tools::{pause, skip, until, works},
};
use std::{path::Path, process::Stdio};

const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *t) {
    static int (*next)(clockid_t, struct timespec *);
    if (!next) next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int rc = next(id, t);
    if (rc == 0 && id == CLOCK_REALTIME) {
        char text[32] = {0};
        int file = open(getenv("SHIFT_FILE"), O_RDONLY);
        if (file >= 0) {
            if (read(file, text, 31) > 0) t->tv_sec += atoll(text);
            close(file);
        }
    }
    return rc;
}
"#;

const DAY_S: i64 = 86_400;

fn build(folder: &Path) -> bool {
    let (source, library) = (folder.join("shift.c"), folder.join("shift.so"));
    std::fs::write(&source, SHIM).unwrap();
    let args = ["-shared", "-fPIC", "-o", library.to_str().unwrap(), source.to_str().unwrap(), "-ldl"];
    works("cc", &args)
}

/// A process whose wall clock is what the file `shift` adds to ours.
fn shifted(batch: &Batch, args: &[&str]) -> Worker {
    let folder = batch.world.dir.path();
    let mut command = batch.world.command(args, None);
    command.env("LD_PRELOAD", folder.join("shift.so")).env("SHIFT_FILE", folder.join("shift"));
    Worker(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

fn shift(batch: &Batch, seconds: i64) {
    let new = batch.world.dir.path().join("shift.new");
    std::fs::write(&new, seconds.to_string()).unwrap();
    std::fs::rename(new, batch.world.dir.path().join("shift")).unwrap();
}

#[test]
fn a_wall_clock_that_jumps_changes_nothing() {
    let mut batch = Batch::new();
    if !build(batch.world.dir.path()) {
        return skip(
            "a wall clock that jumps",
            "it needs a C compiler for a library to load before all others",
        );
    }
    shift(&batch, 0);
    batch.world.sink.faults(&serde_json::json!([
        {"fault": "reset_after", "times": 3}, {"fault": "reset_before", "times": 3}, {"fault": "none", "times": 20},
        {"fault": "slow_after:3500", "times": 3}, {"fault": "reset_after", "times": 3}
    ]));
    let days = [0, 30, -30, 1, -1, 3_650, -3_650, 0];
    for (life, pair) in days.windows(2).enumerate() {
        shift(&batch, pair[0] * DAY_S);
        let mut worker = shifted(&batch, &["worker"]);
        let feeder = batch.feed(6, &["--detach"]);
        batch.take(feeder);
        pause(100);
        // While it works, and the next life begins with it.
        shift(&batch, pair[1] * DAY_S);
        pause(200);
        // Each other one is killed in the middle.
        if life % 2 == 0 {
            worker.kill();
        } else {
            worker.signal(rustix::process::Signal::TERM);
            until("it drains", || worker.0.try_wait().unwrap().is_some());
        }
    }
    // The last life has a clock of ten years ago.
    shift(&batch, -3_650 * DAY_S);
    let mut last = shifted(&batch, &["worker", "--until-idle", "20s"]);
    until("everything comes to its end", || last.0.try_wait().unwrap().is_some());
    assert_eq!(last.0.wait().unwrap().code(), Some(0));
    batch.settle();
    let tally = batch.tally();
    tally.say("the wall clock thrown about by up to ten years, in 7 lives", 7);
    tally.must_be_clean();
    assert_eq!(batch.accepted.len(), 42);
    let all = batch.tasks();
    let at = |t: &serde_json::Value, what: &str| t[what].as_i64().unwrap();
    let (first, last) = all.iter().fold((i64::MAX, 0), |(first, last), t| {
        (first.min(at(t, "created_at")), last.max(at(t, "updated_at")))
    });
    assert!(last - first < 600_000, "store time followed the wall clock: {first} to {last}");
    batch.world.verify();
}
