//! Live: once nothing goes wrong any more and people answer, everything comes to an end.

use super::{Check, Checks};
use semel_kernel::{oblige, task::Phase};
use semel_ports::mem::MemStore;

impl Checks {
    /// Every submission is acknowledged, every task has ended, and nobody is asked anything.
    #[must_use]
    pub fn all_done(&self, submits: u32) -> bool {
        let all = (0..submits).all(|n| self.is_acknowledged(n));
        all && self.mirrors.values().all(|m| m.task.end.is_some() && m.task.open_reviews().next().is_none())
    }

    /// A task that nobody takes up by itself must say that it waits for a person: whoever waits for it would wait for ever.
    pub fn says_who_is_waited_for(&mut self, now: i64, store: &MemStore) {
        for id in self.tasks() {
            let (Some(task), Some(kept)) = (self.task(&id), store.coordination(&id)) else { continue };
            let rests = kept.session.is_none() && kept.due.is_none() && task.end.is_none();
            let told = oblige::phase(task) == Phase::NeedsReview || task.paused.is_some();
            if rests && !told {
                let phase = oblige::phase(task).word();
                self.broken(now, Check::Live, format!("{id} rests, is {phase}, and nobody is asked"));
            }
        }
    }

    /// Tasks that have not ended, in words.
    #[must_use]
    pub fn open_tasks(&self) -> Vec<String> {
        let open = self.mirrors.values().filter(|m| m.task.end.is_none());
        open.map(|m| {
            let steps: Vec<String> =
                m.task.steps.values().map(|s| format!("{} {}", s.name, s.state.word())).collect();
            format!("{} ({}: {})", m.task.id, m.task.plan.name, steps.join(", "))
        })
        .collect()
    }

    /// The time for coming to an end is over.
    pub fn not_live(&mut self, now: i64, open: &[String], acts: u64) {
        let what = format!("after {acts} acts still open: {}", open.join("; "));
        self.broken(now, Check::Live, what);
    }
}
