//! `semel metrics` on a small real store: a run whose answer was lost, one that a worker died in, one that waits for a
//! person, and one that a person wrote off.

use crate::{
    bench::{Bench, Sink, repository},
    shown::{shown, shown_json},
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The sinks live as long as the bench is looked at.
struct Store {
    bench: Bench,
    _sinks: [Sink; 2],
}

fn store() -> Store {
    let bench = Bench::new();
    bench.expect(0, &["db", "create", "--sandbox"]);
    let (pay, sms) = (bench.sink("payments"), bench.sink("sms"));
    bench.plan(&format!(
        "tool: desk\neffect: keyed\ndedupe: atomic\nkey: [order]\nkey_window: 24h\nsend_key_as: {{ header: Idempotency-Key }}\nretry: {{ max: 3, wait: 10ms, cap: 10ms }}\n\
         http: {{ method: POST, url: \"{}\", send: {{ order: \"${{{{ args.order }}}}\", amount: 5 }} }}\n",
        pay.url("/charges")
    ));
    pay.fault("status_500_after", 1);
    bench.expect(0, &["run", "plan.yaml", "-i", "order=lost"]);
    let killed =
        bench.semel_with(&[("SEMEL_CHAOS", "call.after_answer")], &["run", "plan.yaml", "-i", "order=dead"]);
    assert_eq!(killed.exit, -1, "{killed:?}");
    bench.expect(0, &["run", "plan.yaml", "-i", "order=dead"]);
    assert_eq!(pay.effects(), 2);
    blind(&bench, &sms);
    Store { bench, _sinks: [pay, sms] }
}

/// Two messages whose answers are lost: one is written off, one waits for a person.
fn blind(bench: &Bench, sms: &Sink) {
    bench.plan(&format!(
        "tool: desk\neffect: blind\nkey: [order]\nsuccess: status == 202\npending: false\n\
         http: {{ method: POST, url: \"{}\", send: {{ to: \"${{{{ args.order }}}}\", text: hi }} }}\n",
        sms.url("/messages")
    ));
    sms.fault("reset_after", 1);
    bench.expect(5, &["run", "plan.yaml", "-i", "order=+491"]);
    let page = bench.expect(0, &["review", "show", "rev", "--json"]).json()["review"]["page"].to_string();
    bench.expect(0, &["review", "decide", "rev", "--write-off", "--reason", "nobody knows", "--page", &page]);
    sms.fault("reset_after", 1);
    bench.expect(5, &["run", "plan.yaml", "-i", "order=+492"]);
}

fn metrics(store: &Store, more: &[&str]) -> String {
    store.bench.expect(0, &[&["metrics"][..], more].concat()).out
}

/// What the clock decides is taken out.
fn timeless(json: &mut Value) {
    let mean = &mut json["metrics"]["mean_recovery_time"];
    assert!(mean["value"].is_number() && mean["numerator"].is_number(), "{mean}");
    mean["value"] = "MS".into();
    mean["numerator"] = "MS".into();
    assert!(json["oldest_unknown_ms"].as_i64().unwrap() >= 0);
    json["oldest_unknown_ms"] = "MS".into();
    // A pause of a few milliseconds is waited out in hand or not.
    let replays = &mut json["metrics"]["replay_count_per_task"];
    assert!(matches!(replays["numerator"].as_u64(), Some(1 | 2)), "{replays}");
    replays["value"] = "N / 4".into();
    replays["numerator"] = "N".into();
}

/// As [`timeless`], for lines of text.
fn timeless_line(line: &str) -> String {
    match line.split_once(' ') {
        Some((name, _)) if name.ends_with("_seconds") || name.ends_with("_seconds_sum") => {
            format!("{name} SECONDS")
        }
        Some((name @ "semel_replays_total", _)) => format!("{name} N"),
        Some((name @ "replay_count_per_task", rest)) => {
            let (_, of) = rest.split_once(" in ").unwrap();
            format!("{name}  N / 4  N in {of}")
        }
        _ => line.to_owned(),
    }
}

#[test]
fn the_table_the_json_and_the_text_for_prometheus() {
    let store = store();
    let lines = |text: &str| text.lines().map(timeless_line).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!("metrics_table", lines(&shown(&metrics(&store, &[]))));
    let mut json = store.bench.expect(0, &["metrics", "--json"]).json();
    timeless(&mut json);
    insta::assert_snapshot!("metrics_json", shown_json(&json));
    let text = metrics(&store, &["--prometheus"]);
    insta::assert_snapshot!("metrics_prometheus", lines(&text));
    the_numbers_agree(&store, &parsed(&text));
    a_plan_is_chosen_by_its_name(&store);
    what_is_old_is_left_out_and_its_doubt_is_not(&store);
}

/// The same store, told three times, says the same.
fn the_numbers_agree(store: &Store, samples: &BTreeMap<String, f64>) {
    let json = store.bench.expect(0, &["metrics", "--json"]).json();
    for (sample, part) in [
        ("semel_effects_checked_total", &json["metrics"]["duplicate_side_effect_rate"]["denominator"]),
        ("semel_effects_total", &json["metrics"]["duplicate_check_coverage"]["denominator"]),
        ("semel_ambiguous_operations_total", &json["metrics"]["ambiguous_outcome_rate"]["numerator"]),
        ("semel_tasks_total", &json["metrics"]["human_escalation_rate"]["denominator"]),
        ("semel_tasks_escalated_total", &json["metrics"]["human_escalation_rate"]["numerator"]),
        ("semel_recoveries_finished_total", &json["metrics"]["recovery_success_rate"]["denominator"]),
        ("semel_replays_total", &json["metrics"]["replay_count_per_task"]["numerator"]),
        ("semel_unknown_operations", &json["counts"]["unknown_now"]),
        ("semel_written_off_operations_total", &json["counts"]["written_off"]),
        ("semel_leases_lost_total", &json["counts"]["leases_lost"]),
        ("semel_operations_total{guarantee=\"keyed\"}", &json["operations"]["keyed"]),
    ] {
        assert_eq!(samples.get(sample).copied(), part.as_f64(), "{sample}");
    }
}

fn a_plan_is_chosen_by_its_name(store: &Store) {
    let json = |name: &str| store.bench.expect(0, &["metrics", "--json", "--plan", name]).json();
    assert_eq!(json("once")["metrics"]["human_escalation_rate"]["denominator"], 4);
    let none = json("twice");
    let rate = &none["metrics"]["duplicate_side_effect_rate"];
    assert!(rate["value"].is_null() && rate["upper_bound_95"].is_null(), "{rate}");
    assert_eq!((&rate["numerator"], &rate["denominator"]), (&Value::from(0), &Value::from(0)));
    assert!(none["oldest_unknown_ms"].is_null());
    let odd = "a \"plan\" of c:\\";
    let samples = parsed(&metrics(store, &["--prometheus", "--plan", odd]));
    assert_eq!(
        samples.get("semel_tasks_total{plan=\"a \\\"plan\\\" of c:\\\\\"}"),
        Some(&0.0),
        "{samples:?}"
    );
    assert!(
        !samples.keys().any(|name| name.starts_with("semel_oldest_unknown")),
        "nothing is in doubt there"
    );
}

fn what_is_old_is_left_out_and_its_doubt_is_not(store: &Store) {
    let json = store.bench.expect(0, &["metrics", "--json", "--since", "0s"]).json();
    assert_eq!(json["metrics"]["human_escalation_rate"]["denominator"], 0);
    assert_eq!(json["counts"]["unknown_now"], 1);
    let all = store.bench.expect(0, &["metrics", "--json", "--since", "1d"]).json();
    assert_eq!(all["metrics"]["human_escalation_rate"]["denominator"], 4);
}

#[test]
fn an_empty_store_has_no_rates_yet() {
    let bench = Bench::new();
    bench.expect(0, &["db", "create"]);
    insta::assert_snapshot!("metrics_none", shown(&bench.expect(0, &["metrics"]).out));
    let samples = parsed(&bench.expect(0, &["metrics", "--prometheus"]).out);
    assert_eq!(samples.get("semel_tasks_total"), Some(&0.0));
    assert!(samples.keys().all(|name| !name.contains("rate")), "rates are made from counters: {samples:?}");
}

#[test]
fn what_cannot_be_asked_is_usage() {
    let bench = Bench::new();
    bench.expect(0, &["db", "create"]);
    for args in [&["--since", "7"][..], &["--since", "7d", "--prometheus"], &["--json", "--prometheus"]] {
        bench.expect(2, &[&["metrics"][..], args].concat());
    }
}

/// Every name that is printed has its formula in the document.
#[test]
fn every_metric_is_documented() {
    let bench = Bench::new();
    bench.expect(0, &["db", "create"]);
    let document = std::fs::read_to_string(repository().join("docs/metrics.md")).unwrap();
    let json = bench.expect(0, &["metrics", "--json"]).json();
    let named = |part: &str| json[part].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let text = bench.expect(0, &["metrics", "--prometheus"]).out;
    let families = text.lines().filter_map(|l| l.strip_prefix("# TYPE ")?.split(' ').next());
    let names = named("metrics").into_iter().chain(named("counts")).chain(families.map(str::to_owned));
    for name in names {
        assert!(document.contains(&format!("`{name}`")), "{name} is not in docs/metrics.md");
    }
}

/// Reads the text exposition format strictly: every family has HELP and TYPE once and before its samples, which stand
/// together; names and labels are well formed; no sample comes twice; every line ends.
fn parsed(text: &str) -> BTreeMap<String, f64> {
    assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{text}");
    let (mut samples, mut seen) = (BTreeMap::new(), BTreeSet::new());
    let (mut family, mut kind) = (String::new(), String::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').unwrap();
            assert!(is_name(name) && !words.is_empty() && !words.contains('\\'), "{line}");
            let typed = lines.next().unwrap().strip_prefix("# TYPE ").unwrap();
            let (same, what) = typed.split_once(' ').unwrap();
            assert_eq!(same, name, "HELP and TYPE of one family stand together");
            assert!(["counter", "gauge", "summary"].contains(&what), "{typed}");
            assert_eq!(what == "counter", name.ends_with("_total"), "{name}");
            assert!(seen.insert(name.to_owned()), "{name} comes twice");
            (family, kind) = (name.to_owned(), what.to_owned());
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = sample.split_once('{').map_or((sample, None), |(n, l)| (n, Some(l)));
        let of_family = match kind.as_str() {
            "summary" => name == format!("{family}_sum") || name == format!("{family}_count"),
            _ => name == family,
        };
        assert!(of_family && is_name(name), "{line} stands under {family}");
        labels.into_iter().for_each(check_labels);
        let value: f64 = value.parse().unwrap();
        assert!(value.is_finite() && value >= 0.0, "{line}");
        assert!(samples.insert(sample.to_owned(), value).is_none(), "{sample} comes twice");
    }
    samples
}

fn is_name(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_lowercase() || c == '_';
    name.starts_with("semel_") && name.chars().all(|c| letters(c) || c.is_ascii_digit())
}

/// `name="value",name="value"}`, with `\\`, `\"` and `\n` as the only escapes.
fn check_labels(text: &str) {
    let mut rest = text.strip_suffix('}').unwrap();
    loop {
        let (name, value) = rest.split_once("=\"").unwrap();
        assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{text}");
        let mut chars = value.char_indices();
        let end = loop {
            match chars.next().unwrap() {
                (at, '"') => break at,
                (_, '\\') => assert!(['\\', '"', 'n'].contains(&chars.next().unwrap().1), "{text}"),
                _ => {}
            }
        };
        rest = &value[end + 1..];
        let Some(more) = rest.strip_prefix(',') else { break };
        rest = more;
    }
    assert!(rest.is_empty(), "{text}");
}

#[test]
fn metrics_are_read_beside_a_running_owner() {
    let bench = Bench::new();
    bench.write("plan.yaml", "semel: 1\nname: rest\nsteps:\n  - step: rest\n    sleep: 1h\n");
    let mut owner = bench.command(&["worker"]).spawn().unwrap();
    while !bench.path("semel.db.sock").exists() {
        assert!(owner.try_wait().unwrap().is_none(), "the worker ended before it owned the store");
        std::thread::yield_now();
    }
    bench.expect(0, &["run", "plan.yaml", "--detach", "--json"]);
    let json = bench.expect(0, &["metrics", "--json"]).json();
    assert_eq!(json["metrics"]["human_escalation_rate"]["denominator"], 1);
    owner.kill().unwrap();
    owner.wait().unwrap();
}
