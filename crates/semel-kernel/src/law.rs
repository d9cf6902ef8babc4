//! Laws: what must hold after every fold. Checked in tests after each event, and on load in production: a task that
//! breaks one is set aside as corrupt and never continued.

use crate::{
    operation::{AttemptState, Judgement, Operation},
    step::{Step, StepState},
    task::Task,
    terms::Effect,
};
use alloc::{format, string::String};

/// Checks every law.
///
/// # Errors
/// The first law that is broken, in words.
pub fn check(task: &Task) -> Result<(), String> {
    for step in task.steps.values() {
        check_step(task, step)?;
    }
    for op in task.operations.values() {
        check_operation(task, op)?;
    }
    if task.end.is_some()
        && task.open_reviews().next().is_none()
        && task.unknown_operations().next().is_some()
    {
        return Err("a task has ended while an operation is unknown and nobody is asked".into());
    }
    Ok(())
}

fn check_step(task: &Task, step: &Step) -> Result<(), String> {
    let name = &step.name;
    let op = step.operation.as_ref().and_then(|id| task.operations.get(id));
    let changes_nothing = op.and_then(|o| task.terms(&o.planned)).is_some_and(|t| t.effect == Effect::None);
    match (step.state, op.map(Operation::judge)) {
        (StepState::Failed, Some(judged)) if !changes_nothing => match judged {
            Judgement::Unsent | Judgement::NotApplied { .. } | Judgement::Contradiction => Ok(()),
            Judgement::InFlight | Judgement::Applied | Judgement::Pending | Judgement::Unknown => {
                Err(format!("step `{name}` is FAILED while its operation is {judged:?}"))
            }
        },
        (StepState::Committed, Some(judged)) => match judged {
            Judgement::Applied | Judgement::Contradiction => Ok(()),
            Judgement::Unsent
            | Judgement::InFlight
            | Judgement::NotApplied { .. }
            | Judgement::Pending
            | Judgement::Unknown => Err(format!("step `{name}` is COMMITTED without proof")),
        },
        (StepState::Started, None) => Err(format!("step `{name}` is STARTED without an operation")),
        _ => Ok(()),
    }
}

fn check_operation(task: &Task, op: &Operation) -> Result<(), String> {
    let id = &op.planned.id;
    if task.terms(&op.planned).is_none() {
        return Err(format!("operation `{id}` uses a tool that the plan does not carry"));
    }
    let made = op.attempts.iter().filter(|a| a.n > 0);
    let mut last = 0;
    for attempt in made {
        if attempt.n <= last {
            return Err(format!("operation `{id}` uses attempt number {} twice", attempt.n));
        }
        last = attempt.n;
        if attempt.generation > task.generation {
            return Err(format!("operation `{id}` has an attempt of a later generation"));
        }
    }
    let open = op.attempts.iter().filter(|a| matches!(a.state, AttemptState::Open)).count();
    if open > 1 {
        return Err(format!("operation `{id}` has {open} attempts in flight"));
    }
    if op.request.is_none() && last > 0 {
        return Err(format!("operation `{id}` was sent without a frozen request"));
    }
    Ok(())
}
