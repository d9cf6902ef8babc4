//! Connections at rest, by place.
//!
//! Invariant: a connection that has heard anything since its last answer is never used again.

use super::{dial::Place, link::Link};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

struct Resting {
    since_ms: i64,
    link: Link,
}

/// Connections at rest.
pub(crate) struct Pool {
    resting: Mutex<HashMap<Place, Vec<Resting>>>,
    /// Connections kept for each place.
    idle: usize,
    /// Milliseconds for which one is kept.
    idle_ms: i64,
}

impl Pool {
    pub(crate) fn new(idle: usize, idle_ms: i64) -> Self {
        Self { resting: Mutex::default(), idle, idle_ms }
    }

    /// The connection that came to rest last, if it is fresh and quiet. Others of the place are dropped on the way.
    pub(crate) fn take(&self, place: &Place, now_ms: i64) -> Option<Link> {
        let mut resting = self.fresh(now_ms);
        let links = resting.get_mut(place)?;
        while let Some(found) = links.pop() {
            if found.link.is_quiet() {
                return Some(found.link);
            }
        }
        None
    }

    /// Lays a connection to rest, and drops all that are too old.
    pub(crate) fn put(&self, place: Place, link: Link, now_ms: i64) {
        let mut resting = self.fresh(now_ms);
        let links = resting.entry(place).or_default();
        if links.len() < self.idle {
            links.push(Resting { since_ms: now_ms, link });
        }
    }

    fn fresh(&self, now_ms: i64) -> MutexGuard<'_, HashMap<Place, Vec<Resting>>> {
        let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        resting.retain(|_, links| {
            links.retain(|found| now_ms.saturating_sub(found.since_ms) <= self.idle_ms);
            !links.is_empty()
        });
        resting
    }
}
