//! Outside systems for the demo, the examples and the kill tests.
//!
//! Each is a real HTTP server with its own SQLite database, meant to run as its own process, and
//! each counts the effects it has really committed (`GET /_count`), so that a test never has to
//! believe the system under test about what happened outside.
//!
//! Invariant: an effect and its count are durable before the first byte of the answer is sent.
//! This crate must not know anything of Semel: it is the other side.
//!
//! # What every sink answers besides its own paths
//!
//! * `GET /_count`: `effects`, `by_target`, `by_key`, `by_ref` (committed effects), `requests` (all
//!   physical requests), `requests_log` (the last ten thousand) and `slowest_ms` (from a request to its
//!   effect); `GET /_effects` is the first of them alone, for those who ask often.
//! * `PUT /_control`: an object adds the rule `{"fault", "times", "match": {"method", "path", "key"},
//!   "retry_after_s", "commit_after_ms", "handle_state"}`, an array replaces all rules. With `times`
//!   a rule meets that many requests, without it all; counted rules go first, each in order. Without
//!   `match.method` a fault of lookups meets `GET` and any other fault meets all but `GET`; `"*"`
//!   meets every method. `{"fault": "none"}` ends the script. `{"key_window_ms": n}` makes a desk
//!   forget keys after that time. Nothing of it outlives the process.
//! * `POST /_reset`: forgets all. A request still held by `slow_before` commits after it.
//! * `GET /handles/{id}`: the state of work that `accept_202` accepted.
//!
//! # Faults
//!
//! Without effect: `refuse_400` to `refuse_599`, `status_500_before`, `reset_before`, `redirect_302`,
//! `ok_but_false`. With the effect committed before the answer goes wrong: `status_500_after`,
//! `reset_after`, `half_answer`, `garbage`, `slow_after:MS`. With the effect later:
//! `slow_before:MS`, `accept_202`. Of lookups: `read_lag:MS`, `dont_know`, `lookup_many`.

mod accounts;
mod control;
mod count;
mod db;
mod desk;
mod fault;
mod handles;
pub mod hostile;
mod http;
mod keys;
mod ledger;
mod payments;
mod records;
mod server;
mod sink;
mod sms;
mod tickets;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

pub use server::serve;

/// Which outside system a server plays; the kinds differ in what a caller can find out afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinkKind {
    /// A ticket desk: lookups by reference, and keys when a caller sends `Idempotency-Key`.
    Tickets,
    /// A payment desk: charges keyed by `Idempotency-Key`, one charge per request without a key.
    Payments,
    /// A message gateway: accepts, and never tells anything afterwards.
    Sms,
    /// A directory of accounts: setting a state twice is harmless, `If-Match` is honoured.
    Accounts,
}

impl SinkKind {
    /// Every kind, in the order in which they are documented.
    pub const ALL: [Self; 4] = [Self::Tickets, Self::Payments, Self::Sms, Self::Accounts];

    /// The name used on the command line and in `/_count`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tickets => "tickets",
            Self::Payments => "payments",
            Self::Sms => "sms",
            Self::Accounts => "accounts",
        }
    }

    /// The number kept in the database file, so that a file is never served as another kind.
    fn file_mark(self) -> i64 {
        match self {
            Self::Tickets => 1,
            Self::Payments => 2,
            Self::Sms => 3,
            Self::Accounts => 4,
        }
    }
}

impl FromStr for SinkKind {
    type Err = SinkError;

    fn from_str(text: &str) -> Result<Self, SinkError> {
        let known = Self::ALL.into_iter().find(|kind| kind.name() == text);
        known.ok_or_else(|| SinkError::UnknownKind(text.to_owned()))
    }
}

/// Why a sink did not start or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The name is not one of the kinds.
    #[error("SM6001 no sink is called `{0}`; next: use tickets, payments, sms or accounts")]
    UnknownKind(String),
    /// The address could not be listened on.
    #[error("SM6002 cannot listen on {address}: {source}; next: choose a free port, or port 0")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file holds the records of another kind of sink, or is no sink's file.
    #[error("SM6003 {} is not the database of a {wanted} sink; next: give each sink its own file", path.display())]
    ForeignFile {
        /// The file that was opened.
        path: PathBuf,
        /// The kind that was asked for.
        wanted: &'static str,
    },
    /// The sink's own database refused; the effect in hand was not committed.
    #[error("SM6004 the sink's database refused: {0}; next: check the file and the free space")]
    Database(#[from] rusqlite::Error),
    /// A stored record could not be read back.
    #[error("SM6005 a stored record is not readable: {0}; next: start the sink on a new file")]
    Record(#[from] serde_json::Error),
    /// The thread that ran a database call ended without an answer.
    #[error("SM6006 a database call was cut off; next: restart the sink, its file is intact")]
    CutOff,
}

impl SinkError {
    /// The stable code, the same as at the start of the message.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownKind(_) => "SM6001",
            Self::Listen { .. } => "SM6002",
            Self::ForeignFile { .. } => "SM6003",
            Self::Database(_) => "SM6004",
            Self::Record(_) => "SM6005",
            Self::CutOff => "SM6006",
        }
    }

    fn foreign(path: &Path, wanted: SinkKind) -> Self {
        Self::ForeignFile { path: path.to_owned(), wanted: wanted.name() }
    }
}
