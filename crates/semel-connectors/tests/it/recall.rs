//! A process that drains takes back what has not left yet, and only that.

use super::{NOW, SEND_MS, TIMEOUT_MS, answered, connector, not_sent, permit, post};
use crate::server::{OK, Target, end, request};
use semel_kernel::time::Millis;
use semel_ports::{Connector, Recall};
use std::sync::Arc;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::{Notify, watch},
};

#[tokio::test]
async fn a_call_that_still_dials_is_given_back_at_once() {
    let (drain, draining) = watch::channel(false);
    let mut target = Target::start(move |mut tcp, log| {
        let drain = drain.clone();
        async move {
            // The hello of TLS is heard, and never answered.
            tcp.read_u8().await.unwrap();
            drain.send(true).unwrap();
            drop(request(&mut tcp, &log).await);
        }
    })
    .await;
    let permit = permit(SEND_MS, TIMEOUT_MS).await;
    let recall = Recall::when(draining);
    not_sent(&connector().send(permit, post(&target.tls_url()), Millis(NOW), recall).await, "SM3107");
    target.ended().await;
    assert_eq!((target.log.connections(), target.log.requests().len()), (1, 0));
}

#[tokio::test]
async fn nothing_leaves_on_a_kept_connection_after_a_recall() {
    let target = Target::answering(OK).await;
    let connector = connector();
    answered(super::send(&connector, post(&target.url())).await);
    let before = target.log.bytes();
    let (_drain, draining) = watch::channel(true);
    let permit = permit(SEND_MS, TIMEOUT_MS).await;
    let report = connector.send(permit, post(&target.url()), Millis(NOW), Recall::when(draining)).await;
    not_sent(&report, "SM3107");
    assert_eq!((target.log.bytes(), target.log.connections()), (before, 1));
}

#[tokio::test]
async fn what_has_left_is_waited_for() {
    let (drain, draining) = watch::channel(false);
    let heard = Arc::new(Notify::new());
    let hear = Arc::clone(&heard);
    let target = Target::start(move |mut tcp, log| {
        let (drain, hear) = (drain.clone(), Arc::clone(&hear));
        async move {
            request(&mut tcp, &log).await.unwrap();
            drain.send(true).unwrap();
            hear.notified().await;
            tcp.write_all(OK).await.unwrap();
            drop(end(&mut tcp, &log).await);
        }
    })
    .await;
    let mut seen = draining.clone();
    let connector = connector();
    let permit = permit(SEND_MS, TIMEOUT_MS).await;
    let sent = connector.send(permit, post(&target.url()), Millis(NOW), Recall::when(draining));
    let answers = async {
        seen.wait_for(|given| *given).await.unwrap();
        heard.notify_one();
    };
    let (report, ()) = tokio::join!(sent, answers);
    answered(report);
}
