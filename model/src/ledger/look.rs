//! What tells two tasks apart.

use semel_kernel::{
    operation::{AttemptState, Operation, Probes},
    outcome::Outcome,
    step::Step,
    task::Task,
    terms::Effect,
    time::{Generation, Millis},
};

/// What tells two tasks apart: everything but labels, notes, versions and what no decision reads any more.
pub(super) fn look(task: &Task) -> String {
    let step = task.steps.values().next();
    let settled = step.is_some_and(Step::is_settled) || task.end.is_some();
    let mut operations = task.operations.clone();
    for op in operations.values_mut() {
        let keyed = task.terms(&op.planned).is_some_and(|t| t.effect == Effect::Keyed);
        forget(op, settled, keyed);
    }
    let step = step.map(|s| (s.state, s.review.is_some(), s.written_off, s.proof.is_some()));
    let reviews: Vec<_> = task.reviews.iter().map(|r| (&r.cause, r.decided.is_some())).collect();
    let all = (&operations, step, reviews, task.generation, task.end.as_ref().map(|e| e.phase));
    serde_json::to_string(&all).unwrap_or_else(|_| format!("{all:?}"))
}

/// Takes out what nothing reads: when an attempt that is over was to be sent, and everything about time once the step
/// is settled.
fn forget(op: &mut Operation, settled: bool, keyed: bool) {
    let never = Millis(0);
    op.note.clear();
    op.evidence.retain(|e| matches!(e.outcome, Outcome::Applied { .. }));
    op.evidence.iter_mut().for_each(|e| e.at = never);
    op.applied.iter_mut().for_each(|a| a.at = never);
    for attempt in &mut op.attempts {
        attempt.note.clear();
        if attempt.state != AttemptState::Open {
            attempt.generation = Generation::default();
        }
        if settled || !attempt.is_open() {
            (attempt.send_by, attempt.late_ms) = (never, 0);
        }
        if settled {
            attempt.ended_at = None;
        }
        if settled || !keyed {
            attempt.started_at = never;
        }
    }
    if settled {
        (op.probes, op.precheck, op.not_before) = (Probes::default(), None, None);
    }
}
