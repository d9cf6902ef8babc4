//! When the target is asked: at once, then ever less often, once for certain after the settled moment, and not for ever.

use super::{Act, View};
use crate::{review::ReviewCause, terms::ProbeTerms, time::Millis};

impl View<'_> {
    /// Ask now, wait for the next time to ask, or stop asking and open a review.
    pub(super) fn probe(&self) -> Act {
        let Some(terms) = &self.terms.probe else {
            return Act::Review { cause: ReviewCause::ProbesExhausted };
        };
        if let Some(until) = self.op.not_before.filter(|at| *at > self.now.at) {
            return Act::Wait { until, why: "the next look-up" };
        }
        let Some(last) = self.op.probes.last_at else { return Act::Probe };
        let settled = self.op.settled_at(self.terms, self.now);
        let due = if self.is_spent(terms) {
            if last >= settled {
                return Act::Review { cause: ReviewCause::ProbesExhausted };
            }
            settled
        } else if last < settled {
            last.plus(self.interval(terms)).min(settled)
        } else {
            last.plus(self.interval(terms))
        };
        if due <= self.now.at { Act::Probe } else { Act::Wait { until: due, why: "the next look-up" } }
    }

    fn is_spent(&self, terms: &ProbeTerms) -> bool {
        let probes = &self.op.probes;
        let until = probes.first_at.unwrap_or(Millis::MAX).plus(terms.for_ms);
        probes.asked >= terms.max || self.now.at >= until
    }

    /// Grows by half each time, up to the cap.
    fn interval(&self, terms: &ProbeTerms) -> i64 {
        let mut pause = terms.poll_ms.max(1);
        for _ in 1..self.op.probes.asked.min(40) {
            pause = pause.saturating_add(pause / 2).min(terms.poll_cap_ms.max(1));
        }
        pause.min(terms.poll_cap_ms.max(1))
    }
}
