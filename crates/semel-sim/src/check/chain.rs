//! Chain: a history only grows. What was seen once is there for ever, unchanged and in its place.

use super::{Check, Checks};
use crate::verb::at_once;
use semel_kernel::{event::Recorded, hash::Hash, id::TaskId};
use semel_ports::{Store as _, mem::MemStore};

/// The digest after one more event.
pub(super) fn next(chain: Hash, recorded: &Recorded) -> Hash {
    let text = serde_json::to_string(recorded).unwrap_or_default();
    Hash::of_parts(&[chain.as_bytes(), text.as_bytes()])
}

impl Checks {
    /// After a power cut, everything that was durable is there.
    pub fn after_power_cut(&mut self, now: i64, store: &MemStore, id: &TaskId) {
        self.prefix_is_there(now, store, id);
    }

    pub(super) fn prefix_is_there(&mut self, now: i64, store: &MemStore, id: &TaskId) {
        let Some(mirror) = self.mirrors.get(id) else { return };
        let seen = usize::try_from(mirror.task.version).unwrap_or(usize::MAX);
        let whole = at_once(store.history(id, 0)).unwrap_or_default();
        let numbered = (1..).zip(&whole).all(|(n, r)| r.seq == n);
        if whole.len() < seen {
            let what = format!("{id} had {seen} events, now {}", whole.len());
            return self.broken(now, Check::Lost, what);
        }
        let chain = whole.iter().take(seen).fold(Hash::of(b""), next);
        if chain != mirror.chain || !numbered {
            self.broken(now, Check::Chain, format!("the first {seen} events of {id} were changed"));
        }
    }
}
