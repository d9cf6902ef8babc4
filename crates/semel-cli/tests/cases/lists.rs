//! One step for many recipients.

use crate::{
    plans::keyed_steps,
    support::{at_most_one_each, must_be_killed, run_with, tasks, world},
    world::World,
};
use serde_json::{Value, json};

fn items(report: &Value) -> Vec<&Value> {
    let steps = report["steps"].as_array().unwrap();
    steps.iter().filter(|s| s["step"].as_str().unwrap().contains('[')).collect()
}

/// Each result belongs to its recipient, and each recipient has one.
#[test]
fn s42_three_recipients_killed_after_the_second() {
    let each = "  - step: mail\n    each: { in: [\"a\", \"b\", \"c\"], as: p, key: \"${{ p }}\" }\n    act: create\n    with: { incident: \"${{ p }}\", title: same for all }\n";
    for point in ["call.after_send:2", "call.after_answer:2", "turn.after_commit:3", "call.before_send:3"] {
        let world = world("tickets", &keyed_steps(each));
        must_be_killed(&world, point);
        let report = crate::support::done(&world);
        assert_eq!(world.sink.effects(), 3, "{point}");
        at_most_one_each(&world);
        let items = items(&report);
        assert_eq!(items.len(), 3, "{report}");
        for (item, name) in items.iter().zip(["a", "b", "c"]) {
            assert!(item["operation"].as_str().unwrap().contains(&format!("/{name}@")), "{item}");
            assert_eq!(item["output"]["inline"]["incident"], name, "{item}");
        }
        world.verify();
    }
}

const HUNDRED: &str = r#"
semel: 1
name: hundred
inputs: { people: { type: array } }
tools:
  send:
    effect: blind
    key: [to]
    cosmetic: [messages]
    timeout: 2s
    retry: { max: 3, wait: 20ms, jitter: none }
    pending: "false"
    http: { method: POST, url: "${{ args.messages }}", body: json, send: { to: "${{ args.to }}", text: hello } }
steps:
  - step: mail
    each: { in: "${{ inputs.people }}", as: p, key: "${{ p.to }}" }
    act: send
    with: { to: "${{ p.to }}", messages: "${{ p.messages }}" }
"#;

/// Nobody listens where number 57 is to be sent.
fn hundred() -> World {
    let world = world("sms", HUNDRED);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let person = |n: u32| {
        let gateway = if n == 57 { format!("http://{closed}") } else { world.sink.address.clone() };
        json!({"to": format!("n{n:03}"), "messages": format!("{gateway}/messages")})
    };
    let people: Vec<Value> = (1..=100).map(person).collect();
    world.write("inputs.json", &json!({"people": people}).to_string());
    world
}

/// One operation for each; whoever was in flight when the process died is asked about, nobody gets a second mail.
#[test]
fn s46_number_57_of_a_hundred_fails_by_itself() {
    let world = hundred();
    let killed = run_with(&world, &["--inputs", "inputs.json"], Some("call.before_send:40"));
    assert!(killed.killed, "{}{}", killed.out, killed.err);
    let ran = run_with(&world, &["--inputs", "inputs.json"], None);
    assert_eq!(ran.code, Some(5), "number 40 was in flight on a blind sink: {}{}", ran.out, ran.err);
    let report = ran.json();
    let of = |state: &str| -> Vec<String> {
        let rows = items(&report).into_iter().filter(|s| s["state"] == state);
        rows.map(|s| s["step"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(of("FAILED"), ["mail[n057]"]);
    assert_eq!(of("UNKNOWN"), ["mail[n040]"]);
    assert_eq!((of("COMMITTED").len(), world.sink.effects(), world.sink.posts().len()), (98, 98, 98));
    at_most_one_each(&world);
    assert_eq!(tasks(&world).len(), 1);
    world.verify();
}
