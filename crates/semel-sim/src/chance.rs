//! Chance from a seed. Each part of a run has a stream of its own, so that switching one fault off leaves the others as
//! they were.

use semel_ports::Entropy;
use std::sync::{Mutex, PoisonError};

/// A stream of chance.
#[derive(Clone, Debug)]
pub struct Chance(fastrand::Rng);

impl Chance {
    /// The stream of that name under that seed.
    #[must_use]
    pub fn of(seed: u64, name: &str) -> Self {
        let mixed = name.bytes().fold(seed ^ 0x9e37_79b9_7f4a_7c15, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(23)
        });
        Self(fastrand::Rng::with_seed(mixed))
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        self.0.i64(low..=high.max(low))
    }

    /// True in so many of a thousand cases.
    pub fn happens(&mut self, per_mille: u32) -> bool {
        per_mille > 0 && self.0.u32(0..1_000) < per_mille
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        if of.is_empty() { None } else { of.get(self.0.usize(0..of.len())) }
    }

    /// 32 bits.
    pub fn draw(&mut self) -> u32 {
        self.0.u32(..)
    }

    /// A delay: mostly short, sometimes up to `longest`.
    pub fn delay(&mut self, longest: i64) -> i64 {
        if self.happens(850) { self.between(0, (longest / 50).max(1)) } else { self.between(0, longest) }
    }
}

/// Chance behind the port of the engine.
pub(crate) struct SeededEntropy(Mutex<fastrand::Rng>);

impl SeededEntropy {
    /// A stream under that seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(Mutex::new(fastrand::Rng::with_seed(seed)))
    }
}

impl Entropy for SeededEntropy {
    fn bits(&self) -> u128 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).u128(..)
    }
}
