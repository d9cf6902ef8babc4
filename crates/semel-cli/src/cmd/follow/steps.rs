//! Steps with what is promised for them and how far each got, for people and for programs.

use crate::{
    cmd::why::load,
    fail::Fail,
    ui::{
        self,
        table::{cut, table},
        time,
    },
};
use semel_kernel::{
    id::StepName,
    outcome::{RefusalKind, Stored},
    step::{Step, StepState},
    task::Task,
    terms::Guarantee,
    time::Millis,
};
use semel_ports::Store;
use serde::Serialize;
use std::collections::BTreeMap;

/// Characters of a result or a cause in a table.
const NOTE: usize = 36;

#[derive(Serialize)]
pub(crate) struct StepReport<'a> {
    step: &'a str,
    state: &'a str,
    guarantee: Option<&'static str>,
    operation: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    code: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    cause: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    fields: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<RefusalKind>,
    output: Option<&'a Stored>,
}

/// What is promised for steps that act through operations of other tasks.
pub(crate) type Shared = BTreeMap<StepName, Guarantee>;

/// Reads it from the tasks of those operations.
pub(crate) async fn shared(store: &dyn Store, task: &Task) -> Result<Shared, Fail> {
    let mut promised = Shared::new();
    for step in task.steps_in_order() {
        let Some((other, _)) = &step.attached else { continue };
        let other = load(store, other).await?;
        let op = other.operations.values().next();
        if let Some(terms) = op.and_then(|op| other.terms(&op.planned)) {
            promised.insert(step.name.clone(), terms.guarantee());
        }
    }
    Ok(promised)
}

fn guarantee(task: &Task, step: &Step, shared: &Shared) -> Option<&'static str> {
    let own = task.operation_of(step).and_then(|op| task.terms(&op.planned));
    own.map(semel_kernel::terms::Terms::guarantee)
        .or_else(|| shared.get(&step.name).copied())
        .map(Guarantee::word)
}

/// A step for programs.
pub(crate) fn step_report<'a>(task: &'a Task, step: &'a Step, shared: &Shared) -> StepReport<'a> {
    StepReport {
        step: step.name.as_str(),
        state: step.state.word(),
        guarantee: guarantee(task, step, shared),
        operation: task.operation_of(step).map(|o| o.planned.id.as_str()),
        code: &step.code,
        cause: &step.cause,
        fields: &step.fields,
        refusal: step.refusal,
        output: step.output.as_ref(),
    }
}

/// Steps with state, promise and what came of them.
pub(crate) fn steps_table(task: &Task, shared: &Shared, now: Millis) -> String {
    table(
        ["STEP", "STATE", "GUARANTEE", "ATTEMPTS", "SINCE", "NOTE"],
        task.steps_in_order().map(|step| {
            [
                step.name.to_string(),
                ui::state(step.state.word()),
                guarantee(task, step, shared).unwrap_or("-").to_owned(),
                task.operation_of(step).map_or_else(|| "-".to_owned(), |o| o.made().to_string()),
                time::age(step.changed_at, now),
                note(step),
            ]
        }),
    )
}

fn note(step: &Step) -> String {
    if step.written_off {
        return "written off: unknown for ever".to_owned();
    }
    if let Some(review) = &step.review {
        return format!("in review: {review}");
    }
    if let (StepState::Committed, Some(Stored::Inline(result))) = (step.state, &step.output)
        && !result.is_null()
    {
        return format!("result {}", cut(&result.canonical(), NOTE));
    }
    if step.code.is_empty() { step.cause.clone() } else { format!("{}: {}", step.code, step.cause) }
}
