//! The tally: plain counts of one task or of many; adding is the only thing that it can do.

use super::reading::Reading;
use crate::metrics::Rate;
use semel_kernel::{event::Recorded, fold::Corrupt, time::Millis};
use serde::Serialize;
use std::collections::BTreeMap;

/// What the events of some tasks add up to. `docs/metrics.md` says which events make each count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Tasks accepted.
    pub tasks: u64,
    /// Tasks that an owner has taken up at least once.
    pub tasks_taken_up: u64,
    /// Tasks about which a person was asked at least once.
    pub tasks_escalated: u64,
    /// Reviews opened.
    pub reviews_opened: u64,
    /// Operations with an effect of which a request may have left, by their guarantee.
    pub operations: BTreeMap<&'static str, u64>,
    /// Requests recorded as STARTED, those without an effect among them.
    pub attempts: u64,
    /// Of the operations: those whose outcome was in doubt at some time.
    pub ambiguous_operations: u64,
    /// Of the operations, natural ones apart: those with a proven effect.
    pub effects: u64,
    /// Of the effects: those that an independent source has confirmed.
    pub effects_checked: u64,
    /// Of the checked effects: those that were found more than once.
    pub effects_duplicated: u64,
    /// Of the operations: those that are written off.
    pub written_off: u64,
    /// Recoveries begun.
    pub recoveries_started: u64,
    /// Recoveries ended: every open step settled, or in review.
    pub recoveries_finished: u64,
    /// Of the finished ones: every open step was settled by proof.
    pub recoveries_succeeded: u64,
    /// Milliseconds that the successful ones took together.
    pub recovery_ms: u64,
    /// Times that a task was taken up again.
    pub replays: u64,
    /// Take-ups that found an attempt of an earlier owner under way.
    pub leases_lost: u64,
    /// Answers that an attempt of an earlier owner brought after it was fenced off; filed as evidence.
    pub late_writes_rejected: u64,
    /// Operations in doubt now.
    pub unknown_now: u64,
    /// Since when the oldest of them is in doubt.
    pub oldest_unknown_since: Option<Millis>,
}

impl Tally {
    /// The tally of one task, from its whole history.
    ///
    /// # Errors
    /// [`Corrupt`] when the history does not fold.
    pub fn of_task(history: &[Recorded]) -> Result<Self, Corrupt> {
        Ok(Reading::of(history)?.close())
    }

    /// What the tally says of the present, and nothing of the past.
    #[must_use]
    pub fn present(self) -> Self {
        let Self { unknown_now, oldest_unknown_since, .. } = self;
        Self { unknown_now, oldest_unknown_since, ..Self::default() }
    }

    /// Adds the tally of other tasks.
    pub fn add(&mut self, other: &Self) {
        for (guarantee, n) in &other.operations {
            let count = self.operations.entry(guarantee).or_default();
            *count = count.saturating_add(*n);
        }
        let (ours, theirs) = (self.counts_mut(), other.clone().counts_mut().map(|n| *n));
        for (count, n) in ours.into_iter().zip(theirs) {
            *count = count.saturating_add(n);
        }
        let since = [self.oldest_unknown_since, other.oldest_unknown_since];
        self.oldest_unknown_since = since.into_iter().flatten().min();
    }

    /// Every count; a new field that is forgotten here does not compile.
    const fn counts_mut(&mut self) -> [&mut u64; 18] {
        let Self {
            tasks,
            tasks_taken_up,
            tasks_escalated,
            reviews_opened,
            operations: _,
            attempts,
            ambiguous_operations,
            effects,
            effects_checked,
            effects_duplicated,
            written_off,
            recoveries_started,
            recoveries_finished,
            recoveries_succeeded,
            recovery_ms,
            replays,
            leases_lost,
            late_writes_rejected,
            unknown_now,
            oldest_unknown_since: _,
        } = self;
        [
            tasks,
            tasks_taken_up,
            tasks_escalated,
            reviews_opened,
            attempts,
            ambiguous_operations,
            effects,
            effects_checked,
            effects_duplicated,
            written_off,
            recoveries_started,
            recoveries_finished,
            recoveries_succeeded,
            recovery_ms,
            replays,
            leases_lost,
            late_writes_rejected,
            unknown_now,
        ]
    }

    /// Operations with an effect of which a request may have left, whatever their guarantee.
    #[must_use]
    pub fn operations_sent(&self) -> u64 {
        self.operations.values().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Duplicates found among the effects that were checked.
    #[must_use]
    pub const fn duplicate_side_effect_rate(&self) -> Rate {
        Rate { numerator: self.effects_duplicated, denominator: self.effects_checked }
    }

    /// The share of effects that were checked against an independent source.
    #[must_use]
    pub const fn coverage(&self) -> Rate {
        Rate { numerator: self.effects_checked, denominator: self.effects }
    }

    /// Recoveries that proved every open step, among those that ended.
    #[must_use]
    pub const fn recovery_success_rate(&self) -> Rate {
        Rate { numerator: self.recoveries_succeeded, denominator: self.recoveries_finished }
    }

    /// Milliseconds of the successful recoveries, over their number.
    #[must_use]
    pub const fn mean_recovery_ms(&self) -> Rate {
        Rate { numerator: self.recovery_ms, denominator: self.recoveries_succeeded }
    }

    /// Operations that were in doubt at some time, among those that may have been sent.
    #[must_use]
    pub fn ambiguous_outcome_rate(&self) -> Rate {
        Rate { numerator: self.ambiguous_operations, denominator: self.operations_sent() }
    }

    /// Tasks about which a person was asked, among all.
    #[must_use]
    pub const fn human_escalation_rate(&self) -> Rate {
        Rate { numerator: self.tasks_escalated, denominator: self.tasks }
    }

    /// Take-ups after the first, for each task that was taken up.
    #[must_use]
    pub const fn replay_count_per_task(&self) -> Rate {
        Rate { numerator: self.replays, denominator: self.tasks_taken_up }
    }
}
