//! Intent before act: when a byte leaves, its STARTED is durable and `send_by` is ahead; the key is inside its window,
//! and the bytes are those of the first attempt.

use super::{Check, Checks};
use crate::world::{Sent, dedupes, window_of};
use semel_kernel::id::OperationId;
use semel_ports::CallPermit;

impl Checks {
    /// The first byte of an attempt leaves.
    pub fn left(&mut self, now: i64, permit: &CallPermit, sent: &Sent) {
        let (op, attempt) = (permit.op(), permit.attempt());
        let durable = self
            .task(permit.task())
            .and_then(|t| t.operations.get(op))
            .is_some_and(|o| o.attempt(attempt).is_some());
        if !durable {
            let what = format!("attempt {attempt} of {op} left before its STARTED was durable");
            self.broken(now, Check::Intent, what);
        }
        self.same_bytes(now, op, sent);
        self.in_the_window(now, sent);
    }

    fn same_bytes(&mut self, now: i64, op: &OperationId, sent: &Sent) {
        let sticks = sent.path == "stuck";
        let key = if sticks { String::new() } else { sent.key.clone().unwrap_or_default() };
        let these = (key, sent.body.clone());
        let first = self.requests.entry(op.clone()).or_insert_with(|| these.clone()).clone();
        if first != these {
            self.broken(now, Check::SameBytes, format!("{op} was sent as {first:?} and then as {these:?}"));
        }
    }

    fn in_the_window(&mut self, now: i64, sent: &Sent) {
        let Some(key) = sent.key.clone().filter(|_| dedupes(&sent.path)) else { return };
        let first = *self.first_use.entry(key.clone()).or_insert(now);
        if now - first > window_of(&sent.path) {
            let what = format!("key {key} was used {} ms after its first use", now - first);
            self.broken(now, Check::Intent, what);
        }
    }

    /// A frozen request cannot be read back.
    pub fn unreadable(&mut self, now: i64, op: &OperationId) {
        self.broken(now, Check::SameBytes, format!("the request of {op} cannot be read"));
    }
}
