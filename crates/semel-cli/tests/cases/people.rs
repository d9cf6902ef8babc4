//! People who operate it.

use crate::{
    desk::{Answer, Desk},
    plans::{BLIND, KEYED},
    support::{RUN, Worker, count_of, events, phase, ran, submit, until, world},
};
use serde_json::json;

/// *It happened* and *write it off* race for each of ten reviews: one wins, the other is told.
#[test]
fn s29_s30_two_answers_to_one_review_and_one_wins() {
    let each = "  - step: send\n    each: { in: [\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\"], as: p, key: \"${{ p }}\", parallel: 10 }\n    act: send\n    with: { to: \"${{ p }}\", text: hello }\n";
    let (head, _) = BLIND.split_once("steps:").unwrap();
    let world = world("sms", &format!("{head}steps:\n{each}"));
    world.sink.faults(&json!([{"fault": "reset_after", "times": 10}]));
    let _worker = Worker::start(&world, &[]);
    let task = submit(&world, &[]);
    until("ten reviews are open", || reviews(&world).len() == 10);
    for id in reviews(&world) {
        let page = page(&world, &id);
        let head = ["review", "decide", &id, "--reason", "asked around", "--page", &page];
        let yes = world.spawn(&[&head[..], &["--happened", "--ref", "sms-1"]].concat());
        let no = world.spawn(&[&head[..], &["--write-off"]].concat());
        let mut codes = [yes, no].map(|mut child| child.wait().unwrap().code());
        codes.sort_unstable();
        assert_eq!(codes, [Some(0), Some(6)], "one decision is taken, the other is told");
    }
    until("the task ends", || phase(&world, &task) == "COMPLETED");
    assert_eq!(count_of(&world, "ReviewDecided"), 10);
    assert_eq!((world.sink.effects(), world.sink.posts().len()), (10, 10));
    world.verify();
}

fn page(world: &crate::world::World, review: &str) -> String {
    world.run(&["review", "show", review, "--json"], None).json()["review"]["page"].to_string()
}

fn reviews(world: &crate::world::World) -> Vec<String> {
    let listed = world.run(&["review", "list", "--json"], None).json();
    let rows = listed["reviews"].as_array().unwrap();
    rows.iter().map(|r| r["id"].as_str().unwrap().to_owned()).collect()
}

/// Running the same thing again, twice at once, attaches; what is done is not done again.
#[test]
fn s66_going_on_with_the_third_step_leaves_the_first_two_alone() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (head, _) = KEYED.split_once("steps:").unwrap();
    let second = head
        .split_once("tools:\n")
        .unwrap()
        .1
        .replace("create:", "device:")
        .replace("{SINK}", &format!("http://{closed}"));
    let second = second
        .replace("    timeout:", "    offline: review\n    retry: { max: 2, wait: 20ms }\n    timeout:");
    let steps = "  - { step: ticket, act: create, with: { incident: a, title: down } }\n  - { step: mail, act: create, with: { incident: b, title: down } }\n  - { step: device, act: device, with: { incident: c, title: down } }\n";
    let world = world("tickets", &format!("{head}{second}steps:\n{steps}"));
    let _worker = Worker::start(&world, &[]);
    let task = submit(&world, &[]);
    until("the third step needs a person", || phase(&world, &task) == "NEEDS_REVIEW");
    let desk = Desk::at(&closed.to_string(), |_| Answer::Json(201, "{}".to_owned()));
    let review = reviews(&world).remove(0);
    let page = page(&world, &review);
    let go_on = ["review", "decide", &review, "--go-on", "--reason", "the device is back", "--page", &page];
    let both = [world.spawn(&go_on), world.spawn(&go_on)];
    let mut codes = both.map(|mut child| child.wait().unwrap().code());
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(6)]);
    until("the task is done", || phase(&world, &task) == "COMPLETED");
    assert_eq!((world.sink.effects(), world.sink.posts().len(), desk.posts()), (2, 2, 1));
    let decided = events(&world).into_iter().find(|(kind, _)| kind == "ReviewDecided").unwrap().1.to_string();
    assert!(decided.contains("actor") && decided.contains("the device is back"), "{decided}");
    world.verify();
}

const SECRET: &str = "sk_live_0123456789abcdefWXYZ";

/// The target echoes our credential in its answer; it is in no file and in nothing that is printed.
#[test]
fn s67_no_secret_in_the_store_the_package_or_the_export() {
    let desk = Desk::open(|request| {
        let echoed = request.header("authorization").unwrap_or("no header").to_owned();
        Answer::Json(500, json!({"error": "broken", "you_sent": echoed, "access_token": SECRET}).to_string())
    });
    let plan = BLIND.replace("body: json", "body: json, auth: { secret: \"env:DESK_KEY\" }");
    let world = world("sms", &plan.replace("{SINK}", &desk.address));
    let mut command = world.command(&RUN, None);
    command.env("DESK_KEY", SECRET);
    let report = ran(command);
    assert_eq!(report.code, Some(5), "{}{}", report.out, report.err);
    assert!(desk.requests()[0].head.contains(SECRET), "the target does get it");
    let task = report.json()["task"].as_str().unwrap().to_owned();
    let mut printed = format!("{}{}", report.out, report.err);
    let id = reviews(&world).remove(0);
    for args in [
        vec!["task", "show", "--json", &task],
        vec!["task", "tail", "--no-follow", "--json", &task],
        vec!["review", "package", &id],
        vec!["review", "package", "--json", &id],
        vec!["review", "show", &id],
        vec!["op", "list", "--json"],
        vec!["why", &task],
    ] {
        let ran = world.run(&args, None);
        printed.push_str(&ran.out);
        printed.push_str(&ran.err);
    }
    assert!(!printed.contains(SECRET), "{printed}");
    assert!(printed.contains("env:DESK_KEY"), "a reference stands in its place");
    for entry in std::fs::read_dir(world.dir.path()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap_or_default();
        let found = bytes.windows(SECRET.len()).any(|w| w == SECRET.as_bytes());
        assert!(!found, "{} holds the secret", path.display());
    }
}
