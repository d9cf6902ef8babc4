//! The cases that no real network can be asked for: a pause between the check and the write, and a write that fails
//! after its first records went out.

use super::{Gauge, HeldBack, Leg, Meter, Seen, Stream};
use crate::{clock::BootClock, options::Point, window::Window};
use semel_kernel::time::Millis;
use semel_ports::connector::Recall;
use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

#[derive(Default)]
struct HandClock(AtomicI64);

impl BootClock for HandClock {
    fn ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A stream below the gauge: lets `records` bytes out to the network, takes `pause_ms`, and fails or not.
struct Below {
    clock: Arc<HandClock>,
    meter: Arc<Meter>,
    pause_ms: i64,
    records: usize,
    fails: bool,
}

impl AsyncWrite for Below {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.clock.0.fetch_add(self.pause_ms, Ordering::SeqCst);
        self.meter.left_socket(self.records);
        if self.fails {
            Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
        } else {
            Poll::Ready(Ok(buf.len()))
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Below {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

impl Stream for Below {}

static LEFT: AtomicUsize = AtomicUsize::new(0);

fn bench(pause_ms: i64, records: usize, fails: bool) -> (Gauge, Arc<Meter>, Arc<HandClock>) {
    let clock = Arc::new(HandClock::default());
    let meter = Arc::new(Meter::default());
    let below = Below { clock: Arc::clone(&clock), meter: Arc::clone(&meter), pause_ms, records, fails };
    (Gauge::new(Box::new(below), Arc::clone(&meter)), meter, clock)
}

fn open(meter: &Meter, clock: &Arc<HandClock>, left: Option<Point>) {
    let clock: Arc<dyn BootClock> = clock.clone();
    let window = Window::for_send(&clock, Millis(1_000), Millis(1_500), 100);
    meter.open(Leg { window, recall: Recall::never(), body_bytes: 4, left });
}

#[tokio::test]
async fn a_pause_between_the_check_and_the_write_is_seen() {
    let (mut gauge, meter, clock) = bench(700, 9, false);
    open(&meter, &clock, None);
    gauge.write_all(b"POST / ..").await.unwrap();
    assert_eq!(meter.seen(), Seen { handed: 9, late_ms: 200, ..Seen::default() });
}

#[tokio::test]
async fn after_send_by_the_first_byte_stays_here_and_a_later_one_goes() {
    let (mut gauge, meter, clock) = bench(0, 4, false);
    open(&meter, &clock, None);
    clock.0.store(501, Ordering::SeqCst);
    gauge.write_all(b"POST").await.unwrap_err();
    assert_eq!(meter.seen(), Seen { held_back: Some(HeldBack::Late), ..Seen::default() });
    clock.0.store(500, Ordering::SeqCst);
    gauge.write_all(b"POST").await.unwrap();
    clock.0.store(501, Ordering::SeqCst);
    gauge.write_all(b" / ..").await.unwrap();
    assert_eq!(meter.seen().handed, 9);
}

#[tokio::test]
async fn a_write_that_fails_after_its_first_records_counts() {
    let (mut gauge, meter, clock) = bench(0, 16, true);
    open(&meter, &clock, None);
    gauge.write_all(b"POST").await.unwrap_err();
    assert_eq!(meter.seen().handed, 4);
}

#[tokio::test]
async fn a_write_that_fails_at_once_does_not_count() {
    let (mut gauge, meter, clock) = bench(0, 0, true);
    meter.left_socket(300); // The handshake's records are not the request's.
    open(&meter, &clock, None);
    gauge.write_all(b"POST").await.unwrap_err();
    assert_eq!(meter.seen().handed, 0);
}

#[tokio::test]
async fn nothing_passes_while_no_request_is_open() {
    let (mut gauge, meter, clock) = bench(0, 1, false);
    gauge.write_all(b"x").await.unwrap_err();
    open(&meter, &clock, None);
    gauge.write_all(b"x").await.unwrap();
    meter.close();
    gauge.write_all(b"x").await.unwrap_err();
}

#[tokio::test]
async fn it_has_left_once_and_only_whole() {
    let (mut gauge, meter, clock) = bench(0, 1, false);
    let count = |_| {
        LEFT.fetch_add(1, Ordering::SeqCst);
    };
    open(&meter, &clock, Some(Point { call: count, name: "call.after_send" }));
    gauge.write_all(b"POST").await.unwrap();
    gauge.flush().await.unwrap();
    assert_eq!(LEFT.load(Ordering::SeqCst), 0);
    gauge.write_all(b"body").await.unwrap();
    gauge.flush().await.unwrap();
    gauge.flush().await.unwrap();
    assert_eq!(LEFT.load(Ordering::SeqCst), 1);
}
