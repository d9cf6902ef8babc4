//! `semel task` and `semel ps`: one run of a plan.

mod list;
mod order;
mod recover;
mod show;
mod tail;
mod timeline;

pub(crate) use list::ps;
pub(crate) use order::done;
pub(crate) use recover::first_branch;
pub(crate) use show::{QUESTION, key_left, left};

use super::{
    find,
    follow::{self, Watched},
    run::duration,
    why::{health, load},
};
use crate::{
    config::Config,
    fail::{Exit, Fail},
    low::{Id, Task},
    ui::Ui,
    wire,
};
use semel_engine::command::Command;

pub(crate) async fn run(config: &Config, verb: Task, ui: Ui) -> Result<Exit, Fail> {
    match verb {
        Task::List { phase, name, tenant, list } => {
            let filter = list::filter(&phase, name, tenant.as_deref())?;
            list::run(config, &filter, &list, ui).await
        }
        Task::Show(id) => show::run(config, &id.id, ui).await,
        Task::Tail { id, no_follow } => tail::run(config, &id.id, no_follow, ui).await,
        Task::Wait { id, timeout } => wait(config, &id.id, timeout.as_deref(), ui).await,
        Task::Timeline(id) => timeline::run(config, &id.id, ui).await,
        Task::Recover { id, dry_run: true } => recover::dry_run(config, &id.id, ui).await,
        Task::Recover { id, dry_run: false } => recover::run(config, &id.id, ui).await,
        Task::Cancel { id, reason } => {
            let actor = config.actor.clone();
            order::run(config, &id, |task| Command::Cancel { task, actor, reason }, ui).await
        }
        Task::Pause { id, reason } => {
            let actor = config.actor.clone();
            order::run(config, &id, |task| Command::Pause { task, actor, reason }, ui).await
        }
        Task::Resume(id) => {
            let actor = config.actor.clone();
            order::run(config, &id, |task| Command::Resume { task, actor }, ui).await
        }
    }
}

/// Waits until it has ended or needs a person; the exit code is that of its state, 8 when the wait was given up.
async fn wait(config: &Config, id: &str, timeout: Option<&str>, ui: Ui) -> Result<Exit, Fail> {
    let timeout = timeout.map(duration).transpose()?;
    let store = wire::read(config).await?;
    let task = find::task(config, store.as_ref(), id).await?;
    health(config, &load(store.as_ref(), &task).await?, ui).await;
    let silent = Ui { quiet: true, ..ui };
    let watched: Watched = follow::polled(store.as_ref(), &task, timeout, silent).await?;
    follow::report(store.as_ref(), watched, ui).await
}

/// The task that an id stands for.
async fn named(config: &Config, id: &Id) -> Result<semel_kernel::id::TaskId, Fail> {
    let store = wire::read(config).await?;
    find::task(config, store.as_ref(), &id.id).await
}
