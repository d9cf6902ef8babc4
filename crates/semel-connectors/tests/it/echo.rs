//! A target that repeats the credential it was sent, over a real connection, judged by a real contract.

use super::{KEY, NOW, SEND_MS, TIMEOUT_MS, TOKEN, answered, connector, permit};
use crate::server::{Target, request};
use semel_kernel::{
    id::{StepName, TaskId, Tenant},
    json::Json,
    time::Millis,
};
use semel_plan::{
    contract::{Call, Contract, Seen},
    problem::Problems,
    yaml,
};
use semel_ports::{Connector, Question, Report, connector::Recall};
use tokio::io::AsyncWriteExt;

/// The secret in base64, and inside the base64 form of `user:` and the secret.
const ENCODED: [&str; 2] = ["dDBrM24vb2YrYW49YWNjb3VudA==", "dXNlcjp0MGszbi9vZithbj1hY2NvdW50"];
/// No part of any of its forms may be left.
const PARTS: [&str; 5] = ["t0k3n", "account", "dDBrM24v", "YWNjb3Vud", "MGszbi9v"];

/// Writes an answer with what stood in the request's `authorization` header, or `x=` in its query, for `{}`.
async fn echoing(answer: &'static str) -> Target {
    Target::start(move |mut tcp, log| async move {
        while let Some(request) = request(&mut tcp, &log).await {
            let header = request.lines().find_map(|line| line.strip_prefix("authorization: Bearer "));
            let query = request.split_once("x=").and_then(|(_, rest)| rest.split(' ').next());
            let credential = header.or(query).unwrap();
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            let (head, body) = (head.replace("{}", credential), body.replace("{}", credential));
            let whole = format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            tcp.write_all(whole.as_bytes()).await.unwrap();
        }
    })
    .await
}

fn contract(url: &str, place: &str) -> Contract {
    let http = |method: &str| {
        format!("{{ method: {method}, url: \"{url}\", auth: {{ secret: env:TOKEN, as: {place} }} }}")
    };
    let text = format!(
        "tool: pay\neffect: queryable\nkey: [order]\nhttp: {}\nprobe:\n  http: {}\n  settle: 10s\n  applied: status == 200\n  absent: status == 404\n",
        http("POST"),
        http("GET")
    );
    let mut problems = Problems::new();
    let node = yaml::parse("pay.yaml", &text, &mut problems).unwrap();
    Contract::read(&node, "pay.yaml", &mut problems).unwrap_or_else(|| panic!("{:?}", problems.into_vec()))
}

fn clean(what: &str, report: &Report, told: &str) {
    let all = format!("{told} {report:?}");
    for part in PARTS {
        assert!(!all.to_lowercase().contains(&part.to_lowercase()), "{what}: {part} in {all}");
    }
    assert!(told.contains("***"), "{what}: nothing was repeated, so nothing is shown: {told}");
}

/// Sends a call and asks the probe; nothing of either answer's secret is in what comes out.
async fn check(answer: &'static str, place: &str) {
    let target = echoing(answer).await;
    let contract = contract(&target.url(), place);
    let args = Json::parse(r#"{"order":"o1"}"#).unwrap();
    let ids = (Tenant::parse("t").unwrap(), TaskId::parse("tsk_1").unwrap(), StepName::parse("pay").unwrap());
    let (tenant, task, step) = (&ids.0, &ids.1, &ids.2);
    let call = Call { tenant, task, step, version: "1", intent: 1, key_epoch: 0, args: &args };
    let seen = Seen { args: &args, key: KEY, operation: "tsk_1/pay/o1@1", task: "tsk_1", handle: None };

    let request = contract.request(&call, KEY, None).unwrap();
    let connector = connector();
    let report =
        connector.send(permit(SEND_MS, TIMEOUT_MS).await, request, Millis(NOW), Recall::never()).await;
    let (outcome, shown) = contract.outcome(&report, &seen);
    clean(answer, &report, &format!("{outcome:?} {}", shown.canonical()));

    let request = contract.question(&seen).unwrap();
    let (key, fence) = (KEY.to_owned(), "1.1".to_owned());
    let report = connector.ask(Question { request, key, fence, timeout_ms: TIMEOUT_MS }).await;
    let (finding, shown) = contract.finding(&report, &seen);
    clean(answer, &report, &format!("{finding:?} {}", shown.canonical()));

    // It did come back, or this would show nothing.
    let raw = answered(report);
    let raw = format!("{:?} {}", raw.headers, String::from_utf8(raw.body).unwrap()).to_lowercase();
    assert!(PARTS.iter().any(|part| raw.contains(&part.to_lowercase())), "{raw}");
}

#[tokio::test]
async fn what_a_target_repeats_is_taken_out() {
    assert!(TOKEN.starts_with(PARTS[0]) && TOKEN.ends_with(PARTS[1]));
    let answers = [
        "400 Bad Request\r\ncontent-type: application/json\r\n\r\n{\"error\":{\"message\":\"bad key {}\"}}",
        "400 Bad Request\r\ncontent-type: text/html\r\n\r\n<p>No key {} here</p>",
        "401 Unauthorized\r\nx-request-id: r-{}\r\n\r\n",
        "302 Found\r\nlocation: https://h.example/cb?k={}&k2=t0k3n%2Fof%2Ban%3Daccount\r\n\r\n",
        "200 OK\r\ncontent-type: application/json\r\n\r\n{\"id\":\"c1\",\"used\":[\"{}\"],\"{}\":\"Bearer {}\"}",
        "503 Unavailable\r\ncontent-type: text/plain\r\n\r\nno upstream for {}",
        "404 Not Found\r\ncontent-type: text/plain\r\n\r\nno such thing for {}",
    ];
    for answer in answers {
        check(answer, "bearer").await;
    }
}

#[tokio::test]
async fn what_a_target_encodes_is_taken_out() {
    let (alone, within) = (
        "400 Bad Request\r\ncontent-type: text/plain\r\n\r\ngot dDBrM24vb2YrYW49YWNjb3VudA==",
        "200 OK\r\ncontent-type: application/json\r\n\r\n{\"used\":\"dXNlcjp0MGszbi9vZithbj1hY2NvdW50\"}",
    );
    assert!(alone.contains(ENCODED[0]) && within.contains(ENCODED[1]));
    check(alone, "bearer").await;
    check(within, "bearer").await;
}

#[tokio::test]
async fn a_credential_in_the_address_is_taken_out_of_the_answer() {
    check("404 Not Found\r\ncontent-type: text/plain\r\n\r\nno such page: /pay?x={}", "{ query: x }").await;
}
