//! A blind target whose answer is lost: nobody knows, a person is asked, and every page says so.

use crate::{
    bench::{Bench, Sink},
    shown::{shown, shown_json},
};

fn lost() -> (Bench, Sink) {
    let bench = Bench::new();
    let sink = bench.sink("sms");
    sink.fault("reset_after", 1);
    bench.plan(&format!(
        "tool: desk\neffect: blind\nkey: [order]\nsuccess: status == 202\npending: false\n\
         http: {{ method: POST, url: \"{}\", send: {{ to: \"${{{{ args.order }}}}\", text: hi }} }}\n",
        sink.url("/messages")
    ));
    let ran = bench.expect(5, &["run", "plan.yaml", "-i", "order=+491"]);
    assert!(ran.talk.contains("semel review show"), "{}", ran.talk);
    (bench, sink)
}

/// Raw answers name the operating system's words, which differ.
fn steady(text: &str) -> String {
    let kept = |l: &&str| !l.contains("user-agent") && !l.contains("connection error");
    shown(text).lines().filter(kept).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_pages_about_an_unknown_outcome() {
    let (bench, _sink) = lost();
    for (name, exit, args) in [
        ("unknown_ps", 0, &["ps"][..]),
        ("unknown_op_list", 5, &["op", "list", "--unknown"]),
        ("unknown_op_show", 0, &["op", "show", "act"]),
        ("unknown_task_show", 0, &["task", "show", "tsk"]),
        ("unknown_why_op", 0, &["why", "act"]),
        ("unknown_why_review", 0, &["why", "rev"]),
        ("unknown_review_list", 0, &["review", "list"]),
        ("unknown_review_show", 0, &["review", "show", "rev"]),
        ("unknown_dry_run", 0, &["task", "recover", "tsk", "--dry-run"]),
    ] {
        let ran = bench.expect(exit, args);
        insta::assert_snapshot!(name, steady(&ran.out));
        assert!(!ran.out.contains("FAILED"), "unknown is never failed: {}", ran.out);
    }
    let counts = bench.expect(0, &["ps", "--json"]).json()["counts"].clone();
    insta::assert_snapshot!("unknown_ps_counts", shown_json(&counts));
}

/// The page version, as programs read it.
fn page(bench: &Bench) -> String {
    bench.expect(0, &["review", "show", "rev", "--json"]).json()["review"]["page"].to_string()
}

#[test]
fn an_answer_needs_its_page_and_a_reason() {
    let (bench, _sink) = lost();
    let page = page(&bench);
    for answer in ["--did-not", "--write-off", "--skip", "--abort"] {
        let ran = bench.expect(2, &["review", "decide", "rev", answer, "--page", &page]);
        assert!(ran.talk.contains("--reason"), "{answer}: {}", ran.talk);
        let ran = bench.expect(2, &["review", "decide", "rev", answer, "--reason", "x"]);
        assert!(ran.talk.contains("--page"), "{answer}: {}", ran.talk);
    }
}

#[test]
fn it_did_not_is_refused_while_a_request_may_be_on_its_way() {
    let (bench, sink) = lost();
    let reason = ["--reason", "not in the outbox"];
    let unread = bench.expect(2, &[&["op", "settle", "act", "--absent"][..], &reason].concat());
    assert!(unread.talk.contains("--page"), "{}", unread.talk);
    let read = page(&bench);
    let page = ["--page", &read];
    let ran = bench.expect(4, &[&["op", "settle", "act", "--absent"][..], &reason, &page].concat());
    insta::assert_snapshot!("too_early", shown(&ran.talk));
    bench.expect(4, &[&["review", "decide", "rev", "--did-not"][..], &reason, &page].concat());
    bench.expect(5, &["op", "list", "--unknown"]);
    assert_eq!(sink.effects(), 1);
}

#[test]
fn a_fact_with_the_right_page_settles_it_and_one_from_an_old_page_does_not() {
    let (bench, _sink) = lost();
    let page = page(&bench);
    let fact = ["review", "decide", "rev", "--happened", "--ref", "m-1", "--reason", "seen", "--page"];
    let old = bench.expect(6, &[&fact[..], &["1"]].concat());
    assert!(old.talk.contains("SM1003"), "{}", old.talk);
    let args = [&fact[..], &[page.as_str()]].concat();
    let ran = bench.expect(0, &args);
    insta::assert_snapshot!("decided", format!("{}\n---\n{}", shown(&ran.out), shown(&ran.talk)));
    let second = bench.expect(6, &args).talk;
    assert!(second.contains("SM1002"), "{second}");
    assert!(shown(&second).contains("before: ann answered `it happened, m-1` at MOMENT"), "{second}");
    assert!(bench.expect(0, &["task", "wait", "tsk"]).out.contains("COMPLETED"));
    assert!(bench.expect(0, &["review", "list"]).out.contains("no review is open"));
}

#[test]
fn a_write_off_ends_the_task_and_stays_named() {
    let (bench, _sink) = lost();
    let page = page(&bench);
    bench.expect(0, &["review", "decide", "rev", "--write-off", "--reason", "nobody knows", "--page", &page]);
    let listed = bench.expect(0, &["op", "list", "--unknown"]);
    assert!(listed.talk.contains("1 written off (--all shows them)"), "{}", listed.talk);
    assert!(bench.expect(0, &["op", "list", "--unknown", "--all"]).out.contains("(written off)"));
    let waited = bench.expect(5, &["task", "wait", "tsk"]);
    assert!(waited.out.contains("COMPLETED, 1 written off"), "an end that is no success: {waited:?}");
    assert!(bench.expect(0, &["task", "list"]).out.contains("COMPLETED, 1 written off"));
    assert_eq!(bench.expect(5, &["run", "plan.yaml", "-i", "order=+491", "--json"]).json()["exit"], 5);
    let json = bench.expect(0, &["task", "show", "tsk", "--json"]).json();
    assert_eq!(json["written_off"], serde_json::json!(["act"]));
    assert_eq!(json["operations"][0]["status"], "unknown");
}

#[test]
fn the_package_is_markdown_and_json_and_can_be_written_to_a_file() {
    let (bench, _sink) = lost();
    let text = bench.expect(0, &["review", "package", "rev"]).out;
    assert!(text.starts_with("# Did `desk` happen"), "{text}");
    bench.expect(0, &["review", "package", "rev", "-o", "file.md"]);
    assert!(std::fs::read_to_string(bench.path("file.md")).unwrap().starts_with("# Did `desk` happen"));
    assert_eq!(bench.expect(0, &["review", "package", "rev", "--json"]).json()["v"], 1);
}

#[test]
fn a_tool_without_a_probe_cannot_be_asked() {
    let (bench, _sink) = lost();
    assert!(bench.expect(2, &["op", "probe", "act"]).talk.contains("SM1010"));
}

#[test]
fn pause_and_resume_say_what_they_lead_to() {
    let (bench, _sink) = lost();
    let paused = bench.expect(0, &["task", "pause", "tsk", "--reason", "look first"]);
    assert!(paused.talk.contains("review"), "{}", paused.talk);
    assert!(bench.expect(0, &["task", "show", "tsk"]).out.contains("look first"));
    bench.expect(0, &["task", "resume", "tsk"]);
    bench.expect(5, &["task", "recover", "tsk"]);
}

#[test]
fn a_run_that_waits_for_an_operation_in_review_stops_and_names_that_review() {
    let bench = Bench::new();
    let sink = bench.sink("sms");
    sink.fault("reset_after", 1);
    bench.plan(&format!(
        "tool: desk\neffect: blind\nkey: [order]\nscope: tenant\nwithin: 7d\nsuccess: status == 202\npending: false\n\
         http: {{ method: POST, url: \"{}\", send: {{ to: \"${{{{ args.order }}}}\", text: hi }} }}\n",
        sink.url("/messages")
    ));
    let run = |id: &str| bench.expect(5, &["run", "plan.yaml", "-i", "order=7", "--id", id]);
    for ran in [run("first"), run("second"), bench.expect(5, &["task", "wait", "second"])] {
        assert!(ran.talk.contains("semel review show rev_"), "{ran:?}");
        assert!(ran.out.contains("at-most-once"), "the promise of the shared operation: {}", ran.out);
    }
    assert_eq!(sink.effects(), 1);
    attached_steps_answer(&bench);
}

/// The step has no operation of its own; `why` finds it all the same, and names the task that it waits for.
fn attached_steps_answer(bench: &Bench) {
    let by_task = bench.expect(0, &["why", "first/act"]);
    insta::assert_snapshot!("why_attached_step", steady(&by_task.out));
    let both = bench.expect(2, &["why", "act"]).talk;
    assert!(both.contains("could be 2 things") && both.contains("/act"), "{both}");
    let json = bench.expect(0, &["why", "second/act", "--json"]).json();
    assert_eq!(json["why"]["state"], "PLANNED");
    assert!(bench.expect(2, &["why", "first/nothing"]).talk.contains("SM1001"));
    assert!(bench.expect(2, &["why", "nothing"]).talk.contains("SM1001"));
}

/// Lists say when they are empty, tell when `--limit` cut them, and hold the fields that `docs/json.md` names.
#[test]
fn lists_are_empty_cut_and_documented() {
    let empty = Bench::new();
    empty.expect(0, &["db", "create"]);
    for (args, said) in [
        (&["task", "list"][..], "no such task"),
        (&["op", "list"], "no such operation"),
        (&["op", "list", "--unknown"], "no such operation"),
        (&["review", "list"], "no review is open"),
        (&["review", "list", "--all"], "no review was ever opened"),
        (&["ps"], "no task is open"),
    ] {
        assert_eq!(empty.expect(0, args).out.trim(), said, "{args:?}");
    }
    let (bench, _sink) = lost();
    let page = include_str!("../../../../docs/json.md");
    for (section, key, exit, args) in [
        ("task list", "tasks", 0, &["task", "list", "--limit", "1"][..]),
        ("op list", "operations", 0, &["op", "list", "--limit", "1"]),
        ("review list", "reviews", 0, &["review", "list", "--limit", "1"]),
    ] {
        let ran = bench.expect(exit, args);
        assert!(ran.talk.contains("--limit shows more"), "{args:?}: {}", ran.talk);
        let json = bench.expect(exit, &[args, &["--json"]].concat()).json();
        let rows = json[key].as_array().unwrap();
        assert_eq!((json["v"].as_u64(), rows.len()), (Some(1), 1));
        let part = page.split("\n## ").find(|part| part.starts_with(&format!("`{section}`"))).unwrap();
        let told: std::collections::BTreeSet<&str> =
            part.lines().filter_map(|l| l.strip_prefix("| `")?.split('`').next()).collect();
        let there: std::collections::BTreeSet<&str> =
            rows[0].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(told, there, "docs/json.md, {section}");
    }
}
