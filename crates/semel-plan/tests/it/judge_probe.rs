//! What a look-up shows, and that nothing decays into *absent*.

use crate::contract_support::{answer, contract, json, lost, not_sent, seen};
use semel_kernel::{
    json::Json,
    outcome::{Finding, Stored, UnknownCause},
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
    let (finding, holds, shown) = contract.requirement(report, &seen(&args));
    assert_eq!(contract.finding(report, &seen(&args)), (finding.clone(), shown.clone()));
    (short(&finding), holds, shown)
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
