//! Randomness and environment of this process.

use semel_ports::Entropy;

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
