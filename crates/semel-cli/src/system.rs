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

/// Ends when somebody asks this process to stop: Ctrl-C, or SIGTERM as supervisors send it.
pub(crate) async fn interrupted() {
    let term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
    let term = async move {
        match term {
            Ok(mut term) => drop(term.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = term => {}
    }
}

/// One variable of the environment; the only place that reads it, clap's `env` apart.
#[expect(clippy::disallowed_methods, reason = "the composition root is where the environment is read")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
