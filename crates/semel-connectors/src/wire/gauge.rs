//! Counts the request's bytes above TLS, and lets the first one out only in time.
//!
//! Invariant: no byte passes while no request is open, and none passes first after `send_by` or a recall. The count is never too
//! low: when a write fails under TLS, the records that went out before the failure count as request bytes.

use super::socket::Stream;
use crate::{options::Point, window::Window};
use semel_ports::connector::Recall;
use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// One request on its way.
pub(crate) struct Leg {
    /// Its time.
    pub(crate) window: Window,
    /// Whether it may still leave.
    pub(crate) recall: Recall,
    /// Its body's bytes: it has not left whole before more than these were handed over.
    pub(crate) body_bytes: u64,
    /// Reached once, when it has left whole.
    pub(crate) left: Option<Point>,
}

/// What was counted of the open request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Request bytes handed over.
    pub(crate) handed: u64,
    /// Answer bytes read.
    pub(crate) read: u64,
    /// The first byte left so many milliseconds after `send_by`.
    pub(crate) late_ms: i64,
    /// Why the first byte was held back.
    pub(crate) held_back: Option<HeldBack>,
}

/// Why a first byte was held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeldBack {
    /// `send_by` was over.
    Late,
    /// The process drains.
    Recalled,
}

impl Leg {
    fn held_back(&self) -> Option<HeldBack> {
        if self.window.late_ms() > 0 {
            return Some(HeldBack::Late);
        }
        self.recall.is_given().then_some(HeldBack::Recalled)
    }
}

struct Open {
    leg: Leg,
    seen: Seen,
    whole: bool,
    /// What had left the socket when the write under way began.
    socket_mark: u64,
}

/// The counters of one connection.
#[derive(Default)]
pub(crate) struct Meter {
    open: Mutex<Option<Open>>,
    socket_out: AtomicU64,
}

impl Meter {
    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a request; the counters start at zero.
    pub(crate) fn open(&self, leg: Leg) {
        *self.lock() = Some(Open { leg, seen: Seen::default(), whole: false, socket_mark: 0 });
    }

    /// The request is answered; nothing passes until the next one opens.
    pub(crate) fn close(&self) {
        *self.lock() = None;
    }

    /// A request is open.
    pub(crate) fn is_open(&self) -> bool {
        self.lock().is_some()
    }

    /// What was counted of the open request.
    pub(crate) fn seen(&self) -> Seen {
        self.lock().as_ref().map(|open| open.seen).unwrap_or_default()
    }

    /// Bytes have left for the network, TLS included.
    pub(super) fn left_socket(&self, bytes: usize) {
        self.socket_out.fetch_add(bytes as u64, Ordering::SeqCst);
    }

    fn admit(&self) -> io::Result<()> {
        let socket_mark = self.socket_out.load(Ordering::SeqCst);
        let mut slot = self.lock();
        let Some(open) = slot.as_mut() else { return Err(io::Error::other("no request is open here")) };
        if open.seen.handed == 0
            && let Some(why) = open.leg.held_back()
        {
            open.seen.held_back = Some(why);
            return Err(io::Error::other("the first byte may not leave any more"));
        }
        open.socket_mark = socket_mark;
        Ok(())
    }

    fn wrote(&self, result: &Poll<io::Result<usize>>, offered: usize) {
        let moved = self.socket_out.load(Ordering::SeqCst);
        let mut slot = self.lock();
        let Some(open) = slot.as_mut() else { return };
        let bytes = match result {
            Poll::Ready(Ok(bytes)) => *bytes,
            Poll::Ready(Err(_)) if moved > open.socket_mark => offered,
            Poll::Ready(Err(_)) | Poll::Pending => 0,
        };
        if open.seen.handed == 0 && bytes > 0 {
            open.seen.late_ms = open.leg.window.late_ms();
        }
        open.seen.handed = open.seen.handed.saturating_add(bytes as u64);
    }

    /// Called outside the lock, because what it calls may not return.
    fn flushed(&self) {
        let left = self.lock().as_mut().and_then(|open| {
            let whole = open.seen.handed > open.leg.body_bytes && !open.whole;
            open.whole |= whole;
            open.leg.left.filter(|_| whole)
        });
        if let Some(left) = left {
            left.reach();
        }
    }

    fn read(&self, bytes: usize) {
        if let Some(open) = self.lock().as_mut() {
            open.seen.read = open.seen.read.saturating_add(bytes as u64);
        }
    }
}

/// A stream that goes through a [`Meter`].
pub(crate) struct Gauge {
    inner: Box<dyn Stream>,
    meter: Arc<Meter>,
}

impl Gauge {
    pub(crate) fn new(inner: Box<dyn Stream>, meter: Arc<Meter>) -> Self {
        Self { inner, meter }
    }
}

impl AsyncRead for Gauge {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buf);
        self.meter.read(buf.filled().len().saturating_sub(before));
        polled
    }
}

impl AsyncWrite for Gauge {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if let Err(refused) = self.meter.admit() {
            return Poll::Ready(Err(refused));
        }
        let polled = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.meter.wrote(&polled, buf.len());
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_flush(cx);
        if matches!(polled, Poll::Ready(Ok(()))) {
            self.meter.flushed();
        }
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
