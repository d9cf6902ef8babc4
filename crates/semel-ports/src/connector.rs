//! Connectors: thin transports. They send bytes and say what was seen; what it means is the contract's business.
//!
//! Invariant: an effect leaves only with a [`CallPermit`], which is consumed. A connector never retries, never follows
//! a redirect, and counts bytes: *not sent* means that not one byte of the request was handed to a connection.

mod recall;
mod spelling;
mod witness;

use crate::{outside::NoSecret, receipt::CallPermit, request::HttpRequest};
use async_trait::async_trait;
pub use recall::Recall;
use semel_kernel::{outcome::UnknownCause, time::Millis};
use std::fmt;
pub use witness::{Eraser, MARK, Witnessed};

/// A full answer, raw: a target may repeat a secret in it. Its `Debug` shows no value of it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Header names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, up to the response limit.
    pub body: Vec<u8>,
    /// The body was cut at the response limit.
    pub truncated: bool,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("header_names", &names)
            .field("body_bytes", &self.body.len())
            .field("truncated", &self.truncated)
            .finish()
    }
}

/// What one physical request showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Zero request bytes were handed to the connection.
    NotSent {
        /// What stood in the way.
        cause: String,
    },
    /// Bytes left, and no full answer came.
    Lost {
        /// Time-out, broken connection, garbled answer.
        cause: UnknownCause,
        /// What was seen.
        detail: String,
    },
    /// A full answer.
    Answered(Answer),
}

/// What one physical request showed, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What was seen.
    pub transport: Transport,
    /// Request bytes handed to the connection.
    pub bytes_out: u64,
    /// The first byte left so many milliseconds after `send_by`; 0 when it was in time.
    pub late_ms: i64,
    /// What the call used of secrets. Whoever keeps or shows anything of an answer takes these out of it first.
    pub secrets: Witnessed,
}

impl Report {
    /// A report of a call that used no secrets.
    #[must_use]
    pub const fn new(transport: Transport, bytes_out: u64, late_ms: i64) -> Self {
        Self { transport, bytes_out, late_ms, secrets: Witnessed::new(Vec::new()) }
    }

    /// Nothing was sent, because of `cause`.
    #[must_use]
    pub const fn not_sent(cause: String) -> Self {
        Self::new(Transport::NotSent { cause }, 0, 0)
    }
}

/// A question to a target: changes nothing, so it needs no permit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What is asked.
    pub request: HttpRequest,
    /// The operation's key, for the open parts.
    pub key: String,
    /// The fencing token, for the open parts.
    pub fence: String,
    /// Milliseconds it may take.
    pub timeout_ms: i64,
}

/// A transport.
#[async_trait]
pub trait Connector: Send + Sync {
    /// Sends an effect. `now` is store time at the call; the connector measures on from there by a clock that runs
    /// during suspend, refuses to send after `send_by`, and gives up at `send_by` + time-out.
    /// `request` is the permit's frozen request, read back. When it is recalled before its first byte was handed over it
    /// is *not sent*, at once; after that byte a recall changes nothing.
    async fn send(&self, permit: CallPermit, request: HttpRequest, now: Millis, recall: Recall) -> Report;

    /// Asks a question.
    async fn ask(&self, question: Question) -> Report;

    /// The label of an account behind a reference such as `env:NAME`, as credentials are read.
    ///
    /// # Errors
    /// [`NoSecret`] when there is none; also from a transport that knows no references.
    fn account(&self, reference: &str) -> Result<String, NoSecret> {
        Err(NoSecret { reference: reference.to_owned(), cause: "this transport reads none".to_owned() })
    }
}
