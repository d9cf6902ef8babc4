//! The time a request has.

use super::send;
use super::{
    HandClock, NOW, SEND_MS, TIMEOUT_MS, UnknownCause, answered, connector_at, lost, not_sent, permit, post,
};
use crate::server::{OK, Target, end, request};
use semel_kernel::time::Millis;
use semel_ports::{Connector, connector::Recall};
use std::{
    io::ErrorKind,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::Notify,
};

#[tokio::test]
async fn the_last_moment_is_in_time() {
    let target = Target::answering(OK).await;
    let connector = connector_at(&Arc::new(HandClock::default()));
    let report =
        connector.send(permit(0, TIMEOUT_MS).await, post(&target.url()), Millis(NOW), Recall::never()).await;
    assert_eq!(report.late_ms, 0);
    answered(report);
}

#[tokio::test]
async fn after_send_by_nothing_leaves() {
    let target = Target::answering(OK).await;
    let connector = connector_at(&Arc::new(HandClock::default()));
    // Not even on a kept connection, which needs no time to be made.
    answered(send(&connector, post(&target.url())).await);
    let before = target.log.bytes();
    let report =
        connector.send(permit(-1, TIMEOUT_MS).await, post(&target.url()), Millis(NOW), Recall::never()).await;
    not_sent(&report, "SM3106");
    assert_eq!((target.log.bytes(), target.log.connections()), (before, 1));
}

#[tokio::test]
async fn the_time_counts_from_the_call_and_not_from_the_first_poll() {
    let target = Target::answering(OK).await;
    let clock = Arc::new(HandClock::default());
    let connector = connector_at(&clock);
    let sent =
        connector.send(permit(SEND_MS, TIMEOUT_MS).await, post(&target.url()), Millis(NOW), Recall::never());
    clock.pass(SEND_MS + 1);
    not_sent(&sent.await, "SM3106");
    assert_eq!(target.log.bytes(), 0);
}

#[tokio::test]
async fn a_connection_that_stands_too_late_carries_nothing() {
    let clock = Arc::new(HandClock::default());
    let late = Arc::clone(&clock);
    let mut target = Target::start(move |mut tcp, log| {
        let late = Arc::clone(&late);
        async move {
            // The hello of TLS is heard, and not answered before the time is over.
            tcp.read_u8().await.unwrap();
            late.pass(SEND_MS + 1);
            drop(request(&mut tcp, &log).await);
        }
    })
    .await;
    not_sent(&send(&connector_at(&clock), post(&target.tls_url())).await, "SM3106");
    target.ended().await;
    assert_eq!((target.log.connections(), target.log.requests().len()), (1, 0));
}

#[tokio::test]
async fn a_slow_answer_is_unknown_and_its_request_is_called_back() {
    let clock = Arc::new(HandClock::default());
    let late = Arc::clone(&clock);
    let seen = Arc::new(Mutex::new(None));
    let tell = Arc::clone(&seen);
    let mut target = Target::start(move |mut tcp, log| {
        let (late, tell) = (Arc::clone(&late), Arc::clone(&tell));
        async move {
            request(&mut tcp, &log).await.unwrap();
            late.pass(TIMEOUT_MS + 1);
            *tell.lock().unwrap() = end(&mut tcp, &log).await.err().map(|e| e.kind());
        }
    })
    .await;
    lost(&send(&connector_at(&clock), post(&target.url())).await, &UnknownCause::Timeout);
    target.ended().await;
    assert_eq!((target.log.connections(), target.log.requests().len()), (1, 1));
    assert_eq!(*seen.lock().unwrap(), Some(ErrorKind::ConnectionReset));
}

#[tokio::test]
async fn an_answer_in_the_last_moment_counts() {
    let clock = Arc::new(HandClock::default());
    let late = Arc::clone(&clock);
    let target = Target::start(move |mut tcp, log| {
        let late = Arc::clone(&late);
        async move {
            request(&mut tcp, &log).await.unwrap();
            // The time-out counts from the first byte, which left at once.
            late.pass(TIMEOUT_MS);
            late.looked_at().await;
            tcp.write_all(OK).await.unwrap();
        }
    })
    .await;
    answered(send(&connector_at(&clock), post(&target.url())).await);
}

#[tokio::test]
async fn half_an_answer_at_the_end_of_the_time_is_a_time_out() {
    let clock = Arc::new(HandClock::default());
    let late = Arc::clone(&clock);
    let target = Target::start(move |mut tcp, log| {
        let late = Arc::clone(&late);
        async move {
            request(&mut tcp, &log).await.unwrap();
            tcp.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf").await.unwrap();
            late.pass(TIMEOUT_MS + 1);
            drop(end(&mut tcp, &log).await);
        }
    })
    .await;
    lost(&send(&connector_at(&clock), post(&target.url())).await, &UnknownCause::Timeout);
}

#[tokio::test]
async fn a_call_that_is_dropped_is_called_back() {
    let heard = Arc::new(Notify::new());
    let hear = Arc::clone(&heard);
    let seen = Arc::new(Mutex::new(None));
    let tell = Arc::clone(&seen);
    let mut target = Target::start(move |mut tcp, log| {
        let (hear, tell) = (Arc::clone(&hear), Arc::clone(&tell));
        async move {
            request(&mut tcp, &log).await.unwrap();
            hear.notify_one();
            *tell.lock().unwrap() = end(&mut tcp, &log).await.err().map(|e| e.kind());
        }
    })
    .await;
    let connector = connector_at(&Arc::new(HandClock::default()));
    tokio::select! {
        report = send(&connector, post(&target.url())) => panic!("answered: {report:?}"),
        () = heard.notified() => (),
    }
    target.ended().await;
    assert_eq!(*seen.lock().unwrap(), Some(ErrorKind::ConnectionReset));
}
