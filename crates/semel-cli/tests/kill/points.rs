//! SIGKILL at every named crash point, for keyed, queryable and blind targets.
//!
//! After the restart: every counter ≤ 1, nothing accepted is lost, keyed and queryable are done, blind is done or in
//! review, and a keyed resend carries the same key and the same bytes.

use crate::world::World;
use serde_json::json;

pub(crate) const KEYED: &str = r#"
semel: 1
name: keyed
tools:
  create:
    effect: keyed
    key: [incident]
    key_window: 24h
    timeout: 1s
    send_within: 1s
    http: { method: POST, url: "{SINK}/tickets", body: json, send: { incident: "${{ args.incident }}", title: "${{ args.title }}" } }
    send_key_as: { header: Idempotency-Key }
steps:
  - step: create
    act: create
    with: { incident: gw-1, title: down }
"#;

pub(crate) const QUERYABLE: &str = r#"
semel: 1
name: queryable
tools:
  create:
    effect: queryable
    key: [incident]
    timeout: 1s
    send_within: 1s
    http: { method: POST, url: "{SINK}/tickets", headers: { X-Operation: "${{ operation }}" }, body: json, send: { incident: "${{ args.incident }}", title: "${{ args.title }}" } }
    probe:
      http: { method: GET, url: "{SINK}/tickets", query: { ref: "${{ operation }}" } }
      applied: "status == 200 && body.total == 1"
      absent: "status == 200 && body.total == 0"
      many: "status == 200 && body.total > 1"
      result: "body.items[0]"
      settle: 1s
      poll: 300ms
steps:
  - step: create
    act: create
    with: { incident: gw-1, title: down }
"#;

pub(crate) const BLIND: &str = r#"
semel: 1
name: blind
tools:
  send:
    effect: blind
    key: [to]
    timeout: 1s
    send_within: 1s
    pending: "false"
    http: { method: POST, url: "{SINK}/messages", body: json }
steps:
  - step: send
    act: send
    with: { to: "+1555", text: down }
"#;

fn world(kind: &str, plan: &str) -> World {
    let world = World::new(kind);
    world.write("plan.yaml", plan);
    world
}

const RUN: [&str; 3] = ["run", "plan.yaml", "--json"];

/// Points that every class passes in its first run.
const COMMON: [&str; 7] = [
    "submit.before_commit",
    "submit.after_commit",
    "turn.before_commit",
    "turn.after_commit",
    "call.before_send",
    "call.after_send",
    "call.after_answer",
];

fn kill_at(world: &World, point: &str) {
    let ran = world.run(&RUN, Some(point));
    assert!(ran.killed, "{point} was not reached: {:?} {}{}", ran.code, ran.out, ran.err);
}

fn check_provable(kind: &str, plan: &str, point: &str) {
    let world = world(kind, plan);
    kill_at(&world, point);
    let ran = world.settle(&RUN);
    assert_eq!(ran.code, Some(0), "{point}: {}{}", ran.out, ran.err);
    assert_eq!(world.sink.effects(), 1, "{point}");
    let posts = world.sink.posts();
    assert!(
        posts.windows(2).all(|w| w[0] == w[1]),
        "{point}: a resend changed its key or its bytes: {posts:?}"
    );
    world.verify();
}

#[test]
fn keyed_at_every_point() {
    for point in COMMON {
        check_provable("tickets", KEYED, point);
    }
}

#[test]
fn queryable_at_every_point() {
    for point in COMMON {
        check_provable("tickets", QUERYABLE, point);
    }
}

#[test]
fn queryable_while_asking() {
    for point in ["probe.before", "probe.after"] {
        let world = world("tickets", QUERYABLE);
        world.sink.faults(&json!([{"fault": "reset_after", "times": 1}]));
        kill_at(&world, point);
        let ran = world.settle(&RUN);
        assert_eq!(ran.code, Some(0), "{point}: {}{}", ran.out, ran.err);
        assert_eq!(world.sink.effects(), 1, "{point}");
        assert_eq!(world.sink.posts().len(), 1, "{point}: it was there, so nothing is sent again");
        world.verify();
    }
}

#[test]
fn take_over_is_killed_too() {
    for point in ["claim.before_commit", "claim.after_commit"] {
        let world = world("tickets", KEYED);
        kill_at(&world, "call.after_send");
        kill_at(&world, point);
        let ran = world.settle(&RUN);
        assert_eq!(ran.code, Some(0), "{point}: {}{}", ran.out, ran.err);
        assert_eq!(world.sink.effects(), 1, "{point}");
        world.verify();
    }
}

#[test]
fn blind_at_every_point_is_done_once_or_asked() {
    for point in COMMON {
        let world = world("sms", BLIND);
        kill_at(&world, point);
        let ran = world.settle(&RUN);
        let again = world.settle(&RUN);
        assert!(matches!(ran.code, Some(0 | 5)), "{point}: {:?} {}{}", ran.code, ran.out, ran.err);
        assert_eq!(ran.code, again.code, "{point}: asking again changes nothing");
        assert!(world.sink.effects() <= 1, "{point}");
        assert!(world.sink.posts().len() <= 1, "{point}: a blind effect is never sent again by itself");
        if ran.code == Some(0) {
            assert_eq!(world.sink.effects(), 1, "{point}: COMPLETED means that it is there");
        } else {
            let reviews = world.run(&["review", "list", "--json"], None);
            assert!(reviews.out.contains("rev_"), "{point}: {}", reviews.out);
        }
        world.verify();
    }
}
