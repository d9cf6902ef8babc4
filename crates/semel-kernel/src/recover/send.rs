//! When a request may leave: the first one, and each further one.

use super::{Act, View};
use crate::{
    event::{PlannedOperation, Why},
    operation::{AttemptState, Judgement, Precheck},
    outcome::{Finding, UnknownCause},
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
        match &self.op.precheck {
            None if needs_precheck(self.terms) => Act::Precheck,
            Some(found) if !found.holds && !found.answered => self.look_again(found),
            Some(found) if !found.holds => Act::Fail {
                code: "SM3006",
                cause: alloc::format!("`require` does not hold: {}", describe(&found.finding)),
            },
            Some(_) | None => Act::Begin { why: Why::First },
        }
    }

    /// A target that does not answer says nothing about its state: ask again, but not for ever. Nothing was sent.
    fn look_again(&self, silent: &Precheck) -> Act {
        let terms = self.terms.probe.as_ref();
        let (poll_ms, for_ms) = terms.map_or((1_000, 0), |p| (p.poll_ms, p.for_ms));
        let due = silent.at.plus(poll_ms);
        if due > self.op.planned_at.plus(for_ms) {
            let cause = "the target did not answer when asked whether `require` holds";
            return Act::Fail { code: "SM3007", cause: cause.into() };
        }
        if due > self.now.at { Act::Wait { until: due, why: "the next look-up" } } else { Act::Precheck }
    }

    /// What keeps a request from leaving when nothing of this operation is under way.
    pub(super) fn blocked(&self) -> Option<Act> {
        let busy = || Act::Wait { until: Millis::MAX, why: "an earlier request to the same target" };
        self.stopped().or_else(|| self.superseded()).or_else(|| self.target_is_busy().then(busy))
    }

    /// A version supersedes another one only when that is proven not applied, undone or written off.
    fn superseded(&self) -> Option<Act> {
        let mine = &self.op.planned;
        let other = |p: &PlannedOperation| {
            p.tool == mine.tool
                && p.target == mine.target
                && p.intent == mine.intent
                && p.version != mine.version
        };
        let rivals = self.task.operations.values().filter(|o| {
            let left = self.task.steps.get(&o.step).is_some_and(Step::is_left_behind);
            other(&o.planned) && !left && self.terms.effect != Effect::None
        });
        let mut wait = None;
        for rival in rivals {
            match rival.judge() {
                Judgement::Unsent | Judgement::NotApplied { .. } => {}
                Judgement::Applied => {
                    let cause = alloc::format!("`{}`, another version of it, is applied", rival.planned.id);
                    return Some(Act::Fail { code: "SM1006", cause });
                }
                Judgement::InFlight | Judgement::Pending | Judgement::Unknown | Judgement::Contradiction => {
                    wait = Some(Act::Wait { until: Millis::MAX, why: "another version to be settled" });
                }
            }
        }
        wait
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

    /// An earlier natural attempt on this target is unsettled, or the target is frozen by a contradiction.
    fn target_is_busy(&self) -> bool {
        let same = |o: &&crate::operation::Operation| {
            o.planned.id != self.op.planned.id
                && o.planned.tool == self.op.planned.tool
                && o.planned.target == self.op.planned.target
        };
        self.task.operations.values().filter(same).any(|o| match o.judge() {
            Judgement::Contradiction => true,
            Judgement::InFlight | Judgement::Pending | Judgement::Unknown => {
                let written_off = self.task.steps.get(&o.step).is_some_and(|s| s.written_off);
                self.terms.effect == Effect::Natural && !written_off
            }
            Judgement::Unsent | Judgement::Applied | Judgement::NotApplied { .. } => false,
        })
    }

    /// A resend is a new act and does not happen while the task is stopped: then the target is asked as long as there
    /// is something to ask, and after that a person, unless the task is only paused. A call that changes nothing needs
    /// neither.
    fn held_back(&self) -> Option<Act> {
        let stopped = self.stopped()?;
        let cancelling = self.task.cancelling.is_some();
        if self.terms.effect == Effect::None {
            return Some(if cancelling { self.fail("SM3003") } else { stopped });
        }
        Some(match self.probe() {
            Act::Review { .. } if cancelling => Act::Review { cause: ReviewCause::CancelledWhileUnknown },
            Act::Review { .. } => stopped,
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
        self.pace().unwrap_or(Act::Begin { why })
    }

    /// The outcome is unknown, and the target dedupes: same request, same key, inside the window.
    pub(super) fn same_key(&self) -> Act {
        if let Some(held) = self.held_back() {
            return held;
        }
        if self.op.tries() >= self.terms.retry.max {
            return Act::Review { cause: ReviewCause::AttemptsExhausted };
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
