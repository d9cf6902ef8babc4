//! Cancel.

use crate::{
    desk::{Answer, Desk},
    plans::chain,
    support::{Worker, count_of, phase, show, step, submit, until, world},
};
use serde_json::json;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

fn cancel(world: &crate::world::World, task: &str) {
    let ran = world.run(&["task", "cancel", task, "--reason", "changed my mind"], None);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
}

#[test]
fn s53_cancelled_while_step_two_of_five_is_in_flight() {
    let plan = chain(&["one", "two", "three", "four", "five"]).replace("timeout: 700ms", "timeout: 5s");
    let world = world("tickets", &plan);
    world.sink.faults(&json!([{"fault": "none", "times": 1}, {"fault": "slow_before:1500", "times": 1}]));
    let _worker = Worker::start(&world, &[]);
    let task = submit(&world, &[]);
    until("step two is at the desk", || world.sink.posts().len() == 2);
    cancel(&world, &task);
    let asked = show(&world, &task);
    assert_eq!(asked["task"]["cancelling"], true, "{asked}");
    assert_ne!(asked["task"]["phase"], "CANCELLED", "not before step two is settled");
    until("the task ends", || phase(&world, &task) == "CANCELLED");
    let end = show(&world, &task);
    assert_eq!(
        (&step(&end, "one")["state"], &step(&end, "two")["state"]),
        (&json!("COMMITTED"), &json!("COMMITTED"))
    );
    assert_eq!((world.sink.effects(), world.sink.posts().len()), (2, 2), "three to five are never sent");
    world.verify();
}

const FIVE: &str = r#"
semel: 1
name: five
tools:
  pay:
    effect: queryable
    key: [order]
    timeout: 600ms
    send_within: 600ms
    http: { method: POST, url: "{DESK}/charges", body: json, send: { order: "${{ args.order }}" } }
    probe:
      http: { method: GET, url: "{DESK}/charges", query: { order: "${{ args.order }}" } }
      applied: "status == 200 && body.total == 1"
      absent: "status == 200 && body.total == 0"
      pending: "status == 503"
      settle: 1s
      poll: 100ms
      poll_cap: 200ms
      max: 1000
steps:
  - { step: a, needs: [], act: pay, with: { order: a } }
  - { step: b, needs: [], act: pay, with: { order: b } }
  - { step: c, needs: [], act: pay, with: { order: c } }
  - { step: d, needs: [], act: pay, with: { order: d } }
  - { step: e, needs: [d], act: pay, with: { order: e } }
"#;

/// Three are paid, one is in doubt, one was never sent; the process dies while the doubt is open.
#[test]
fn s49_cancelled_with_three_paid_one_unknown_and_one_unsent() {
    let tells = Arc::new(AtomicBool::new(false));
    let desk = Desk::open({
        let tells = Arc::clone(&tells);
        move |request| match request.is_post() {
            true if request.body.contains("\"d\"") => Answer::Never,
            true => Answer::Json(200, "{}".to_owned()),
            false if tells.load(Ordering::SeqCst) => Answer::Json(200, r#"{"total":1}"#.to_owned()),
            false => Answer::Json(503, "{}".to_owned()),
        }
    });
    let world = world("payments", &FIVE.replace("{DESK}", &desk.address));
    let mut worker = Worker::start(&world, &[]);
    let task = submit(&world, &[]);
    until("the desk is asked about d", || desk.requests().iter().any(|r| !r.is_post()));
    cancel(&world, &task);
    worker.kill();
    tells.store(true, Ordering::SeqCst);
    let _second = Worker::start(&world, &[]);
    until("the task ends", || phase(&world, &task) == "CANCELLED");
    let end = show(&world, &task);
    for name in ["a", "b", "c", "d"] {
        assert_eq!(step(&end, name)["state"], "COMMITTED", "{end}");
    }
    assert_eq!(desk.posts(), 4, "nothing twice, and e never");
    let sent: Vec<String> = desk.requests().into_iter().filter(|r| r.is_post()).map(|r| r.body).collect();
    assert!(!sent.iter().any(|body| body.contains("\"e\"")), "{sent:?}");
    assert_eq!(count_of(&world, "StepFailed"), 0);
    world.verify();
}
