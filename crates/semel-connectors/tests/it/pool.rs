//! Connections that are used again, and those that must not be.

use super::{
    HandClock, UnknownCause, answered, connector, connector_at, connector_with, lost, not_sent, post, send,
};
use crate::server::{OK, Target, request};
use semel_connectors::BootClock;
use semel_connectors::HttpOptions;
use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};
use tokio::{
    io::AsyncWriteExt,
    sync::{Barrier, Notify},
    task::JoinSet,
};

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let target = Target::answering(OK).await;
    let connector = connector();
    for _ in 0..5 {
        answered(send(&connector, post(&target.url())).await);
    }
    assert_eq!((target.log.connections(), target.log.requests().len()), (1, 5));
}

/// As many as are used side by side are kept, so a second round dials no new one.
#[tokio::test]
async fn calls_side_by_side_find_their_connections_again() {
    const SIDE_BY_SIDE: usize = 16;
    let together = Arc::new(Barrier::new(SIDE_BY_SIDE));
    let target = Target::start(move |mut tcp, log| {
        let together = Arc::clone(&together);
        async move {
            while request(&mut tcp, &log).await.is_some() {
                together.wait().await;
                tcp.write_all(OK).await.unwrap();
            }
        }
    })
    .await;
    let clock = Arc::new(HandClock::default());
    let connector = Arc::new(connector_at(&clock));
    for _ in 0..2 {
        let mut calls = JoinSet::new();
        for _ in 0..SIDE_BY_SIDE {
            let (connector, url) = (Arc::clone(&connector), target.url());
            calls.spawn(async move { send(&connector, post(&url)).await });
        }
        while let Some(report) = calls.join_next().await {
            answered(report.unwrap());
        }
    }
    assert_eq!((target.log.connections(), target.log.requests().len()), (SIDE_BY_SIDE, 2 * SIDE_BY_SIDE));
}

#[tokio::test]
async fn no_connection_is_kept_where_none_may_be() {
    let target = Target::answering(OK).await;
    let connector = connector_with(HttpOptions { idle: 0, ..HttpOptions::default() });
    for _ in 0..2 {
        answered(send(&connector, post(&target.url())).await);
    }
    assert_eq!(target.log.connections(), 2);
}

#[tokio::test]
async fn a_connection_that_the_target_gives_up_is_not_kept() {
    let target =
        Target::answering(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok").await;
    let connector = connector();
    for _ in 0..2 {
        answered(send(&connector, post(&target.url())).await);
    }
    assert_eq!((target.log.connections(), target.log.requests().len()), (2, 2));
}

#[tokio::test]
async fn an_old_connection_is_not_used_again() {
    let target = Target::answering(OK).await;
    let clock = Arc::new(HandClock::default());
    let connector = connector_at(&clock);
    answered(send(&connector, post(&target.url())).await);
    clock.pass(HttpOptions::default().idle_ms);
    answered(send(&connector, post(&target.url())).await);
    assert_eq!(target.log.connections(), 1);
    clock.pass(HttpOptions::default().idle_ms + 1);
    answered(send(&connector, post(&target.url())).await);
    assert_eq!(target.log.connections(), 2);
}

#[tokio::test]
async fn a_connection_found_closed_is_replaced_before_anything_is_sent() {
    let go = Arc::new(Notify::new());
    let told = Arc::clone(&go);
    let mut target = Target::start(move |mut tcp, log| {
        let told = Arc::clone(&told);
        async move {
            request(&mut tcp, &log).await.unwrap();
            tcp.write_all(OK).await.unwrap();
            // It ends only after the client has laid the connection to rest.
            told.notified().await;
        }
    })
    .await;
    let connector = connector();
    for _ in 0..3 {
        answered(send(&connector, post(&target.url())).await);
        go.notify_one();
        target.ended().await;
    }
    assert_eq!((target.log.connections(), target.log.requests().len()), (3, 3));
}

#[tokio::test]
async fn a_stray_answer_is_never_taken_for_the_next_one() {
    let spoken = Arc::new(Notify::new());
    let said = Arc::clone(&spoken);
    let go = Arc::new(Notify::new());
    let told = Arc::clone(&go);
    let target = Target::start(move |mut tcp, log| {
        let (said, told) = (Arc::clone(&said), Arc::clone(&told));
        async move {
            request(&mut tcp, &log).await.unwrap();
            tcp.write_all(OK).await.unwrap();
            told.notified().await;
            tcp.write_all(b"HTTP/1.1 402 Stray\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            said.notify_one();
            assert_eq!(request(&mut tcp, &log).await, None);
        }
    })
    .await;
    let connector = connector();
    answered(send(&connector, post(&target.url())).await);
    go.notify_one();
    spoken.notified().await;
    assert_eq!(answered(send(&connector, post(&target.url())).await).status, 200);
    assert_eq!((target.log.connections(), target.log.requests().len()), (2, 2));
}

#[tokio::test]
async fn a_connection_that_dies_under_its_second_request_is_lost_and_not_replaced() {
    let mut target = Target::start(|mut tcp, log| async move {
        request(&mut tcp, &log).await.unwrap();
        tcp.write_all(OK).await.unwrap();
        request(&mut tcp, &log).await.unwrap();
    })
    .await;
    let connector = connector();
    answered(send(&connector, post(&target.url())).await);
    lost(&send(&connector, post(&target.url())).await, &UnknownCause::Lost);
    target.ended().await;
    assert_eq!((target.log.connections(), target.log.requests().len()), (1, 2));
}

/// Resets the connection on one certain look at the clock, and returns when that has happened.
struct ResettingClock {
    looks: AtomicUsize,
    reset: Mutex<(mpsc::Sender<()>, mpsc::Receiver<()>)>,
}

/// A second send looks at its entry, before it asks for a connection, in the pool, for its time-out, and then right
/// before its first byte: the last moment there is.
const FIRST_BYTE: usize = 5;

impl BootClock for ResettingClock {
    fn ms(&self) -> i64 {
        if self.looks.fetch_add(1, Ordering::SeqCst) + 1 == FIRST_BYTE {
            let reset = self.reset.lock().unwrap();
            reset.0.send(()).unwrap();
            reset.1.recv().unwrap();
        }
        0
    }
}

#[tokio::test]
async fn a_kept_connection_that_dies_right_before_the_first_byte_is_not_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (tell, told) = mpsc::channel();
    let (done, is_done) = mpsc::channel();
    let target = thread::spawn(move || {
        let (mut tcp, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            tcp.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        tcp.write_all(OK).unwrap();
        told.recv().unwrap();
        // The body was never read, so this is a reset.
        drop(tcp);
        done.send(()).unwrap();
        listener
    });
    let clock = Arc::new(ResettingClock { looks: AtomicUsize::new(100), reset: Mutex::new((tell, is_done)) });
    let connector = connector_with(HttpOptions { clock: clock.clone(), ..HttpOptions::default() });
    answered(send(&connector, post(&url)).await);
    clock.looks.store(0, Ordering::SeqCst);
    not_sent(&send(&connector, post(&url)).await, "SM3104");
    let listener = target.join().unwrap();
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "it was tried again on another connection");
}
