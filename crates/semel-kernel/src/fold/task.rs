//! Fold of what concerns the whole task.

use super::{Corrupt, advance, corrupt, operation_mut, step_mut};
use crate::{
    event::{Event, Why},
    id::{ReviewId, StepName},
    operation::{Attempt, AttemptState, Operation},
    outcome::UnknownCause,
    review::{Decided, Decision, Review, ReviewCause},
    step::{Move, Step},
    task::{End, Order, Phase, Recovery, Restored, Task},
    time::{Generation, Millis},
};
use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};

/// The state after `TaskCreated`.
pub(crate) fn create(event: &Event, at: Millis) -> Result<Task, Corrupt> {
    let Event::TaskCreated { task, tenant, client_id, plan, inputs, epoch, shared_epoch, restored } = event
    else {
        return corrupt("a history begins with TaskCreated");
    };
    let step = |s: &crate::plan::PlanStep| Step::new(s.name.clone(), s.kind.clone(), s.needs.clone(), at);
    Ok(Task {
        id: task.clone(),
        tenant: tenant.clone(),
        client_id: client_id.clone(),
        inputs: inputs.clone(),
        shared_epoch: *shared_epoch,
        version: 1,
        created_at: at,
        updated_at: at,
        generation: Generation { epoch: *epoch, counter: 0 },
        session: None,
        order: plan.steps.iter().map(|s| s.name.clone()).collect(),
        steps: plan.steps.iter().map(|s| (s.name.clone(), step(s))).collect(),
        plan: plan.clone(),
        operations: BTreeMap::new(),
        targets: BTreeMap::new(),
        reviews: Vec::new(),
        recovery: None,
        restored: *restored,
        paused: None,
        cancelling: None,
        forgiven: Vec::new(),
        end: None,
    })
}

pub(super) fn fold(task: &mut Task, event: &Event, at: Millis) -> Result<(), Corrupt> {
    match event {
        Event::LeaseAcquired { session, generation } => lease(task, session.clone(), *generation),
        Event::RecoveryStarted { open, .. } => {
            task.recovery = Some(Recovery { since: at, open: open.clone() });
            Ok(())
        }
        Event::RecoveryFinished { .. } => {
            task.recovery = None;
            Ok(())
        }
        Event::ReviewOpened { review, cause, step, question } => {
            opened(task, review, cause, step.as_ref(), question, at)
        }
        Event::ReviewDecided { review, decision, actor, reason } => {
            decided(task, review, decision, actor, reason, at)
        }
        Event::CancelRequested { actor, reason } => {
            task.cancelling = Some(Order { actor: actor.clone(), reason: reason.clone(), at });
            Ok(())
        }
        Event::Paused { actor, reason } => {
            task.paused = Some(Order { actor: actor.clone(), reason: reason.clone(), at });
            Ok(())
        }
        Event::Resumed { .. } => {
            task.paused = None;
            Ok(())
        }
        Event::SnapshotAdopted { epoch, copied_at, .. } => adopted(task, *epoch, *copied_at, at),
        Event::TaskCompleted { .. } => end(task, Phase::Completed, String::new(), at),
        Event::TaskFailed { code, .. } => end(task, Phase::Failed, code.clone(), at),
        Event::TaskCancelled { .. } => end(task, Phase::Cancelled, String::new(), at),
        _ => Ok(()),
    }
}

fn lease(task: &mut Task, session: crate::id::SessionId, generation: Generation) -> Result<(), Corrupt> {
    if generation <= task.generation {
        return corrupt(format!("generation {generation} does not follow {}", task.generation));
    }
    task.generation = generation;
    task.session = Some(session);
    Ok(())
}

fn opened(
    task: &mut Task,
    id: &ReviewId,
    cause: &ReviewCause,
    step: Option<&StepName>,
    question: &str,
    at: Millis,
) -> Result<(), Corrupt> {
    if task.review(id).is_some() {
        return corrupt(format!("review `{id}` was opened before"));
    }
    if let Some(name) = step {
        step_mut(task, name)?.review = Some(id.clone());
    }
    task.reviews.push(Review {
        id: id.clone(),
        opened_at: at,
        cause: cause.clone(),
        step: step.cloned(),
        question: question.to_string(),
        decided: None,
    });
    Ok(())
}

fn decided(
    task: &mut Task,
    id: &ReviewId,
    decision: &Decision,
    actor: &str,
    reason: &str,
    at: Millis,
) -> Result<(), Corrupt> {
    let Some(review) = task.reviews.iter_mut().find(|r| r.id == *id && r.decided.is_none()) else {
        return corrupt(format!("review `{id}` is not open"));
    };
    let (actor, reason) = (actor.to_string(), reason.to_string());
    review.decided = Some(Decided { decision: decision.clone(), actor, reason, at });
    let (step, cause) = (review.step.clone(), review.cause.clone());
    let Some(name) = step else {
        if let (ReviewCause::Budget { which }, Decision::GoOn) = (&cause, decision) {
            task.forgiven.push(which.clone());
        }
        return Ok(());
    };
    let step = step_mut(task, &name)?;
    step.review = None;
    let Some(id) = step.operation.clone() else { return Ok(()) };
    ordered(operation_mut(task, &id)?, &cause, decision);
    super::operation::follow(task, &id, at)
}

/// What an order changes in the operation itself.
fn ordered(op: &mut Operation, cause: &ReviewCause, decision: &Decision) {
    op.ordered_until = None;
    match decision {
        Decision::AskAgain => {
            op.probes = crate::operation::Probes::default();
            op.contradiction = None;
            op.not_before = None;
        }
        Decision::WaitUntil { at } => {
            op.probes = crate::operation::Probes::default();
            op.ordered_until = Some(*at);
        }
        Decision::ItHappened { .. } | Decision::ItDidNot | Decision::WriteOff | Decision::GoOn => {
            op.contradiction = None;
        }
        Decision::Skip | Decision::Abort => {}
    }
    let again = matches!(decision, Decision::GoOn | Decision::WaitUntil { .. });
    if cause.is_about_going_on() && again {
        op.granted = op.attempts.iter().map(|a| a.n).max().unwrap_or(0);
        op.not_before = op.attempts.last().and_then(|a| a.ended_at);
    }
}

/// Every operation that is not settled may have been sent by the original. A shadow attempt, number 0, stands for
/// that; the recovery table then does the rest.
fn adopted(task: &mut Task, epoch: u32, copied_at: Millis, at: Millis) -> Result<(), Corrupt> {
    task.generation = Generation { epoch, counter: 0 };
    task.session = None;
    let oldest = task.restored.map_or(copied_at, |earlier| earlier.copied_at.min(copied_at));
    task.restored = Some(Restored { copied_at: oldest, adopted_at: at });
    let settled = |n: &StepName| task.steps.get(n).is_some_and(Step::is_settled);
    let open: Vec<_> =
        task.operations.values().filter(|o| !settled(&o.step)).map(|o| o.planned.id.clone()).collect();
    for id in open {
        let Some(op) = task.operations.get_mut(&id) else { continue };
        for attempt in &mut op.attempts {
            if matches!(attempt.state, AttemptState::Open) {
                attempt.state = AttemptState::Unknown { cause: UnknownCause::Restored };
                attempt.ended_at = Some(at);
            }
        }
        shadow(op, Restored { copied_at, adopted_at: at });
        let name = op.step.clone();
        advance(step_mut(task, &name)?, Move::Lose, at)?;
    }
    Ok(())
}

/// The attempt that the original of a restored store may have made. A copy of a copy has two originals: while nothing is
/// proven of the first one's attempt, it counts from there. What the copy knew of the target's state is void.
pub(super) fn shadow(op: &mut Operation, restored: Restored) {
    let earlier = op.attempt(0).filter(|a| a.is_open()).map(|a| a.started_at);
    let key = op.key().to_string();
    op.attempts.retain(|a| a.n != 0);
    op.probes = crate::operation::Probes::default();
    op.precheck = None;
    op.not_before = None;
    op.attempts.insert(
        0,
        Attempt {
            n: 0,
            why: Why::First,
            generation: Generation::default(),
            started_at: earlier.map_or(restored.copied_at, |at| at.min(restored.copied_at)),
            send_by: restored.adopted_at,
            timeout_ms: 0,
            key,
            state: AttemptState::Unknown { cause: UnknownCause::Restored },
            ended_at: Some(restored.adopted_at),
            note: UnknownCause::Restored.words().to_string(),
            late_ms: 0,
            cost: 0,
            refused: false,
            refusal: None,
        },
    );
}

fn end(task: &mut Task, phase: Phase, code: String, at: Millis) -> Result<(), Corrupt> {
    if task.end.is_some() {
        return corrupt("a task ends once");
    }
    if task.unknown_operations().next().is_some() {
        return corrupt("a task does not end while an operation is unknown");
    }
    task.end = Some(End { phase, at, code });
    Ok(())
}
