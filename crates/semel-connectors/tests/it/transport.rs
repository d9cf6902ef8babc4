//! What one attempt shows, row by row (DESIGN section 4).

use super::{UnknownCause, answered, connector, connector_with, lost, not_sent, post, send, text};
use crate::server::{Target, head, request, reset};
use semel_connectors::HttpOptions;
use tokio::{io::AsyncWriteExt, net::TcpListener};

#[tokio::test]
async fn a_refused_connection_is_not_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    not_sent(&send(&connector(), post(&format!("http://{address}/"))).await, "SM3104");
}

#[tokio::test]
async fn a_name_that_is_not_found_is_not_sent() {
    not_sent(&send(&connector(), post("http://nonexistent.invalid/")).await, "SM3104");
}

#[tokio::test]
async fn a_full_answer_comes_back_as_it_was() {
    const ANSWER: &[u8] = b"HTTP/1.1 201 Created\r\nX-Id: 7\r\nX-Id: 8\r\ncontent-length: 3\r\n\r\nabc";
    let target = Target::answering(ANSWER).await;
    let report = send(&connector(), post(&target.url())).await;
    assert_eq!(report.bytes_out, target.log.bytes() as u64);
    let answer = answered(report);
    let ids: Vec<_> =
        answer.headers.iter().filter(|(name, _)| name == "x-id").map(|(_, v)| v.as_str()).collect();
    assert_eq!(
        (answer.status, ids, &*answer.body, answer.truncated),
        (201, vec!["7", "8"], &b"abc"[..], false)
    );
}

#[tokio::test]
async fn a_chunked_answer_is_put_together() {
    const ANSWER: &[u8] =
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
    let target = Target::answering(ANSWER).await;
    assert_eq!(answered(send(&connector(), post(&target.url())).await).body, b"abc");
}

#[tokio::test]
async fn an_answer_without_a_body_is_whole() {
    let target = Target::answering(b"HTTP/1.1 204 No Content\r\n\r\n").await;
    let answer = answered(send(&connector(), post(&target.url())).await);
    assert_eq!((answer.status, answer.body.len()), (204, 0));
}

#[tokio::test]
async fn a_server_error_is_an_answer() {
    let target = Target::answering(b"HTTP/1.1 503 No\r\nretry-after: 3\r\ncontent-length: 0\r\n\r\n").await;
    let answer = answered(send(&connector(), post(&target.url())).await);
    assert_eq!(answer.status, 503);
    assert_eq!(target.log.requests().len(), 1);
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    for answer in [
        &b"HTTP/1.1 302 Found\r\nlocation: /other\r\ncontent-length: 0\r\n\r\n"[..],
        b"HTTP/1.1 307 Again\r\nlocation: /other\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 308 Again\r\nlocation: /other\r\ncontent-length: 0\r\n\r\n",
    ] {
        let target = Target::answering(answer).await;
        let got = answered(send(&connector(), post(&target.url())).await);
        assert_eq!(got.status / 100, 3);
        assert_eq!(target.log.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_reset_before_the_body_was_read_is_lost() {
    let mut target = Target::start(|mut tcp, log| async move {
        head(&mut tcp, &log).await;
        reset(&tcp);
    })
    .await;
    let mut request = post(&target.url());
    // More than the sockets hold, so that the body cannot have left whole.
    request.body = Some(text(&"x".repeat(8 << 20)));
    lost(&send(&connector(), request).await, &UnknownCause::Lost);
    target.ended().await;
    assert_eq!((target.log.connections(), target.log.requests().len()), (1, 0));
}

#[tokio::test]
async fn a_reset_after_the_body_was_read_is_lost() {
    let mut target = Target::start(|mut tcp, log| async move {
        request(&mut tcp, &log).await;
        reset(&tcp);
    })
    .await;
    lost(&send(&connector(), post(&target.url())).await, &UnknownCause::Lost);
    target.ended().await;
    assert_eq!((target.log.connections(), target.log.requests().len()), (1, 1));
}

#[tokio::test]
async fn an_end_without_an_answer_is_lost_and_not_tried_again() {
    let mut target = Target::answering_once(b"").await;
    lost(&send(&connector(), post(&target.url())).await, &UnknownCause::Lost);
    target.ended().await;
    assert_eq!((target.log.connections(), target.log.requests().len()), (1, 1));
}

#[tokio::test]
async fn what_is_no_whole_answer_is_garbled() {
    let halves: [&'static [u8]; 7] = [
        b"HTTP/1.1 200 OK\r\ncontent-le",
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nten bytes.",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nab\r\n",
        b"\x00\xff\x13 this is not HTTP at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nabc",
    ];
    for half in halves {
        let mut target = Target::answering_once(half).await;
        lost(&send(&connector(), post(&target.url())).await, &UnknownCause::Garbled);
        target.ended().await;
        assert_eq!(target.log.requests().len(), 1);
    }
}

#[tokio::test]
async fn an_answer_beyond_the_limit_is_cut_and_its_connection_not_used_again() {
    const LONG: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n0123456789";
    for (limit, body, truncated, connections) in
        [(9, &b"012345678"[..], true, 2), (10, &b"0123456789"[..], false, 1)]
    {
        let target = Target::start(|mut tcp, log| async move {
            // The client may have ended the connection before everything was taken.
            while request(&mut tcp, &log).await.is_some() && tcp.write_all(LONG).await.is_ok() {}
        })
        .await;
        let connector = connector_with(HttpOptions { response_bytes: limit, ..HttpOptions::default() });
        let answer = answered(send(&connector, post(&target.url())).await);
        assert_eq!((&*answer.body, answer.truncated), (body, truncated));
        answered(send(&connector, post(&target.url())).await);
        assert_eq!(target.log.connections(), connections);
    }
}

#[tokio::test]
async fn an_endless_head_is_garbled() {
    let target = Target::start(|mut tcp, log| async move {
        request(&mut tcp, &log).await;
        let line = format!("x: {}\r\n", "y".repeat(1_000));
        let mut sent = tcp.write_all(b"HTTP/1.1 200 OK\r\n").await;
        while sent.is_ok() {
            sent = tcp.write_all(line.as_bytes()).await;
        }
    })
    .await;
    let connector = connector_with(HttpOptions { answer_head_bytes: 20_000, ..HttpOptions::default() });
    lost(&send(&connector, post(&target.url())).await, &UnknownCause::Garbled);
}
