//! Live: once nothing goes wrong any more and people answer, everything comes to an end.

use super::{Check, Checks};

impl Checks {
    /// Every submission is acknowledged, every task has ended, and nobody is asked anything.
    #[must_use]
    pub fn all_done(&self, submits: u32) -> bool {
        let all = (0..submits).all(|n| self.is_acknowledged(n));
        all && self.mirrors.values().all(|m| m.task.end.is_some() && m.task.open_reviews().next().is_none())
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
