//! A clock that only measures: how much time has passed, never what time it is.

use std::time::Instant;

/// Milliseconds since some fixed moment, by a clock that never jumps. It should run during suspend, as
/// `CLOCK_BOOTTIME` does, so that a laptop that slept over `send_by` does not send.
pub trait BootClock: Send + Sync {
    /// Milliseconds since the fixed moment.
    fn ms(&self) -> i64;
}

/// The standard library's clock. On Linux it stands still during suspend: a worker that may be suspended takes a
/// clock that does not.
#[derive(Debug)]
pub struct ProcessClock {
    since: Instant,
}

impl Default for ProcessClock {
    fn default() -> Self {
        Self { since: Instant::now() }
    }
}

impl BootClock for ProcessClock {
    fn ms(&self) -> i64 {
        i64::try_from(self.since.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
}
