//! The operation: one business intent against one target, judged by all of its attempts (DESIGN section 4).
//!
//! Invariant: an operation is applied if any attempt or evidence proves it; it is not applied only if every attempt
//! that may have left is proven effect-free; otherwise it is open. A refusal of the second attempt says nothing about
//! the first.

mod attempt;

pub use attempt::{Attempt, AttemptState};

use crate::{
    event::{PlannedOperation, Proof},
    id::StepName,
    json::Json,
    outcome::{Finding, Outcome, RefusalKind, Source, Stored},
    terms::{Effect, Terms},
    time::{Millis, Now},
};
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// The verdict over all attempts and evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// No attempt was recorded.
    Unsent,
    /// An attempt is recorded and not ended.
    InFlight,
    /// Proven applied.
    Applied,
    /// Every attempt is proven effect-free.
    NotApplied {
        /// The last one may pass later.
        retryable: bool,
    },
    /// The target works on it.
    Pending,
    /// Nothing is proven.
    Unknown,
    /// Sources contradict each other.
    Contradiction,
}

/// The ledger's status word (the seed's), plus `unknown` and `planned`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nothing was sent.
    Planned,
    /// Under way.
    Started,
    /// Applied.
    Succeeded,
    /// Not applied; it may pass later.
    FailedRetryable,
    /// Not applied, for good.
    FailedFinal,
    /// Nothing is proven.
    Unknown,
}

impl Status {
    /// The word shown everywhere.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Started => "started",
            Self::Succeeded => "succeeded",
            Self::FailedRetryable => "failed_retryable",
            Self::FailedFinal => "failed_final",
            Self::Unknown => "unknown",
        }
    }
}

/// What was asked so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Probes {
    /// Probes since the operation became open.
    pub asked: u32,
    /// When the first of them left.
    pub first_at: Option<Millis>,
    /// When the last of them left.
    pub last_at: Option<Millis>,
    /// What the last one found.
    pub last: Option<Finding>,
}

/// Proof that the effect is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Applied {
    /// How it was proven.
    pub proof: Proof,
    /// What the target said.
    pub result: Stored,
    /// When it was proven.
    pub at: Millis,
}

/// A fact from elsewhere, as kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// When it was recorded.
    pub at: Millis,
    /// Who says so.
    pub source: Source,
    /// What it says.
    pub outcome: Outcome,
    /// It contradicts the record.
    pub contradicts: bool,
}

/// The target's state before a send. It is good for one send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Precheck {
    /// What was found.
    pub finding: Finding,
    /// Whether `require` holds.
    pub holds: bool,
    /// Whether the target answered at all.
    #[serde(default = "crate::event::yes")]
    pub answered: bool,
    /// Which of the four it is, where `require` does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<RefusalKind>,
    /// The version that the request names as If-Match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// When.
    pub at: Millis,
    /// Number of the last attempt before it; 0 when nothing was sent.
    #[serde(default)]
    pub after: u32,
}

/// One business intent against one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    /// As planned.
    pub planned: PlannedOperation,
    /// The step it belongs to.
    pub step: StepName,
    /// When it was planned.
    pub planned_at: Millis,
    /// The frozen request, from the first STARTED on.
    pub request: Option<Stored>,
    /// Every physical request.
    pub attempts: Vec<Attempt>,
    /// Every fact from elsewhere.
    pub evidence: Vec<Evidence>,
    /// What was asked.
    pub probes: Probes,
    /// Proof that it is there.
    pub applied: Option<Applied>,
    /// Sources contradict each other, until a person has decided.
    pub contradiction: Option<String>,
    /// The target's state before the last send, or before the next one.
    pub precheck: Option<Precheck>,
    /// The next attempt or probe waits until then.
    pub not_before: Option<Millis>,
    /// A person has ordered that nothing happens before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordered_until: Option<Millis>,
    /// Attempts made when a person last ordered to go on; the limit on tries counts from there.
    #[serde(default)]
    pub granted: u32,
    /// Why it waits, or what the last refusal said.
    pub note: String,
    /// Milliseconds that the target asked us to wait, with its last refusal.
    pub asked_to_wait_ms: Option<i64>,
    /// Key epoch of the last attempt.
    pub key_epoch: u32,
    /// Label of the account under which its first request left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Label of the account under which its next one would leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_now: Option<String>,
}

impl Operation {
    /// The verdict over all attempts and evidence; the one place that says what an operation is.
    #[must_use]
    pub fn judge(&self) -> Judgement {
        if self.contradiction.is_some() {
            return Judgement::Contradiction;
        }
        if self.applied.is_some() {
            return Judgement::Applied;
        }
        let Some(last) = self.attempts.last() else { return Judgement::Unsent };
        let any = |test: fn(&AttemptState) -> bool| self.attempts.iter().any(|a| test(&a.state));
        if any(|s| matches!(s, AttemptState::Open)) {
            return Judgement::InFlight;
        }
        if any(|s| matches!(s, AttemptState::Pending { .. })) {
            return Judgement::Pending;
        }
        match &last.state {
            AttemptState::NotApplied { retryable, .. } if self.attempts.iter().all(|a| !a.is_open()) => {
                Judgement::NotApplied { retryable: *retryable }
            }
            AttemptState::NotApplied { .. }
            | AttemptState::Open
            | AttemptState::Applied
            | AttemptState::Pending { .. }
            | AttemptState::Unknown { .. } => Judgement::Unknown,
        }
    }

    /// The ledger's status word.
    #[must_use]
    pub fn status(&self) -> Status {
        match self.judge() {
            Judgement::Unsent => Status::Planned,
            Judgement::InFlight | Judgement::Pending => Status::Started,
            Judgement::Applied => Status::Succeeded,
            Judgement::NotApplied { retryable: true } => Status::FailedRetryable,
            Judgement::NotApplied { retryable: false } => Status::FailedFinal,
            Judgement::Unknown | Judgement::Contradiction => Status::Unknown,
        }
    }

    /// The attempt with that number.
    #[must_use]
    pub fn attempt(&self, n: u32) -> Option<&Attempt> {
        self.attempts.iter().find(|a| a.n == n)
    }

    /// The number that was used last; 0 when we have sent nothing.
    #[must_use]
    pub fn last_number(&self) -> u32 {
        self.attempts.iter().map(|a| a.n).max().unwrap_or(0)
    }

    /// The current key: that of the last attempt that we made ourselves, else the planned one.
    #[must_use]
    pub fn key(&self) -> &str {
        self.attempts.iter().rev().find(|a| a.n > 0).map_or(&self.planned.key, |a| &a.key)
    }

    /// The version that a request frozen now names as If-Match, as the look at the target's state told it.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        let look = self.precheck.as_ref().filter(|look| look.after == self.last_number());
        look.and_then(|look| look.tag.as_deref())
    }

    /// What the target gave us to ask with, in its last answer that it works on it.
    #[must_use]
    pub fn handle(&self) -> Option<&Json> {
        self.attempts.iter().rev().find_map(|a| {
            let AttemptState::Pending { handle } = &a.state else { return None };
            (!handle.is_null()).then_some(handle)
        })
    }

    /// Every request that may have left was refused by the target itself, and there was one.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        let mut left = self.attempts.iter().filter(|a| a.may_have_left());
        let judged = matches!(self.judge(), Judgement::NotApplied { .. });
        judged && left.clone().next().is_some() && left.all(|a| a.refused)
    }

    /// A further request, or look-up, would leave under another account than the first request: the target does not know
    /// our key there, and what is absent there says nothing.
    #[must_use]
    pub fn has_moved(&self) -> bool {
        self.account.is_some() && self.account_now != self.account
    }

    /// Since when an attempt of it is without proof; `None` when none is.
    pub(crate) fn open_since(&self) -> Option<Millis> {
        self.attempts.iter().filter(|a| a.is_open()).map(|a| a.started_at).min()
    }

    /// Results that the target itself has given, by an answer or a receipt, other than as a replay.
    pub(crate) fn results(&self) -> impl Iterator<Item = &Stored> {
        let answered = self.applied.iter().filter(|a| matches!(a.proof, Proof::Answer { .. }));
        let told = self.evidence.iter().filter(|e| !matches!(e.source, Source::Person(_)));
        let told = told.filter_map(|e| {
            let Outcome::Applied { result, replayed: false, .. } = &e.outcome else { return None };
            Some(result)
        });
        answered.map(|a| &a.result).chain(told)
    }

    /// Attempts that we made ourselves.
    #[must_use]
    pub fn made(&self) -> u32 {
        u32::try_from(self.attempts.iter().filter(|a| a.n > 0).count()).unwrap_or(u32::MAX)
    }

    /// Attempts that count against the limit on tries.
    #[must_use]
    pub fn tries(&self) -> u32 {
        self.made().saturating_sub(self.granted)
    }

    /// What the attempts have cost since a person last ordered to go on, in the contract's own unit; 0 without a limit.
    #[must_use]
    pub fn cost(&self, terms: &Terms) -> i64 {
        let Some(limit) = &terms.cost else { return 0 };
        let counted = self.attempts.iter().filter(|a| a.n > self.granted);
        counted.fold(0, |sum: i64, a| sum.saturating_add(limit.attempt).saturating_add(a.cost))
    }

    /// When every attempt that may have left is dead on our side; `None` when none may have.
    #[must_use]
    pub fn dead_at(&self) -> Option<Millis> {
        self.attempts.iter().filter(|a| a.is_open()).map(Attempt::dead_at).max()
    }

    /// The settled moment: an *absent* that was asked for after it is proof (DESIGN section 4). Time nobody can vouch
    /// for is not credited, so a clock that jumped restarts the wait.
    #[must_use]
    pub fn settled_at(&self, terms: &Terms, now: Now) -> Millis {
        let dead = self.dead_at().unwrap_or(self.planned_at);
        dead.max(now.steady_since).plus(terms.settle_ms()).plus(terms.clock_error_ms)
    }

    /// When the first request under the current key that may have left did so; the key's window counts from there.
    #[must_use]
    pub fn key_used_since(&self) -> Option<Millis> {
        let mine = |a: &&Attempt| a.may_have_left() && a.key == self.key();
        self.attempts.iter().filter(mine).map(|a| a.started_at).min()
    }

    /// The last moment at which a further attempt under this key may be *sent*: it must end, time-out and settle
    /// included, before the window closes. `None` when no window binds it.
    #[must_use]
    pub fn resend_until(&self, terms: &Terms, now: Now) -> Option<Millis> {
        if terms.effect != Effect::Keyed {
            return None;
        }
        // Where refusals stick, the original of a copy may have gone on to a key that the copy does not know.
        if terms.refusals_stick && self.attempts.iter().any(|a| a.n == 0 && a.is_open()) {
            return Some(Millis::MIN);
        }
        let window = terms.key_window_ms?;
        let since = self.key_used_since()?;
        if since < now.windows_void_before {
            return Some(Millis::MIN);
        }
        let end = since.plus(window).plus(-terms.key_margin_ms());
        Some(end.plus(-terms.timeout_ms).plus(-terms.settle_ms()).plus(-terms.clock_error_ms))
    }
}
