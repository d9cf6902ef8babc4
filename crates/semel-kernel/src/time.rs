//! Time as the kernel knows it: the store's, in milliseconds, always an argument.
//!
//! Invariant: nothing here reads a clock. A wait is credited only for time that somebody can vouch for.

use core::fmt;
use serde::{Deserialize, Serialize};

/// A moment of store time: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    /// Before everything.
    pub const MIN: Self = Self(i64::MIN);
    /// After everything.
    pub const MAX: Self = Self(i64::MAX);

    /// This moment, `ms` later.
    #[must_use]
    pub const fn plus(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to this moment; negative when it lies ahead.
    #[must_use]
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// The present, as the store's clock tells it (DESIGN section 7, *store time*).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The present moment.
    pub at: Millis,
    /// Since when the clock is known not to have jumped; settle waits are credited from here only.
    pub steady_since: Millis,
    /// Key windows that opened before this moment count as over: the clock cannot vouch for them.
    pub windows_void_before: Millis,
}

impl Now {
    /// A clock that has always been steady.
    #[must_use]
    pub const fn steady(at: Millis) -> Self {
        Self { at, steady_since: Millis::MIN, windows_void_before: Millis::MIN }
    }
}

/// Fencing token of a task: the store's epoch, then a counter that grows with every change of owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Generation {
    /// Grows when a store is restored or adopted; leads every comparison.
    pub epoch: u32,
    /// Grows with every claim.
    pub counter: u64,
}

impl Generation {
    /// The next owner's generation.
    #[must_use]
    pub const fn next(self) -> Self {
        Self { epoch: self.epoch, counter: self.counter.saturating_add(1) }
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.counter)
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
