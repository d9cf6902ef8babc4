//! The points where a test may kill the process.

use super::{connector_with, post, send};
use crate::server::{OK, Target};
use semel_connectors::{HttpConnector, HttpOptions};
use semel_ports::{Connector, Question};
use std::cell::RefCell;

// A test runs on one thread of its own, and so does everything its connector does.
thread_local!(static REACHED: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) });

fn reached() -> Vec<&'static str> {
    REACHED.with(RefCell::take)
}

fn watched() -> HttpConnector {
    connector_with(HttpOptions {
        crash: |point| REACHED.with(|reached| reached.borrow_mut().push(point)),
        ..HttpOptions::default()
    })
}

#[tokio::test]
async fn a_call_that_is_answered_passes_all_points_in_order() {
    let target = Target::answering(OK).await;
    send(&watched(), post(&target.url())).await;
    assert_eq!(reached(), ["call.before_send", "call.after_send", "call.after_answer"]);
}

#[tokio::test]
async fn a_call_that_is_not_answered_stops_after_the_send() {
    for answer in [&b""[..], b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab"] {
        let target = Target::answering_once(answer).await;
        send(&watched(), post(&target.url())).await;
        assert_eq!(reached(), ["call.before_send", "call.after_send"]);
    }
}

#[tokio::test]
async fn a_call_that_is_not_sent_stops_before_it() {
    send(&watched(), post("http://nonexistent.invalid/")).await;
    assert_eq!(reached(), ["call.before_send"]);
}

#[tokio::test]
async fn a_question_has_points_of_its_own() {
    let target = Target::answering(OK).await;
    let question = Question {
        request: post(&target.url()),
        key: String::new(),
        fence: String::new(),
        timeout_ms: 60_000,
    };
    watched().ask(question).await;
    assert_eq!(reached(), ["probe.before", "probe.after"]);
}
