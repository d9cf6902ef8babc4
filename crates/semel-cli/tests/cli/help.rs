//! Help texts: what people read first.

use crate::bench::Bench;

fn help(args: &[&str]) -> String {
    let bench = Bench::new();
    let mut all = args.to_vec();
    all.push("--help");
    bench.expect(0, &all).out
}

#[test]
fn every_noun_has_its_help() {
    insta::assert_snapshot!("semel", help(&[]));
    for noun in ["plan", "task", "op", "review", "tool", "db", "audit", "config"] {
        insta::assert_snapshot!(format!("noun_{noun}"), help(&[noun]));
    }
}

#[test]
fn the_verbs_that_change_something_have_their_help() {
    for (name, args) in [
        ("run", &["run"][..]),
        ("review_decide", &["review", "decide"]),
        ("op_settle", &["op", "settle"]),
        ("db_restore", &["db", "restore"]),
        ("init", &["init"]),
        ("metrics", &["metrics"]),
    ] {
        insta::assert_snapshot!(format!("verb_{name}"), help(args));
    }
}

#[test]
fn completions_are_printed_for_every_shell() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(bench.expect(0, &["completions", shell]).out.contains("semel"), "{shell}");
    }
}

#[test]
fn what_cannot_be_understood_is_usage() {
    let bench = Bench::new();
    bench.expect(2, &["nonsense"]);
    bench.expect(2, &["review", "decide", "rev_1"]);
    bench.expect(2, &["op", "settle", "x", "--happened"]);
    bench.expect(2, &["op", "settle", "x", "--absent"]);
}

#[test]
fn numbers_that_make_no_sense_are_usage_wherever_they_stand() {
    let bench = Bench::new();
    let told = bench.expect(2, &["worker", "--slots", "0"]).talk;
    assert!(told.contains("--slots") && told.contains("1..=100000"), "{told}");
    bench.expect(2, &["run", "plan.yaml", "--inputs-from", "x.jsonl", "--in-flight", "0"]);
    assert!(!bench.path("semel.db").exists());
    for slots in ["0", "-1", "100001", "99999999999"] {
        bench.write("semel.toml", &format!("slots = {slots}\n"));
        let told = bench.expect(2, &["config", "show"]).talk;
        assert!(told.contains("SM1012") && told.contains("slots"), "{slots}: {told}");
    }
    bench.write("semel.toml", "slots = 7\n");
    let settings = bench.expect(0, &["config", "show", "--json"]).json()["settings"].clone();
    assert!(settings.as_array().unwrap().iter().any(|s| s["name"] == "slots" && s["value"] == "7"));
}

#[test]
fn settings_are_shown_with_their_origins() {
    let bench = Bench::new();
    insta::assert_snapshot!("config_show", bench.expect(0, &["config", "show"]).out);
    bench.write("semel.toml", "tenant = \"acme\"\n");
    let args = ["--store", "other.db", "--json", "config", "show"];
    let json = bench.semel_with(&[("SEMEL_ACTOR", "bob")], &args).json();
    let origin = |name: &str| {
        let all = json["settings"].as_array().unwrap();
        all.iter().find(|s| s["name"] == name).map(|s| s["origin"].as_str().unwrap().to_owned()).unwrap()
    };
    assert_eq!(
        ["store", "tenant", "actor", "slots"].map(origin),
        ["--store", "semel.toml", "SEMEL_ACTOR", "default"]
    );
    bench.write("semel.toml", "tenent = \"acme\"\n");
    assert!(bench.expect(2, &["config", "show"]).talk.contains("SM1012"));
}
