//! Who owns the work, with real processes.

use crate::{
    plans::{BLIND, KEYED, QUERYABLE, keyed_steps},
    support::{
        Worker, at_most_one_each, count_of, drain, events, phase, run_with, show, step, submit, tasks, until,
        world,
    },
};
use serde_json::json;

/// Same host, same folder, same name; another life, which does not wait for the lease of the first.
#[test]
fn s12_s13_the_next_life_takes_over_what_the_killed_one_had() {
    let world = world("tickets", &QUERYABLE.replace("timeout: 700ms", "timeout: 2s"));
    world.sink.faults(&json!([{"fault": "slow_after:1500", "times": 1}]));
    let mut first = Worker::start(&world, &[]);
    let task = submit(&world, &[]);
    until("the request is at the desk", || world.sink.posts().len() == 1);
    let before = show(&world, &task);
    first.kill();
    let _second = Worker::start(&world, &[]);
    until("the task is done", || phase(&world, &task) == "COMPLETED");
    let after = show(&world, &task);
    assert_ne!(before["session"], after["session"], "a new life is a new session");
    assert!(after["generation"]["counter"].as_u64() > before["generation"]["counter"].as_u64());
    assert_eq!((world.sink.effects(), world.sink.posts().len()), (1, 1));
    world.verify();
}

/// SIGTERM before anything was sent: the task is given back, and the next worker goes on.
#[test]
fn s17_sigterm_before_the_send_gives_the_task_back() {
    let wait = "  - { step: pause, sleep: 1500ms }\n  - { step: create, act: create, with: { incident: gw-1, title: down } }\n";
    let world = world("tickets", &keyed_steps(wait));
    let mut first = Worker::start(&world, &[]);
    let task = submit(&world, &[]);
    until("the timer runs", || phase(&world, &task) == "WAITING");
    assert_eq!(first.term(), Some(0));
    assert_eq!(world.sink.posts().len(), 0);
    drain(&world);
    assert_eq!((phase(&world, &task).as_str(), world.sink.effects()), ("COMPLETED", 1));
    world.verify();
}

/// SIGTERM while the connection is still being made: nothing has left, so the step is not in doubt, and the next worker
/// sends it.
#[test]
fn s17_sigterm_while_dialling_gives_the_task_back_as_not_sent() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let deaf = format!("https://{}", silent.local_addr().unwrap());
    let plan = BLIND.replace("{SINK}", &deaf).replace("send_within: 700ms", "send_within: 60s");
    let world = world("tickets", &plan);
    let mut first = Worker::start(&world, &[]);
    let task = submit(&world, &[]);
    // The handshake of TLS is never answered.
    let (_dialling, _) = silent.accept().unwrap();
    assert_eq!(first.term(), Some(0));
    let report = show(&world, &task);
    assert_eq!(step(&report, "send")["state"], "PLANNED", "{report}");
    assert_eq!(count_of(&world, "AttemptUnknown"), 0);
    let events = events(&world);
    let (_, answered) = events.iter().find(|(kind, _)| kind == "AttemptAnswered").unwrap();
    let outcome = &answered["outcome"];
    assert_eq!((&outcome["outcome"], &outcome["sent"]), (&json!("not_applied"), &json!(false)), "{outcome}");
    assert!(outcome["cause"].as_str().unwrap().contains("SM3107"), "{outcome}");
    assert_eq!(count_of(&world, "ReviewOpened"), 0);
    world.verify();
}

/// SIGTERM after the request left: its answer is waited for; what does not come is unknown, and looked up by the next.
#[test]
fn s17_sigterm_after_the_send_hands_over_what_is_unknown() {
    let world = world("tickets", QUERYABLE);
    world.sink.faults(&json!([{"fault": "slow_after:2500", "times": 1}]));
    let mut first = Worker::start(&world, &[]);
    let task = submit(&world, &[]);
    until("the request is at the desk", || world.sink.posts().len() == 1);
    assert_eq!(first.term(), Some(0));
    drain(&world);
    assert_eq!(phase(&world, &task), "COMPLETED");
    assert_eq!((world.sink.effects(), world.sink.posts().len()), (1, 1));
    assert!(!events(&world).iter().any(|(kind, _)| kind == "StepFailed"));
    world.verify();
}

/// A task that kills whoever takes it, beside healthy ones.
#[test]
fn s44_s65_the_poisoned_task_goes_to_review_and_the_queue_moves_on() {
    let world = world("tickets", &keyed_poison());
    let poisoned =
        world.run(&["run", "plan.yaml", "-i", "incident=bad", "--json"], Some("submit.after_commit"));
    assert!(poisoned.killed, "{}{}", poisoned.out, poisoned.err);
    for _ in 0..3 {
        let life = world.run(&["worker", "--slots", "1", "--until-idle", "0s"], Some("claim.after_commit"));
        assert!(life.killed, "{:?} {}{}", life.code, life.out, life.err);
    }
    let held = tasks(&world)[0]["id"].as_str().unwrap().to_owned();
    let why = world.run(&["why", &held], None);
    assert!(why.out.contains("No progress since") && why.out.contains("3 times"), "{}", why.out);
    assert!(
        why.out.contains("step `create` should move next; ses_") && why.out.contains("has it in hand"),
        "{}",
        why.out
    );
    let healthy = (1..=50).map(|n| format!("{{\"incident\":\"good-{n}\"}}\n")).collect::<String>();
    world.write("healthy.jsonl", &healthy);
    let submitted =
        world.run(&["run", "plan.yaml", "--inputs-from", "healthy.jsonl", "--detach", "--json"], None);
    assert_eq!(submitted.code, Some(0), "{}{}", submitted.out, submitted.err);
    let _worker = Worker::start(&world, &["--slots", "1"]);
    until("the healthy ones are done", || {
        tasks(&world).iter().filter(|t| t["phase"] == "COMPLETED").count() == 50
    });
    let all = tasks(&world);
    let held: Vec<_> = all.iter().filter(|t| t["phase"] != "COMPLETED").collect();
    assert!(held.len() == 1 && held[0]["phase"] == "NEEDS_REVIEW", "{held:?}");
    let why = world.run(&["why", held[0]["id"].as_str().unwrap()], None);
    assert!(why.out.contains("NEEDS_REVIEW"), "{}", why.out);
    assert_eq!(world.sink.effects(), 50);
    at_most_one_each(&world);
}

fn keyed_poison() -> String {
    KEYED
        .replace("name: keyed", "name: keyed\ninputs: { incident: { type: string } }")
        .replace("incident: gw-1", "incident: \"${{ inputs.incident }}\"")
}

/// Workers with five slots are killed over and over; each life begins with all five free.
#[test]
fn s60_twenty_killed_workers_leave_no_slot_behind() {
    let world = world("tickets", &keyed_poison());
    let lines = (1..=60).map(|n| format!("{{\"incident\":\"i-{n}\"}}\n")).collect::<String>();
    world.write("lines.jsonl", &lines);
    let submitted =
        world.run(&["run", "plan.yaml", "--inputs-from", "lines.jsonl", "--detach", "--json"], None);
    assert_eq!(submitted.code, Some(0), "{}{}", submitted.out, submitted.err);
    for life in 0..20 {
        let point =
            ["call.after_send", "call.after_answer", "turn.after_commit", "call.before_send"][life % 4];
        let chaos = format!("{point}:{}", 1 + life % 5);
        drop(world.run(&["worker", "--slots", "5", "--until-idle", "0s"], Some(&chaos)));
    }
    drain(&world);
    let all = tasks(&world);
    assert!(all.len() == 60 && all.iter().all(|t| t["phase"] == "COMPLETED"), "{all:?}");
    assert_eq!(world.sink.effects(), 60);
    at_most_one_each(&world);
    world.verify();
}

/// An operation of the whole tenant whose target takes long: whoever waits for it looks again and again, and that is no
/// failure of its own. With a kill in the middle, and without.
#[test]
fn a_shared_effect_that_takes_long_needs_no_person() {
    let shared = KEYED.replace("effect: keyed", "effect: keyed\n    scope: tenant\n    within: 7d");
    let shared = shared.replace("timeout: 700ms", "timeout: 20s");
    for kills in [false, true] {
        let world = world("tickets", &shared);
        world.sink.faults(&json!([{"fault": "slow_after:12000", "times": 1}]));
        if kills {
            assert!(world.run(&["run", "plan.yaml", "--json"], Some("call.after_send")).killed);
        }
        let ran = world.run(&["run", "plan.yaml", "--json", "--timeout", "120s"], None);
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
        assert_eq!(count_of(&world, "ReviewOpened"), 0);
        assert_eq!(world.sink.effects(), 1);
        world.verify();
    }
}

/// The owner is done with its own run and leaves; whoever reads along goes on in its place.
#[test]
fn a_run_whose_owner_leaves_takes_the_store_itself() {
    let world = world("tickets", &keyed_poison());
    let mut owner = Worker::start(&world, &[]);
    world.sink.faults(&json!([{"fault": "slow_after:500", "times": 1}]));
    let reader = world.spawn(&["run", "plan.yaml", "-i", "incident=late", "--json", "--timeout", "60s"]);
    until("the request is at the desk", || world.sink.posts().len() == 1);
    owner.kill();
    let ended = reader.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(world.sink.effects(), 1);
    world.verify();
}

/// Two shells may come at once; the loser's command reaches the store all the same.
#[test]
fn runs_that_race_for_the_store_all_come_to_one_task() {
    let world = world("tickets", &keyed_poison());
    let run = ["run", "plan.yaml", "-i", "incident=one", "--json", "--timeout", "60s"];
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..8).map(|_| scope.spawn(|| world.run(&run, None))).collect();
        for ran in runs.into_iter().map(|run| run.join().unwrap()) {
            assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
        }
    });
    assert_eq!((tasks(&world).len(), world.sink.effects()), (1, 1));
}

/// A link to the store has no door of its own.
#[test]
fn the_owner_is_found_by_any_name_of_its_store() {
    let world = world("tickets", &keyed_poison());
    std::os::unix::fs::symlink("semel.db", world.dir.path().join("link.db")).unwrap();
    let _owner = Worker::start(&world, &[]);
    let ran = run_with(&world, &["-i", "incident=linked", "--store", "link.db"], None);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(world.sink.effects(), 1);
}

/// The step waits for a tenant's operation that only a person can settle: so does the run, and it says so.
#[test]
fn a_run_that_waits_for_another_tasks_review_does_not_wait_for_ever() {
    let shared = BLIND.replace("effect: blind", "effect: blind\n    scope: tenant\n    within: 7d");
    let world = world("sms", &shared);
    world.sink.faults(&json!([{"fault": "reset_after", "times": 1}]));
    let ran = run_with(&world, &[], None);
    assert_eq!(ran.code, Some(5), "{}{}", ran.out, ran.err);
    assert_eq!((ran.json()["phase"].as_str(), world.sink.effects()), (Some("WAITING"), 1));
    let again = world.run(&["run", "plan.yaml", "--timeout", "60s"], None);
    assert!(again.err.contains("only a person can settle"), "{}", again.err);
    assert_eq!(again.code, Some(5), "{}{}", again.out, again.err);
}

/// An owner that was stopped is silent; nobody waits for it for ever, and nothing is sent beside it.
#[test]
fn a_stopped_owner_is_named() {
    let world = world("tickets", &keyed_poison());
    let owner = Worker::start(&world, &[]);
    owner.stop();
    let ran = run_with(&world, &["-i", "incident=stopped"], None);
    assert_eq!(ran.code, Some(7), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("SM2007") || ran.err.contains("SM2007"), "{}{}", ran.out, ran.err);
    assert_eq!(world.sink.posts().len(), 0);
}
