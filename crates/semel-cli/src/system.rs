//! Randomness, environment and the clock that runs during suspend, as the operating system gives them.

use rustix::time::{ClockId, clock_gettime};
use semel_connectors::BootClock;
use semel_ports::Entropy;

/// The time since boot, suspend included: a worker that was suspended knows that it is late.
pub(crate) struct BootTime;

impl BootClock for BootTime {
    fn ms(&self) -> i64 {
        let now = clock_gettime(ClockId::Boottime);
        now.tv_sec.saturating_mul(1_000).saturating_add(now.tv_nsec / 1_000_000)
    }
}

/// The operating system's randomness.
pub(crate) struct OsEntropy;

impl Entropy for OsEntropy {
    fn bits(&self) -> u128 {
        uuid::Uuid::new_v4().as_u128() ^ (uuid::Uuid::new_v4().as_u128() << 64)
    }
}

/// One variable of the environment; the only place that reads it, clap's `env` apart.
#[expect(clippy::disallowed_methods, reason = "the composition root is where the environment is read")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
