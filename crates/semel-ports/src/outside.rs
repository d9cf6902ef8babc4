//! What else the shell asks of the outside: randomness and secrets.

use std::fmt;

/// Randomness, as a port, so that a simulator can replay it.
pub trait Entropy: Send + Sync {
    /// 128 random bits.
    fn bits(&self) -> u128;
}

/// A secret could not be resolved. Never carries the secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secret `{reference}` cannot be read: {cause}")]
pub struct NoSecret {
    /// The reference, such as `env:PAY_KEY`.
    pub reference: String,
    /// Why.
    pub cause: String,
}

/// A resolved secret. It has no `Display`, its `Debug` is a mark, and it is never stored.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Wraps a resolved value.
    #[must_use]
    pub const fn new(value: String) -> Self {
        Self(value)
    }

    /// The value, to be put into a request and nowhere else.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// Resolves secret references at the time of a call.
pub trait Secrets: Send + Sync {
    /// The value behind a reference such as `env:NAME` or `file:PATH`.
    ///
    /// # Errors
    /// [`NoSecret`] when there is none.
    fn resolve(&self, reference: &str) -> Result<Secret, NoSecret>;
}
