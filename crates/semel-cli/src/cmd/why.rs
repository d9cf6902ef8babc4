//! `semel why`: what state a thing is in, how we know, and what happens next.

use super::find::{self, Found};
use crate::{
    config::Config,
    fail::{Exit, Fail},
    ui::{Ui, time},
    wire,
};
use semel_engine::{
    command::Reply,
    trouble::Trouble,
    view::{
        RawAnswer, Standstill, Why, raw_answer, standstill, why_operation, why_review, why_step, why_task,
    },
};
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
    let loaded = store.load(owner).await?;
    let row = (loaded.claims, loaded.session.clone());
    let task = loaded.into_task()?;
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
    let standstill = standstill(&task, &history, row, now);
    let health = health(config, &task, ui).await;
    let json = serde_json::json!({
        "v": 1, "why": why, "answers": answers, "no_progress": standstill,
        "worked_on": health.worked_on, "degraded": health.degraded,
    });
    ui.show(&json, || text(&why, standstill.as_ref(), &answers));
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
fn text(why: &Why, standstill: Option<&Standstill>, answers: &[RawAnswer]) -> String {
    let text = why.to_string();
    let (said, next) = text.split_once("next: ").map_or((text.as_str(), None), |(a, b)| (a, Some(b)));
    let answers = answers.iter().map(|a| format!("{a}\n")).collect::<String>();
    let next = next.map_or_else(String::new, |next| format!("next: {next}"));
    let standstill = standstill.map_or_else(String::new, |s| format!("{s}\n"));
    format!("{said}{standstill}{answers}{next}").trim_end().to_owned()
}

/// What is said where work is left and nobody does it.
pub(crate) const NOBODY: &str = "nobody works on this store now; next: semel worker";

/// Whether somebody works on the store, and what keeps them from it.
pub(crate) struct Health {
    pub(crate) worked_on: bool,
    pub(crate) degraded: Option<Trouble>,
}

/// How it stands with the store's owner; where nobody works and the task could go on, or the store cannot be written,
/// people are told.
pub(crate) async fn health(config: &Config, task: &Task, ui: Ui) -> Health {
    let phase = oblige::phase(task);
    health_with(config, !phase.is_end() && phase != Phase::NeedsReview, ui).await
}

/// The same, where `left` says whether there is work.
pub(crate) async fn health_with(config: &Config, left: bool, ui: Ui) -> Health {
    let says = wire::owner_says(config).await;
    let worked_on = says.is_some();
    let degraded = if let Some(Reply::Pong { trouble, .. }) = says { trouble } else { None };
    if left && !worked_on && !ui.json {
        ui.say(NOBODY);
    }
    if let Some(trouble) = degraded.as_ref().filter(|_| !ui.json) {
        ui.say(&format!("{}; next: {}", degraded_words(trouble), trouble.next));
    }
    Health { worked_on, degraded }
}

/// What is said of an owner that cannot write.
pub(crate) fn degraded_words(trouble: &Trouble) -> String {
    format!(
        "degraded since {}: {}; nothing is sent until the store can be written, and work then goes on by itself [{}]",
        time::moment(trouble.since),
        trouble.cause,
        trouble.code
    )
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
