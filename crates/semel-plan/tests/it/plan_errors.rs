//! A person who wrote a wrong plan is told everything at once, with its place and the way out.

use crate::plan_support::{fixture, read, refused, show, sound};
use insta::assert_snapshot;

const HEAD: &str = "semel: 1\nname: t\ntools: { mail: { from: contracts/mail.yaml } }\n";

fn with_steps(steps: &str) -> String {
    refused(&format!("{HEAD}steps:\n{steps}"))
}

#[test]
fn a_plan_with_many_mistakes_shows_all_of_them() {
    let problems = fixture("bad/six.yaml").expect_err("it is refused");
    assert_snapshot!(show(&problems));
    assert!(problems.len() >= 6);
    assert!(problems.iter().all(|p| p.span.line > 0 && p.span.column > 0 && !p.hint.is_empty()));
}

#[test]
fn unknown_keys_are_errors_with_a_suggestion() {
    let text = "semel: 1\nname: t\nstpes: []\nlimits: { deadlien: 1s }\ninputs: { a: { typ: string } }\nsteps:\n  - step: a\n    sleep: 1s\n    nedes: []\n";
    assert_snapshot!(refused(text));
}

#[test]
fn a_number_that_cannot_be_kept_is_refused_and_a_quoted_one_is_a_text() {
    let step = |amount: &str| {
        format!("{HEAD}steps:\n  - step: a\n    act: mail\n    with: {{ to: x, text: {amount} }}\n")
    };
    assert_snapshot!(refused(&step("9007199254740993")));
    for amount in ["0x1F", "0o17", ".inf", "-.INF", ".nan", "1e400", "007", "-9007199254740993"] {
        let problems = read(&step(amount)).expect_err(amount);
        assert_eq!(problems.iter().map(|p| p.code).collect::<Vec<_>>(), ["SM4008"], "{amount}");
        assert_eq!((problems[0].span.line, problems[0].span.column), (7, 26), "{amount}");
    }
    let quoted = sound(&step("\"9007199254740993\""));
    let text =
        quoted.document.at(&["steps", "0", "with", "text"]).and_then(|t| t.as_str().map(str::to_owned));
    assert_eq!(text.as_deref(), Some("9007199254740993"));
}

#[test]
fn ten_thousand_steps_get_one_clear_refusal() {
    let steps: String = (0..10_000).map(|i| format!("  - step: s{i}\n    sleep: 1q\n")).collect();
    let text = format!("semel: 1\nname: t\nbad: 1\nsteps:\n{steps}");
    assert_snapshot!(refused(&text));
    let fits: String = (0..512).map(|i| format!("  - step: s{i}\n    sleep: 1s\n")).collect();
    assert_eq!(sound(&format!("semel: 1\nname: t\nsteps:\n{fits}")).kernel.steps.len(), 512);
    let one_more = format!("semel: 1\nname: t\nsteps:\n{fits}  - step: s512\n    sleep: 1s\n");
    assert!(read(&one_more).is_err());
}

#[test]
fn more_than_a_mebibyte_is_refused_by_its_size() {
    let text = format!("semel: 1\nname: t\n# {}\nsteps: [{{ step: a, sleep: 1s }}]\n", "x".repeat(1 << 20));
    assert_snapshot!(refused(&text));
}

#[test]
fn anchors_aliases_tags_merges_and_further_documents_are_refused() {
    assert_snapshot!(refused(
        "semel: 1\nname: &n t\ninputs:\n  a: { type: !!str string }\n  b: *n\n  c: *missing\n"
    ));
    assert_snapshot!(refused("semel: 1\nname: t\n<<: { pins: {} }\nsteps: [{ step: a, sleep: 1s }]\n"));
    assert_snapshot!(refused("semel: 1\nname: t\nsteps: [{ step: a, sleep: 1s }]\n---\nsemel: 1\n"));
}

#[test]
fn one_key_twice_is_an_error_with_both_places() {
    assert_snapshot!(refused("semel: 1\nname: t\nsteps: [{ step: a, sleep: 1s, sleep: 2s }]\nname: u\n"));
}

#[test]
fn circles_are_told_once_each() {
    assert_snapshot!(with_steps(
        "  - { step: a, sleep: 1s, needs: [c] }\n  - { step: b, sleep: 1s, needs: [a] }\n  - { step: c, sleep: 1s, needs: [b] }\n  - { step: d, sleep: 1s, needs: [d] }\n  - { step: e, act: mail, needs: [c], with: { to: x } }\n"
    ));
}

#[test]
fn expressions_read_only_what_is_settled_before() {
    assert_snapshot!(with_steps(
        r#"  - { step: a, sleep: 1s, needs: [] }
  - { step: b, sleep: 1s, needs: [] }
  - step: c
    act: mail
    needs: [a]
    if: "${{ steps.b.output.x }}"
    with:
      to: "${{ steps.a.outptu }}"
      text: |
        first line
        ${{ steps.c.output }} and ${{ input.x }}
      more: "${{ steps.a.items }} ${{ task.nam }} ${{ p.id }} ${{ size(steps) }}"
"#
    ));
}

#[test]
fn bad_expressions_are_told_with_their_place_in_the_file() {
    assert_snapshot!(with_steps(
        "  - step: a\n    act: mail\n    if: \"${{ 1 + }}\"\n    with: { to: \"x ${{ nope(1) }}\", text: \"${{ open\" }\n"
    ));
}

#[test]
fn words_of_later_versions_and_idle_steps_are_told() {
    assert_snapshot!(with_steps(
        "  - { step: a, decide: x }\n  - { step: b, approve: x }\n  - { step: c, wait: x }\n  - { step: d }\n  - { step: e, act: mail, sleep: 1s, with: { to: x } }\n  - { step: f, sleep: 1s, with: {}, intent: 2 }\n"
    ));
}

#[test]
fn an_each_needs_a_key_that_names_its_items() {
    assert_snapshot!(with_steps(
        r#"  - { step: a, act: mail, each: { in: [1, 2] }, with: { to: "${{ item }}" } }
  - { step: b, act: mail, each: { in: [1, 2], key: same }, with: { to: x } }
  - { step: c, act: mail, each: { in: [1], as: steps, key: "${{ steps }}" }, with: { to: x } }
  - { step: d, act: mail, each: { in: "${{ [now] }}", as: p, key: "${{ p }}", max: 1001 }, with: { to: x } }
  - { step: e, act: mail, each: { in: text, as: p, key: "${{ p }}", parallel: 0 }, with: { to: x } }
  - { step: f, act: mail, each: { in: "${{ [p] }}", as: p, key: "${{ p }}" }, with: { to: x } }
"#
    ));
}

#[test]
fn arguments_are_compared_with_the_contract() {
    let text = "semel: 1\nname: t\ntools: { pay: { from: contracts/pay.yaml } }\nsteps:\n  - step: a\n    act: pay\n    with: { amout: 1 }\n";
    assert_snapshot!(refused(text));
}

#[test]
fn contracts_that_are_missing_or_of_another_name_are_told() {
    let text = "semel: 1\nname: t\ntools:\n  pay: { from: contracts/pya.yaml }\n  post: { from: contracts/mail.yaml }\n  x: { from: . }\n  Y: {}\nsteps:\n  - { step: a, act: pay }\n";
    assert_snapshot!(refused(text));
}

#[test]
fn names_and_inputs_are_checked() {
    let text = "semel: 2\nname: Big Name\ninputs:\n  in: { type: string }\n  a: { type: strng }\n  b: { type: integer, default: x, enum: [1, two] }\nlimits: { attempts: 0, deadline: soon }\nsteps:\n  - { step: 'a[b]', sleep: 1s }\n  - { sleep: 1s }\n  - 5\n";
    assert_snapshot!(refused(text));
}

#[test]
fn what_is_no_plan_at_all_is_told() {
    for (name, text) in [
        ("empty", ""),
        ("comment", "# nothing\n"),
        ("text", "hello"),
        ("list", "- 1\n- 2\n"),
        ("broken", "semel: 1\nname: [a\nsteps:\n"),
        ("tab", "semel: 1\n\tname: x\n"),
        ("nul", "semel: 1\nname: t\0x\n"),
        ("list_as_key", "semel: 1\n? [a]\n: 1\n"),
    ] {
        assert_snapshot!(format!("no_plan_{name}"), refused(text));
    }
    let deep = format!("semel: 1\nname: t\npins: {}{}\n", "[".repeat(80), "]".repeat(80));
    assert_snapshot!(refused(&deep));
}

#[test]
fn a_tool_that_nobody_calls_is_a_warning() {
    let plan = sound(&format!("{HEAD}steps: [{{ step: a, sleep: 1s }}]\n"));
    assert!(plan.warnings.iter().any(|p| p.code == "SM4118"), "{}", show(&plan.warnings));
}

#[test]
fn given_inputs_are_checked_all_at_once() {
    let plan = fixture("onboard.yaml").expect("it is sound");
    let given = r#"{"ordr": "x", "amount": 1.5, "plan": "huge", "people": []}"#;
    let problems = plan.inputs(&crate::plan_support::json(given)).expect_err("they do not fit");
    assert_snapshot!(show(&problems));
    let filled = plan.inputs(&crate::plan_support::json(r#"{"order": "o1"}"#)).expect("they fit");
    assert_eq!(filled.canonical(), r#"{"amount":100,"order":"o1","people":[],"plan":"basic"}"#);
}

/// Each of these has made some reader of YAML or of expressions very slow, or overflow its stack.
#[test]
fn hostile_files_of_a_mebibyte_are_refused() {
    let fill = |piece: &str, rest: &str| {
        let close = if rest.ends_with('[') { "]\n" } else { "" };
        let head = format!("{HEAD}steps:\n  - step: a\n    sleep: 1s\n    {rest}");
        let many = ((1 << 20) - head.len() - 2) / piece.len();
        format!("{head}{}{close}", piece.repeat(many))
    };
    for (piece, rest) in [
        ("[", "x: "),
        ("{a: ", "x: "),
        ("- ", "x:\n      "),
        ("? ", "x:\n      "),
        ("&a ", "x: "),
        ("*a, ", "x: ["),
        ("!a b, ", "x: ["),
        ("a, ", "needs: ["),
        ("\\n", "x: \""),
        ("a: 1\n    ", ""),
        ("(", "if: "),
        ("${{ (", "if: "),
        ("a ", "b"),
        ("#", "x: "),
    ] {
        let problems = read(&fill(piece, rest)).expect_err(piece);
        assert!(problems.len() <= 1_000, "{piece}");
    }
}

#[test]
fn a_contract_in_place_of_a_plan_is_told_as_such() {
    for text in ["tool: t\nefect: none\n", "effect: none\nhttp: { method: GET, url: http://x }\n"] {
        let problems = read(text).expect_err(text);
        assert_eq!(problems.iter().map(|p| p.code).collect::<Vec<_>>(), ["SM4125"], "{text}");
        assert!(problems[0].hint.contains("semel tool lint plan.yaml"), "{}", problems[0].hint);
    }
    let codes = read("semel: 1\ntool: t\n").expect_err("a plan").into_iter().map(|p| p.code);
    assert!(!codes.into_iter().any(|code| code == "SM4125"));
}

#[test]
fn an_argument_that_is_never_sent_is_told() {
    let http = "method: POST, url: \"http://x/${{ args.at }}\", headers: { h: \"${{ args.head }}\" }";
    let plan = |contract: &str, with: &str| {
        sound(&format!(
            "semel: 1\nname: t\ntools:\n  t:\n    effect: blind\n    key: [id]\n    cosmetic: [why]\n    {contract}\nsteps:\n  - step: a\n    act: t\n    with: {with}\n"
        ))
    };
    let told = |contract: &str, with: &str| {
        let found = plan(contract, with).warnings.into_iter().filter(|p| p.code == "SM4124");
        found.map(|p| p.path).collect::<Vec<_>>()
    };
    let all = "{ id: x, at: a, head: b, deep: { n: 1 }, judged: c, why: d, forgotten: 1 }";
    let send = format!(
        "http: {{ {http}, send: {{ n: \"${{{{ args.deep.n }}}}\" }} }}\n    success: body.c == args.judged"
    );
    assert_eq!(told(&send, all), ["steps[0].with.forgotten"]);
    let everything = format!("http: {{ {http} }}");
    assert_eq!(told(&everything, all), Vec::<String>::new(), "without `send`, all arguments are sent");
    let whole = format!("http: {{ {http}, send: \"${{{{ args }}}}\" }}");
    assert_eq!(told(&whole, all), Vec::<String>::new());
    assert_eq!(told("http: { method: GET, url: http://x }", "{ id: x, at: a }"), ["steps[0].with.at"]);
}

#[test]
fn a_hint_names_each_key_once() {
    let problems =
        read(&format!("{HEAD}steps:\n  - step: a\n    act: mail\n    zzzzzzzz: 1\n")).expect_err("refused");
    let hint = &problems.iter().find(|p| p.code == "SM4010").expect("it is told").hint;
    let keys: Vec<&str> = hint.trim_start_matches("use one of: ").split(", ").collect();
    let once: std::collections::BTreeSet<&&str> = keys.iter().collect();
    assert_eq!(once.len(), keys.len(), "{hint}");
}
