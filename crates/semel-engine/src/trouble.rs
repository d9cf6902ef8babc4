//! What keeps the store from being written, for those who ask how the owner is.

use crate::engine::{Inner, locked};
use semel_kernel::time::Millis;
use semel_ports::StoreError;
use serde::{Deserialize, Serialize};

/// Milliseconds after the last refusal in which the store still counts as refusing: longer than the longest pause between
/// two tries.
const FRESH_MS: i64 = 5_000;

/// The store refuses to be written; nothing is sent meanwhile, and work goes on by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// The stable code.
    pub code: String,
    /// What the store said.
    pub cause: String,
    /// What to do.
    pub next: String,
    /// The first refusal, in store time.
    pub since: Millis,
    /// The last refusal, in store time.
    pub last: Millis,
}

impl Inner {
    /// The store refused; it is asked again.
    pub(crate) fn refused(&self, error: &StoreError) {
        let now = self.store.now().at;
        let mut trouble = locked(&self.trouble);
        let since = trouble.as_ref().filter(|t| t.is_fresh(now)).map_or(now, |t| t.since);
        let (code, cause, next) = (error.code().to_owned(), error.to_string(), error.next().to_owned());
        *trouble = Some(Trouble { code, cause, next, since, last: now });
    }

    /// A turn became durable.
    pub(crate) fn written(&self) {
        *locked(&self.trouble) = None;
    }

    /// What keeps the store from being written now.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        let now = self.store.now().at;
        locked(&self.trouble).clone().filter(|t| t.is_fresh(now))
    }
}

impl Trouble {
    const fn is_fresh(&self, now: Millis) -> bool {
        now.since(self.last) <= FRESH_MS
    }
}
