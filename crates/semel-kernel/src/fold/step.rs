//! Fold of what concerns one step.

use super::{Corrupt, advance, corrupt, step_mut};
use crate::{
    decide::item_kind,
    event::{Event, PlannedOperation, Proof},
    id::{OperationId, StepName},
    json::Json,
    operation::{Judgement, Operation, Probes},
    outcome::Stored,
    step::{Move, Step},
    task::Task,
    time::Millis,
};
use alloc::{format, string::String, vec::Vec};

pub(super) fn fold(task: &mut Task, event: &Event, at: Millis) -> Result<(), Corrupt> {
    match event {
        Event::StepExpanded { step, items, list } => expanded(task, step, items, list, at),
        Event::StepPlanned { step, operation, same_as } => {
            planned(task, step, operation, same_as.as_ref(), at)
        }
        Event::StepAttached { step, to, epoch } => {
            let step = step_mut(task, step)?;
            advance(step, Move::Plan, at)?;
            step.attached = Some((to.clone(), *epoch));
            Ok(())
        }
        Event::StepSkipped { step, cause } => {
            let step = step_mut(task, step)?;
            advance(step, Move::Skip, at)?;
            step.cause.clone_from(cause);
            Ok(())
        }
        Event::StepCommitted { step, proof, authorship, output } => {
            let step = step_mut(task, step)?;
            advance(step, Move::Commit, at)?;
            step.proof = Some(proof.clone());
            step.authorship = *authorship;
            step.output = Some(output.clone());
            Ok(())
        }
        Event::StepFailed { step, .. } => failed(task, step, event, at),
        Event::StepWrittenOff { step, .. } => {
            let step = step_mut(task, step)?;
            step.written_off = true;
            // It has no operation of its own: it does not know what another one is not known to have done.
            if step.operation.is_none() { advance(step, Move::Lose, at) } else { Ok(()) }
        }
        Event::TimerSet { step, at: due } => {
            let step = step_mut(task, step)?;
            advance(step, Move::Plan, at)?;
            step.timer = Some(*due);
            Ok(())
        }
        Event::TimerFired { step } => {
            let step = step_mut(task, step)?;
            advance(step, Move::Commit, at)?;
            step.proof = Some(Proof::Timer);
            step.output = Some(Stored::Inline(Json::Null));
            Ok(())
        }
        _ => Ok(()),
    }
}

fn expanded(
    task: &mut Task,
    name: &StepName,
    items: &[StepName],
    list: &Stored,
    at: Millis,
) -> Result<(), Corrupt> {
    let parent = step_mut(task, name)?;
    advance(parent, Move::Plan, at)?;
    let Some(kind) = item_kind(&parent.kind) else { return corrupt(format!("`{name}` has no items")) };
    parent.items = Some(items.to_vec());
    parent.output = Some(list.clone());
    for item in items {
        if task.steps.contains_key(item) {
            return corrupt(format!("two steps are called `{item}`"));
        }
        let mut step = Step::new(item.clone(), kind.clone(), Vec::new(), at);
        step.item_of = Some(name.clone());
        step.touched = task.version;
        task.steps.insert(item.clone(), step);
        task.order.push(item.clone());
    }
    Ok(())
}

fn planned(
    task: &mut Task,
    name: &StepName,
    planned: &PlannedOperation,
    same_as: Option<&OperationId>,
    at: Millis,
) -> Result<(), Corrupt> {
    let restored = task.restored;
    let step = step_mut(task, name)?;
    advance(step, Move::Plan, at)?;
    if let Some(other) = same_as {
        step.same_as = Some(other.clone());
        return Ok(());
    }
    step.operation = Some(planned.id.clone());
    let mut op = Operation {
        planned: planned.clone(),
        step: name.clone(),
        planned_at: at,
        request: None,
        attempts: Vec::new(),
        evidence: Vec::new(),
        probes: Probes::default(),
        applied: None,
        contradiction: None,
        precheck: None,
        not_before: None,
        ordered_until: None,
        granted: 0,
        note: String::new(),
        asked_to_wait_ms: None,
        key_epoch: planned.key_epoch,
        account: None,
        account_now: None,
    };
    if let Some(restored) = restored {
        super::task::shadow(&mut op, restored);
        advance(step, Move::Lose, at)?;
    }
    task.targets.entry(planned.target.clone()).or_default().push(planned.id.clone());
    if task.operations.insert(planned.id.clone(), op).is_some() {
        return corrupt(format!("operation `{}` was planned before", planned.id));
    }
    Ok(())
}

/// FAILED means *known not to have happened*; an operation in doubt can never get there.
fn failed(task: &mut Task, name: &StepName, event: &Event, at: Millis) -> Result<(), Corrupt> {
    let Event::StepFailed { code, cause, fields, refusal, .. } = event else { return Ok(()) };
    let op = task.steps.get(name).and_then(|s| s.operation.as_ref()).and_then(|id| task.operations.get(id));
    let changes_nothing =
        op.and_then(|o| task.terms(&o.planned)).is_some_and(|t| t.effect == crate::terms::Effect::None);
    let known = op.is_none_or(|o| matches!(o.judge(), Judgement::Unsent | Judgement::NotApplied { .. }));
    if !known && !changes_nothing {
        return corrupt(format!("step `{name}` is in doubt; unknown is not failed"));
    }
    let step = step_mut(task, name)?;
    advance(step, Move::Fail, at)?;
    step.code.clone_from(code);
    step.cause.clone_from(cause);
    step.fields.clone_from(fields);
    step.refusal = *refusal;
    Ok(())
}
