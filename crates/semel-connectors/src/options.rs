//! Limits and seams of the HTTP connector.

use crate::clock::{BootClock, ProcessClock};
use semel_kernel::limit;
use std::{fmt, sync::Arc};

/// Limits and seams of the HTTP connector. Sizes are bytes.
#[derive(Clone)]
pub struct HttpOptions {
    /// Bytes of a response body that are read; the rest is cut.
    pub response_bytes: usize,
    /// Bytes of an answer's status line and headers; an answer with more is garbled.
    pub answer_head_bytes: usize,
    /// Bytes of a request body.
    pub request_bytes: usize,
    /// Bytes of a request's address and headers together.
    pub request_head_bytes: usize,
    /// Milliseconds that connecting to one address of the target may take, inside `send_by`.
    pub connect_ms: i64,
    /// Idle connections kept for each target, so that tasks side by side do not dial anew for every request. Those that
    /// are too old are dropped at the next call.
    pub idle: usize,
    /// Milliseconds for which an idle connection is kept. Short, because a target that closes it just as the next
    /// request leaves turns a good request into an unknown one.
    pub idle_ms: i64,
    /// Measures the time since a call.
    pub clock: Arc<dyn BootClock>,
    /// Called at `call.before_send`, `call.after_send`, `call.after_answer`, `probe.before` and `probe.after`, where
    /// a test may kill the process.
    pub crash: fn(&'static str),
}

/// A place where a test may kill the process.
#[derive(Clone, Copy)]
pub(crate) struct Point {
    /// The hook.
    pub(crate) call: fn(&'static str),
    /// The place's name.
    pub(crate) name: &'static str,
}

impl Point {
    /// Tells the hook. It may not return.
    pub(crate) fn reach(self) {
        (self.call)(self.name);
    }
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            response_bytes: limit::RESPONSE_BYTES,
            answer_head_bytes: 64 << 10,
            request_bytes: 8 << 20,
            request_head_bytes: 64 << 10,
            connect_ms: 3_000,
            idle: 32,
            idle_ms: 2_000,
            clock: Arc::new(ProcessClock::default()),
            crash: |_| (),
        }
    }
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOptions")
            .field("response_bytes", &self.response_bytes)
            .field("request_bytes", &self.request_bytes)
            .field("connect_ms", &self.connect_ms)
            .field("idle", &self.idle)
            .field("idle_ms", &self.idle_ms)
            .finish_non_exhaustive()
    }
}
