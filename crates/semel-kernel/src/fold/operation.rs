//! Fold of what concerns one operation. After each of these events the step follows the operation's judgement.

use super::{Corrupt, advance, corrupt, operation_mut, step_mut};
use crate::{
    event::{Event, Proof},
    id::OperationId,
    operation::{Applied, Attempt, AttemptState, Evidence, Judgement, Operation, Precheck, Probes},
    outcome::{Finding, Outcome, Source, Stored, UnknownCause},
    step::Move,
    task::Task,
    time::Millis,
};
use alloc::{
    format,
    string::{String, ToString},
};

pub(super) fn fold(task: &mut Task, event: &Event, at: Millis) -> Result<(), Corrupt> {
    let id = match event {
        Event::StepStarted { op, .. } => {
            started(operation_mut(task, op)?, event, at)?;
            op
        }
        Event::AttemptAnswered { op, attempt, outcome, .. }
        | Event::AttemptUnknown { op, attempt, outcome, .. }
        | Event::AttemptPending { op, attempt, outcome, .. } => {
            ended(operation_mut(task, op)?, *attempt, outcome, at)?;
            op
        }
        Event::PrecheckAnswered { op, .. } => {
            prechecked(operation_mut(task, op)?, event, at);
            op
        }
        Event::ProbeAnswered { op, asked_at, finding, settled, .. } => {
            let closed = task.operations.get(op).is_some_and(|o| task.is_closed(o));
            let reads = task.operations.get(op).is_some_and(|o| task.changes_nothing(o));
            let found = operation_mut(task, op)?;
            asked(found, *asked_at, finding);
            if closed && matches!(finding, Finding::Applied { .. }) {
                if !reads {
                    contradict(found, "a look-up found it after its record was closed");
                }
            } else {
                probed(found, finding, *settled, at);
            }
            op
        }
        Event::EvidenceAdded { op, source, attempt, outcome, contradicts, .. } => {
            let evidence =
                Evidence { at, source: source.clone(), outcome: outcome.clone(), contradicts: *contradicts };
            let closed = task.operations.get(op).is_some_and(|o| task.is_closed(o));
            let found = operation_mut(task, op)?;
            if !closed || *contradicts {
                evidence_added(found, *attempt, &evidence);
            }
            found.evidence.push(evidence);
            op
        }
        Event::RetryScheduled { op, at: due, cause } => {
            let found = operation_mut(task, op)?;
            found.not_before = Some(*due);
            found.note.clone_from(cause);
            op
        }
        Event::SentLate { op, attempt, late_ms } => {
            let mut attempts = operation_mut(task, op)?.attempts.iter_mut();
            if let Some(late) = attempts.find(|a| a.n == *attempt) {
                late.late_ms = late.late_ms.max(*late_ms);
            }
            op
        }
        Event::AccountSeen { op, account } => {
            let found = operation_mut(task, op)?;
            if found.made() == 0 {
                found.account = Some(account.clone());
            }
            found.account_now = Some(account.clone());
            op
        }
        Event::CostCounted { op, attempt, cost } => {
            let mut attempts = operation_mut(task, op)?.attempts.iter_mut();
            if let Some(counted) = attempts.find(|a| a.n == *attempt) {
                counted.cost = counted.cost.saturating_add(*cost);
            }
            op
        }
        _ => return Ok(()),
    };
    follow(task, id, at)
}

/// The step's state follows the judgement; a settled step stays as it is.
pub(super) fn follow(task: &mut Task, id: &OperationId, at: Millis) -> Result<(), Corrupt> {
    let (judged, name) = {
        let op = operation_mut(task, id)?;
        (op.judge(), op.step.clone())
    };
    let ended = task.end.is_some();
    let step = step_mut(task, &name)?;
    if step.is_settled() || ended {
        return Ok(());
    }
    match judged {
        Judgement::InFlight | Judgement::Pending => advance(step, Move::Start, at),
        Judgement::Unknown | Judgement::Contradiction => advance(step, Move::Lose, at),
        Judgement::NotApplied { .. } | Judgement::Unsent => advance(step, Move::Absent, at),
        Judgement::Applied => Ok(()),
    }
}

fn started(op: &mut Operation, event: &Event, at: Millis) -> Result<(), Corrupt> {
    let Event::StepStarted { attempt, why, generation, send_by, timeout_ms, key_epoch, key, request, .. } =
        event
    else {
        return Ok(());
    };
    if op.attempts.iter().any(|a| a.n >= *attempt) {
        return corrupt(format!("attempt number {attempt} was used before"));
    }
    if op.request.is_some() == request.is_some() {
        return corrupt("a request is frozen at the first attempt, and only there");
    }
    if let Some(request) = request {
        op.request = Some(request.clone());
    }
    op.key_epoch = *key_epoch;
    op.not_before = None;
    op.asked_to_wait_ms = None;
    // What was found speaks of earlier attempts; the limits on asking count anew.
    op.probes = Probes::default();
    op.attempts.push(Attempt {
        n: *attempt,
        why: *why,
        generation: *generation,
        started_at: at,
        send_by: *send_by,
        timeout_ms: *timeout_ms,
        key: key.clone(),
        state: AttemptState::Open,
        ended_at: None,
        note: String::new(),
        late_ms: 0,
        cost: 0,
        refused: false,
        refusal: None,
    });
    Ok(())
}

fn ended(op: &mut Operation, n: u32, outcome: &Outcome, at: Millis) -> Result<(), Corrupt> {
    let Some(attempt) = op.attempts.iter_mut().find(|a| a.n == n) else {
        return corrupt(format!("no attempt {n}"));
    };
    if attempt.state != AttemptState::Open {
        return corrupt(format!("attempt {n} ended before"));
    }
    attempt.ended_at = Some(at);
    op.not_before = None;
    settle_attempt(op, n, outcome, at, Proof::Answer { attempt: n });
    Ok(())
}

/// What an outcome says about one attempt, and through it about the operation.
fn settle_attempt(op: &mut Operation, n: u32, outcome: &Outcome, at: Millis, proof: Proof) {
    let Some(attempt) = op.attempts.iter_mut().find(|a| a.n == n) else { return };
    match outcome {
        Outcome::Applied { result, .. } => {
            attempt.state = AttemptState::Applied;
            apply(op, proof, result, at);
        }
        Outcome::NotApplied { retryable, sent, cause, retry_after_ms, refusal } => {
            attempt.state = AttemptState::NotApplied { retryable: *retryable, sent: *sent };
            attempt.refused = *sent;
            attempt.refusal = *refusal;
            attempt.note.clone_from(cause);
            op.asked_to_wait_ms = *retry_after_ms;
        }
        Outcome::Pending { handle, cause } => {
            attempt.state = AttemptState::Pending { handle: handle.clone() };
            attempt.note.clone_from(cause);
        }
        Outcome::Unknown { cause } => {
            attempt.state = AttemptState::Unknown { cause: cause.clone() };
            attempt.note = cause.words().to_string();
        }
        Outcome::Contradiction { cause } => {
            attempt.state = AttemptState::Unknown { cause: UnknownCause::Undeclared };
            attempt.note.clone_from(cause);
            contradict(op, cause);
        }
    }
}

/// Sources contradict each other: a person is asked, whatever was ordered before.
fn contradict(op: &mut Operation, cause: &str) {
    op.contradiction = Some(cause.to_string());
    op.ordered_until = None;
}

/// The first proof stays; a later one is kept as evidence.
fn apply(op: &mut Operation, proof: Proof, result: &Stored, at: Millis) {
    if op.applied.is_none() {
        op.applied = Some(Applied { proof, result: result.clone(), at });
    }
}

/// For a natural effect whose state already holds there is nothing to send: it is applied, by whom is not proven.
fn prechecked(op: &mut Operation, event: &Event, at: Millis) {
    let Event::PrecheckAnswered { finding, holds, answered, refusal, tag, .. } = event else { return };
    let (holds, answered, refusal, tag) = (*holds, *answered, *refusal, tag.clone());
    let after = op.last_number();
    op.precheck = Some(Precheck { finding: finding.clone(), holds, answered, refusal, tag, at, after });
    if let (Finding::Applied { result }, true) = (finding, holds) {
        apply(op, Proof::Probe, result, at);
    }
}

fn asked(op: &mut Operation, asked_at: Millis, finding: &Finding) {
    op.probes.asked = op.probes.asked.saturating_add(1);
    op.probes.first_at = op.probes.first_at.or(Some(asked_at));
    // An older look-up that is filed late says nothing about what a newer one has found.
    if op.probes.last_at.is_none_or(|last| asked_at >= last) {
        op.probes.last_at = Some(asked_at);
        op.probes.last = Some(finding.clone());
    }
    op.not_before = None;
}

fn probed(op: &mut Operation, finding: &Finding, settled: bool, at: Millis) {
    match finding {
        Finding::Applied { result } => apply(op, Proof::Probe, result, at),
        Finding::Many { cause } => contradict(op, cause),
        Finding::Absent if settled => disprove(op, at, "a look-up after the settled moment found nothing"),
        Finding::Absent | Finding::Pending | Finding::Unclear { .. } => {}
    }
}

/// Every attempt that was open is proven effect-free, and the next one may be made at once. What the target refused for
/// good stays refused for good.
fn disprove(op: &mut Operation, at: Millis, note: &str) {
    for attempt in op.attempts.iter_mut().filter(|a| a.is_open()) {
        attempt.state = AttemptState::NotApplied { retryable: true, sent: true };
        attempt.ended_at = attempt.ended_at.or(Some(at));
        attempt.note = note.to_string();
    }
    op.not_before = Some(at);
}

fn evidence_added(op: &mut Operation, n: Option<u32>, evidence: &Evidence) {
    let at = evidence.at;
    op.ordered_until = None;
    if evidence.contradicts {
        contradict(op, "evidence contradicts the record");
        return;
    }
    match (n, &evidence.outcome, &evidence.source) {
        (_, Outcome::Applied { result, .. }, Source::Person(actor)) => {
            apply(op, Proof::Person { actor: actor.clone() }, result, at);
        }
        (_, Outcome::NotApplied { cause, .. }, Source::Person(_)) => disprove(op, at, cause),
        // An attempt that counted as not applied is proven applied after all, before another one was made; or the
        // number is one that only the original of a restored store knows.
        (n, outcome @ Outcome::Applied { result, .. }, Source::LateAnswer | Source::Receipt) => {
            if let Some(n) = n {
                settle_attempt(op, n, outcome, at, Proof::Evidence);
            }
            apply(op, Proof::Evidence, result, at);
        }
        (Some(n), outcome, _) if still_open(op, n) && is_proof(outcome) => {
            settle_attempt(op, n, outcome, at, Proof::Evidence);
        }
        _ => {}
    }
}

fn still_open(op: &Operation, n: u32) -> bool {
    op.attempt(n).is_some_and(Attempt::is_open)
}

fn is_proof(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Applied { .. } | Outcome::NotApplied { .. } | Outcome::Contradiction { .. })
}
