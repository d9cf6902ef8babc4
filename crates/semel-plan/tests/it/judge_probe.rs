//! What a look-up shows, and that nothing decays into *absent*.

use crate::contract_support::{Caller, answer, answered, contract, json, lost, not_sent, seen};
use semel_kernel::{
    json::Json,
    outcome::{Finding, Look, RefusalKind, Stored, UnknownCause},
};
use semel_plan::contract::Contract;
use semel_ports::connector::{Report, Transport};

fn probed(rules: &str) -> Contract {
    contract(&format!(
        "tool: pay\neffect: queryable\nkey: [order]\nhttp: {{ method: POST, url: https://pay.example/v1 }}\nprobe:\n  http: {{ method: GET, url: \"https://pay.example/v1?ref=${{{{ key }}}}\" }}\n  settle: 10s\n{rules}"
    ))
}

const RULES: &str = "  many: status == 200 && size(body.items) > 1
  applied: status == 200 && body.items.exists(i, i.ref == key && i.state != 'processing')
  pending: status == 200 && body.items.exists(i, i.ref == key)
  absent: status == 404 || (status == 200 && size(body.items) == 0)
  result: body.items[0].id
";

fn short(finding: &Finding) -> String {
    match finding {
        Finding::Applied { result: Stored::Inline(result) } => format!("applied {}", result.canonical()),
        Finding::Applied { result: Stored::Artifact(_) } => "applied artifact".to_owned(),
        Finding::Absent => "absent".to_owned(),
        Finding::Pending => "pending".to_owned(),
        Finding::Many { cause } => format!("many [{cause}]"),
        Finding::Unclear { cause } => format!("unclear [{cause}]"),
    }
}

fn find(contract: &Contract, report: &Report) -> (String, bool, Json) {
    let args = json(r#"{"order":"o1"}"#);
    let (finding, look, shown) = contract.requirement(report, &seen(&args));
    assert_eq!(contract.finding(report, &seen(&args)), (finding.clone(), shown.clone()));
    (short(&finding), look.holds, shown)
}

#[track_caller]
fn check(rules: &str, report: &Report, expected: &str) {
    assert_eq!(find(&probed(rules), report).0, expected);
}

#[test]
fn findings() {
    for (status, body, expected) in [
        (200, r#"{"items":[{"ref":"k1","state":"paid","id":"c1"}]}"#, r#"applied "c1""#),
        (200, r#"{"items":[{"ref":"k1","state":"processing"}]}"#, "pending"),
        (200, r#"{"items":[{"ref":"k1"},{"ref":"k1"}]}"#, "many [found more than once (HTTP 200)]"),
        (200, r#"{"items":[]}"#, "absent"),
        (404, "{}", "absent"),
        (
            200,
            r#"{"items":[{"ref":"k2","state":"paid"}]}"#,
            "unclear [no rule of the probe holds (HTTP 200)]",
        ),
        (200, "{}", "unclear [`many` cannot be evaluated: there is no field `items`]"),
        (200, r#"{"items":[{}]}"#, "unclear [`applied` cannot be evaluated: there is no field `state`]"),
        (500, r#"{"items":[]}"#, "unclear [no rule of the probe holds (HTTP 500)]"),
    ] {
        check(RULES, &answer(status, body), expected);
    }
}

#[test]
fn no_answer_is_unclear() {
    check(RULES, &lost(UnknownCause::Timeout), "unclear [no answer came within the time-out: reset]");
    check(RULES, &not_sent(), "unclear [the look-up was not sent: refused]");
}

/// *Absent* leads to sending again; a look-up that failed must not say it, whatever the contract says.
#[test]
fn a_failed_or_cut_look_up_is_never_absent() {
    let careless = "  applied: status == 200 && has(body.id)\n  absent: \"!has(body.id)\"\n";
    for status in [301, 302, 401, 403, 408, 429, 500, 502, 503, 504] {
        check(
            careless,
            &answer(status, "{}"),
            &format!("unclear [the look-up itself failed (HTTP {status})]"),
        );
    }
    check(careless, &answer(200, "{}"), "absent");
    check(careless, &answer(404, "{}"), "absent");
    let mut cut = answer(200, "{}");
    if let Transport::Answered(answer) = &mut cut.transport {
        answer.truncated = true;
    }
    check(careless, &cut, "unclear [the answer was cut, so absence is not proven (HTTP 200)]");
}

#[test]
fn requirements() {
    let with = |rule: &str| {
        contract(&format!(
            "tool: pay\neffect: queryable\nrequire: {rule}\nhttp: {{ method: POST, url: https://pay.example/v1 }}\nprobe:\n  http: {{ method: GET, url: https://pay.example/v1 }}\n  settle: 10s\n  applied: status == 200 && body.state == 'done'\n  absent: status == 200 && body.state == 'open'\n"
        ))
    };
    let open = with("body.state == 'open'");
    assert!(open.terms.require);
    let (finding, holds, _) = find(&open, &answer(200, r#"{"state":"open"}"#));
    assert_eq!((finding.as_str(), holds), ("absent", true));
    let (finding, holds, _) = find(&open, &answer(200, r#"{"state":"done"}"#));
    assert_eq!((finding.as_str(), holds), (r#"applied {"state":"done"}"#, false));
    assert!(!find(&open, &answer(200, "{}")).1, "an error is not *holds*");
    assert!(!find(&open, &lost(UnknownCause::Timeout)).1, "no answer is not *holds*");
    assert!(find(&probed(RULES), &lost(UnknownCause::Timeout)).1, "no requirement, nothing to hold");
}

#[test]
fn the_question_carries_what_the_probe_says() {
    let args = json(r#"{"order":"o1"}"#);
    let request = probed(RULES).question(&seen(&args)).unwrap();
    assert_eq!(
        (request.method.as_str(), request.url.shown().as_str()),
        ("GET", "https://pay.example/v1?ref={key}")
    );
    assert_eq!(request.body, None);
    let names: Vec<&str> = request.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["accept", "user-agent"]);
    let blind = contract("tool: pay\nhttp: { method: POST, url: https://pay.example/v1 }");
    assert_eq!(blind.question(&seen(&args)).unwrap_err().code, "SM4406");
}

fn gated(gate: &str) -> Contract {
    contract(&format!(
        "tool: pay\neffect: queryable\n{gate}\nhttp: {{ method: POST, url: https://pay.example/v1 }}\nprobe:\n  http: {{ method: GET, url: https://pay.example/v1 }}\n  settle: 10s\n  applied: status == 200 && body.state == 'done'\n  absent: status == 200 && body.state == 'open'\n"
    ))
}

fn look(contract: &Contract, report: &Report) -> Look {
    contract.requirement(report, &seen(&json(r#"{"order":"o1"}"#))).1
}

/// The order is fixed: the document is read back with its keys in another one.
#[test]
fn a_refusal_is_named_by_the_first_condition_that_holds() {
    let gate = "require:\n  illegal: body.state == 'gone'\n  changed: body.by != 'us'\n  stale: body.version != 1\n  duplicate: body.state == 'done'\n  holds: status == 200";
    let written = gated(gate);
    let back = Contract::from_document(&written.document).unwrap();
    for (status, body, expected) in [
        (200, r#"{"state":"open","by":"us","version":1}"#, None),
        (200, r#"{"state":"done","by":"x","version":2}"#, Some(RefusalKind::Duplicate)),
        (200, r#"{"state":"open","by":"x","version":2}"#, Some(RefusalKind::Stale)),
        (200, r#"{"state":"gone","by":"x","version":1}"#, Some(RefusalKind::Changed)),
        (200, r#"{"state":"gone","by":"us","version":1}"#, Some(RefusalKind::Illegal)),
        (201, r#"{"state":"open","by":"us","version":1}"#, Some(RefusalKind::Illegal)),
        // What cannot be evaluated neither names a refusal nor lets the act through.
        (200, r#"{"by":"us","version":1}"#, Some(RefusalKind::Illegal)),
        (200, r#"{"by":"us","version":2}"#, Some(RefusalKind::Stale)),
    ] {
        for contract in [&written, &back] {
            let said = look(contract, &answer(status, body));
            assert_eq!((said.holds, said.refusal), (expected.is_none(), expected), "{status} {body}");
        }
    }
    let one = look(&gated("require: status == 200"), &answer(404, "{}"));
    assert_eq!((one.holds, one.refusal), (false, Some(RefusalKind::Illegal)));
}

#[test]
fn without_holds_everything_holds_that_is_not_refused() {
    let contract = gated("require: { duplicate: body.state == 'done' }");
    assert_eq!(look(&contract, &answer(200, r#"{"state":"open"}"#)), Look::answered(true));
    assert!(!look(&contract, &answer(200, r#"{"state":"done"}"#)).holds);
}

/// A target in trouble says nothing about its state: it is asked again, and nothing is called illegal.
#[test]
fn a_target_in_trouble_refuses_nothing() {
    for status in [408, 429, 500, 503] {
        let said = look(&gated("require: status == 200"), &answer(status, "{}"));
        assert_eq!(said, Look::default(), "{status}");
        assert_eq!(look(&gated("if_match: true"), &answer(status, "{}")), Look::default(), "{status}");
    }
    assert_eq!(look(&gated("if_match: true"), &lost(UnknownCause::Timeout)), Look::default());
}

#[test]
fn the_version_comes_from_the_header_or_from_a_rule_and_stands_in_the_request() {
    let tagged = answered(200, &[("ETag", "\"7\"")], r#"{"state":"open","version":7}"#);
    let args = json("{}");
    for (gate, expected) in [
        ("if_match: true", Some("\"7\"")),
        ("if_match: headers.etag", Some("\"7\"")),
        ("if_match: \"'v' + string(body.version)\"", Some("v7")),
        ("if_match: body.version", None),
        ("if_match: body.none", None),
        ("if_match: false", None),
    ] {
        let contract = gated(gate);
        let said = look(&contract, &tagged);
        assert_eq!((said.holds, said.tag.as_deref()), (true, expected), "{gate}");
        let request = contract.request(&Caller::new().call(&args), "k", said.tag.as_deref());
        match (gate, request) {
            ("if_match: false", Ok(request)) => assert!(request.headers.iter().all(|(n, _)| n != "if-match")),
            (_, Ok(request)) => {
                let sent = request.headers.iter().find(|(name, _)| name == "if-match").unwrap();
                assert_eq!(Some(sent.1.shown().as_str()), expected);
            }
            (_, Err(refusal)) => {
                assert_eq!((refusal.code, expected), ("SM4407", None), "{gate}");
            }
        }
    }
}

#[test]
fn a_second_source_is_asked_and_judged_by_its_own_rules() {
    let rules = format!(
        "{RULES}  confirm:\n    http: {{ method: GET, url: \"https://ledger.example/v1/${{{{ key }}}}\" }}\n    applied: status == 200\n    absent: status == 404\n    on: both\n"
    );
    let contract = probed(&rules);
    let args = json(r#"{"order":"o1"}"#);
    let request = contract.confirming_question(&seen(&args)).unwrap();
    assert_eq!(request.url.shown(), "https://ledger.example/v1/{key}");
    for (report, expected) in [
        (answer(200, "{}"), "applied {}"),
        (answer(404, "{}"), "absent"),
        (answer(503, "{}"), "unclear [no rule of the probe holds (HTTP 503)]"),
        (lost(UnknownCause::Timeout), "unclear [no answer came within the time-out: reset]"),
    ] {
        assert_eq!(short(&contract.confirming_finding(&report, &seen(&args)).0), expected);
    }
    assert_eq!(probed(RULES).confirming_question(&seen(&args)).unwrap_err().code, "SM4406");
}
