//! Connections that are used again, and those that must not be.

use super::{HandClock, UnknownCause, answered, connector, connector_at, connector_with, lost, post, send};
use crate::server::{OK, Target, request};
use semel_connectors::HttpOptions;
use std::sync::Arc;
use tokio::{io::AsyncWriteExt, sync::Notify};

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let target = Target::answering(OK).await;
    let connector = connector();
    for _ in 0..5 {
        answered(send(&connector, post(&target.url())).await);
    }
    assert_eq!((target.log.connections(), target.log.requests().len()), (1, 5));
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
    let mut target = Target::answering_once(OK).await;
    let connector = connector();
    for _ in 0..3 {
        answered(send(&connector, post(&target.url())).await);
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
