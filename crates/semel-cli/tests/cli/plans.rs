//! Plan files without a store: lint, show, diff, hash, graph, schema, tools, init.

use crate::{
    bench::Bench,
    shown::{shown, shown_json},
};

const CONTRACT: &str = "tool: desk\neffect: keyed\nkey: [order]\nkey_window: 24h\n\
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
