//! Sentences about a step: its operation's, or those of what it waits for.

use super::{Clause, operation, recorded};
use crate::view::{
    act::{clean, proof_words},
    clock::when,
    command, outlook,
};
use semel_kernel::{
    event::Proof,
    id::TaskId,
    step::{Step, StepState},
    task::Task,
    time::Now,
};

pub(super) fn clause(task: &Task, step: &Step, now: Now) -> Clause {
    if let Some(op) = step.operation.as_ref().and_then(|id| task.operations.get(id)) {
        return operation::clause(task, op, now);
    }
    let state = step.state.word();
    let attached = step.attached.as_ref().map(|(to, _)| command::why(to));
    if step.is_settled() {
        let state = if step.written_off { "UNKNOWN (written off)" } else { state };
        let code = (!step.code.is_empty()).then(|| command::explain(&step.code));
        return Clause::new(state, ended(step, now), "Nothing more happens to it").with(attached).with(code);
    }
    let next = format!("Semel {}", outlook::of_step(task, task, &step.name, now).text);
    let clause = Clause::new(state, waits(task, step, now), next);
    clause.with(attached).with([command::task("tail", &task.id)])
}

/// A step that was settled by the operation in another task.
fn ended_elsewhere(step: &Step, to: &TaskId, now: Now) -> String {
    let when_recorded = recorded(step.changed_at, now);
    if step.written_off {
        return format!("the tenant-scoped operation in task {to} was written off, {when_recorded}");
    }
    match &step.proof {
        Some(Proof::Replay { of, at }) => format!(
            "it got the answer of {of} in task {to}, which was settled at {}, and nothing was sent for it here",
            when(*at, now)
        ),
        _ if step.state == StepState::Failed => format!(
            "the tenant-scoped operation in task {to} is known not to have happened ({}: {}), {when_recorded}",
            step.code,
            clean(&step.cause)
        ),
        _ => format!("it is settled through task {to}, {when_recorded}"),
    }
}

/// A step that was settled without an operation of its own.
fn ended(step: &Step, now: Now) -> String {
    if let Some((to, _)) = &step.attached {
        return ended_elsewhere(step, to, now);
    }
    let when_recorded = recorded(step.changed_at, now);
    match step.state {
        StepState::Committed => match &step.proof {
            Some(Proof::Replay { of, at }) => format!(
                "it got the answer of {of}, which was settled at {}, and nothing was sent for it",
                when(*at, now)
            ),
            Some(Proof::Timer) => format!("its timer fired, {when_recorded}"),
            Some(Proof::Items) => format!("all of its items are settled and none failed, {when_recorded}"),
            Some(proof @ (Proof::Answer { .. } | Proof::Probe | Proof::Evidence | Proof::Person { .. })) => {
                format!("it is proven by {}, {when_recorded}", proof_words(proof))
            }
            None => format!("it is settled, {when_recorded}"),
        },
        StepState::Failed => {
            format!("nothing was sent for it ({}: {}), {when_recorded}", step.code, clean(&step.cause))
        }
        StepState::Skipped => {
            format!("nothing was ever intended ({}), {when_recorded}", clean(&step.cause))
        }
        StepState::Planned | StepState::Started | StepState::Unknown | StepState::Compensated => {
            format!("it is settled, {when_recorded}")
        }
    }
}

fn waits(task: &Task, step: &Step, now: Now) -> String {
    if let Some((to, epoch)) = &step.attached {
        let shown = if *epoch > 1 { format!("{to}~{epoch}") } else { to.to_string() };
        return format!("it acts through the tenant-scoped operation in task {shown}, which is not settled");
    }
    if let Some(at) = step.timer {
        return format!("its timer was set for {}", when(at, now));
    }
    if let Some(items) = &step.items {
        return of_items(task, items.iter().filter_map(|n| task.steps.get(n)));
    }
    if let Some(of) = &step.same_as {
        return format!("it is an equal call to {of}, which is not settled");
    }
    if task.is_ready(step) {
        return "everything that it needs is settled, and nothing was decided about it".to_owned();
    }
    "nothing was decided about it, as not everything that it needs is settled".to_owned()
}

/// How the items stand: those in review do not keep the others waiting.
fn of_items<'a>(task: &Task, items: impl Iterator<Item = &'a Step>) -> String {
    let (mut all, mut settled, mut review, mut unknown) = (0_u32, 0_u32, 0_u32, 0_u32);
    for item in items {
        all += 1;
        settled += u32::from(item.is_settled());
        review += u32::from(item.review.is_some());
        unknown += u32::from(Task::is_unknown(item));
    }
    let going = all.saturating_sub(settled).saturating_sub(review);
    let rest = if task.is_stopped() { "held" } else { "going on" };
    format!("its {all} items: {settled} settled, {going} {rest}, {review} in review, {unknown} unknown")
}
