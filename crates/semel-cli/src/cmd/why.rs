//! `semel why`: what state a thing is in, how we know, and what happens next.

use super::find::{self, Found};
use crate::{
    config::Config,
    fail::{Exit, Fail},
    ui::Ui,
    wire,
};
use semel_engine::view::{RawAnswer, Why, raw_answer, why_operation, why_review, why_step, why_task};
use semel_kernel::{
    id::{OperationId, TaskId},
    oblige,
    operation::Operation,
    task::{Phase, Task},
};
use semel_ports::{Loaded, Store};

pub(crate) async fn run(config: &Config, id: &str, ui: Ui) -> Result<Exit, Fail> {
    let store = wire::read(config).await?;
    let store = store.as_ref();
    let now = store.now();
    let found = find::any(config, store, id).await?;
    let (Found::Task(owner) | Found::Operation(owner, _) | Found::Review(owner, _) | Found::Step(owner, _)) =
        &found;
    let task = load(store, owner).await?;
    let why = match &found {
        Found::Task(_) => why_task(&task, now),
        Found::Operation(_, op) => {
            why_operation(&task, task.operations.get(op).ok_or_else(|| gone(id))?, now)
        }
        Found::Review(_, review) => why_review(&task, task.review(review).ok_or_else(|| gone(id))?, now),
        Found::Step(_, step) => why_step(&task, task.steps.get(step).ok_or_else(|| gone(id))?, now),
    };
    let history = store.history(owner, 0).await?;
    let answers: Vec<_> = doubted(&task, &found).filter_map(|op| raw_answer(&history, op)).collect();
    let worked_on = is_worked_on(config, &task, ui).await;
    ui.show(&serde_json::json!({"v": 1, "why": why, "answers": answers, "worked_on": worked_on}), || {
        text(&why, &answers)
    });
    Ok(Exit::Done)
}

/// Operations without proof of their effect among those that the question is about.
fn doubted<'a>(task: &'a Task, found: &'a Found) -> impl Iterator<Item = &'a OperationId> {
    let about = move |op: &&Operation| match found {
        Found::Task(_) => true,
        Found::Operation(_, id) => op.planned.id == *id,
        Found::Review(_, id) => task.review(id).is_some_and(|r| r.step.as_ref() == Some(&op.step)),
        Found::Step(_, step) => op.step == *step,
    };
    let open = task.operations.values().filter(|op| op.applied.is_none());
    open.filter(about).map(|op| &op.planned.id)
}

/// Sentences, then what the target itself said, then the commands.
fn text(why: &Why, answers: &[RawAnswer]) -> String {
    let text = why.to_string();
    let (said, next) = text.split_once("next: ").map_or((text.as_str(), None), |(a, b)| (a, Some(b)));
    let answers = answers.iter().map(|a| format!("{a}\n")).collect::<String>();
    let next = next.map_or_else(String::new, |next| format!("next: {next}"));
    format!("{said}{answers}{next}").trim_end().to_owned()
}

/// What is said where work is left and nobody does it.
pub(crate) const NOBODY: &str = "nobody works on this store now; next: semel worker";

/// Whether somebody works on the store; where nobody does and the task could go on, people are told.
pub(crate) async fn is_worked_on(config: &Config, task: &Task, ui: Ui) -> bool {
    let phase = oblige::phase(task);
    is_worked_on_with(config, !phase.is_end() && phase != Phase::NeedsReview, ui).await
}

/// The same, where `left` says whether there is work.
pub(crate) async fn is_worked_on_with(config: &Config, left: bool, ui: Ui) -> bool {
    let worked_on = wire::has_owner(config).await;
    if left && !worked_on && !ui.json {
        ui.say(NOBODY);
    }
    worked_on
}

/// A task as it is now.
pub(crate) async fn load(store: &dyn Store, task: &TaskId) -> Result<Task, Fail> {
    Ok(store.load(task).await.and_then(Loaded::into_task)?)
}

/// The table names it and the task's history does not; the two were read at different moments.
pub(crate) fn gone(id: &str) -> Fail {
    Fail::new(
        Exit::Verification,
        "SM9002",
        format!("`{id}` is not in its task's history"),
        "run `semel db verify`",
    )
}
