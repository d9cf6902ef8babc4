//! Plan files without a store: lint, show, diff, hash, graph, schema, tools, init.

use crate::{
    bench::{Bench, repository},
    shown::{shown, shown_json},
};

const CONTRACT: &str = "tool: desk\neffect: keyed\nkey: [order]\nkey_window: 24h\n\
                        send_key_as: { header: Idempotency-Key }\n\
                        http: { method: POST, url: \"http://127.0.0.1:9/charges\" }\n";

const FAULTY: &str = "semel: 1
name: Bad Name
inputs: { order: { type: strng } }
tools: { desk: { from: nowhere.yaml } }
steps:
  - step: act
    act: dsk
    wiht: { order: \"${{ inputs.odrer }}\" }
    needs: [later]
";

#[test]
fn lint_tells_all_faults_at_once_with_their_places() {
    let bench = Bench::new();
    bench.write("bad.yaml", FAULTY);
    let ran = bench.expect(2, &["plan", "lint", "bad.yaml"]);
    insta::assert_snapshot!("lint_faults", ran.out);
    let json = bench.expect(2, &["plan", "lint", "bad.yaml", "--json"]).json();
    assert_eq!((json["errors"].as_u64(), json["warnings"].as_u64()), (Some(6), Some(1)));
    let missing = bench.expect(2, &["plan", "lint", "nowhere.yaml"]);
    assert!(missing.out.starts_with("nowhere.yaml: error[SM4001]"), "{}", missing.out);
    assert!(missing.out.contains("no such file") && !missing.out.contains("sent"), "{}", missing.out);
    assert!(json["problems"].as_array().unwrap().iter().all(|p| p["line"].as_u64().is_some_and(|l| l > 0)));
}

#[test]
fn a_warning_does_not_stop_a_plan() {
    let bench = Bench::new();
    bench.plan("tool: desk\nkey: [order]\nhttp: { method: POST, url: \"http://127.0.0.1:9/x\" }\n");
    let ran = bench.expect(0, &["plan", "lint", "plan.yaml"]);
    insta::assert_snapshot!("lint_warning", shown(&ran.out));
    assert_eq!(bench.expect(0, &["tool", "lint", "tool.yaml"]).out.matches("warning[").count(), 1);
    assert_eq!(bench.expect(0, &["tool", "lint", "plan.yaml"]).out.matches("warning[").count(), 1);
}

#[test]
fn a_sound_plan_is_shown_with_its_promises() {
    let bench = Bench::new();
    bench.plan(CONTRACT);
    insta::assert_snapshot!("plan_show", shown(&bench.expect(0, &["plan", "show", "plan.yaml"]).out));
    insta::assert_snapshot!(
        "plan_show_json",
        shown_json(&bench.expect(0, &["plan", "show", "plan.yaml", "--json"]).json())
    );
    insta::assert_snapshot!("tool_list", bench.expect(0, &["tool", "list", "plan.yaml"]).out);
    insta::assert_snapshot!("plan_graph", bench.expect(0, &["plan", "graph", "plan.yaml"]).out);
    assert!(
        bench.expect(0, &["plan", "graph", "plan.yaml", "--format", "mermaid"]).out.starts_with("flowchart")
    );
    assert!(bench.expect(0, &["plan", "graph", "plan.yaml", "--format", "dot"]).out.starts_with("digraph"));
    bench.expect(2, &["plan", "graph", "plan.yaml", "--format", "png"]);
}

#[test]
fn a_comment_does_not_change_the_hash_and_a_window_does() {
    let bench = Bench::new();
    bench.plan(CONTRACT);
    let hash = || bench.expect(0, &["plan", "hash", "plan.yaml"]).out;
    let before = hash();
    bench.write("tool.yaml", &format!("# a comment\n{CONTRACT}"));
    assert_eq!(hash(), before);
    std::fs::copy(bench.path("plan.yaml"), bench.path("old.yaml")).unwrap();
    std::fs::copy(bench.path("tool.yaml"), bench.path("old-tool.yaml")).unwrap();
    let old = std::fs::read_to_string(bench.path("old.yaml")).unwrap().replace("tool.yaml", "old-tool.yaml");
    bench.write("old.yaml", &old);
    bench.write("tool.yaml", &CONTRACT.replace("24h", "12h"));
    assert_ne!(hash(), before);
    insta::assert_snapshot!("plan_diff", bench.expect(0, &["plan", "diff", "old.yaml", "plan.yaml"]).out);
}

#[test]
fn schemas_are_json() {
    let bench = Bench::new();
    for kind in ["plan", "contract"] {
        assert!(bench.expect(0, &["plan", "schema", kind]).json()["title"].is_string(), "{kind}");
    }
    bench.expect(2, &["plan", "schema", "nonsense"]);
}

#[test]
fn init_writes_files_that_lint_clean_and_never_over_others() {
    for class in ["keyed", "queryable", "natural", "none", "blind"] {
        let bench = Bench::new();
        let args = ["init", "work", "--effect", class, "--url", "https://api.example.com/v1/things"];
        let ran = bench.expect(0, &args);
        let lint = bench.expect(0, &["plan", "lint", "work/plan.yaml"]);
        assert!(lint.out.starts_with("0 errors, 0 warnings"), "{class}: {lint:?}");
        if class == "keyed" {
            insta::assert_snapshot!("init", format!("{}{}", ran.out, ran.talk));
        }
        bench.expect(0, &args);
        bench.write("work/plan.yaml", "mine");
        assert!(bench.expect(2, &args).talk.contains("SM1018"));
    }
}

#[test]
fn what_init_writes_shares_an_effect_between_runs_and_refuses_another_amount() {
    for class in ["keyed", "queryable"] {
        let bench = Bench::new();
        let sink = bench.sink("payments");
        let ran = bench.expect(0, &["init", "--effect", class, "--url", &sink.url("/charges")]);
        assert!(ran.talk.starts_with("next: semel plan lint plan.yaml"), "{ran:?}");
        let contract = std::fs::read_to_string(bench.path("contracts/tool.yaml")).unwrap();
        bench.write("contracts/tool.yaml", &contract.replace("send: { reference:", "send: { order:"));
        let run = |exit, inputs: &[&str]| {
            let words = ["run", "plan.yaml", "-i", "reference=o-1"].into_iter();
            let inputs = inputs.iter().flat_map(|input| ["-i", input]);
            bench.expect(exit, &words.chain(inputs).collect::<Vec<_>>())
        };
        run(0, &["amount=100"]);
        run(0, &["amount=100", "note=another wording"]);
        assert_eq!(sink.effects(), 1, "{class}: one key, one effect");
        let other = run(6, &["amount=250"]);
        assert!(format!("{}{}", other.out, other.talk).contains("another amount"), "{class}: {other:?}");
        assert_eq!(sink.effects(), 1, "{class}");
    }
}

const INPUTS: &str = "semel: 1\nname: given\ninputs:\n  order: { type: string }\n  amount: { type: integer }\n  \
                      plan: { type: string, enum: [a, b], default: a }\nsteps:\n  - step: rest\n    sleep: 1s\n";

/// A fault in an input is found where it was written: line and column of a file, or the option.
#[test]
fn faults_in_inputs_have_their_place() {
    let bench = Bench::new();
    bench.write("plan.yaml", INPUTS);
    bench
        .write("x.json", "{\n  \"order\": 5,\n  \"amount\": 1.5,\n  \"plan\": \"c\",\n  \"ordr\": true\n}\n");
    bench.write("x.yaml", "order: o-1\nplan: c\nordr: true\n");
    bench.write("broken.json", "{\n  \"order\": \"o-1\",\n}\n");
    bench.write("broken.yaml", "order: &anchor o-1\n");
    bench.write("x.jsonl", "{\"order\": \"o\", \"amount\": 1}\n{\"order\": 5, \"amount\": \"x\"}\n{\"order\": \"o\",}\n{\"order\": \"o\"}\n");
    let cases: [&[&str]; 7] = [
        &["--inputs", "x.json"],
        &["--inputs", "x.yaml"],
        &["--inputs", "broken.json"],
        &["--inputs", "broken.yaml"],
        &["-i", "order=o-1", "-i", "amount=lots"],
        &["--inputs", "x.yaml", "-i", "plan=d", "-i", "amount=1"],
        &["--inputs-from", "x.jsonl"],
    ];
    let told = cases.map(|args| {
        let ran = bench.expect(2, &[&["run", "plan.yaml"][..], args].concat());
        assert!(!ran.talk.contains(":0:"), "{ran:?}");
        format!("## {}\n{}", args.join(" "), ran.talk)
    });
    insta::assert_snapshot!("input_faults", told.join("\n"));
    let json = bench.expect(2, &["run", "plan.yaml", "--inputs", "x.json", "--json"]).json();
    let order = json["problems"].as_array().unwrap().iter().find(|p| p["path"] == "order").unwrap().clone();
    assert_eq!((&order["file"], order["line"].as_u64()), (&"x.json".into(), Some(2)));
    let typed = bench.expect(2, &["run", "plan.yaml", "-i", "order=o", "-i", "amount=x", "--json"]).json();
    assert_eq!(typed["problems"][0]["file"], "--input amount");
    assert!(typed["problems"][0].get("line").is_none(), "an option has no line: {typed}");
}

#[test]
fn the_look_up_that_init_writes_counts_only_our_reference() {
    use semel_kernel::{json::Json, outcome::Finding};
    use semel_plan::{contract::Seen, plan::PlanDoc};
    use semel_ports::connector::{Answer, Report, Transport};
    let bench = Bench::new();
    bench.expect(0, &["init", "--effect", "queryable"]);
    let wrapped = std::fs::read_to_string(bench.path("contracts/tool.yaml")).unwrap();
    let find = |body: &str| {
        let plan = PlanDoc::read(&bench.path("plan.yaml")).expect("it is sound");
        assert_eq!(plan.warnings, []);
        let args = Json::parse(r#"{"reference":"o-1"}"#).expect("JSON");
        let seen = Seen { args: &args, key: "k", operation: "o", task: "t", handle: None };
        let headers = [("content-type".to_owned(), "application/json".to_owned())].into();
        let answer = Answer { status: 200, headers, body: body.as_bytes().to_vec(), truncated: false };
        let report = Report::new(Transport::Answered(answer), 1, 0);
        plan.contracts.values().next().expect("a contract").finding(&report, &seen).0
    };
    let said = |body: &str| match find(body) {
        Finding::Applied { .. } => "applied",
        Finding::Absent => "absent",
        Finding::Many { .. } => "many",
        Finding::Pending => "pending",
        Finding::Unclear { .. } => "unclear",
    };
    let cases = [
        (r#"[{"reference":"o-1"}]"#, "applied"),
        (r#"[{"reference":"o-2"},{"reference":"o-1"}]"#, "applied"),
        (r#"[{"reference":"o-2"}]"#, "absent"),
        ("[]", "absent"),
        (r#"[{"reference":"o-1"},{"reference":"o-1"}]"#, "many"),
        (r#"[{"id":1}]"#, "unclear"),
        ("7", "unclear"),
    ];
    for (list, expected) in cases {
        assert_eq!(said(list), expected, "{list}");
    }
    for body in ["{}", r#"{"error":"no"}"#, "", r#""ok""#] {
        assert_eq!(said(body), "unclear", "{body}");
    }
    // The commented rules for a wrapped list mean the same.
    let lines = wrapped.lines().filter(|l| !RULES.iter().any(|r| l.starts_with(&format!("  {r}"))));
    let lines = lines.map(|l| {
        RULES
            .iter()
            .find(|r| l.starts_with(&format!("  # {r}")))
            .map_or(l.to_owned(), |_| l.replacen("# ", "", 1))
    });
    bench.write("contracts/tool.yaml", &lines.collect::<Vec<_>>().join("\n"));
    for (list, expected) in cases {
        assert_eq!(said(&format!("{{\"items\":{list}}}")), expected, "{list}");
    }
    assert_eq!(said("[]"), "unclear");
}

const RULES: [&str; 4] = ["applied:", "absent:", "many:", "result:"];

/// Names of members that a schema gives a meaning to.
fn keys(schema: &serde_json::Value, found: &mut std::collections::BTreeSet<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        found.extend(properties.keys().cloned());
    }
    let inner = schema.as_object().into_iter().flat_map(|map| map.values());
    inner.chain(schema.as_array().into_iter().flatten()).for_each(|part| keys(part, found));
}

#[test]
fn the_reference_page_names_every_key_of_the_schemas() {
    let page = std::fs::read_to_string(repository().join("docs/contracts.md")).unwrap();
    let words: Vec<&str> = page.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let mut found = std::collections::BTreeSet::new();
    let bench = Bench::new();
    for kind in ["plan", "contract"] {
        keys(&bench.expect(0, &["plan", "schema", kind]).json(), &mut found);
    }
    assert!(found.len() > 60, "{found:?}");
    let missing: Vec<_> = found.iter().filter(|key| !words.contains(&key.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn editors_explain_the_keys_that_decide() {
    let bench = Bench::new();
    let schema = bench.expect(0, &["plan", "schema", "contract"]).json();
    let properties = schema["$defs"]["inline"]["properties"].as_object().unwrap();
    for (key, about) in properties {
        let described = about["description"].is_string() || matches!(key.as_str(), "http" | "fence");
        assert!(described, "{key}");
    }
    bench.expect(0, &["init"]);
    for (file, schema) in [("plan.yaml", ".semel/plan"), ("contracts/tool.yaml", "../.semel/contract")] {
        let first = format!("# yaml-language-server: $schema={schema}.schema.json\n");
        assert!(std::fs::read_to_string(bench.path(file)).unwrap().starts_with(&first), "{file}");
        assert!(bench.path(file).parent().unwrap().join(format!("{schema}.schema.json")).exists(), "{file}");
    }
}
