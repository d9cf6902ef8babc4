//! Many runs from one file of inputs.

use crate::{
    bench::{Bench, Sink},
    shown::shown,
};

fn desk() -> (Bench, Sink) {
    let bench = Bench::new();
    let sink = bench.sink("sms");
    bench.plan(&format!(
        "tool: desk\neffect: blind\nkey: [order]\nsuccess: status == 202\npending: false\n\
         refusals: [{{ when: status == 400, final: true }}]\n\
         http: {{ method: POST, url: \"{}\", send: {{ to: \"${{{{ args.order }}}}\", text: hi }} }}\n",
        sink.url("/messages")
    ));
    (bench, sink)
}

fn lines(orders: std::ops::Range<u32>) -> String {
    orders.map(|n| format!("{{\"order\": \"o{n}\"}}\n")).collect()
}

#[test]
fn every_line_is_one_effect_and_a_repeat_attaches_to_all() {
    let (bench, sink) = desk();
    bench.write("x.jsonl", &lines(0..40));
    let args = ["run", "plan.yaml", "--inputs-from", "x.jsonl", "--in-flight", "8"];
    let ran = bench.expect(0, &args);
    insta::assert_snapshot!("many_done", shown(&ran.out));
    assert_eq!(sink.effects(), 40);
    let json = bench.expect(0, &[&args[..], &["--json"]].concat()).json();
    assert_eq!((json["lines"].as_u64(), json["attached"].as_u64()), (Some(40), Some(40)));
    assert_eq!(sink.effects(), 40);
}

#[test]
fn one_bad_line_sends_nothing_at_all() {
    let (bench, sink) = desk();
    bench.write("x.jsonl", &format!("{}{{\"order\": 5}}\n", lines(0..3)));
    let ran = bench.expect(2, &["run", "plan.yaml", "--inputs-from", "x.jsonl"]);
    assert!(ran.talk.contains("SM1017") && ran.talk.contains("x.jsonl:4:"), "{}", ran.talk);
    assert_eq!(sink.effects(), 0);
    assert!(!bench.path("semel.db").exists());
}

#[test]
fn an_unknown_line_decides_the_exit() {
    let (bench, sink) = desk();
    sink.fault("reset_after", 1);
    bench.write("x.jsonl", &lines(0..5));
    let ran = bench.expect(5, &["run", "plan.yaml", "--inputs-from", "x.jsonl"]);
    insta::assert_snapshot!("many_unknown", shown(&ran.out).lines().take(5).collect::<Vec<_>>().join("\n"));
    assert_eq!(sink.effects(), 5);
}

#[test]
fn detached_lines_are_worked_on_by_the_next_worker() {
    let (bench, sink) = desk();
    bench.write("x.jsonl", &lines(0..6));
    bench.expect(0, &["run", "plan.yaml", "--inputs-from", "x.jsonl", "--detach"]);
    assert_eq!(sink.effects(), 0);
    bench.expect(0, &["worker", "--until-idle", "0s"]);
    assert_eq!(sink.effects(), 6);
}
