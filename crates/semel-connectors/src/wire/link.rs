//! One connection to one target, driven by whoever holds it.

use super::{
    gauge::{Gauge, Meter},
    socket::Stream,
};
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use std::{
    future::{Future, poll_fn},
    io,
    net::TcpStream,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
};

type Driver = Connection<TokioIo<Gauge>, Full<Bytes>>;

/// One connection to one target.
pub(crate) struct Link {
    /// Takes the request.
    pub(crate) sender: SendRequest<Full<Bytes>>,
    /// Gone once the connection has ended: what still waits for it learns that by its being dropped.
    driver: Option<Driver>,
    /// Its counters.
    pub(crate) meter: Arc<Meter>,
    /// The same socket once more, to look at it without a read.
    tap: TcpStream,
}

impl Link {
    /// Speaks HTTP/1.1 over a stream. Sends nothing yet.
    pub(crate) async fn over(
        stream: Box<dyn Stream>,
        meter: Arc<Meter>,
        tap: TcpStream,
        head_bytes: usize,
    ) -> Result<Self, hyper::Error> {
        let gauge = TokioIo::new(Gauge::new(stream, Arc::clone(&meter)));
        let mut http = Builder::new();
        http.max_header_size(head_bytes);
        let (sender, driver) = http.handshake(gauge).await?;
        Ok(Self { sender, driver: Some(driver), meter, tap })
    }

    /// Drives the connection until `work`, which waits for it, is done.
    pub(crate) async fn drive<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|cx| {
            if let Poll::Ready(done) = work.as_mut().poll(cx) {
                return Poll::Ready(done);
            }
            self.turn(cx);
            work.as_mut().poll(cx)
        })
        .await
    }

    fn turn(&mut self, cx: &mut Context<'_>) {
        let Some(driver) = &mut self.driver else { return };
        if let Poll::Ready(ended) = Pin::new(driver).poll(cx) {
            tracing::trace!(error = ?ended.err(), "a connection has ended");
            self.driver = None;
        }
    }

    /// Ends the request that was answered. True when the connection can take another one.
    pub(crate) async fn rest(&mut self) -> bool {
        poll_fn(|cx| {
            self.turn(cx);
            Poll::Ready(())
        })
        .await;
        self.meter.close();
        self.driver.is_some() && self.sender.is_ready()
    }

    /// Nothing has come in since the last answer, not even the end of the connection. Asks the kernel, because a
    /// connection at rest is not polled.
    pub(crate) fn is_quiet(&self) -> bool {
        let seen = self.tap.peek(&mut [0]);
        matches!(seen, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}
