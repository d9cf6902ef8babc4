//! What is kept of an answer: no secrets, never too much.

use crate::contract_support::{answer, answered, json, keyed, seen};
use proptest::prelude::*;
use semel_kernel::{json::Json, limit};
use semel_ports::connector::Report;

fn shown(report: &Report) -> Json {
    let args = json(r#"{"order":"o1"}"#);
    keyed("").outcome(report, &seen(&args)).1
}

#[test]
fn secrets_are_hidden_by_name_and_by_shape() {
    let body = r#"{"id":"ch_1","access_token":"hunter1","nested":{"API-Key":"hunter2","list":[{"password":"hunter3"}]},
        "note":"Authorization: Bearer hunter4, password=hunter5 token: \"hunter6\"","jwt":"eyJhbGciOiJIUzI1NiIsInR5cCI6.e30.x",
        "key":"sk_live_hunter7","url":"https://x.example/cb?token=hunter8&state=ok","Set-Cookie":["hunter9"]}"#;
    let report = answered(
        200,
        &[
            ("Content-Type", "application/json"),
            ("Set-Cookie", "sid=hunterA"),
            ("X-Request-Id", "r1"),
            ("Location", "https://x.example/?access_token=hunterB"),
        ],
        body,
    );
    let kept = shown(&report).canonical();
    assert!(!kept.contains("hunter") && !kept.contains("eyJ"), "{kept}");
    for visible in ["ch_1", "r1", "state=ok", "\"status\":200", "application/json"] {
        assert!(kept.contains(visible), "{visible} in {kept}");
    }
    assert!(!kept.contains("set-cookie"), "{kept}");
}

#[test]
fn causes_are_redacted_too() {
    let args = json(r#"{"order":"o1"}"#);
    let report = answer(401, r#"{"error":{"message":"bad key sk_live_hunter1"}}"#);
    let (outcome, _) = keyed("").outcome(&report, &seen(&args));
    assert!(!format!("{outcome:?}").contains("hunter"), "{outcome:?}");
}

/// Our own key and ids are no secrets; without them nobody can look anything up.
#[test]
fn keys_and_ids_stay_readable() {
    let key = "abcdefghijklmnopqrstuvwxyz234567";
    let body = format!(
        r#"{{"ref":"{key}","charge":"ch_3MmlLrLkdIwHu7ix0snN0B15","uuid":"0190c7d2-7a3b-8c4d-9e5f-a1b2c3d4e5f6"}}"#
    );
    let kept = shown(&answer(200, &body)).canonical();
    for id in [key, "ch_3MmlLrLkdIwHu7ix0snN0B15", "0190c7d2-7a3b-8c4d-9e5f-a1b2c3d4e5f6"] {
        assert!(kept.contains(id), "{kept}");
    }
}

#[test]
fn a_huge_answer_is_cut() {
    let items =
        (0..100_000).map(|i| format!("{{\"id\":{i},\"secret\":\"hunter\"}}")).collect::<Vec<_>>().join(",");
    let kept = shown(&answer(200, &format!("[{items}]")));
    assert!(kept.size_bytes() <= limit::SHOWN_BYTES, "{}", kept.size_bytes());
    assert!(!kept.canonical().contains("hunter"));
    assert!(kept.get("body_bytes").unwrap().as_i64().unwrap() > 1_000_000);
}

proptest! {
    #[test]
    fn whatever_comes_is_cut(status in 100_u16..600, text in "\\PC{0,6000}", header in "[ -~]{0,3000}") {
        let headers = [("location", header.as_str()), ("x-request-id", header.as_str()), ("etag", header.as_str())];
        let kept = shown(&answered(status, &headers, &text));
        prop_assert!(kept.size_bytes() <= limit::SHOWN_BYTES);
    }

    #[test]
    fn arbitrary_json_like_bodies_never_panic(text in "[\\[\\]{}\",:0-9eE.+ atrue-]{0,200}") {
        drop(shown(&answer(200, &text)));
    }
}
