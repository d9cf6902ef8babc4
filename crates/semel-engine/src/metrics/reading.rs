//! Reading one history: the kernel folds it, and what each event adds is counted beside.

use super::tally::Tally;
use semel_kernel::{
    event::{Event, Proof, Recorded},
    fold::{self, Corrupt},
    id::{OperationId, StepName},
    operation::{Judgement, Operation},
    outcome::{Finding, Outcome, Source},
    step::Step,
    task::Task,
    terms::Effect,
    time::Millis,
};
use std::collections::BTreeMap;

/// What an operation went through, beyond its state.
#[derive(Default)]
struct Past {
    /// Its outcome was in doubt at some time.
    ambiguous: bool,
    /// Since when it is in doubt now.
    doubt_since: Option<Millis>,
    /// An independent source has confirmed its effect, which is then never sent again.
    checked: bool,
    /// Its effect was found more than once.
    duplicated: bool,
}

/// A history on its way into a tally.
pub(super) struct Reading {
    task: Task,
    tally: Tally,
    pasts: BTreeMap<OperationId, Past>,
}

impl Reading {
    pub(super) fn of(history: &[Recorded]) -> Result<Self, Corrupt> {
        let (first, rest) = history.split_at(history.len().min(1));
        let task = fold::fold_all(first.iter().map(|r| (&r.event, r.at)))?;
        let mut reading = Self { task, tally: Tally::default(), pasts: BTreeMap::new() };
        for recorded in rest {
            reading.before(&recorded.event, recorded.at);
            fold::fold(&mut reading.task, &recorded.event, recorded.at)?;
            reading.after(&recorded.event, recorded.at);
        }
        Ok(reading)
    }

    /// What an event adds in the light of the state that it meets.
    fn before(&mut self, event: &Event, at: Millis) {
        match event {
            Event::LeaseAcquired { .. } => self.taken_up(),
            Event::RecoveryStarted { .. } => add(&mut self.tally.recoveries_started, 1),
            Event::RecoveryFinished { settled, in_review } => self.recovered(settled, in_review, at),
            Event::ReviewOpened { .. } => add(&mut self.tally.reviews_opened, 1),
            Event::StepStarted { .. } => add(&mut self.tally.attempts, 1),
            Event::ProbeAnswered { op, finding, .. } => self.looked_up(op, finding),
            Event::EvidenceAdded { op, source, attempt, outcome, contradicts, .. } => {
                self.told(op, source, *attempt, outcome, *contradicts);
            }
            _ => {}
        }
    }

    /// Every change of owner is a lease acquired; only one that finds an attempt under way shows that a lease was lost.
    fn taken_up(&mut self) {
        if self.tally.tasks_taken_up > 0 {
            add(&mut self.tally.replays, 1);
        }
        self.tally.tasks_taken_up = 1;
        let task = &self.task;
        let settled = |o: &Operation| task.steps.get(&o.step).is_some_and(Step::is_settled);
        let in_flight = |o: &Operation| !settled(o) && o.judge() == Judgement::InFlight;
        if task.operations.values().any(in_flight) {
            add(&mut self.tally.leases_lost, 1);
        }
    }

    fn recovered(&mut self, settled: &[StepName], in_review: &[StepName], at: Millis) {
        let Some(recovery) = &self.task.recovery else { return };
        add(&mut self.tally.recoveries_finished, 1);
        let given_up = |n: &StepName| self.task.steps.get(n).is_some_and(|s| s.written_off);
        if in_review.is_empty() && !settled.iter().any(given_up) {
            add(&mut self.tally.recoveries_succeeded, 1);
            let ms = u64::try_from(at.since(recovery.since)).unwrap_or(0);
            add(&mut self.tally.recovery_ms, ms);
        }
    }

    fn looked_up(&mut self, op: &OperationId, finding: &Finding) {
        match finding {
            Finding::Applied { .. } => self.past(op).checked = true,
            Finding::Many { .. } => self.past(op).duplicated = true,
            Finding::Absent | Finding::Pending | Finding::Unclear { .. } => {}
        }
    }

    fn told(
        &mut self,
        op: &OperationId,
        source: &Source,
        attempt: Option<u32>,
        outcome: &Outcome,
        contradicts: bool,
    ) {
        let late = *source == Source::LateAnswer;
        if late && self.is_of_earlier_owner(op, attempt) {
            add(&mut self.tally.late_writes_rejected, 1);
        }
        if !matches!(outcome, Outcome::Applied { .. }) {
            return;
        }
        let second = contradicts && self.is_second(op, attempt);
        let past = self.past(op);
        past.duplicated |= second;
        // The late answer of an attempt is the target's own answer still, and independent of nothing.
        past.checked |= !late;
    }

    fn is_of_earlier_owner(&self, op: &OperationId, attempt: Option<u32>) -> bool {
        let found = self.task.operations.get(op).zip(attempt).and_then(|(op, n)| op.attempt(n));
        found.is_some_and(|a| a.generation < self.task.generation)
    }

    /// An effect that contradicts the record is a second one, unless the record said that there was none.
    fn is_second(&self, id: &OperationId, attempt: Option<u32>) -> bool {
        let Some(op) = self.task.operations.get(id) else { return false };
        let by_itself = |proof: &Proof| matches!(proof, Proof::Answer { attempt: n } if Some(*n) == attempt);
        let proven = op.applied.as_ref().is_some_and(|a| !by_itself(&a.proof)) || told_applied(op);
        !self.task.is_closed(op) || proven
    }

    /// Which operations an event moves into doubt or out of it.
    fn after(&mut self, event: &Event, at: Millis) {
        match event {
            Event::StepStarted { op, .. }
            | Event::AttemptAnswered { op, .. }
            | Event::AttemptUnknown { op, .. }
            | Event::AttemptPending { op, .. }
            | Event::ProbeAnswered { op, .. }
            | Event::PrecheckAnswered { op, .. }
            | Event::EvidenceAdded { op, .. } => self.weigh(op, at),
            Event::StepPlanned { operation, .. } => self.weigh(&operation.id, at),
            Event::ReviewDecided { review, .. } => {
                let step = self.task.review(review).and_then(|r| r.step.as_ref());
                let op = step.and_then(|n| self.task.steps.get(n)).and_then(|s| s.operation.clone());
                op.iter().for_each(|op| self.weigh(op, at));
            }
            Event::SnapshotAdopted { .. } => {
                let all: Vec<OperationId> = self.task.operations.keys().cloned().collect();
                all.iter().for_each(|op| self.weigh(op, at));
            }
            _ => {}
        }
    }

    fn weigh(&mut self, id: &OperationId, at: Millis) {
        let Some(op) = self.task.operations.get(id) else { return };
        let in_doubt = matches!(op.judge(), Judgement::Unknown | Judgement::Contradiction);
        let past = self.past(id);
        past.ambiguous |= in_doubt;
        past.doubt_since = if in_doubt { past.doubt_since.or(Some(at)) } else { None };
    }

    fn past(&mut self, op: &OperationId) -> &mut Past {
        self.pasts.entry(op.clone()).or_default()
    }

    /// The tally: what was counted on the way, and what is read off the last state.
    pub(super) fn close(mut self) -> Tally {
        self.tally.tasks = 1;
        self.tally.tasks_escalated = u64::from(!self.task.reviews.is_empty());
        for op in self.task.operations.values().filter(|o| !o.attempts.is_empty()) {
            count_operation(&mut self.tally, &self.task, op, self.pasts.get(&op.planned.id));
        }
        let since = |o: &Operation| self.pasts.get(&o.planned.id).and_then(|p| p.doubt_since);
        for op in self.task.unknown_operations() {
            add(&mut self.tally.unknown_now, 1);
            let oldest = [self.tally.oldest_unknown_since, since(op)];
            self.tally.oldest_unknown_since = oldest.into_iter().flatten().min();
        }
        self.tally
    }
}

fn count_operation(tally: &mut Tally, task: &Task, op: &Operation, past: Option<&Past>) {
    let Some(terms) = task.terms(&op.planned).filter(|t| t.effect != Effect::None) else { return };
    add(tally.operations.entry(terms.guarantee().word()).or_default(), 1);
    add(&mut tally.ambiguous_operations, u64::from(past.is_some_and(|p| p.ambiguous)));
    let written_off = task.steps.get(&op.step).is_some_and(|s| s.written_off);
    add(&mut tally.written_off, u64::from(written_off));
    let duplicated = past.is_some_and(|p| p.duplicated);
    let is_effect = op.applied.is_some() || told_applied(op) || duplicated;
    // Setting a state twice is one effect, so there is nothing to be found twice.
    if !is_effect || terms.effect == Effect::Natural {
        return;
    }
    add(&mut tally.effects, 1);
    add(&mut tally.effects_checked, u64::from(duplicated || past.is_some_and(|p| p.checked)));
    add(&mut tally.effects_duplicated, u64::from(duplicated));
}

/// Evidence says that the effect is there, whether or not it could still change the state.
fn told_applied(op: &Operation) -> bool {
    op.evidence.iter().any(|e| matches!(e.outcome, Outcome::Applied { .. }))
}

const fn add(count: &mut u64, n: u64) {
    *count = count.saturating_add(n);
}
