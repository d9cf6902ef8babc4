//! The embedded store: one file, one owning process, one writer with group commit, WAL with `synchronous=FULL`.
//!
//! | part | is |
//! |---|---|
//! | [`SqliteStore`] | the owner's store |
//! | [`SqliteReader`] | the same file for other processes: reads only |
//! | [`verify`] | checks a file: chains, projections, checkpoints, bodies |
//! | [`backup`] | copies a store while it is used, and puts a copy in place |
//! | [`clock`] | store time |
//!
//! Invariant: what was acknowledged is durable, what is refused was not done, and where neither is known the answer
//! says so. It must not know what events mean: logic exists once, in the kernel.

mod adopt;
pub mod backup;
mod chain;
pub mod clock;
mod crash;
mod error;
mod lock;
mod mark;
mod migrate;
mod open;
mod reader;
mod sql;
mod store;
pub mod verify;
mod writer;

pub use adopt::AdoptReport;
pub use clock::{OsTime, TimeSource};
pub use crash::{POINTS, set_crash_hook};
pub use reader::SqliteReader;
pub use store::SqliteStore;

use semel_kernel::limit;
use std::sync::{Arc, atomic::AtomicBool};

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Requests that share one transaction at most.
    pub batch_max: usize,
    /// Requests that wait at most; more wait outside.
    pub queue_max: usize,
    /// Reads at once.
    pub readers: usize,
    /// Milliseconds by which the wall clock may go back over a boot without a jump being seen.
    pub clock_error_ms: i64,
    /// Milliseconds that a statement waits for a lock of somebody else.
    pub busy_ms: u32,
    /// For tests of a full disk: pages that the file may have.
    pub page_max: Option<u32>,
    /// For tests of a failed sync: while it is set, the next COMMIT fails and the flag falls.
    pub refuse_commit: Option<Arc<AtomicBool>>,
    /// For the control of power-cut tests: `synchronous=NORMAL`, under which a power cut takes back what was acknowledged.
    pub sync_normal: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            batch_max: 256,
            queue_max: 1_024,
            readers: 4,
            clock_error_ms: limit::CLOCK_ERROR_MS,
            busy_ms: 5_000,
            page_max: None,
            refuse_commit: None,
            sync_normal: false,
        }
    }
}
