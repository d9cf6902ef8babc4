//! Reading contracts: terms and defaults, all errors at once with their places, and the linter.

use crate::contract_support::{contract, read, tell};
use semel_kernel::{
    hash::Hash,
    outcome::Finding,
    terms::{CostTerms, Effect, Guarantee, Offline, OnUnknown, Scope},
};
use semel_plan::{
    contract::Contract,
    problem::{Problems, Severity},
};

const HTTP: &str = "http: { method: POST, url: https://pay.example/v1 }\n";
const PROBE: &str = "probe:\n  http: { method: GET, url: https://pay.example/v1 }\n  applied: status == 200\n  absent: status == 404\n";

/// `CODE line:column path` of each error.
fn errors(text: &str) -> Vec<String> {
    let problems = read(text).expect_err("it is refused");
    problems.iter().map(|p| format!("{} {}:{} {}", p.code, p.span.line, p.span.column, p.path)).collect()
}

fn warnings(text: &str) -> Vec<&'static str> {
    let mut problems = Problems::new();
    contract(text).lint(&mut problems);
    assert!(!problems.has_errors());
    problems.into_vec().iter().map(|p| p.code).collect()
}

#[test]
fn everything_has_the_defaults_of_the_design() {
    let read = contract(&format!("tool: pay\n{HTTP}"));
    let terms = &read.terms;
    assert_eq!(
        (terms.effect, terms.on_unknown, terms.offline, terms.scope),
        (Effect::Blind, OnUnknown::Review, Offline::Fail, Scope::Task)
    );
    assert_eq!((terms.timeout_ms, terms.send_within_ms, terms.clock_error_ms), (30_000, 5_000, 2_000));
    assert_eq!(
        (terms.retry.max, terms.retry.wait_ms, terms.retry.cap_ms, terms.retry.jitter),
        (5, 1_000, 60_000, true)
    );
    assert_eq!(terms.contract, Hash::of(read.document.canonical().as_bytes()));
    assert!(!terms.irreversible && !terms.refusals_stick && !terms.dedupe_atomic && terms.probe.is_none());
}

#[test]
fn everything_can_be_said() {
    let text = format!(
        "tool: pay\neffect: keyed\nkey: order\nkey_window: 24h\nrefusals_stick: true\ndedupe: atomic\nundo: none\nscope: tenant\nwithin: 7d\non_unknown: review\noffline: wait(1h)\ntimeout: 10s\nsend_within: 2s\nretry: {{ max: 3, wait: 2s, cap: 1s, jitter: none }}\nlimits: {{ attempts: 2, probes: 4 }}\naccount: main\n{HTTP}{PROBE}  settle: 5s\n  poll: 1s\n  poll_cap: 30s\n  for: 5m\n  max: 9\nrequire: status == 200\n"
    );
    let terms = contract(&text).terms;
    let probe = terms.probe.clone().unwrap();
    assert_eq!(
        (probe.settle_ms, probe.poll_ms, probe.poll_cap_ms, probe.for_ms, probe.max),
        (5_000, 1_000, 30_000, 300_000, 4)
    );
    assert_eq!(
        (terms.retry.max, terms.retry.wait_ms, terms.retry.cap_ms, terms.retry.jitter),
        (2, 2_000, 2_000, false)
    );
    assert_eq!(
        (terms.scope, terms.offline),
        (Scope::Tenant { within_ms: 604_800_000 }, Offline::Wait(3_600_000))
    );
    assert!(terms.irreversible && terms.refusals_stick && terms.dedupe_atomic && terms.require);
    assert_eq!(terms.guarantee(), Guarantee::KeyedProbed);
    for (said, meant) in [
        ("fail", Offline::Fail),
        ("review", Offline::Review),
        ("wait", Offline::Wait(1_800_000)),
        ("{ wait: 5m }", Offline::Wait(300_000)),
    ] {
        assert_eq!(contract(&format!("tool: t\noffline: {said}\n{HTTP}")).terms.offline, meant);
    }
}

#[test]
fn order_and_comments_do_not_change_the_hash_and_the_document_reads_back() {
    let a = contract(&format!("tool: pay\n# why\neffect: keyed\nkey_window: 24h\n{HTTP}"));
    let b = contract(&format!("{HTTP}key_window: \"24h\"\neffect: keyed\ntool: pay\n"));
    assert_eq!(a.terms.contract, b.terms.contract);
    let back = Contract::from_document(&a.document).unwrap();
    assert_eq!((back.terms, back.document), (a.terms.clone(), a.document.clone()));
    assert_ne!(
        a.terms.contract,
        contract(&format!("tool: pay\neffect: keyed\nkey_window: 25h\n{HTTP}")).terms.contract
    );
    let problems =
        Contract::from_document(&semel_kernel::json::Json::obj([("tool", "x".into())])).unwrap_err();
    assert_eq!(problems[0].span.line, 0);
}

#[test]
fn all_errors_are_told_at_once_with_their_places() {
    let text = "tool: Pay Tool
effect: keyd
key: [order, order]
key_window: 24
send_key_as: { header: \"a b\", query: x }
success: statu == 200
refusals:
  - { when: status == 402 }
  - { final: true }
http:
  method: SEND
  url: ftp://x
  headers: { Host: x }
  auth: { secret: sk_live_1, as: cookie }
  send: { a: [\"${{ args.a + }}\"], b: \"${{ inputs.b }}\" }
tries: 3
";
    assert_eq!(
        errors(text),
        [
            "SM4210 1:7 tool",
            "SM4203 2:9 effect",
            "SM4207 3:14 key",
            "SM4012 4:13 key_window",
            "SM4203 5:14 send_key_as",
            "SM4202 6:10 success",
            "SM4209 8:13 refusals[0].when",
            "SM4011 9:5 refusals[1]",
            "SM4205 11:11 http.method",
            "SM4205 12:8 http.url",
            "SM4205 13:12 http.headers",
            "SM4204 14:19 http.auth.secret",
            "SM4205 14:34 http.auth.as",
            "SM4201 15:28 http.send.a[0]",
            "SM4202 15:43 http.send.b",
            "SM4010 16:1 tries",
        ]
    );
    let told = tell(&read(text).unwrap_err());
    for hint in ["did you mean `keyed`?", "did you mean `status`?", "env:NAME"] {
        assert!(told.contains(hint), "{hint}\n{told}");
    }
}

#[test]
fn contradictions_are_errors() {
    for (more, expected) in [
        ("effect: keyed\n", vec!["SM4301"]),
        ("effect: queryable\n", vec!["SM4302"]),
        (&*format!("effect: queryable\n{PROBE}"), vec!["SM4302"]),
        (&*format!("effect: blind\n{PROBE}"), vec!["SM4305"]),
        (PROBE, vec!["SM4305"]),
        ("undo: none\non_unknown: accept_duplicate\n", vec!["SM4304"]),
        ("undo: none\non_unknown: accept_loss\n", vec!["SM4304"]),
        ("undo: none\non_unknown: compensate\n", vec!["SM4304"]),
        ("scope: tenant\n", vec!["SM4209"]),
        ("within: 7d\n", vec!["SM4203"]),
        ("require: status == 200\n", vec!["SM4209"]),
        ("input: { type: 7 }\n", vec!["SM4208"]),
        ("input: { $ref: \"https://x.example/s.json\" }\n", vec!["SM4208"]),
        ("success: \"${{ status == 200 }}\"\n", vec!["SM4201"]),
        ("timeout: 0s\n", vec!["SM4203"]),
        ("send_key_as: {}\n", vec!["SM4203"]),
        ("refusals: [{ when: status == 402, final: true, retryable: true }]\n", vec!["SM4209"]),
        ("cosmetic: [a]\nvolatile: [a]\n", vec!["SM4207"]),
    ] {
        let found = read(&format!("tool: t\n{more}{HTTP}")).expect_err(more);
        assert_eq!(found.iter().map(|p| p.code).collect::<Vec<_>>(), expected, "{more}{}", tell(&found));
        assert!(found.iter().all(|p| p.span.line > 0 && !p.hint.is_empty()));
    }
    let probe = "probe:\n  http: { method: DELETE, url: https://x.example/ }\n  settle: 1s\n  applied: status == 200\n";
    assert_eq!(errors(&format!("tool: t\neffect: queryable\n{probe}{HTTP}")), ["SM4205 4:9 probe.http"]);
    let many = (0..65).map(|i| format!("f{i}")).collect::<Vec<_>>().join(", ");
    assert_eq!(errors(&format!("tool: t\nkey: [{many}]\n{HTTP}")), ["SM4206 2:6 key"]);
}

/// The engine shares contracts between its threads.
#[test]
fn contracts_can_be_shared() {
    fn shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    shared(&contract(&format!("tool: t\n{HTTP}")));
}

#[test]
fn a_secret_never_stands_in_a_contract() {
    for http in [
        "url: https://x.example/, auth: { secret: sk_live_1 }",
        "url: https://x.example/, auth: { secret: \"env:\" }",
        "url: https://x.example/, headers: { Authorization: Bearer abc }",
        "url: https://x.example/, headers: { X-Api-Key: abc }",
        "url: https://x.example/, query: { access_token: abc }",
        "url: \"https://user:pass@x.example/\"",
    ] {
        let found = read(&format!("tool: t\nhttp: {{ method: GET, {http} }}\n")).expect_err(http);
        assert_eq!(found.iter().map(|p| p.code).collect::<Vec<_>>(), ["SM4204"], "{http}");
    }
}

#[test]
fn the_linter_says_what_will_happen() {
    let keyed = "tool: t\neffect: keyed\nkey_window: 24h\nsend_key_as: { header: Idempotency-Key }\n";
    let queryable = format!("tool: t\neffect: queryable\n{HTTP}{PROBE}  settle: 10s\n")
        .replace("applied: status == 200", "applied: status == 200 && body.ref == args.ref");
    for (text, expected) in [
        (format!("{keyed}{HTTP}"), vec![]),
        (queryable.clone(), vec![]),
        (format!("tool: t\n{HTTP}"), vec!["SM4309"]),
        (format!("tool: t\neffect: blind\nundo: none\n{HTTP}"), vec!["SM4303"]),
        (format!("{keyed}undo: none\n{HTTP}"), vec![]),
        (format!("{keyed}undo: {{ act: refund }}\n{HTTP}"), vec!["SM4311"]),
        (format!("{keyed}{HTTP}").replace("24h", "2m"), vec!["SM4306"]),
        (format!("{keyed}success: \"true\"\n{HTTP}"), vec!["SM4307"]),
        (format!("{keyed}success: status < 300\n{HTTP}"), vec![]),
        (format!("{keyed}success: status == 202\n{HTTP}"), vec!["SM4312"]),
        (format!("{keyed}success: status == 202\npending: \"false\"\n{HTTP}"), vec![]),
        (queryable.replace("  absent: status == 404\n", ""), vec!["SM4308"]),
        (queryable.replace("status == 404", "\"!has(body.id)\""), vec!["SM4310"]),
    ] {
        assert_eq!(warnings(&text), expected, "{text}");
    }
    for (text, expected) in [
        ("send_key_as: { header: Idempotency-Key }", vec![]),
        ("send_key_as: { query: key }", vec![]),
        ("offline: fail", vec!["SM4316"]),
    ] {
        let text = format!("tool: t\neffect: keyed\nkey_window: 24h\n{text}\n{HTTP}");
        assert_eq!(warnings(&text), expected, "{text}");
    }
    let in_body = "tool: t\neffect: keyed\nkey_window: 24h\nhttp: { method: POST, url: https://x.example/, send: { k: \"${{ key }}\" } }\n";
    assert_eq!(warnings(in_body), Vec::<&str>::new(), "the contract puts the key somewhere itself");
    let mut problems = Problems::new();
    contract(&format!("tool: t\n{HTTP}")).lint(&mut problems);
    assert!(problems.as_slice().iter().all(|p| p.severity == Severity::Warning && p.file == "pay.yaml"));
}

/// What the linter says of a look-up with this address and these rules.
fn asked(url: &str, rules: &str) -> Vec<&'static str> {
    let rules = rules.replace('\n', "\n  ");
    warnings(&format!(
        "tool: t\neffect: queryable\nkey: [ref]\n{HTTP}probe:\n  http: {{ method: GET, url: \"{url}\", query: {{ ref: \"${{{{ args.ref }}}}\" }} }}\n  settle: 10s\n  {rules}\n"
    ))
}

#[test]
fn a_look_up_that_may_find_what_is_not_ours_is_told() {
    let all = "https://x.example/orders";
    let one = "https://x.example/orders/${{ args.ref }}";
    let absent = "absent: status == 404";
    for (url, rules, expected) in [
        (all, "applied: status == 200 && body.total == 1", vec!["SM4313"]),
        (all, "applied: status == 200", vec!["SM4313"]),
        ("${{ args.desk + '/orders' }}", "applied: status == 200", vec!["SM4313"]),
        ("${{ args.desk + '/' + args.ref }}", "applied: status == 200", vec![]),
        (one, "applied: status == 200", vec![]),
        ("https://x.example/${{ key }}", "applied: status == 200", vec![]),
        (all, "applied: status == 200 && body.ref == args.ref", vec![]),
        (all, "applied: status == 200 && body.ref == key", vec![]),
        (all, "applied: status == 200 && body.ref == operation", vec![]),
        (all, "applied: status == 200 && body.id == handle.id", vec![]),
        (all, "applied: status == 200 && size(body) == 1", vec!["SM4313", "SM4314"]),
        (one, "applied: status == 200 && body.size() == 1", vec!["SM4314"]),
        (all, "applied: body.exists_one(o, o.ref == args.ref)", vec!["SM4314"]),
        (all, "applied: type(body) == list && body.exists_one(o, o.ref == args.ref)", vec![]),
        (all, "applied: body.items.exists(o, o.ref == args.ref)", vec![]),
        (one, "applied: status == 200\nmany: size(body) > 1", vec!["SM4314"]),
        (one, "applied: status == 200\nresult: body.filter(o, o.ref == args.ref)[0]", vec![]),
        (one, "applied: 'status == \"200\"'", vec!["SM4315"]),
    ] {
        assert_eq!(asked(url, &format!("{rules}\n{absent}")), expected, "{rules}");
    }
    assert_eq!(
        asked(one, "applied: status == 200\nabsent: status == 200 && !body.exists(o, o.ref == args.ref)"),
        ["SM4314"]
    );
}

#[test]
fn a_status_that_is_compared_with_a_text_is_told_with_its_place() {
    for (rule, path) in [
        ("success: 'status == \"200\"'", "success"),
        ("success: '\"200\" == status'", "success"),
        ("pending: 'status != \"202\"'", "pending"),
        ("refusals: [{ when: 'status >= \"400\"', final: true }]", "refusals[0].when"),
    ] {
        let mut problems = Problems::new();
        contract(&format!("tool: t\neffect: blind\n{HTTP}{rule}\n")).lint(&mut problems);
        let found: Vec<_> =
            problems.as_slice().iter().map(|p| (p.code, p.path.as_str(), p.span.line)).collect();
        assert_eq!(found, [("SM4315", path, 4)], "{rule}");
    }
    assert!(
        warnings(&format!("tool: t\neffect: blind\n{HTTP}success: 'body.status == \"ok\"'\n")).is_empty()
    );
}

#[test]
fn a_contract_tells_the_secrets_of_its_request_and_its_look_up() {
    let http = |secret: &str| {
        format!("http: {{ method: GET, url: https://x.example/, auth: {{ secret: {secret} }} }}")
    };
    let text = |ask: &str| {
        format!(
            "tool: t\neffect: queryable\n{}\nprobe:\n  {}\n  settle: 1s\n  applied: status == 200\n",
            http("env:A"),
            http(ask)
        )
    };
    assert_eq!(contract(&text("file:/b")).secrets(), ["env:A", "file:/b"]);
    assert_eq!(contract(&text("env:A")).secrets(), ["env:A"]);
    assert_eq!(contract(&format!("tool: t\n{HTTP}")).secrets(), Vec::<String>::new());
}

#[test]
fn what_the_look_before_a_send_needs_is_checked_with_its_places() {
    let text = format!(
        "tool: pay\neffect: queryable\n{PROBE}  settle: 1s\nrequire:\n  holds: statu == 200\n  stael: status == 409\nif_match: \"${{{{ headers.etag }}}}\"\nhttp: {{ method: POST, url: https://pay.example/v1 }}\n"
    );
    assert_eq!(
        errors(&text),
        ["SM4202 9:10 require.holds", "SM4010 10:3 require.stael", "SM4201 11:12 if_match"]
    );
    assert_eq!(
        errors(&format!("tool: pay\n{HTTP}require: {{ holds: status == 200 }}\nif_match: true\n")),
        ["SM4209 3:10 require", "SM4209 4:11 if_match"]
    );
    assert_eq!(
        errors(&format!("tool: pay\neffect: keyed\nkey_window: 1h\n{HTTP}{PROBE}require: {{}}\n")),
        ["SM4209 9:10 require"]
    );
    let twice = "http: { method: POST, url: https://pay.example/v1, headers: { If-Match: x } }\n";
    let text = format!("tool: pay\neffect: keyed\nkey_window: 1h\n{PROBE}if_match: true\n{twice}");
    assert_eq!(errors(&text), ["SM4203 8:11 if_match"]);
    assert!(contract(&format!("tool: pay\nif_match: false\n{HTTP}")).terms.probe.is_none());
}

#[test]
fn retry_on_lists_statuses_and_nothing_that_is_unknown() {
    let with = |on: &str| format!("tool: pay\n{HTTP}retry: {{ on: {on} }}\n");
    assert_eq!(
        errors(&with("[429, timeout, 99, not_sent, lost]")),
        ["SM4203 3:20 retry.on[1]", "SM4203 3:29 retry.on[2]", "SM4203 3:43 retry.on[4]"]
    );
    assert!(tell(&read(&with("[timeout]")).unwrap_err()).contains("proves nothing"));
    assert_eq!(errors(&with("429")), ["SM4009 3:14 retry.on"]);
    contract(&with("[not_sent]"));
}

/// A 5xx or a final refusal in the list promises a retry that never comes.
#[test]
fn retry_on_what_nothing_declares_effect_free_is_warned_of() {
    let with = |on: &str, refusals: &str| {
        let text = format!(
            "tool: t\neffect: keyed\nkey_window: 24h\nsend_key_as: {{ header: k }}\n{HTTP}retry: {{ on: {on} }}\nrefusals: {refusals}\n"
        );
        warnings(&text)
    };
    assert_eq!(with("[429, not_sent]", "[]"), Vec::<&str>::new());
    assert_eq!(with("[503, 400]", "[]"), ["SM4317", "SM4317"]);
    assert_eq!(with("[503]", "[{ when: status == 503, final: true }]"), ["SM4317"]);
    for declared in
        ["status == 503", "status == 503 && has(body.busy)", "status >= 500", "body.code == 'not_due'"]
    {
        assert_eq!(
            with("[503]", &format!("[{{ when: \"{declared}\", retryable: true }}]")),
            Vec::<&str>::new(),
            "{declared}"
        );
    }
}

#[test]
fn a_limit_of_cost_says_what_an_attempt_costs() {
    let with = |cost: &str| format!("tool: pay\n{HTTP}limits: {{ cost: {cost} }}\n");
    assert_eq!(errors(&with("{ max: 5 }")), ["SM4209 3:24 limits.cost.max"]);
    assert_eq!(errors(&with("{ max: 5, attempt: 6 }")), ["SM4203 3:36 limits.cost.attempt"]);
    assert_eq!(errors(&with("{ attempt: 6 }")), ["SM4011 3:17 limits.cost"]);
    assert_eq!(errors(&with("{ max: 5, answer: bod.cost }")), ["SM4202 3:35 limits.cost.answer"]);
    assert_eq!(errors(&with("{ max: 5, attempt: 1, most: 3 }")), ["SM4010 3:39 limits.cost.most"]);
    assert_eq!(errors(&with("7")), ["SM4009 3:17 limits.cost"]);
    let both = contract(&with("{ max: 5, attempt: 2, answer: body.cost }"));
    assert_eq!(both.terms.cost, Some(CostTerms { max: 5, attempt: 2 }));
    assert_eq!(Contract::from_document(&both.document).unwrap().terms, both.terms);
}

#[test]
fn a_confirming_probe_is_read_with_its_places() {
    let with = |confirm: &str| {
        format!(
            "tool: pay\neffect: keyed\nkey_window: 24h\nsend_key_as: {{ header: k }}\n{HTTP}{PROBE}  confirm:\n{confirm}"
        )
    };
    let get =
        "    http: { method: GET, url: https://ledger.example/v1 }\n    applied: body.id == args.order\n";
    assert_eq!(
        errors(&with("    on: never\n    applied: statu == 200\n    settle: 1s\n")),
        [
            "SM4011 11:5 probe.confirm",
            "SM4209 11:5 probe.confirm.absent",
            "SM4203 11:9 probe.confirm.on",
            "SM4202 12:14 probe.confirm.applied",
            "SM4010 13:5 probe.confirm.settle",
        ]
    );
    assert_eq!(errors(&with(get)), ["SM4209 11:5 probe.confirm.absent"]);
    let delete = get.replace("GET", "DELETE");
    assert_eq!(errors(&with(&format!("{delete}    on: applied\n"))), ["SM4205 11:11 probe.confirm.http"]);
    let read = contract(&with(&format!("{get}    absent: status == 404\n")));
    assert!(!read.is_confirmed(&Finding::Pending) && read.is_confirmed(&Finding::Absent));
    assert_eq!(read.secrets(), Vec::<String>::new());
    // The same question to the same source confirms nothing.
    let same = "    http: { method: GET, url: https://pay.example/v1 }\n    applied: body.id == args.order\n    absent: status == 404\n";
    assert!(warnings(&with(same)).contains(&"SM4318"));
    assert!(!warnings(&with(&format!("{get}    absent: status == 404\n"))).contains(&"SM4318"));
}

#[test]
fn an_account_is_a_label_or_a_reference_to_one() {
    let with = |account: &str| format!("tool: pay\n{HTTP}account: {account}\n");
    assert_eq!(errors(&with("\"env:\"")), ["SM4203 3:11 account"]);
    assert_eq!(errors(&with("\" \"")), ["SM4203 3:11 account"]);
    assert_eq!(contract(&with("main")).account_reference(), None);
    assert_eq!(contract(&with("env:PAY_ACCOUNT")).account_reference(), Some("env:PAY_ACCOUNT"));
}
