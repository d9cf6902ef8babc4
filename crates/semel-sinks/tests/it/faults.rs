//! Each fault does what its name says, and the effect is counted or not accordingly.

use std::io::ErrorKind;

use semel_sinks::SinkKind;
use serde_json::{Value, json};

use crate::client::{Running, Seen, fresh};

async fn post(sink: &Running) -> Seen {
    sink.send("POST", "/tickets", &[("X-Operation", "op")], &json!({ "incident": "I" })).await
}

/// One POST under a one-shot fault on a new desk: what was seen, and the effects after it.
async fn once(rule: Value) -> (Seen, u64) {
    let (_folder, sink) = fresh(SinkKind::Tickets).await;
    let mut rule = rule;
    rule["times"] = json!(1);
    sink.control(rule).await;
    let seen = post(&sink).await;
    let effects = sink.effects().await;
    assert_eq!(post(&sink).await.status(), 201, "the fault was one-shot");
    assert_eq!(sink.effects().await, effects + 1);
    (seen, effects)
}

async fn status_once(fault: &str) -> (u16, u64) {
    let (seen, effects) = once(json!({ "fault": fault })).await;
    (seen.status(), effects)
}

#[tokio::test]
async fn refusals_have_no_effect() {
    for status in [401, 404, 422, 429, 503] {
        assert_eq!(status_once(&format!("refuse_{status}")).await, (status, 0));
    }
    let (seen, _) = once(json!({ "fault": "refuse_429", "retry_after_s": 7 })).await;
    assert_eq!(seen.header("Retry-After"), Some("7"));
}

#[tokio::test]
async fn one_status_stands_on_either_side_of_the_effect() {
    assert_eq!(status_once("status_500_before").await, (500, 0));
    assert_eq!(status_once("status_500_after").await, (500, 1));
}

#[tokio::test]
async fn resets_are_resets_on_either_side_of_the_effect() {
    assert_eq!(once(json!({ "fault": "reset_before" })).await, (Seen::Reset, 0));
    assert_eq!(once(json!({ "fault": "reset_after" })).await, (Seen::Reset, 1));
}

#[tokio::test]
async fn broken_answers_follow_a_committed_effect() {
    let (half, effects) = once(json!({ "fault": "half_answer" })).await;
    let Seen::Closed(bytes) = half else { panic!("{half:?}") };
    assert!(bytes.starts_with(b"HTTP/1.1 201 Created\r\n") && effects == 1);
    let (garbage, effects) = once(json!({ "fault": "garbage" })).await;
    let Seen::Closed(bytes) = garbage else { panic!("{garbage:?}") };
    assert!(!bytes.is_empty() && !bytes.starts_with(b"HTTP") && effects == 1);
}

#[tokio::test]
async fn a_redirect_and_a_false_ok_have_no_effect() {
    let (seen, effects) = once(json!({ "fault": "redirect_302" })).await;
    assert_eq!((seen.status(), seen.header("Location"), effects), (302, Some("/redirected/tickets"), 0));
    let (seen, effects) = once(json!({ "fault": "ok_but_false" })).await;
    assert_eq!((seen.status(), seen.body(), effects), (200, &json!({ "ok": false }), 0));
}

#[tokio::test]
async fn slow_after_commits_long_before_it_answers() {
    let (_folder, sink) = fresh(SinkKind::Tickets).await;
    sink.control(json!({ "fault": "slow_after:3600000" })).await;
    let stream = sink.send_only("POST", "/tickets", &json!({ "incident": "I" })).await;
    sink.until("effects", 1).await;
    assert_eq!(stream.try_read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[tokio::test]
async fn slow_before_holds_the_effect_and_the_key_back() {
    let (_folder, sink) = fresh(SinkKind::Tickets).await;
    sink.control(json!({ "fault": "slow_before:10000" })).await;
    let body = json!({ "incident": "I" });
    let key = [("Idempotency-Key", "k")];
    // Whichever of the two comes first waits for long, so the one that ends is the second.
    let second = tokio::select! {
        seen = sink.send("POST", "/tickets", &key, &body) => seen,
        seen = sink.send("POST", "/tickets", &key, &body) => seen,
    };
    assert_eq!((second.status(), second.body()), (409, &json!({ "error": "key_in_use" })));
    let count = sink.count().await;
    assert_eq!((&count["effects"], &count["requests"]), (&json!(0), &json!(2)));
}

#[tokio::test]
async fn slow_before_commits_though_the_caller_has_gone() {
    let (_folder, sink) = fresh(SinkKind::Tickets).await;
    sink.control(json!({ "fault": "slow_before:50" })).await;
    drop(sink.send_only("POST", "/tickets", &json!({ "incident": "I" })).await);
    sink.until("effects", 1).await;
}

#[tokio::test]
async fn accepted_work_ends_later_or_fails() {
    let (_folder, sink) = fresh(SinkKind::Accounts).await;
    let blocked = json!({ "state": "blocked" });
    sink.control(json!({ "fault": "accept_202", "commit_after_ms": 3_600_000, "times": 1 })).await;
    let accepted = sink.send("PUT", "/accounts/a", &[], &blocked).await;
    assert_eq!((accepted.status(), accepted.body()), (202, &json!({ "handle": "h1" })));
    assert_eq!(sink.get("/handles/h1").await.body()["state"], "executing");
    assert_eq!(sink.get("/accounts/a").await.body()["state"], "blocking");
    assert_eq!(sink.effects().await, 0);

    sink.control(json!({ "fault": "accept_202", "handle_state": "failed", "times": 1 })).await;
    sink.send("PUT", "/accounts/b", &[], &blocked).await;
    assert_eq!(sink.get("/handles/h2").await.body()["state"], "failed");
    assert_eq!(sink.effects().await, 0);

    sink.control(json!({ "fault": "accept_202", "times": 1 })).await;
    sink.send("PUT", "/accounts/c", &[], &blocked).await;
    assert_eq!(sink.effects().await, 1);
    let ended = sink.get("/handles/h3").await;
    assert_eq!(
        (&ended.body()["state"], &ended.body()["result"]["version"]),
        (&json!("succeeded"), &json!(2))
    );
    assert_eq!(sink.get("/handles/h4").await.status(), 404);
}

#[tokio::test]
async fn lookups_lag_do_not_know_or_see_many() {
    let (_folder, sink) = fresh(SinkKind::Tickets).await;
    post(&sink).await;
    sink.control(json!({ "fault": "read_lag:3600000" })).await;
    assert_eq!(sink.get("/tickets?ref=op").await.body()["total"], 0);
    assert_eq!(sink.get("/tickets/T-1001").await.status(), 404);
    sink.control(json!({ "fault": "dont_know" })).await;
    assert_eq!(sink.get("/tickets?ref=op").await.status(), 503);
    assert_eq!(post(&sink).await.status(), 201, "a fault of lookups leaves effects alone");
    sink.control(json!({ "fault": "none" })).await;
    assert_eq!(sink.get("/tickets?ref=op").await.body()["total"], 2);
    sink.control(json!({ "fault": "lookup_many" })).await;
    let many = sink.get("/tickets?ref=nobody").await;
    assert_eq!((&many.body()["total"], many.body()["items"].as_array().unwrap().len()), (&json!(2), 2));
}

#[tokio::test]
async fn rules_are_taken_in_order_and_only_where_they_match() {
    let (_folder, sink) = fresh(SinkKind::Tickets).await;
    let script = json!([
        { "fault": "none", "times": 1 },
        { "fault": "status_500_before", "times": 2, "match": { "method": "POST", "path": "/tickets" } },
        { "fault": "refuse_401", "match": { "method": "*" } },
    ]);
    sink.control(script).await;
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(post(&sink).await.status());
    }
    assert_eq!(statuses, [201, 500, 500, 401]);
    assert_eq!(sink.get("/tickets?ref=op").await.status(), 401);
    assert_eq!(sink.effects().await, 1);
}

#[tokio::test]
async fn a_control_that_is_not_understood_changes_nothing() {
    let (_folder, sink) = fresh(SinkKind::Tickets).await;
    for wrong in [
        json!({ "fault": "reset_sometimes" }),
        json!({ "fault": "reset_before", "time": 1 }),
        json!({ "fault": "reset_before", "times": 0 }),
        json!({ "fault": "slow_after" }),
        json!({ "fault": "refuse_200" }),
        json!({ "key_window_ms": -1 }),
        json!([{ "fault": "reset_before" }, { "fault": "x" }]),
        json!("reset_before"),
        json!({}),
    ] {
        assert_eq!(sink.send("PUT", "/_control", &[], &wrong).await.status(), 400, "{wrong}");
    }
    assert_eq!(post(&sink).await.status(), 201);
}

#[tokio::test]
async fn a_reset_of_the_sink_forgets_effects_requests_keys_and_rules() {
    let (_folder, sink) = fresh(SinkKind::Tickets).await;
    let body = json!({ "incident": "I" });
    sink.send("POST", "/tickets", &[("Idempotency-Key", "k")], &body).await;
    sink.control(json!({ "fault": "refuse_503" })).await;
    assert_eq!(sink.send("POST", "/_reset", &[], &json!({})).await.status(), 200);
    let count = sink.count().await;
    assert_eq!((&count["effects"], &count["requests"]), (&json!(0), &json!(0)));
    let again = sink.send("POST", "/tickets", &[("Idempotency-Key", "k")], &body).await;
    assert_eq!((again.status(), again.header("Idempotent-Replayed")), (201, None));
    assert_eq!(again.body()["id"], "T-1001");
}
