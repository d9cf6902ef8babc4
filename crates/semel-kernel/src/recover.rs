//! The recovery table (DESIGN section 6): what is to be done about an operation, from its state alone.
//!
//! The same function runs in a healthy task and after a crash, and `task recover --dry-run` prints its answer.
//!
//! | judged | none | natural | keyed, in window | keyed, window over | queryable | blind |
//! |---|---|---|---|---|---|---|
//! | nothing sent | begin | look, begin | begin | – | begin | begin |
//! | in flight, ours | wait | wait | wait | wait | wait | wait |
//! | in flight, older generation or past its deadline | unknown | ← | ← | ← | ← | ← |
//! | unknown | begin | probe³ | probe, then same key¹ | probe, else review | probe | as `on_unknown` says |
//! | pending | poll | poll | poll, or same key¹ | poll | poll | wait, then review |
//! | not applied, may pass | retry² | retry² | retry² | fail | retry² | retry² |
//! | not applied, final | fail | fail | fail | fail | fail | fail |
//! | applied | commit | commit | commit | commit | commit | commit |
//! | contradiction | review | review | review | review | review | review |
//!
//! Under another account than that of the first request every column but *none* is that of *keyed, window over*, and an
//! *absent* proves nothing. A further attempt that would cost more than `limits.cost` is a review, whatever the column.
//!
//! ¹ once the earlier attempt is dead, unless the target's deduplication is graded atomic ² up to `retry.max`; where the
//! contract has `require`, the target's state is looked at anew ³ begin at once where there is none
//!
//! Before any row, a person's *wait until* is obeyed; before any send, another version of the same intent must be out of
//! the way and the target free. The table as it is computed lies in `docs/generated/transitions.md`.
//!
//! Invariant: a resend is a new act; it never happens while the task is paused, cancelling or held. Then the target is
//! asked as long as there is something to ask, and after that a person, unless the task is only paused.

mod probe;
mod send;

use crate::{
    event::{Authorship, Proof, Why},
    limit,
    operation::{Attempt, AttemptState, Judgement, Operation},
    outcome::{Finding, RefusalKind, Stored, UnknownCause},
    review::ReviewCause,
    task::Task,
    terms::{Effect, Offline, OnUnknown, Terms},
    time::{Millis, Now},
};
use alloc::{borrow::ToOwned, format, string::String};

/// What is to be done about an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// Nothing: it is settled.
    Nothing,
    /// Wait, for time to pass or for somebody; [`Millis::MAX`] when only an event can end it.
    Wait {
        /// Until then.
        until: Millis,
        /// For what.
        why: &'static str,
    },
    /// Look at the target's state before the first send.
    Precheck,
    /// Record and send an attempt.
    Begin {
        /// Why it is safe.
        why: Why,
    },
    /// Ask the target.
    Probe,
    /// Record that an attempt ended without proof.
    Lose {
        /// The attempt.
        attempt: u32,
        /// Why.
        cause: UnknownCause,
    },
    /// Record that the effect is proven.
    Commit {
        /// How.
        proof: Proof,
        /// For natural effects.
        authorship: Option<Authorship>,
        /// What dependants see.
        output: Stored,
    },
    /// Record that it will not be tried again.
    Fail {
        /// Stable code.
        code: &'static str,
        /// What happened.
        cause: String,
        /// Which of the four it is, where the target's state does not allow it.
        refusal: Option<RefusalKind>,
    },
    /// Record when the next attempt is due, after a pause of this many milliseconds before jitter.
    Pace {
        /// The pause in milliseconds.
        pause_ms: i64,
        /// Why.
        cause: String,
    },
    /// Go on without knowing, as the contract's owner accepts.
    AcceptLoss,
    /// Ask a person.
    Review {
        /// Why.
        cause: ReviewCause,
    },
}

/// The operation with all that the table looks at.
struct View<'a> {
    task: &'a Task,
    op: &'a Operation,
    terms: &'a Terms,
    now: Now,
}

/// The table.
#[must_use]
pub fn act(task: &Task, op: &Operation, now: Now) -> Act {
    let (Some(step), Some(terms)) = (task.steps.get(&op.step), task.terms(&op.planned)) else {
        return Act::Nothing;
    };
    if step.is_settled() || (task.end.is_some() && op.judge() != Judgement::Contradiction) {
        return Act::Nothing;
    }
    let ordered = op.ordered_until.filter(|at| *at > now.at);
    let view = View { task, op, terms, now };
    match (op.judge(), ordered) {
        (Judgement::Applied, _) => view.commit(),
        (Judgement::InFlight, _) => view.in_flight(),
        _ if step.review.is_some() => Act::Wait { until: Millis::MAX, why: "a person" },
        (_, Some(until)) => Act::Wait { until, why: "a person's order" },
        (judged, None) => view.by_judgement(judged),
    }
}

impl View<'_> {
    fn by_judgement(&self, judged: Judgement) -> Act {
        match judged {
            Judgement::Applied => self.commit(),
            Judgement::InFlight => self.in_flight(),
            Judgement::Contradiction => Act::Review { cause: ReviewCause::Contradiction },
            Judgement::Unsent => self.begin_first(),
            Judgement::NotApplied { retryable: false } => self.refused(),
            Judgement::NotApplied { retryable: true } => self.retry(),
            Judgement::Pending => self.poll(),
            Judgement::Unknown => self.reconcile(),
        }
    }

    fn commit(&self) -> Act {
        let Some(applied) = &self.op.applied else { return Act::Nothing };
        let ours = matches!(applied.proof, Proof::Answer { .. });
        let authorship = (self.terms.effect == Effect::Natural).then_some(if ours {
            Authorship::Ours
        } else {
            Authorship::Unproven
        });
        Act::Commit { proof: applied.proof.clone(), authorship, output: applied.result.clone() }
    }

    fn in_flight(&self) -> Act {
        let open = self.op.attempts.iter().filter(|a| matches!(a.state, AttemptState::Open));
        let mut until = Millis::MIN;
        for attempt in open {
            if attempt.generation < self.task.generation {
                return Act::Lose { attempt: attempt.n, cause: UnknownCause::OwnerGone };
            }
            let dead = attempt.dead_at().plus(self.terms.clock_error_ms);
            if dead <= self.now.at {
                return Act::Lose { attempt: attempt.n, cause: UnknownCause::Deadline };
            }
            until = until.max(dead);
        }
        Act::Wait { until, why: "the answer" }
    }

    /// Nothing is known. What the target offers decides (DESIGN section 6).
    fn reconcile(&self) -> Act {
        if let Some(act) = self.elsewhere() {
            return act;
        }
        match self.terms.effect {
            Effect::None => self.again(Why::Harmless),
            // Setting it twice is harmless, setting it over what somebody else has set since is not: where the target can
            // be asked, only a settled *absent* lets it be set again.
            Effect::Natural if self.terms.probe.is_none() => self.again(Why::Harmless),
            Effect::Keyed => self.reconcile_keyed(),
            Effect::Natural | Effect::Queryable => self.probe(),
            Effect::Blind => self.reconcile_blind(),
        }
    }

    /// A changed account counts as *key window over*, whatever the effect: it is looked up, and never sent again.
    fn elsewhere(&self) -> Option<Act> {
        let moved = self.op.has_moved() && self.terms.effect != Effect::None;
        let review = Act::Review { cause: ReviewCause::AccountChanged };
        moved.then(|| if self.terms.probe.is_some() { self.probe() } else { review })
    }

    fn reconcile_keyed(&self) -> Act {
        let window_over = self.op.resend_until(self.terms, self.now).is_some_and(|until| self.now.at > until);
        match (self.terms.probe.is_some(), window_over) {
            (true, true) => self.probe(),
            (true, false) if !self.probed_since_last() => self.probe(),
            (false, true) => Act::Review { cause: ReviewCause::KeyWindowOver },
            (true | false, false) => self.same_key(),
        }
    }

    fn reconcile_blind(&self) -> Act {
        match self.terms.on_unknown {
            _ if self.terms.irreversible => Act::Review { cause: ReviewCause::Blind },
            OnUnknown::Review => Act::Review { cause: ReviewCause::Blind },
            OnUnknown::AcceptDuplicate => self.again(Why::AcceptedDuplicate),
            OnUnknown::AcceptLoss => Act::AcceptLoss,
            OnUnknown::Compensate => Act::Review { cause: ReviewCause::Compensate },
        }
    }

    /// The target works on it: ask, or repeat the key, or wait for a receipt; never for ever.
    fn poll(&self) -> Act {
        if let Some(act) = self.elsewhere() {
            return act;
        }
        if self.terms.probe.is_some() {
            return self.probe();
        }
        if self.terms.effect == Effect::Keyed {
            return self.reconcile_keyed();
        }
        let until = self.last_ended().plus(limit::PROBE_FOR_MS);
        if self.now.at < until {
            return Act::Wait { until, why: "a receipt" };
        }
        Act::Review { cause: ReviewCause::ProbesExhausted }
    }

    fn fail(&self, code: &'static str) -> Act {
        Act::Fail { code, cause: self.last_note(), refusal: None }
    }

    /// Every attempt is proven not applied, and the target has refused the last one for good.
    fn refused(&self) -> Act {
        let refusal = self.last().and_then(|a| a.refusal);
        let code = refusal.map_or("SM3001", RefusalKind::code);
        Act::Fail { code, cause: self.last_note(), refusal }
    }

    /// Every attempt is proven not applied, and it may pass later.
    fn retry(&self) -> Act {
        if let Some(blocked) = self.blocked() {
            return blocked;
        }
        if let Some(exhausted) = self.exhausted().or_else(|| self.too_dear()) {
            return exhausted;
        }
        if let Some(pause) = self.pace() {
            return pause;
        }
        if self.op.has_moved() && self.terms.effect != Effect::None {
            let (first, now) = (self.op.account.as_deref(), self.op.account_now.as_deref());
            let (first, now) = (first.unwrap_or_default(), now.unwrap_or_default());
            let cause = format!(
                "not applied ({}), and its account has changed from {first} to {now}",
                self.last_note()
            );
            return Act::Fail { code: "SM3009", cause, refusal: None };
        }
        let over = self.op.resend_until(self.terms, self.now).is_some_and(|until| self.now.at > until);
        if self.terms.effect == Effect::Keyed && over {
            let cause = format!("not applied ({}), and the key's window is over", self.last_note());
            return Act::Fail { code: "SM3005", cause, refusal: None };
        }
        let looked = self.terms.require.then(|| self.look_first()).flatten();
        looked.unwrap_or(Act::Begin { why: Why::Retry })
    }

    fn exhausted(&self) -> Option<Act> {
        let unreachable = self.last().is_some_and(|a| !a.may_have_left());
        match self.terms.offline {
            Offline::Wait(for_ms) if unreachable => {
                let mut counted = self.op.attempts.iter().filter(|a| a.n > self.op.granted);
                let first = counted.next().map_or(self.now.at, |a| a.started_at);
                (self.now.at >= first.plus(for_ms)).then(|| self.fail("SM3004"))
            }
            _ if self.op.tries() < self.terms.retry.max => None,
            Offline::Review if unreachable => Some(Act::Review { cause: ReviewCause::Offline }),
            Offline::Review | Offline::Wait(_) | Offline::Fail => {
                Some(self.fail(if unreachable { "SM3004" } else { "SM3002" }))
            }
        }
    }

    /// A further attempt would cost more than all of them together may.
    fn too_dear(&self) -> Option<Act> {
        let limit = self.terms.cost?;
        let spent = self.op.cost(self.terms);
        let over =
            self.op.tries() > 0 && (spent >= limit.max || spent.saturating_add(limit.attempt) > limit.max);
        over.then(|| Act::Review { cause: ReviewCause::Budget { which: "cost".to_owned() } })
    }

    fn last(&self) -> Option<&Attempt> {
        self.op.attempts.last()
    }

    fn last_ended(&self) -> Millis {
        self.op.attempts.iter().filter_map(|a| a.ended_at).max().unwrap_or(self.op.planned_at)
    }

    fn last_note(&self) -> String {
        self.last().map_or_else(|| "nothing was sent".to_owned(), |a| a.note.clone())
    }

    /// Looked since the last attempt ended, so that the finding speaks of it.
    fn probed_since_last(&self) -> bool {
        let probes = &self.op.probes;
        let pending = matches!(probes.last, Some(Finding::Pending));
        !pending && probes.last_at.is_some_and(|at| at >= self.last_ended())
    }
}
