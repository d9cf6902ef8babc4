//! Limits, slots, and a lock that somebody else holds.

use crate::{
    desk::{Answer, Desk},
    plans::{KEYED, keyed_steps},
    support::{RUN, Worker, done, phase, run_with, show, step, submit, tasks, until, world},
};
use serde_json::json;
use std::{
    io::Write as _,
    process::{Command, Stdio},
};

/// Fifty tasks wait for a timer; two slots are enough for whoever comes now.
#[test]
fn s59_fifty_waiting_tasks_hold_no_slot() {
    let wait = "  - { step: pause, sleep: 1h }\n  - { step: create, act: create, with: { incident: \"${{ inputs.n }}\", title: down } }\n";
    let plan = keyed_steps(wait).replace("name: keyed", "name: later\ninputs: { n: { type: string } }");
    let world = world("tickets", KEYED);
    world.write("later.yaml", &plan);
    world.write("lines.jsonl", &(1..=50).map(|n| format!("{{\"n\":\"{n}\"}}\n")).collect::<String>());
    let _worker = Worker::start(&world, &["--slots", "2"]);
    let many = world.run(&["run", "later.yaml", "--inputs-from", "lines.jsonl", "--detach", "--json"], None);
    assert_eq!(many.code, Some(0), "{}{}", many.out, many.err);
    let task = submit(&world, &[]);
    until("the new one is done", || phase(&world, &task) == "COMPLETED");
    until("fifty wait", || tasks(&world).iter().filter(|t| t["phase"] == "WAITING").count() == 50);
    let again = submit(&world, &["--new-intent"]);
    until("and another new one is done", || phase(&world, &again) == "COMPLETED");
    assert_eq!(world.sink.effects(), 2);
}

/// An argument over the limit is refused when it is planned; nothing is sent, and nothing is tried again.
#[test]
fn s61_an_argument_of_ten_megabytes_is_refused_before_anything_is_sent() {
    let plan = KEYED
        .replace("name: keyed", "name: keyed\ninputs: { title: { type: string } }")
        .replace("title: down", "title: \"${{ inputs.title }}\"");
    let world = world("tickets", &plan);
    world.write("inputs.json", &json!({"title": "x".repeat(10 << 20)}).to_string());
    let ran = run_with(&world, &["--inputs", "inputs.json"], None);
    assert!(matches!(ran.code, Some(1 | 2)), "{:?} {:.2000}{:.2000}", ran.code, ran.out, ran.err);
    let said = format!("{}{}", ran.out, ran.err);
    assert!(said.contains("262144") || said.contains("256"), "the limit is named: {said:.2000}");
    assert_eq!(world.sink.posts().len(), 0);
}

/// A result of ten megabytes is applied all the same; it is kept by reference, and the effect is not repeated.
#[test]
fn s61_a_result_of_ten_megabytes_is_kept_by_reference() {
    let body = json!({"id": "T-1", "blob": "x".repeat(10 << 20)}).to_string();
    let desk = Desk::open(move |_| Answer::Json(201, body.clone()));
    let plan = KEYED.replace("{SINK}", &desk.address).replace("timeout: 700ms", "timeout: 20s");
    let world = world("tickets", &plan);
    let report = done(&world);
    assert_eq!(step(&report, "create")["state"], "COMMITTED");
    let output = &step(&report, "create")["output"];
    assert!(output["artifact"]["bytes"].as_u64().unwrap() > 10 << 20, "{output:.500}");
    assert_eq!(desk.posts(), 1);
    let task = report["task"].as_str().unwrap();
    assert!(show(&world, task).to_string().len() < 1 << 20, "events stay small");
    world.verify();
}

/// Another program holds the write lock of the file while the step commits after its effect.
#[test]
fn s58_a_foreign_lock_delays_the_commit_and_repeats_nothing() {
    let world = world("tickets", &KEYED.replace("timeout: 700ms", "timeout: 10s"));
    let Some(mut foreign) = sqlite(&world) else {
        eprintln!("skipped: no program `sqlite3` here; the same with a refusing store is tested beside this");
        return;
    };
    world.sink.faults(&json!([{"fault": "slow_after:700", "times": 1}]));
    let mut run = world.spawn(&RUN);
    until("the effect is there", || world.sink.effects() == 1);
    foreign
        .stdin
        .as_mut()
        .unwrap()
        .write_all(b"BEGIN IMMEDIATE;\n.shell sleep 7\nROLLBACK;\n.quit\n")
        .unwrap();
    assert!(foreign.wait().unwrap().success());
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert_eq!((world.sink.effects(), world.sink.posts().len()), (1, 1));
    world.verify();
}

fn sqlite(world: &crate::world::World) -> Option<std::process::Child> {
    let mut command = Command::new("sqlite3");
    command
        .arg(world.dir.path().join("semel.db"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().ok()
}
