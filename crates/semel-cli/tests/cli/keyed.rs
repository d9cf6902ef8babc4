//! A run against a real sink that dedupes keys, and every page about it afterwards.

use crate::{
    bench::{Bench, Sink},
    shown::{shown, shown_json},
};

/// A desk that is said to dedupe in one step, so that a resend need not wait for the first request to be dead.
fn desk() -> (Bench, Sink) {
    let bench = Bench::new();
    let sink = bench.sink("payments");
    bench.plan(&format!(
        "tool: desk\neffect: keyed\ndedupe: atomic\nkey: [order]\nkey_window: 24h\nsend_key_as: {{ header: Idempotency-Key }}\nretry: {{ max: 3, wait: 10ms, cap: 10ms }}\n\
         http: {{ method: POST, url: \"{}\", send: {{ order: \"${{{{ args.order }}}}\", amount: 5 }} }}\n",
        sink.url("/charges")
    ));
    (bench, sink)
}

#[test]
fn a_run_completes_and_a_second_one_attaches() {
    let (bench, sink) = desk();
    let ran = bench.expect(0, &["run", "plan.yaml", "-i", "order=7"]);
    insta::assert_snapshot!("run", format!("{}\n---\n{}", shown(&ran.out), shown(&ran.talk)));
    let again = bench.expect(0, &["run", "plan.yaml", "-i", "order=7"]);
    assert!(again.talk.contains("ATTACHED"), "{}", again.talk);
    assert!(again.talk.contains("earlier events (semel task timeline"), "{}", again.talk);
    assert_eq!(sink.effects(), 1);
    bench.expect(0, &["run", "plan.yaml", "-i", "order=7", "--new-intent"]);
    assert_eq!(sink.effects(), 2);
}

#[test]
fn the_pages_about_a_completed_task() {
    let (bench, _sink) = desk();
    bench.expect(0, &["run", "plan.yaml", "-i", "order=7"]);
    for (name, args) in [
        ("done_task_show", &["task", "show", "tsk"][..]),
        ("done_task_list", &["task", "list"]),
        ("done_task_tail", &["task", "tail", "tsk"]),
        ("done_op_list", &["op", "list"]),
        ("done_op_show", &["op", "show", "act"]),
        ("done_why_task", &["why", "tsk"]),
        ("done_why_target", &["why", "7"]),
        ("done_dry_run", &["task", "recover", "tsk", "--dry-run"]),
    ] {
        let text = shown(&bench.expect(0, args).out);
        let text: Vec<&str> = text.lines().filter(|l| !l.contains("user-agent")).collect();
        insta::assert_snapshot!(name, text.join("\n"));
    }
    for (name, args) in [
        ("done_task_show_json", &["task", "show", "tsk", "--json"][..]),
        ("done_op_list_json", &["op", "list", "--json"]),
        ("done_why_json", &["why", "act", "--json"]),
    ] {
        insta::assert_snapshot!(name, shown_json(&bench.expect(0, args).json()));
    }
    assert!(bench.expect(0, &["ps"]).out.contains("no task is open"));
    assert!(bench.expect(0, &["task", "timeline", "tsk"]).out.contains("TaskCompleted"));
    bench.expect(0, &["task", "wait", "tsk"]);
}

#[test]
fn an_answer_that_is_lost_after_the_effect_is_sent_again_under_the_same_key() {
    let (bench, sink) = desk();
    sink.fault("status_500_after", 1);
    bench.expect(0, &["run", "plan.yaml", "-i", "order=7"]);
    assert_eq!(sink.effects(), 1);
    let json = bench.expect(0, &["op", "show", "act", "--json"]).json();
    assert_eq!(json["operation"]["attempts"], 2);
}

#[test]
fn the_same_id_with_other_inputs_is_a_conflict_and_names_the_field() {
    let (bench, sink) = desk();
    bench.expect(0, &["run", "plan.yaml", "-i", "order=7", "--id", "mine"]);
    let ran = bench.expect(6, &["run", "plan.yaml", "-i", "order=8", "--id", "mine"]);
    assert!(ran.talk.contains("SM1006") && ran.talk.contains("inputs.order"), "{}", ran.talk);
    assert_eq!(sink.effects(), 1);
    assert!(bench.expect(0, &["task", "show", "mine"]).out.contains("mine of tenant default"));
}

#[test]
fn ids_are_found_by_prefix_and_refused_when_they_could_be_several() {
    let (bench, _sink) = desk();
    bench.expect(0, &["run", "plan.yaml", "-i", "order=7"]);
    bench.expect(0, &["run", "plan.yaml", "-i", "order=8"]);
    assert!(bench.expect(2, &["task", "show", "tsk_"]).talk.contains("SM1014"));
    assert!(bench.expect(2, &["op", "show", "act"]).talk.contains("SM1014"));
    assert!(bench.expect(2, &["why", "nowhere"]).talk.contains("SM1001"));
    let key = bench.expect(0, &["op", "show", "7", "--json"]).json()["operation"]["key"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        bench.expect(0, &["op", "find", &key, "--json"]).json()["operations"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn a_crash_after_the_effect_is_recovered_with_one_effect() {
    let (bench, sink) = desk();
    bench.expect(0, &["db", "create", "--sandbox"]);
    let killed =
        bench.semel_with(&[("SEMEL_CHAOS", "call.after_answer")], &["run", "plan.yaml", "-i", "order=7"]);
    assert_eq!((killed.exit, sink.effects()), (-1, 1), "{killed:?}");
    let dry = bench.expect(0, &["task", "recover", "tsk", "--dry-run"]);
    assert!(dry.out.contains("becomes unknown, never failed"), "{}", dry.out);
    assert_eq!(sink.effects(), 1);
    let recovered = bench.expect(0, &["task", "recover", "tsk"]);
    assert!(recovered.out.contains("COMPLETED"), "{recovered:?}");
    let json = bench.expect(0, &["op", "show", "act", "--json"]).json();
    assert_eq!((json["operation"]["attempts"].as_u64(), sink.effects()), (Some(2), 1));
}

#[test]
fn an_answer_that_nobody_understands_is_shown_where_people_ask_why() {
    let (bench, sink) = desk();
    sink.fault("status_500_after", 9);
    bench.expect(5, &["run", "plan.yaml", "-i", "order=7"]);
    for args in [&["why", "act"][..], &["why", "tsk"], &["op", "show", "act"]] {
        let ran = bench.expect(0, args);
        assert!(ran.out.contains("answer to attempt 3: status 500 {"), "{args:?}: {}", ran.out);
    }
    let page = bench.expect(0, &["review", "show", "rev"]).out;
    assert!(!page.contains("a send under this key"), "no command sends it: {page}");
    assert_eq!(sink.effects(), 1);
}
