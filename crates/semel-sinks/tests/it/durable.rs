//! Counts and keys survive the sink: an orderly restart, and a SIGKILL between effect and answer.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use semel_sinks::{SinkError, SinkKind, serve};
use serde_json::json;

use crate::client::{Running, exchange, fresh, request};

const DB: &str = "SEMEL_TEST_SINK_DB";
const TICKET: &str = r#"{"incident":"I"}"#;
const KEY: [(&str, &str); 1] = [("Idempotency-Key", "k")];

#[tokio::test]
async fn counts_accepted_work_and_keys_survive_a_restart_and_the_script_does_not() {
    let (folder, sink) = fresh(SinkKind::Tickets).await;
    let body = json!({ "incident": "I" });
    sink.send("POST", "/tickets", &KEY, &body).await;
    sink.control(json!({ "fault": "accept_202", "times": 1 })).await;
    sink.send("POST", "/tickets", &[], &json!({ "incident": "J" })).await;
    sink.control(json!({ "fault": "refuse_503", "match": { "method": "*" } })).await;
    sink.stop().await;

    let sink = Running::start(SinkKind::Tickets, &folder.path().join("sink.db")).await;
    let count = sink.count().await;
    assert_eq!(count["by_target"], json!({ "I": 1, "J": 1 }));
    assert_eq!(count["requests"], 2);
    let again = sink.send("POST", "/tickets", &KEY, &body).await;
    assert_eq!((again.status(), again.header("Idempotent-Replayed")), (201, Some("true")));
    assert_eq!(sink.effects().await, 2);
}

#[tokio::test]
async fn a_file_is_served_only_as_the_kind_that_made_it() {
    let (folder, sink) = fresh(SinkKind::Tickets).await;
    sink.stop().await;
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let refused = serve(SinkKind::Payments, &folder.path().join("sink.db"), listen, |_| {}).await;
    let error = refused.unwrap_err();
    assert!(matches!(error, SinkError::ForeignFile { wanted: "payments", .. }), "{error}");
    assert!(error.to_string().starts_with(error.code()) && error.to_string().contains("next: "));
}

#[tokio::test]
async fn an_effect_whose_answer_was_lost_with_the_process_is_counted_once_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("sink.db");
    let (first, address) = spawn(&db);
    let slow = request("PUT", "/_control", &[], r#"{"fault":"slow_after:3600000"}"#);
    assert_eq!(exchange(address, &slow).await.status(), 200);
    let lost = tokio::spawn(async move {
        let bytes = request("POST", "/tickets", &KEY, TICKET);
        exchange(address, &bytes).await
    });
    let count = request("GET", "/_count", &[], "");
    while exchange(address, &count).await.body()["effects"] != 1 {}
    drop(first);
    let seen = lost.await.unwrap();
    assert!(!matches!(seen, crate::client::Seen::Answer { .. }), "{seen:?}");

    let (_second, address) = spawn(&db);
    assert_eq!(exchange(address, &count).await.body()["effects"], 1);
    let again = exchange(address, &request("POST", "/tickets", &KEY, TICKET)).await;
    assert_eq!((again.status(), again.header("Idempotent-Replayed")), (201, Some("true")));
    assert_eq!(exchange(address, &count).await.body()["effects"], 1);
}

/// A desk in a process of its own, which is killed with SIGKILL when this is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Starts this test program again as a ticket desk of its own.
fn spawn(db: &Path) -> (Process, SocketAddr) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "durable::child_sink", "--ignored", "--nocapture"])
        .env(DB, db)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = lines.find_map(|line| line.unwrap().strip_prefix("ADDRESS ").map(str::to_owned));
    (Process(child), address.unwrap().parse().unwrap())
}

#[tokio::test]
#[ignore = "the body of a child process"]
async fn child_sink() {
    let Some(db) = std::env::var_os(DB) else { return };
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    serve(SinkKind::Tickets, Path::new(&db), listen, |address| println!("\nADDRESS {address}"))
        .await
        .unwrap();
}
