//! `semel why`: what state a thing is in, how we know, and what happens next.

use super::find::{self, Found};
use crate::{
    config::Config,
    fail::{Exit, Fail},
    ui::Ui,
    wire,
};
use semel_engine::view::{Why, why_operation, why_review, why_task};
use semel_kernel::{id::TaskId, task::Task};
use semel_ports::{Loaded, Store};

pub(crate) async fn run(config: &Config, id: &str, ui: Ui) -> Result<Exit, Fail> {
    let store = wire::read(config).await?;
    let store = store.as_ref();
    let now = store.now();
    let why = match find::any(config, store, id).await? {
        Found::Task(task) => why_task(&load(store, &task).await?, now),
        Found::Operation(task, op) => {
            let task = load(store, &task).await?;
            let op = task.operations.get(&op).ok_or_else(|| gone(id))?;
            why_operation(&task, op, now)
        }
        Found::Review(task, review) => {
            let task = load(store, &task).await?;
            let review = task.review(&review).ok_or_else(|| gone(id))?;
            why_review(&task, review, now)
        }
    };
    show(&why, ui);
    Ok(Exit::Done)
}

/// Sentences for people, the same as data for programs.
pub(crate) fn show(why: &Why, ui: Ui) {
    ui.show(&serde_json::json!({"v": 1, "why": why}), || why.to_string().trim_end().to_owned());
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
