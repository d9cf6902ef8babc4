//! Every row of the failure window, and the order of the rules.

use crate::contract_support::{answer, answered, contract, json, keyed, lost, not_sent, seen};
use semel_kernel::{
    json::Json,
    outcome::{Outcome, Stored, UnknownCause},
};
use semel_plan::contract::Contract;
use semel_ports::connector::{Report, Transport};

/// An outcome in a few words: the cause in brackets.
fn short(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Applied { result: Stored::Inline(result), replayed, truncated } => {
            let marks = [(*replayed, " replayed"), (*truncated, " truncated")];
            let marks: String = marks.iter().filter(|(on, _)| *on).map(|(_, word)| *word).collect();
            format!("applied {}{marks}", result.canonical())
        }
        Outcome::Applied { result: Stored::Artifact(_), .. } => "applied artifact".to_owned(),
        Outcome::NotApplied { retryable, sent, cause, retry_after_ms, refusal } => {
            let kind = if *retryable { "retryable" } else { "final" };
            let after = retry_after_ms.map(|ms| format!(" after {ms}")).unwrap_or_default();
            let which = refusal.map(|refusal| format!(" {refusal:?}")).unwrap_or_default();
            format!("not applied {kind}{which} sent={sent}{after} [{cause}]")
        }
        Outcome::Pending { handle, cause } => format!("pending {} [{cause}]", handle.canonical()),
        Outcome::Unknown { cause } => format!("unknown {cause:?}"),
        Outcome::Contradiction { cause } => format!("contradiction [{cause}]"),
    }
}

fn judge(contract: &Contract, report: &Report) -> (String, Json) {
    let args = json(r#"{"order":"o1"}"#);
    let (outcome, shown) = contract.outcome(report, &seen(&args));
    (short(&outcome), shown)
}

#[track_caller]
fn check(more: &str, report: &Report, expected: &str) {
    assert_eq!(judge(&keyed(more), report).0, expected, "{more}");
}

#[test]
fn what_is_no_answer_proves_nothing_unless_nothing_left() {
    check("", &not_sent(), "not applied retryable sent=false [refused]");
    for cause in [UnknownCause::Timeout, UnknownCause::Lost, UnknownCause::Garbled, UnknownCause::Deadline] {
        check("", &lost(cause.clone()), &format!("unknown {cause:?}"));
    }
    // A connector that says *not sent* after bytes left contradicts itself; bytes win.
    let half = Report { bytes_out: 3, ..not_sent() };
    check("", &half, "unknown Lost");
}

#[test]
fn every_status_by_default() {
    for status in 100..=599 {
        let (said, _) = judge(&keyed(""), &answer(status, "{}"));
        let expected = match status {
            202 => format!("pending null [the target works on it (HTTP {status})]"),
            200..=299 => "applied {}".to_owned(),
            400 | 401 | 403 | 405 | 406 | 411 | 413 | 414 | 415 | 428 | 431 => {
                format!("not applied final sent=true [refused (HTTP {status})]")
            }
            429 => format!("not applied retryable sent=true [refused for now (HTTP {status})]"),
            _ => "unknown Undeclared".to_owned(),
        };
        assert_eq!(said, expected);
    }
}

#[test]
fn retry_after_is_read_in_seconds_and_bounded() {
    let with = |value: &str| answered(429, &[("Retry-After", value)], "");
    check("", &with("30"), "not applied retryable sent=true after 30000 [refused for now (HTTP 429)]");
    check("", &with("999999"), "not applied retryable sent=true after 3600000 [refused for now (HTTP 429)]");
    let longest = "not applied retryable sent=true after 3600000 [refused for now (HTTP 429)]";
    check("", &with("99999999999999999999"), longest);
    for ignored in ["Wed, 21 Oct 2026 07:28:00 GMT", "-5", "1.5", ""] {
        check("", &with(ignored), "not applied retryable sent=true [refused for now (HTTP 429)]");
    }
}

/// A date counts from the target's own clock; how far that is from ours does not matter.
#[test]
fn retry_after_as_a_date_counts_from_the_answers_own_date() {
    let noon = "Wed, 21 Oct 2015 12:00:00 GMT";
    let with = |due: &str, date: &str| answered(429, &[("Retry-After", due), ("Date", date)], "");
    let after = |ms: i64| format!("not applied retryable sent=true after {ms} [refused for now (HTTP 429)]");
    check("", &with("Wed, 21 Oct 2015 12:01:30 GMT", noon), &after(90_000));
    check("", &with("Wednesday, 21-Oct-15 12:01:30 GMT", noon), &after(90_000));
    check("", &with("Wed, 21 Oct 2015 11:00:00 GMT", noon), &after(0));
    check("", &with("Thu, 22 Oct 2015 12:00:00 GMT", noon), &after(3_600_000));
    for (due, date) in [(noon, "noon"), ("tomorrow", noon), ("Wed, 21 Oct 2015 12:00:00 CET", noon)] {
        check("", &with(due, date), "not applied retryable sent=true [refused for now (HTTP 429)]");
    }
}

#[test]
fn success_rules() {
    let rule = "success: status == 200 && body.paid";
    check(rule, &answer(200, r#"{"paid":true}"#), r#"applied {"paid":true}"#);
    check(rule, &answer(200, r#"{"paid":false}"#), "unknown NotASuccess");
    check(rule, &answer(200, "{}"), "unknown NotASuccess");
    check(rule, &answer(201, r#"{"paid":true}"#), "unknown NotASuccess");
    check(rule, &answer(302, "{}"), "unknown Undeclared");
    check(rule, &answer(400, "{}"), "not applied final sent=true [refused (HTTP 400)]");
    check("success: body.ok", &answer(400, "{}"), "not applied final sent=true [refused (HTTP 400)]");
    check("success: body.ok", &answer(503, "{}"), "unknown Undeclared");
    check("success: status == 404", &answer(404, "{}"), "applied {}");
    let (_, shown) = judge(&keyed(rule), &answer(200, "{}"));
    assert_eq!(
        shown.at(&["notes", "0"]).unwrap().as_str(),
        Some("`success` cannot be evaluated: there is no field `paid`")
    );
}

#[test]
fn refusals_are_declared_final_or_retryable() {
    let rules = "refusals:\n  - { when: \"status == 409 && body.code == 'not_yet_due'\", retryable: true, cause: not yet due }\n  - { when: status == 402, final: true }\n  - { when: \"status == 200 && has(body.declined)\", final: true, cause: declined }";
    check(
        rules,
        &answer(409, r#"{"code":"not_yet_due"}"#),
        "not applied retryable sent=true [not yet due (HTTP 409): not_yet_due]",
    );
    check(rules, &answer(409, r#"{"code":"other"}"#), "unknown Undeclared");
    check(rules, &answer(409, "{}"), "unknown Undeclared");
    check(
        rules,
        &answer(402, r#"{"error":{"message":"card expired"}}"#),
        "not applied final sent=true [refused (HTTP 402): card expired]",
    );
    check(rules, &answer(200, r#"{"declined":1}"#), "not applied final sent=true [declined (HTTP 200)]");
    check(rules, &answer(200, "{}"), "applied {}");
    check(
        "refusals: [{ when: status == 503, retryable: true }]",
        &answered(503, &[("retry-after", "7")], ""),
        "not applied retryable sent=true after 7000 [refused for now (HTTP 503)]",
    );
}

#[test]
fn key_answers_come_before_everything() {
    let all = "key_reused: status == 400 && body.code == 'key_reused'\nkey_in_use: status == 409\nrefusals: [{ when: 'status in [400, 409]', final: true }]";
    check(
        all,
        &answer(400, r#"{"code":"key_reused"}"#),
        "contradiction [the key was used with other parameters (HTTP 400): key_reused]",
    );
    check(all, &answer(409, "{}"), "pending null [the target still works on this key (HTTP 409)]");
    check(all, &answer(400, "{}"), "not applied final sent=true [refused (HTTP 400)]");
}

#[test]
fn pending_and_its_handle() {
    let rule = "pending: status == 200 && body.state == 'processing'\nhandle: body.id";
    check(
        rule,
        &answer(200, r#"{"state":"processing","id":"j1"}"#),
        r#"pending "j1" [the target works on it (HTTP 200)]"#,
    );
    check(rule, &answer(200, r#"{"state":"done"}"#), r#"applied {"state":"done"}"#);
    check(rule, &answer(202, r#"{"state":"done"}"#), r#"applied {"state":"done"}"#);
    // Done or only begun: that cannot be told.
    check(rule, &answer(200, "{}"), "unknown NotASuccess");
    check(
        "pending: body.state == 'x'",
        &answer(401, "{}"),
        "not applied final sent=true [refused (HTTP 401)]",
    );
    check("handle: body.nope", &answer(202, "{}"), "pending null [the target works on it (HTTP 202)]");
    // A handle is part of an event, which is small.
    let large = format!("{{\"id\":\"{}\"}}", "x".repeat(9 << 10));
    check("handle: body.id", &answer(202, &large), "unknown Garbled");
}

#[test]
fn results_replays_and_output() {
    check("result: body.id", &answer(200, r#"{"id":7}"#), "applied 7");
    check("result: body.nope", &answer(200, r#"{"id":7}"#), r#"applied {"id":7}"#);
    check(
        "replayed: headers['x-replay'] == 'yes'",
        &answered(200, &[("X-Replay", "yes")], ""),
        "applied null replayed",
    );
    check("", &answered(200, &[("Idempotent-Replayed", "true")], ""), "applied null replayed");
    check("", &answered(204, &[], ""), "applied null");
    let output = keyed("output: { type: object, required: [id] }");
    let (said, shown) = judge(&output, &answer(200, "{}"));
    assert_eq!(said, "applied {}");
    assert!(
        shown.at(&["notes", "0"]).unwrap().as_str().unwrap().contains("`output`"),
        "{}",
        shown.canonical()
    );
}

#[test]
fn bodies() {
    check("", &answer(200, r#"{"id":9007199254740993}"#), r#"applied {"id":"9007199254740993"}"#);
    check(
        "",
        &answer(200, r#"{"id":123456789012345678901234567890,"s":"9007199254740993 x"}"#),
        r#"applied {"id":"123456789012345678901234567890","s":"9007199254740993 x"}"#,
    );
    check("", &answer(200, r#"{"a":1,"a":2}"#), r#"applied {"a":2}"#);
    check("", &answer(200, r#"{"a":1e400}"#), r#"applied {"a":"1e400"}"#);
    check("", &answered(200, &[("content-type", "text/plain")], "007"), r#"applied "007""#);
    check("", &answered(200, &[], r#"{"a":1}"#), r#"applied {"a":1}"#);
    check("", &answered(200, &[("content-type", "text/html")], "<p>"), r#"applied "<p>""#);
    // Announced as JSON and broken: nothing says that the write was whole.
    check("", &answer(200, r#"{"a":"#), "unknown Garbled");
    check("success: status == 200", &answer(200, r#"{"a":"#), r#"applied "{\"a\":""#);
    let mut cut = answer(200, r#"{"a":"#);
    if let Transport::Answered(answer) = &mut cut.transport {
        answer.truncated = true;
    }
    check("", &cut, r#"applied "{\"a\":" truncated"#);
    check("success: body.a == 1", &cut, "unknown NotASuccess");
}

#[test]
fn rules_see_the_call() {
    let rule = "success: body.ref == key && body.op == operation && body.task == task && body.order == args.order && handle == null";
    let body = r#"{"ref":"k1","op":"tsk_1/charge/o1@1","task":"tsk_1","order":"o1"}"#;
    assert!(judge(&keyed(rule), &answer(200, body)).0.starts_with("applied"));
}

#[test]
fn a_bomb_in_an_answer_is_unknown_and_said() {
    let list = format!("{{\"l\":[{}]}}", vec!["0"; 2_000].join(","));
    let rule = keyed("success: body.l.all(a, body.l.all(b, a == b))");
    let (said, shown) = judge(&rule, &answer(200, &list));
    assert_eq!(said, "unknown NotASuccess");
    assert!(shown.canonical().contains("it was not run"));
}

#[test]
fn a_tool_without_effect_is_judged_by_the_same_table() {
    let get = contract("tool: look\neffect: none\nhttp: { method: GET, url: https://a.example/x }");
    assert_eq!(judge(&get, &answer(500, "")).0, "unknown Undeclared");
}

/// The target compared the version that the request named, so a 412 proves that it set nothing; without one it may
/// mean anything.
#[test]
fn a_412_to_a_named_version_is_a_stale_version() {
    let probe =
        "probe:\n  http: { method: GET, url: https://pay.example/v1 }\n  applied: body.id == args.order\n";
    let named = format!("{probe}if_match: true\n");
    let said = answer(412, r#"{"error":"precondition"}"#);
    check(&named, &said, "not applied final Stale sent=true [stale version (HTTP 412): precondition]");
    check(probe, &said, "unknown Undeclared");
    check(
        &format!("{named}refusals: [{{ when: status == 412, retryable: true }}]\n"),
        &said,
        "not applied retryable sent=true [refused for now (HTTP 412): precondition]",
    );
}

/// The list only takes away: what passes and is not listed is final, and what is unknown stays so whatever is listed.
#[test]
fn retry_on_chooses_among_the_refusals_that_may_pass() {
    let on = |list: &str| {
        format!(
            "retry: {{ on: {list} }}\nrefusals: [{{ when: status == 409, retryable: true, cause: not due }}]\n"
        )
    };
    let left_out = "and not retried, as `retry.on` leaves it out";
    check(&on("[429]"), &answer(429, "{}"), "not applied retryable sent=true [refused for now (HTTP 429)]");
    check(
        &on("[429]"),
        &answer(409, "{}"),
        &format!("not applied final sent=true [not due, {left_out} (HTTP 409)]"),
    );
    check(&on("[409]"), &answer(409, "{}"), "not applied retryable sent=true [not due (HTTP 409)]");
    check(
        &on("[not_sent]"),
        &answer(429, "{}"),
        &format!("not applied final sent=true [refused for now, {left_out} (HTTP 429)]"),
    );
    check(&on("[not_sent]"), &not_sent(), "not applied retryable sent=false [refused]");
    check(&on("[429]"), &not_sent(), "not applied retryable sent=false [refused]");
    check(&on("[503]"), &answer(503, "{}"), "unknown Undeclared");
    check(&on("[503]"), &lost(UnknownCause::Timeout), "unknown Timeout");
    check(&on("[400]"), &answer(400, "{}"), "not applied final sent=true [refused (HTTP 400)]");
}

#[test]
fn an_answer_says_what_it_cost() {
    let contract = keyed("limits: { cost: { max: 9, answer: body.usage.total } }\n");
    let args = json(r#"{"order":"o1"}"#);
    for (status, body, expected) in [
        (200, r#"{"usage":{"total":3}}"#, 3),
        (500, r#"{"usage":{"total":0.2}}"#, 1),
        (200, r#"{"usage":{"total":-3}}"#, 0),
        (200, r#"{"usage":{"total":"3"}}"#, 0),
        (200, r#"{"usage":{"total":1e15}}"#, 1_000_000_000_000_000),
        (200, "{}", 0),
    ] {
        assert_eq!(contract.cost(&answer(status, body), &seen(&args)), expected, "{body}");
    }
    assert_eq!(contract.cost(&lost(UnknownCause::Timeout), &seen(&args)), 0);
}
