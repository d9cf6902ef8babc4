//! A target that repeats the secret of the call: it is in no outcome, no finding and nothing that is shown.

use crate::contract_support::{answer, answered, contract, json, keyed, lost, not_sent, seen};
use semel_kernel::{
    json::Json,
    outcome::{Outcome, Stored, UnknownCause},
};
use semel_plan::contract::Contract;
use semel_ports::{
    connector::{Report, Transport, Witnessed},
    outside::Secret,
};

const KEY: &str = "correct/horse=battery";
const ENCODED: &str = "Y29ycmVjdC9ob3JzZT1iYXR0ZXJ5";

fn with_secret(report: Report) -> Report {
    Report { secrets: Witnessed::new(vec![Secret::new(KEY.to_owned())]), ..report }
}

/// All that leaves the judgement of an attempt and of a look-up, after a check that no part of the secret is in it.
#[track_caller]
fn judged(contract: &Contract, report: Report) -> (Outcome, String) {
    let args = json(r#"{"order":"o1"}"#);
    let report = with_secret(report);
    let (outcome, shown) = contract.outcome(&report, &seen(&args));
    let (finding, look, asked) = contract.requirement(&report, &seen(&args));
    let all = format!("{outcome:?} {} {finding:?} {look:?} {}", shown.canonical(), asked.canonical());
    for part in ["correct", "horse", "Y29ycmVj", "battery"] {
        assert!(!all.to_lowercase().contains(&part.to_lowercase()), "{part} in {all}");
    }
    (outcome, all)
}

fn queryable(rules: &str) -> Contract {
    contract(&format!(
        "tool: pay\neffect: queryable\nkey: [order]\nhttp: {{ method: POST, url: https://pay.example/v1 }}\nprobe:\n  http: {{ method: GET, url: https://pay.example/v1 }}\n  settle: 10s\n{rules}"
    ))
}

#[test]
fn causes_and_what_is_shown() {
    let said = format!(r#"{{"error":{{"message":"bad key {KEY}"}},"{KEY}":"{ENCODED}"}}"#);
    let (outcome, all) = judged(&keyed(""), answer(400, &said));
    let cause = "refused (HTTP 400): bad key ***".to_owned();
    assert_eq!(
        outcome,
        Outcome::NotApplied { retryable: false, sent: true, cause, retry_after_ms: None, refusal: None }
    );
    assert!(all.contains(r#""message":"bad key ***""#), "{all}");
    for rule in ["key_reused: status == 400", "key_in_use: status == 400", "pending: status == 400"] {
        judged(&keyed(rule), answer(400, &said));
    }
    judged(&keyed(""), answered(401, &[], &format!("no such key: correct%2Fhorse%3Dbattery or {ENCODED}")));
}

#[test]
fn results_and_handles() {
    let body = format!(r#"{{"id":"c1","used":["{KEY}","Basic {ENCODED}"],"{KEY}":1}}"#);
    let (outcome, _) = judged(&keyed(""), answer(200, &body));
    let result = Stored::Inline(json(r#"{"id":"c1","used":["***","Basic ***"],"***":1}"#));
    assert_eq!(outcome, Outcome::Applied { result, replayed: false, truncated: false });
    judged(&keyed("result: body.used"), answer(200, &body));
    judged(&keyed("result: headers['x-key']"), answered(200, &[("x-key", KEY)], "{}"));
    let (outcome, _) = judged(&keyed("handle: body.used[0]"), answer(202, &body));
    assert!(
        matches!(&outcome, Outcome::Pending { handle, .. } if *handle == Json::str("***")),
        "{outcome:?}"
    );
}

/// Rules read the answer as it came.
#[test]
fn a_rule_still_sees_it() {
    let rule = format!("success: body.used == '{KEY}'\nresult: size(body.used)");
    let (outcome, _) = judged(&keyed(&rule), answer(200, &format!(r#"{{"used":"{KEY}"}}"#)));
    let result = Stored::Inline(Json::from(21));
    assert_eq!(outcome, Outcome::Applied { result, replayed: false, truncated: false });
}

#[test]
fn headers_and_redirects() {
    let place = "https://h.example/cb?next=%2Fx%3Fk%3Dcorrect%252Fhorse%253Dbattery";
    for place in [place, "https://h.example/correct%2Fhorse=battery", KEY] {
        let headers = [("Location", place), ("X-Request-Id", KEY), ("Retry-After", ENCODED)];
        let (_, all) = judged(&keyed(""), answered(302, &headers, ""));
        assert!(all.contains(r#""location""#) && all.contains("***"), "{all}");
    }
}

#[test]
fn notes_of_rules() {
    let rule = "success: body.map[headers['x-key']]";
    judged(&keyed(rule), answered(200, &[("x-key", KEY)], r#"{"map":{"a":1}}"#));
}

#[test]
fn look_ups() {
    let body = format!(r#"{{"items":["{KEY}"],"message":"for {KEY}"}}"#);
    let rules = [
        "  applied: size(body.items) == 1\n",
        "  applied: size(body.items) == 1\n  result: body.items[0]\n",
        "  applied: size(body.items) == 2\n  many: size(body.items) == 1\n",
        "  applied: size(body.items) == 2\n",
        "  applied: body.nope[body.items[0]]\n",
    ];
    for rules in rules {
        judged(&queryable(rules), answer(200, &body));
    }
}

#[test]
fn what_is_no_answer() {
    let contract = queryable("  applied: status == 200\n");
    for report in [not_sent(), lost(UnknownCause::Garbled)] {
        let mut report = report;
        match &mut report.transport {
            Transport::NotSent { cause: text } | Transport::Lost { detail: text, .. } => {
                *text = format!("read `{KEY}`")
            }
            Transport::Answered(_) => unreachable!("neither is an answer"),
        }
        judged(&contract, Report { bytes_out: 1, ..report.clone() });
        judged(&contract, report);
    }
}

/// A secret that our own cutting, or the response limit, would tear apart leaves no half behind.
#[test]
fn cuts() {
    for before in 100..540 {
        let words = format!("{} {KEY} {KEY}", "x".repeat(before));
        judged(&keyed(""), answered(400, &[("X-Request-Id", &words)], &words));
    }
    for kept in 4..KEY.len() {
        let mut report =
            answered(200, &[("content-type", "text/plain")], &format!("it was {}", &KEY[..kept]));
        if let Transport::Answered(answer) = &mut report.transport {
            answer.truncated = true;
        }
        judged(&keyed("success: status == 200"), report);
    }
}
