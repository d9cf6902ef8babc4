//! The time one request has: store time, measured on from the call by a clock that runs during suspend.
//!
//! Invariant: store time is never asked for again; it is the moment of the call plus what the clock measured since.

use crate::clock::BootClock;
use semel_kernel::time::Millis;
use std::{sync::Arc, time::Duration};

/// Milliseconds after which a sleep looks at the clock again: timers stand still during suspend, the clock does not.
const GLANCE_MS: i64 = 500;

/// From the call to the moment it is given up.
#[derive(Clone)]
pub(crate) struct Window {
    clock: Arc<dyn BootClock>,
    entered_ms: i64,
    now: Millis,
    /// The first byte leaves at or before this moment, or never.
    pub(crate) send_by: Millis,
    /// The answer is waited for up to this moment, whenever the first byte left.
    pub(crate) give_up: Millis,
    /// Milliseconds that the answer is waited for from the first byte on.
    timeout_ms: i64,
}

impl Window {
    /// For a send: opens now, at store time `now`.
    pub(crate) fn for_send(
        clock: &Arc<dyn BootClock>,
        now: Millis,
        send_by: Millis,
        timeout_ms: i64,
    ) -> Self {
        let entered_ms = clock.ms();
        Self {
            clock: Arc::clone(clock),
            entered_ms,
            now,
            send_by,
            give_up: send_by.plus(timeout_ms),
            timeout_ms,
        }
    }

    /// For a question: opens now, and one time-out spans connecting and answering.
    pub(crate) fn for_question(clock: &Arc<dyn BootClock>, timeout_ms: i64) -> Self {
        Self { timeout_ms: i64::MAX, ..Self::for_send(clock, Millis(0), Millis(timeout_ms), 0) }
    }

    /// Until when an answer is waited for whose first byte leaves now: the time-out counts from that byte, and never
    /// reaches beyond the moment at which the attempt counts as dead.
    pub(crate) fn patience(&self) -> Millis {
        self.at().plus(self.timeout_ms).min(self.give_up)
    }

    fn at(&self) -> Millis {
        self.now.plus(self.clock.ms().saturating_sub(self.entered_ms))
    }

    /// Milliseconds by which `send_by` is over; 0 when it is not.
    pub(crate) fn late_ms(&self) -> i64 {
        self.at().since(self.send_by).max(0)
    }

    /// Ends as soon as `moment` is over.
    pub(crate) async fn over(&self, moment: Millis) {
        loop {
            let left = moment.since(self.at());
            if left < 0 {
                return;
            }
            let nap = left.saturating_add(1).min(GLANCE_MS).unsigned_abs();
            tokio::time::sleep(Duration::from_millis(nap)).await;
        }
    }
}
