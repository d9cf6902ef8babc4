//! Questions: the same wire, without a permit.

use super::{HandClock, UnknownCause, answered, connector, connector_at, lost, not_sent, post};
use crate::server::{OK, Target, end, request};
use semel_ports::{Connector, HttpRequest, Part, Question, Template};
use std::sync::Arc;
use tokio::io::AsyncReadExt;

const TIMEOUT_MS: i64 = 60_000;

fn question(url: &str) -> Question {
    let headers = vec![("x-fence".to_owned(), Template(vec![Part::Fence]))];
    let request = HttpRequest { method: "GET".to_owned(), headers, body: None, ..post(url) };
    Question { request, key: "k9".to_owned(), fence: "2.7".to_owned(), timeout_ms: TIMEOUT_MS }
}

#[tokio::test]
async fn a_question_is_answered() {
    let target = Target::answering(OK).await;
    let report = connector().ask(question(&target.url())).await;
    assert_eq!(report.late_ms, 0);
    assert_eq!(answered(report).body, b"ok");
    assert!(target.log.requests()[0].contains("x-fence: 2.7"));
}

#[tokio::test]
async fn a_target_that_is_not_there_gives_no_answer() {
    not_sent(&connector().ask(question("http://nonexistent.invalid/")).await, "SM3104");
}

#[tokio::test]
async fn one_time_out_spans_connecting_and_answering() {
    let clock = Arc::new(HandClock::default());
    let late = Arc::clone(&clock);
    let target = Target::start(move |mut tcp, log| {
        let late = Arc::clone(&late);
        async move {
            request(&mut tcp, &log).await.unwrap();
            late.pass(TIMEOUT_MS + 1);
            drop(end(&mut tcp, &log).await);
        }
    })
    .await;
    lost(&connector_at(&clock).ask(question(&target.url())).await, &UnknownCause::Timeout);
    let late = Arc::clone(&clock);
    let target = Target::start(move |mut tcp, _| {
        let late = Arc::clone(&late);
        async move {
            tcp.read_u8().await.unwrap();
            late.pass(TIMEOUT_MS + 1);
            while tcp.read_u8().await.is_ok() {}
        }
    })
    .await;
    not_sent(&connector_at(&clock).ask(question(&target.tls_url())).await, "SM3106");
}
