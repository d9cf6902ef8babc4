//! The misbehaving peer, behaviour by behaviour.

use std::net::SocketAddr;
use std::sync::Arc;

use semel_sinks::hostile::{Behaviour, Counters, serve_hostile};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::client::{Seen, exchange, request};

async fn start(behaviour: Behaviour) -> (SocketAddr, Arc<Counters>) {
    let (ready, started) = oneshot::channel();
    tokio::spawn(async move {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        serve_hostile(listen, behaviour, |address, counters| ready.send((address, counters)).unwrap()).await
    });
    started.await.unwrap()
}

fn post() -> Vec<u8> {
    request("POST", "/", &[], r#"{"a":1}"#)
}

/// The start of a TLS handshake record of ten bytes.
fn hello() -> Vec<u8> {
    [&[0x16, 3, 1, 0, 10][..], &[0; 10]].concat()
}

async fn seen(behaviour: Behaviour, bytes: &[u8]) -> (Seen, Arc<Counters>) {
    let (address, counters) = start(behaviour).await;
    (exchange(address, bytes).await, counters)
}

fn closed_with(seen: Seen) -> Vec<u8> {
    match seen {
        Seen::Closed(bytes) => bytes,
        Seen::Answer { .. } | Seen::Reset => panic!("{seen:?}"),
    }
}

#[tokio::test]
async fn resets_come_at_three_points() {
    let (accepted, counters) = seen(Behaviour::ResetOnAccept, &post()).await;
    assert_eq!((accepted, counters.connections(), counters.bytes_received()), (Seen::Reset, 1, 0));
    let (head, counters) = seen(Behaviour::HeadThenReset, &post()).await;
    assert_eq!((head, counters.whole_requests()), (Seen::Reset, 0));
    let (all, counters) = seen(Behaviour::ReadAllThenReset, &post()).await;
    let read = (counters.bytes_received(), counters.whole_requests());
    assert_eq!((all, read), (Seen::Reset, (post().len() as u64, 1)));
}

#[tokio::test]
async fn orderly_closes_leave_no_answer_a_part_or_garbage() {
    assert_eq!(closed_with(seen(Behaviour::ReadAllThenClose, &post()).await.0), b"");
    assert_eq!(closed_with(seen(Behaviour::CloseAfterBytes(9), &post()).await.0), b"HTTP/1.1 ");
    assert!(closed_with(seen(Behaviour::HalfAnswer, &post()).await.0).starts_with(b"HTTP/1.1 200"));
    assert!(!closed_with(seen(Behaviour::Garbage, &post()).await.0).starts_with(b"HTTP"));
}

#[tokio::test]
async fn a_peer_that_never_answers_still_counts_what_it_read() {
    let (address, counters) = start(Behaviour::NeverAnswer).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(&post()).await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(stream.read_to_end(&mut Vec::new()).await.unwrap(), 0);
    assert_eq!((counters.bytes_received(), counters.whole_requests()), (post().len() as u64, 1));
}

#[tokio::test]
async fn tls_hellos_get_plain_text_or_nothing() {
    assert_eq!(seen(Behaviour::PlainToTls, &hello()).await.0.status(), 400);
    let (closed, counters) = seen(Behaviour::CloseInTlsHandshake, &hello()).await;
    assert_eq!((closed_with(closed).len(), counters.bytes_received()), (0, 15));
}
