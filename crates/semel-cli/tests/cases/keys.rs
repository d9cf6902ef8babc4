//! Keys, ids and records.

use crate::{
    desk::{Answer, Desk},
    plans::{KEYED, chain, keyed_steps},
    support::{
        RUN, Worker, count_of, done, events, must_be_killed, ran, run_with, step, tasks, until, world,
    },
};
use serde_json::json;
use std::collections::BTreeSet;

/// The token is another one after the restart; the key, the id and the hash are not.
#[test]
fn s18_a_token_that_changes_is_in_neither_key_nor_hash() {
    let desk = Desk::open(|_| Answer::Json(201, r#"{"id":"ch_1"}"#.to_owned()));
    let plan = KEYED.replace("body: json", "body: json, auth: { secret: \"env:PAY_TOKEN\" }");
    let world = world("tickets", &plan.replace("{SINK}/tickets", &format!("{}/charges", desk.address)));
    let with_token = |token: &str, chaos: Option<&str>| {
        let mut command = world.command(&RUN, chaos);
        command.env("PAY_TOKEN", token);
        ran(command)
    };
    assert!(with_token("tok-first", Some("call.after_send")).killed);
    let second = with_token("tok-second", None);
    assert_eq!(second.code, Some(0), "{}{}", second.out, second.err);
    let requests = desk.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests[0].head.contains("tok-first") && requests[1].head.contains("tok-second"));
    assert_eq!(requests[0].header("idempotency-key"), requests[1].header("idempotency-key"));
    assert_eq!(requests[0].body, requests[1].body);
    assert_eq!(count_of(&world, "StepPlanned"), 1, "one id, one hash");
}

/// A volatile argument is not part of what the intent is.
#[test]
fn s18_a_volatile_argument_does_not_make_another_request() {
    let plan = KEYED
        .replace("    key: [incident]", "    key: [incident]\n    volatile: [token]")
        .replace("name: keyed", "name: keyed\ninputs: { token: { type: string } }")
        .replace("title: down", "title: down, token: \"${{ inputs.token }}\"");
    let hash = |token: &str| {
        let world = world("tickets", &plan);
        let ran = run_with(&world, &["-i", &format!("token={token}")], None);
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
        let planned = events(&world).into_iter().find(|(kind, _)| kind == "StepPlanned").unwrap().1;
        planned["operation"]["request_hash"].clone()
    };
    assert_eq!(hash("one"), hash("two"));
}

/// Three lives end at three different steps; the fourth finds one task and the same operations.
#[test]
fn s19_one_id_and_the_same_operations_through_three_crashes() {
    let world = world("tickets", &chain(&["one", "two", "three"]));
    let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
    for point in ["call.before_send", "call.after_answer:2", "call.after_send:2"] {
        must_be_killed(&world, point);
        let planned = events(&world).into_iter().filter(|(kind, _)| kind == "StepPlanned");
        seen.extend(planned.map(|(_, e)| (e["step"].to_string(), e["operation"]["id"].to_string())));
    }
    done(&world);
    let planned = events(&world).into_iter().filter(|(kind, _)| kind == "StepPlanned");
    seen.extend(planned.map(|(_, e)| (e["step"].to_string(), e["operation"]["id"].to_string())));
    assert_eq!(seen.len(), 3, "one id a step: {seen:?}");
    assert_eq!((tasks(&world).len(), world.sink.effects()), (1, 3));
    world.verify();
}

/// The owner of the task was killed; the same submit again gets a task that is worked on, and its result.
#[test]
fn s24_a_submit_onto_a_killed_task_gets_its_result() {
    let world = world("tickets", KEYED);
    assert!(run_with(&world, &["--id", "c-1"], Some("call.after_send")).killed);
    let alone = run_with(&world, &["--id", "c-1"], None);
    assert_eq!(alone.code, Some(0), "{}{}", alone.out, alone.err);
    assert_eq!((tasks(&world).len(), world.sink.effects()), (1, 1));
}

/// The same beside a worker, which finds the orphan by itself.
#[test]
fn s24_a_submit_onto_a_killed_task_beside_a_worker_gets_its_result() {
    let world = world("tickets", KEYED);
    assert!(run_with(&world, &["--id", "c-1"], Some("call.after_send")).killed);
    let _worker = Worker::start(&world, &[]);
    let ran = run_with(&world, &["--id", "c-1"], None);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("ATTACHED"), "{}", ran.err);
    assert_eq!((tasks(&world).len(), world.sink.effects()), (1, 1));
}

/// *Not yet due* is declared to pass, and is asked again until it is due.
#[test]
fn s25_not_yet_due_is_tried_again_and_then_done() {
    let rule = "    refusals: [{ when: \"status == 409\", retryable: true, cause: not yet due }]\n    retry: { max: 6, wait: 50ms, jitter: none }\n    timeout:";
    let world = world("tickets", &KEYED.replace("    timeout:", rule));
    world.sink.faults(&json!([{"fault": "refuse_409", "times": 3}]));
    done(&world);
    assert_eq!((world.sink.effects(), world.sink.posts().len()), (1, 4));
    assert_eq!(count_of(&world, "StepFailed"), 0);
}

/// Two tenants use the same client id for different things.
#[test]
fn s28_two_tenants_with_one_client_id_never_meet() {
    let plan = KEYED
        .replace("name: keyed", "name: keyed\ninputs: { incident: { type: string } }")
        .replace("incident: gw-1", "incident: \"${{ inputs.incident }}\"");
    let world = world("tickets", &plan);
    let as_tenant = |tenant: &str, incident: &str| {
        let input = format!("incident={incident}");
        let mut command = world.command(&[&RUN[..], &["--id", "1", "-i", &input]].concat(), None);
        command.env("SEMEL_TENANT", tenant);
        ran(command)
    };
    for _ in 0..2 {
        for (tenant, own, other) in [("t1", "alpha", "beta"), ("t2", "beta", "alpha")] {
            let ran = as_tenant(tenant, own);
            assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
            assert!(ran.out.contains(own), "{}", ran.out);
            assert!(!ran.out.contains(other) && !ran.err.contains(other), "{}{}", ran.out, ran.err);
        }
    }
    assert_eq!((tasks(&world).len(), world.sink.effects()), (2, 2));
    let refused = as_tenant("t2", "gamma");
    assert_eq!(refused.code, Some(6), "{}{}", refused.out, refused.err);
    assert!(
        !refused.out.contains("alpha") && !refused.err.contains("alpha"),
        "{}{}",
        refused.out,
        refused.err
    );
}

/// Equal calls are one operation; meaning it again is said.
#[test]
fn s37_nine_equal_calls_are_one_and_an_intent_of_its_own_is_another() {
    let call = |n: usize| {
        format!("  - {{ step: call{n}, needs: [], act: create, with: {{ incident: gw-1, title: down }} }}\n")
    };
    let all: String = (1..=9).map(call).collect();
    let again = "  - { step: again, act: create, intent: 2, with: { incident: gw-1, title: down } }\n";
    let world = world("tickets", &keyed_steps(&format!("{all}{again}")));
    must_be_killed(&world, "call.after_answer");
    let report = done(&world);
    assert_eq!((world.sink.effects(), world.sink.count()["by_key"].as_object().unwrap().len()), (2, 2));
    let output = &step(&report, "call1")["output"];
    assert!((2..=9).all(|n| &step(&report, &format!("call{n}"))["output"] == output), "{report}");
    assert_ne!(&step(&report, "again")["output"], output);
    world.verify();
}

/// The same tool and arguments in two tenants, one of them killed: each finds its own record.
#[test]
fn s43_a_killed_task_finds_its_own_record_and_not_its_neighbours() {
    let world = world("tickets", KEYED);
    let as_tenant = |tenant: &str, chaos: Option<&str>| {
        let mut command = world.command(&RUN, chaos);
        command.env("SEMEL_TENANT", tenant);
        ran(command)
    };
    assert!(as_tenant("t1", Some("call.after_answer")).killed);
    let (second, first) = (as_tenant("t2", None), as_tenant("t1", None));
    assert_eq!((first.code, second.code), (Some(0), Some(0)), "{}{}", first.err, second.err);
    assert_ne!(first.json()["steps"][0]["output"], second.json()["steps"][0]["output"]);
    let by_key = world.sink.count()["by_key"].as_object().unwrap().clone();
    assert!(by_key.len() == 2 && by_key.values().all(|n| n == 1), "{by_key:?}");
    world.verify();
}

/// The shared operation of two tasks is a task of its own: what is final for it is final for those who wait for it.
#[test]
fn s45_do_not_retry_reaches_the_one_who_waits() {
    let shared = KEYED.replace(
        "    timeout:",
        "    scope: tenant\n    within: 1h\n    retry: { max: 3, wait: 50ms }\n    timeout:",
    );
    let world_final = world("tickets", &shared);
    world_final.sink.faults(&json!([{"fault": "refuse_400"}]));
    let ran = run_with(&world_final, &[], None);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert_eq!((world_final.sink.effects(), world_final.sink.posts().len()), (0, 1), "final is tried once");
    let passing = world("tickets", &shared);
    passing.sink.faults(&json!([{"fault": "refuse_429", "times": 2}]));
    done(&passing);
    assert_eq!((passing.sink.effects(), passing.sink.posts().len()), (1, 3), "what passes is tried again");
}

/// The file of the plan changed while its task was half done.
#[test]
fn s39_a_changed_plan_is_refused_and_the_task_goes_on_as_it_began() {
    let world = world("tickets", &chain(&["one", "two", "three", "four"]));
    must_be_killed(&world, "call.before_send:3");
    let before = world.sink.posts().len();
    world.write("plan.yaml", &chain(&["one", "one-and-a-half", "two", "three", "four"]));
    let refused = run_with(&world, &[], None);
    assert_eq!(refused.code, Some(6), "{}{}", refused.out, refused.err);
    assert!(!world.sink.count()["by_target"].as_object().unwrap().contains_key("one-and-a-half"));
    assert!(world.sink.posts().len() >= before);
    let worker = Worker::start(&world, &[]);
    let task = tasks(&world)[0]["id"].as_str().unwrap().to_owned();
    until("the task ends under its own plan", || crate::support::phase(&world, &task) == "COMPLETED");
    drop(worker);
    assert_eq!(world.sink.effects(), 4);
}
