//! When a request may leave: the first one, and each further one.

use super::{Act, View};
use crate::{
    event::{PlannedOperation, Why},
    id::OperationId,
    limit,
    operation::{AttemptState, Judgement, Operation, Precheck},
    outcome::{Finding, RefusalKind, UnknownCause},
    review::ReviewCause,
    step::Step,
    terms::{Effect, Terms},
    time::Millis,
};

impl View<'_> {
    /// Nothing was sent. `require` and, for natural effects, the state before come first.
    pub(super) fn begin_first(&self) -> Act {
        if let Some(blocked) = self.blocked() {
            return blocked;
        }
        let looked = needs_precheck(self.terms).then(|| self.look_first()).flatten();
        looked.unwrap_or(Act::Begin { why: Why::First })
    }

    /// The target's state before a send: a look at it is good for one send, and not for long.
    pub(super) fn look_first(&self) -> Option<Act> {
        let looked = self.op.precheck.as_ref().filter(|p| p.after == self.op.last_number());
        let Some(found) = looked else { return Some(Act::Precheck) };
        if !found.holds && !found.answered {
            return Some(self.look_again(found));
        }
        if self.now.at > found.at.plus(limit::PRECHECK_FRESH_MS) {
            return Some(Act::Precheck);
        }
        (!found.holds).then(|| not_allowed(found))
    }

    /// A target that does not answer says nothing about its state: ask again, but not for ever. Nothing was sent since.
    fn look_again(&self, silent: &Precheck) -> Act {
        let terms = self.terms.probe.as_ref();
        let (poll_ms, for_ms) = terms.map_or((1_000, 0), |p| (p.poll_ms, p.for_ms));
        let due = silent.at.plus(poll_ms);
        let since = self.op.not_before.unwrap_or(Millis::MIN).max(self.last_ended());
        if due > since.plus(for_ms) {
            let cause = "the target did not answer when asked whether `require` holds";
            return Act::Fail { code: "SM3007", cause: cause.into(), refusal: None };
        }
        if due > self.now.at { Act::Wait { until: due, why: "the next look-up" } } else { Act::Precheck }
    }

    /// The gate: what keeps any request from leaving now, the first one and each further one.
    pub(super) fn blocked(&self) -> Option<Act> {
        let busy = || Act::Wait { until: Millis::MAX, why: "an earlier request to the same target" };
        self.stopped().or_else(|| self.superseded()).or_else(|| self.target_is_busy().then(busy))
    }

    /// A version supersedes another one only when that is proven not applied, undone or written off. Where both are in
    /// doubt, as in a restored copy, and one turns out applied, a person is asked about the other.
    fn superseded(&self) -> Option<Act> {
        let mut wait = None;
        for rival in self.rivals() {
            match rival.judge() {
                Judgement::Unsent | Judgement::NotApplied { .. } => {}
                Judgement::Applied if self.op.open_since().is_some() => {
                    return Some(Act::Review { cause: ReviewCause::Contradiction });
                }
                Judgement::Applied => {
                    let cause = alloc::format!("`{}`, another version of it, is applied", rival.planned.id);
                    return Some(Act::Fail { code: "SM1006", cause, refusal: None });
                }
                Judgement::InFlight | Judgement::Pending | Judgement::Unknown | Judgement::Contradiction => {
                    let waits = Act::Wait { until: Millis::MAX, why: "another version to be settled" };
                    wait = wait.or_else(|| self.goes_after(rival).then_some(waits));
                }
            }
        }
        wait
    }

    /// Other versions of the same intent, except those that are undone or written off.
    fn rivals(&self) -> impl Iterator<Item = &Operation> {
        let mine = &self.op.planned;
        let other = |p: &PlannedOperation| {
            p.tool == mine.tool
                && p.target == mine.target
                && p.intent == mine.intent
                && p.version != mine.version
        };
        self.task.on_target(&mine.target).filter(move |o| {
            let left = self.task.steps.get(&o.step).is_some_and(Step::is_left_behind);
            other(&o.planned) && !left && self.terms.effect != Effect::None
        })
    }

    /// Of two that are both without proof the earlier one goes first, so that none waits for the other for ever. What is
    /// not under way itself goes after everything that is.
    fn goes_after(&self, other: &Operation) -> bool {
        fn place(op: &Operation) -> (Option<Millis>, Millis, &OperationId) {
            (op.open_since(), op.planned_at, &op.planned.id)
        }
        self.op.open_since().is_none() || place(other) < place(self.op)
    }

    /// The task is paused, cancelling or held: nothing new leaves.
    pub(super) fn stopped(&self) -> Option<Act> {
        let why = if self.task.cancelling.is_some() {
            "nothing: the task is being cancelled"
        } else if self.task.paused.is_some() {
            "the task to be resumed"
        } else if self.task.held() {
            "a person"
        } else {
            return None;
        };
        Some(Act::Wait { until: Millis::MAX, why })
    }

    /// The target is frozen by a contradiction, or an earlier natural attempt on it is unsettled, whatever its tool: its
    /// request may still arrive and overwrite ours.
    fn target_is_busy(&self) -> bool {
        let mine = &self.op.planned;
        self.task.on_target(&mine.target).filter(|o| o.planned.id != mine.id).any(|o| match o.judge() {
            Judgement::Contradiction => o.planned.tool == mine.tool,
            Judgement::InFlight | Judgement::Pending | Judgement::Unknown => self.must_follow(o),
            Judgement::Unsent | Judgement::Applied | Judgement::NotApplied { .. } => false,
        })
    }

    /// `other`, unsettled on the same target, sets a state that ours must not be overtaken by. Tools without key fields
    /// have no target in common.
    fn must_follow(&self, other: &Operation) -> bool {
        let (mine, its) = (&self.op.planned, &other.planned);
        let named = its.tool == mine.tool || !mine.target.is_empty();
        let sets = self.task.terms(its).is_some_and(|t| t.effect == Effect::Natural);
        let written_off = self.task.steps.get(&other.step).is_some_and(|s| s.written_off);
        let changes = self.terms.effect != Effect::None;
        named && sets && changes && !written_off && self.goes_after(other)
    }

    /// A resend is a new act and does not happen while the gate is shut: then the target is asked as long as there is
    /// something to ask, and after that a person, unless the task is only paused or waits for another operation. A call
    /// that changes nothing needs neither.
    fn held_back(&self) -> Option<Act> {
        let blocked = self.blocked()?;
        let cancelling = self.task.cancelling.is_some();
        if self.terms.effect == Effect::None {
            return Some(if cancelling { self.fail("SM3003") } else { blocked });
        }
        Some(match self.probe() {
            Act::Review { .. } if cancelling => Act::Review { cause: ReviewCause::CancelledWhileUnknown },
            Act::Review { .. } => blocked,
            asking => asking,
        })
    }

    /// The outcome is unknown, and sending again is harmless or accepted.
    pub(super) fn again(&self, why: Why) -> Act {
        if let Some(held) = self.held_back() {
            return held;
        }
        if self.op.tries() >= self.terms.retry.max {
            // A call that changes nothing cannot have been applied, so running out of tries is a known failure.
            return match self.terms.effect {
                Effect::None => self.fail("SM3003"),
                Effect::Natural | Effect::Keyed | Effect::Queryable | Effect::Blind => {
                    Act::Review { cause: ReviewCause::AttemptsExhausted }
                }
            };
        }
        self.too_dear().or_else(|| self.pace()).unwrap_or(Act::Begin { why })
    }

    /// The outcome is unknown, and the target dedupes: same request, same key, inside the window.
    pub(super) fn same_key(&self) -> Act {
        if let Some(held) = self.held_back() {
            return held;
        }
        if self.op.tries() >= self.terms.retry.max {
            return Act::Review { cause: ReviewCause::AttemptsExhausted };
        }
        if let Some(too_dear) = self.too_dear() {
            return too_dear;
        }
        let dead = self.op.dead_at().unwrap_or(Millis::MIN).plus(self.terms.clock_error_ms);
        if !self.terms.dedupe_atomic && self.now.at < dead {
            return Act::Wait { until: dead, why: "the earlier attempt to be dead" };
        }
        self.pace().unwrap_or(Act::Begin { why: Why::SameKey })
    }

    /// The pause before a further attempt: first recorded, then waited for. After a crash there is none: the time has
    /// passed already.
    pub(super) fn pace(&self) -> Option<Act> {
        if let Some(at) = self.op.not_before {
            return (at > self.now.at).then_some(Act::Wait { until: at, why: "the next attempt" });
        }
        let last = self.last()?;
        let crash = AttemptState::Unknown { cause: UnknownCause::OwnerGone };
        let copy = AttemptState::Unknown { cause: UnknownCause::Restored };
        if last.state == crash || last.state == copy {
            return None;
        }
        let retry = &self.terms.retry;
        let doublings = self.op.made().saturating_sub(1).min(20);
        let pause_ms = retry.wait_ms.saturating_mul(1 << doublings).min(retry.cap_ms);
        Some(Act::Pace { pause_ms, cause: last.note.clone() })
    }
}

fn needs_precheck(terms: &Terms) -> bool {
    terms.require || (terms.effect == Effect::Natural && terms.probe.is_some())
}

/// `require` does not hold; a history of before the kinds says no more than that.
fn not_allowed(look: &Precheck) -> Act {
    let kind = look.refusal.map_or_else(alloc::string::String::new, |r| alloc::format!("{}: ", r.words()));
    let cause = alloc::format!("{kind}`require` does not hold: {}", describe(&look.finding));
    Act::Fail { code: look.refusal.map_or("SM3006", RefusalKind::code), cause, refusal: look.refusal }
}

/// A finding in a few words.
#[must_use]
pub(crate) fn describe(finding: &Finding) -> alloc::string::String {
    match finding {
        Finding::Applied { .. } => "found".into(),
        Finding::Absent => "absent".into(),
        Finding::Pending => "in progress".into(),
        Finding::Many { cause } => alloc::format!("found more than once: {cause}"),
        Finding::Unclear { cause } => alloc::format!("unclear: {cause}"),
    }
}
