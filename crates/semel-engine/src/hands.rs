//! Which tasks are in hand, and how their drivers are told something.
//!
//! Invariant: a task leaves the list when its driver ends, however it ends. After a lost lease one task can be in two
//! hands for a while: the older one is fenced by the store and only files what it hears.

use semel_kernel::id::TaskId;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{Notify, mpsc};

/// What a driver is told from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nudge {
    /// Somebody else wrote to the task.
    Changed,
    /// The process drains.
    Drain,
}

type Senders = HashMap<u64, (TaskId, mpsc::UnboundedSender<Nudge>)>;

/// Tasks in hand.
#[derive(Default)]
pub(crate) struct Hands {
    list: Mutex<(u64, Senders)>,
    empty: Notify,
}

impl Hands {
    fn lock(&self) -> MutexGuard<'_, (u64, Senders)> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a task in hand.
    pub(crate) fn take(self: &Arc<Self>, task: &TaskId) -> (Hand, mpsc::UnboundedReceiver<Nudge>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut list = self.lock();
        list.0 += 1;
        let serial = list.0;
        list.1.insert(serial, (task.clone(), sender));
        (Hand { hands: Arc::clone(self), serial }, receiver)
    }

    /// Tells the drivers of a task.
    pub(crate) fn tell(&self, task: &TaskId, nudge: Nudge) {
        for (_, sender) in self.lock().1.values().filter(|(held, _)| held == task) {
            sender.send(nudge).unwrap_or_default();
        }
    }

    /// Tells every driver.
    pub(crate) fn tell_all(&self, nudge: Nudge) {
        for (_, sender) in self.lock().1.values() {
            sender.send(nudge).unwrap_or_default();
        }
    }

    /// Nothing is in hand.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().1.is_empty()
    }

    /// Ends when nothing is in hand any more.
    pub(crate) async fn emptied(&self) {
        loop {
            let empty = self.empty.notified();
            if self.is_empty() {
                return;
            }
            empty.await;
        }
    }
}

/// A task in hand; dropped when its driver ends.
pub(crate) struct Hand {
    hands: Arc<Hands>,
    serial: u64,
}

impl Drop for Hand {
    fn drop(&mut self) {
        self.hands.lock().1.remove(&self.serial);
        self.hands.empty.notify_waiters();
    }
}
