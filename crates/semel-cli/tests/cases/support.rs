//! What many scenarios need: a world with its plan, runs with a patience, and a wait for something to become true.

use crate::world::{Ran, World};
use serde_json::Value;
use std::{
    os::unix::process::ExitStatusExt as _,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// A run that hangs is a fault, not a reason to wait for ever.
pub(crate) const RUN: [&str; 5] = ["run", "plan.yaml", "--json", "--timeout", "60s"];

pub(crate) fn world(kind: &str, plan: &str) -> World {
    let world = World::new(kind);
    world.write("plan.yaml", plan);
    world
}

/// Runs a command that was made ready by hand.
pub(crate) fn ran(mut command: Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        killed: output.status.signal() == Some(9),
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// `semel run` with more words after it.
pub(crate) fn run_with(world: &World, more: &[&str], chaos: Option<&str>) -> Ran {
    world.run(&[&RUN[..], more].concat(), chaos)
}

pub(crate) fn must_be_killed(world: &World, point: &str) {
    let ran = world.run(&RUN, Some(point));
    assert!(ran.killed, "{point} was not reached: {:?} {}{}", ran.code, ran.out, ran.err);
}

/// Runs the plan to its end, and gives the report.
pub(crate) fn done(world: &World) -> Value {
    let ran = world.settle(&RUN);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    ran.json()
}

/// Waits until something is true in another process; panics with `what` when it never is.
#[expect(clippy::disallowed_methods, reason = "another process is waited for")]
pub(crate) fn until(what: &str, mut truth: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(40);
    while !truth() {
        assert!(Instant::now() < patience, "this never came true: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A worker in a process of its own; it is killed when dropped.
pub(crate) struct Worker(Child);

impl Worker {
    pub(crate) fn start(world: &World, more: &[&str]) -> Self {
        let door = world.dir.path().join("semel.db.sock");
        // What a killed owner left behind is not the door of the new one.
        drop(std::fs::remove_file(&door));
        let worker = Self(world.spawn(&[&["worker"][..], more].concat()));
        until("the worker opens its door", || door.exists());
        worker
    }

    pub(crate) fn kill(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }

    /// SIGSTOP: it lives and says nothing.
    pub(crate) fn stop(&self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    }

    /// SIGTERM, and its exit code.
    pub(crate) fn term(&mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.0.wait().unwrap().code()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Submits to the worker, and gives the task's id.
pub(crate) fn submit(world: &World, more: &[&str]) -> String {
    let ran = world.run(&[&["run", "plan.yaml", "--json", "--detach"][..], more].concat(), None);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    ran.json()["task"].as_str().unwrap().to_owned()
}

pub(crate) fn show(world: &World, task: &str) -> Value {
    let ran = world.run(&["task", "show", "--json", task], None);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    ran.json()
}

pub(crate) fn phase(world: &World, task: &str) -> String {
    show(world, task)["task"]["phase"].as_str().unwrap().to_owned()
}

/// Works until nothing is due any more.
pub(crate) fn drain(world: &World) {
    let ran = ran({
        let mut command = world.command(&["worker", "--until-idle", "3s"], None);
        command.stdout(Stdio::piped());
        command
    });
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
}

/// The row of a step in a report of `run` or `task show`.
pub(crate) fn step<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["step"] == name)
        .unwrap_or_else(|| panic!("{name}: {report}"))
}

pub(crate) fn tasks(world: &World) -> Vec<Value> {
    let ran = world.run(&["task", "list", "--json", "--limit", "500"], None);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    ran.json()["tasks"].as_array().unwrap().clone()
}

/// The events of all tasks, oldest first within a task, as type and event.
pub(crate) fn events(world: &World) -> Vec<(String, Value)> {
    let lines = world.events();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .map(|mut line| line["event"]["event"].take())
        .map(|e| (e["type"].as_str().unwrap().to_owned(), e))
        .collect()
}

pub(crate) fn count_of(world: &World, kind: &str) -> usize {
    events(world).iter().filter(|(k, _)| k == kind).count()
}

/// No target had more effects than one.
pub(crate) fn at_most_one_each(world: &World) {
    let count = world.sink.count();
    let targets = count["by_target"].as_object().unwrap();
    assert!(targets.values().all(|n| n == 1), "{targets:?}");
}
