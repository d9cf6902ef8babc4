//! `semel op`: the ledger, row by row.

mod list;
mod show;

use super::{find, task, why::load};
use crate::{
    config::Config,
    fail::{Exit, Fail},
    low::Op,
    ui::{self, Ui},
    wire,
};
use semel_engine::{command::Command, view::clock::when};
use semel_kernel::{
    id::{OperationId, TaskId},
    json::Json,
    operation::Status,
    review::{Decision, Review},
    task::Task,
};

pub(crate) async fn run(config: &Config, verb: Op, ui: Ui) -> Result<Exit, Fail> {
    match verb {
        Op::List { unknown, all, task, list } => {
            list::run(config, list::Which::of(unknown, all), task.as_deref(), &list, ui).await
        }
        Op::Show(id) => show::run(config, &id.id, ui).await,
        Op::Find { text, list } => list::find(config, &text, &list, ui).await,
        Op::Probe(id) => probe(config, &id.id, ui).await,
        Op::Settle { id, happened, absent, reference, reason, page } => {
            let decision = fact(happened, absent, reference)?;
            settle(config, &id.id, decision, reason, page, ui).await
        }
    }
}

fn fact(happened: bool, absent: bool, reference: Option<String>) -> Result<Decision, Fail> {
    match (happened, absent, reference) {
        (true, false, Some(reference)) => Ok(Decision::ItHappened { reference, result: Json::Null }),
        (false, true, _) => Ok(Decision::ItDidNot),
        (true, false, None) | (true, true, _) | (false, false, _) => {
            let next = "say `--happened --ref REFERENCE` or `--absent`";
            Err(Fail::new(Exit::Usage, "SM1012", "a fact is missing: did it happen, or did it not?", next))
        }
    }
}

async fn probe(config: &Config, id: &str, ui: Ui) -> Result<Exit, Fail> {
    let (task, op) = named(config, id).await?;
    let command = Command::Probe { task: task.clone(), op: op.clone() };
    wire::command(config, command).await.and_then(task::done)?;
    afterwards(config, &task, &op, ui).await
}

async fn settle(
    config: &Config,
    id: &str,
    decision: Decision,
    reason: String,
    page: Option<u64>,
    ui: Ui,
) -> Result<Exit, Fail> {
    let store = wire::read(config).await?;
    let (task, op) = find::operation(store.as_ref(), id).await?;
    let found = load(store.as_ref(), &task).await?;
    let actor = config.actor.clone();
    let command = match asked_about(&found, &op) {
        None => Command::Settle { task: task.clone(), op: op.clone(), decision, actor, reason },
        Some(review) => {
            let page = Some(page.ok_or_else(|| unread(&found, review))?);
            let review = review.id.clone();
            Command::Decide { task: task.clone(), review, decision, actor, reason, page }
        }
    };
    drop(store);
    if let Err(fail) = wire::command(config, command).await.and_then(task::done) {
        return Err(dated(config, &task, &op, fail).await);
    }
    afterwards(config, &task, &op, ui).await
}

/// The open review about an operation.
fn asked_about<'a>(task: &'a Task, op: &OperationId) -> Option<&'a Review> {
    let step = &task.operations.get(op)?.step;
    task.open_reviews().find(|r| r.step.as_ref() == Some(step))
}

/// An answer to a review says which page it was read from.
fn unread(task: &Task, review: &Review) -> Fail {
    let message = format!("review {} asks about it, and the answer names no page version", review.id);
    let next = format!("read `semel review show {}`, then add --page {} here", review.id, task.page(review));
    Fail::new(Exit::Usage, "SM1012", message, next)
}

/// *It did not* was refused because it is too early: says from which moment on it is believed.
pub(crate) async fn dated(config: &Config, id: &TaskId, op: &OperationId, fail: Fail) -> Fail {
    if fail.code != "SM1004" {
        return fail;
    }
    let Ok(store) = wire::read(config).await else { return fail };
    let Ok(task) = load(store.as_ref(), id).await else { return fail };
    let found = task.operations.get(op);
    let Some((op, terms)) = found.and_then(|op| Some((op, task.terms(&op.planned)?))) else { return fail };
    let now = store.now();
    let from = when(op.settled_at(terms, now), now);
    let message =
        format!("`it did not` is not believed before {from}: an earlier request may still be on its way");
    Fail { message, next: "look at the target again then; if it did happen, say so now".to_owned(), ..fail }
}

async fn named(config: &Config, id: &str) -> Result<(TaskId, OperationId), Fail> {
    let store = wire::read(config).await?;
    find::operation(store.as_ref(), id).await
}

/// Says how the operation stands now, and what recovery does next about it.
async fn afterwards(config: &Config, id: &TaskId, op: &OperationId, ui: Ui) -> Result<Exit, Fail> {
    let store = wire::read(config).await?;
    let now = store.now();
    let task = load(store.as_ref(), id).await?;
    let found = task.operations.get(op).ok_or_else(|| super::why::gone(op.as_str()))?;
    let next = task::first_branch(&task, &found.step, now);
    let status = found.status();
    let json = serde_json::json!({"v": 1, "operation": op, "status": status, "next": next});
    ui.show(&json, || format!("{op} {}", ui::state(status.word())));
    if let Some(next) = next.filter(|_| !ui.json) {
        ui.say(&format!("  next, recovery {next}"));
    }
    Ok(if status == Status::Unknown { Exit::Unknown } else { Exit::Done })
}
