//! Each kind without faults.

use semel_sinks::SinkKind;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::client::{exchange, fresh, request};

const KEY: (&str, &str) = ("Idempotency-Key", "k-1");

#[tokio::test]
async fn a_ticket_is_created_every_time_and_found_again() {
    let (_folder, sink) = fresh(SinkKind::Tickets).await;
    let body = json!({ "incident": "INC 7", "title": "db down" });
    let first = sink.send("POST", "/tickets", &[("X-Operation", "op-1")], &body).await;
    assert_eq!((first.status(), &first.body()["id"]), (201, &json!("T-1001")));
    let by_body = json!({ "incident": "INC 7", "ref": "op-2" });
    assert_eq!(sink.send("POST", "/tickets", &[], &by_body).await.body()["id"], "T-1002");

    assert_eq!(sink.get("/tickets?incident=INC+7").await.body()["total"], 2);
    let mine = sink.get("/tickets?ref=op-1").await;
    assert_eq!((&mine.body()["total"], &mine.body()["items"][0]), (&json!(1), first.body()));
    assert_eq!(sink.get("/tickets/T-1001").await.body(), first.body());
    assert_eq!(sink.get("/tickets/T-1003").await.status(), 404);
    assert_eq!(sink.get("/tickets?ref=op-3").await.body()["total"], 0);
    assert_eq!(sink.send("POST", "/tickets", &[], &json!({ "title": "x" })).await.status(), 400);

    let count = sink.count().await;
    assert_eq!((&count["effects"], &count["requests"]), (&json!(2), &json!(8)));
    assert_eq!(count["by_target"], json!({ "INC 7": 2 }));
    assert_eq!(count["by_ref"], json!({ "op-1": 1, "op-2": 1 }));
    assert_eq!(count["requests_log"][0]["ref"], "op-1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn twenty_parallel_posts_under_one_key_are_one_effect() {
    for (kind, path, body) in [
        (SinkKind::Tickets, "/tickets", r#"{"incident":"I"}"#),
        (SinkKind::Payments, "/charges", r#"{"order":"O","amount":5}"#),
    ] {
        let (_folder, sink) = fresh(kind).await;
        let mut posts = JoinSet::new();
        for _ in 0..20 {
            let (address, bytes) = (sink.address, request("POST", path, &[KEY], body));
            posts.spawn(async move { exchange(address, &bytes).await });
        }
        let seen = posts.join_all().await;
        let done = seen.iter().filter(|one| one.status() < 300);
        let firsts = done.clone().filter(|one| one.header("Idempotent-Replayed").is_none()).count();
        let ids: std::collections::HashSet<String> = done.map(|one| one.body()["id"].to_string()).collect();
        assert_eq!((firsts, ids.len()), (1, 1));
        assert!(seen.iter().all(|one| one.status() < 300 || one.status() == 409));
        let count = sink.count().await;
        assert_eq!((&count["effects"], &count["requests"]), (&json!(1), &json!(20)));
        assert_eq!(count["by_key"], json!({ "k-1": 1 }));
    }
}

#[tokio::test]
async fn without_a_key_every_post_is_an_effect() {
    for (kind, path, body) in [
        (SinkKind::Tickets, "/tickets", json!({ "incident": "I" })),
        (SinkKind::Payments, "/charges", json!({ "order": 9, "amount": 5 })),
        (SinkKind::Sms, "/messages", json!({ "to": "+49", "text": "hi" })),
    ] {
        let (_folder, sink) = fresh(kind).await;
        for _ in 0..3 {
            assert!(sink.send("POST", path, &[], &body).await.status() < 300);
        }
        assert_eq!(sink.effects().await, 3, "{kind:?}");
    }
}

#[tokio::test]
async fn a_key_with_another_body_is_refused_in_each_desks_way() {
    let (_folder, tickets) = fresh(SinkKind::Tickets).await;
    tickets.send("POST", "/tickets", &[KEY], &json!({ "incident": "A" })).await;
    let other = tickets.send("POST", "/tickets", &[KEY], &json!({ "incident": "B" })).await;
    assert_eq!((other.status(), other.body()), (422, &json!({ "error": "key_reused" })));
    assert_eq!(tickets.effects().await, 1);

    let (_folder, payments) = fresh(SinkKind::Payments).await;
    payments.send("POST", "/charges", &[KEY], &json!({ "order": "A", "amount": 1 })).await;
    let other = payments.send("POST", "/charges", &[KEY], &json!({ "order": "A", "amount": 2 })).await;
    assert_eq!((other.status(), &other.body()["error"]["type"]), (400, &json!("idempotency_error")));
    assert_eq!(payments.get("/charges?order=A").await.body()["items"][0]["amount"], 1);
}

#[tokio::test]
async fn a_forgotten_key_charges_again() {
    let (_folder, sink) = fresh(SinkKind::Payments).await;
    let body = json!({ "order": "A", "amount": 1 });
    sink.send("POST", "/charges", &[KEY], &body).await;
    sink.send("POST", "/charges", &[KEY], &body).await;
    assert_eq!(sink.effects().await, 1);
    sink.control(json!({ "key_window_ms": 0 })).await;
    let again = sink.send("POST", "/charges", &[KEY], &body).await;
    assert_eq!(again.header("Idempotent-Replayed"), None);
    assert_eq!(sink.effects().await, 2);
}

#[tokio::test]
async fn sms_tells_nothing_and_takes_no_notice_of_keys() {
    let (_folder, sink) = fresh(SinkKind::Sms).await;
    let body = json!({ "to": "+49", "text": "hi" });
    for _ in 0..2 {
        let sent = sink.send("POST", "/messages", &[KEY], &body).await;
        assert_eq!((sent.status(), sent.body()), (202, &json!({ "accepted": true })));
    }
    assert_eq!(sink.get("/messages?to=%2B49").await.status(), 404);
    assert_eq!(sink.get("/messages").await.status(), 404);
    assert_eq!(sink.count().await["by_key"], json!({ "k-1": 2 }));
}

#[tokio::test]
async fn an_account_is_blocked_once_however_often_it_is_set() {
    let (_folder, sink) = fresh(SinkKind::Accounts).await;
    assert_eq!(sink.get("/accounts/a%20b").await.header("ETag"), Some("\"1\""));
    let body = json!({ "state": "blocked", "by": "rule" });
    for _ in 0..2 {
        let set = sink.send("PUT", "/accounts/a%20b", &[], &body).await;
        let expected = json!({ "id": "a b", "state": "blocked", "by": "rule", "version": 2 });
        assert_eq!((set.status(), set.body()), (200, &expected));
    }
    assert_eq!(sink.count().await["by_target"], json!({ "a b": 1 }));

    let active = json!({ "state": "active" });
    let stale = sink.send("PUT", "/accounts/a%20b", &[("If-Match", "\"1\"")], &active).await;
    assert_eq!((stale.status(), sink.effects().await), (412, 1));
    let current = sink.send("PUT", "/accounts/a%20b", &[("If-Match", "\"2\"")], &active).await;
    assert_eq!((current.header("ETag"), sink.effects().await), (Some("\"3\""), 2));
    assert_eq!(sink.send("PUT", "/accounts/a", &[], &json!({ "state": "gone" })).await.status(), 400);
}

#[tokio::test]
async fn two_requests_share_a_kept_connection_even_when_sent_together() {
    let (_folder, sink) = fresh(SinkKind::Tickets).await;
    let one = "POST /tickets HTTP/1.1\r\nContent-Length: 16\r\n\r\n{\"incident\":\"I\"}";
    let last = "GET /tickets?incident=I HTTP/1.1\r\nConnection: close\r\n\r\n";
    let mut stream = TcpStream::connect(sink.address).await.unwrap();
    stream.write_all(format!("{one}{one}{last}").as_bytes()).await.unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).await.unwrap();
    assert_eq!(answers.matches("201 Created").count(), 2);
    assert!(answers.contains("\"total\":2"), "{answers}");
}

#[tokio::test]
async fn a_request_that_is_cut_off_is_no_request() {
    let (_folder, sink) = fresh(SinkKind::Tickets).await;
    let mut stream = TcpStream::connect(sink.address).await.unwrap();
    stream.write_all(b"POST /tickets HTTP/1.1\r\nContent-Length: 16\r\n\r\n{\"inc").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(stream.read_to_end(&mut Vec::new()).await.unwrap(), 0);
    let count = sink.count().await;
    assert_eq!((&count["effects"], &count["requests"]), (&json!(0), &json!(0)));
}
