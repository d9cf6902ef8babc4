//! Cancel, pause and resume: an order to the owner, or carried out here when there is none.

use crate::cmd::why::load;
use crate::{
    config::Config,
    fail::{Exit, Fail},
    low::Id,
    ui::{self, Ui},
    wire,
};
use semel_engine::{
    command::{Command, Reply},
    view::why_task,
};
use semel_kernel::id::TaskId;

pub(super) async fn run(
    config: &Config,
    id: &Id,
    command: impl FnOnce(TaskId) -> Command,
    ui: Ui,
) -> Result<Exit, Fail> {
    let task = super::named(config, id).await?;
    wire::command(config, command(task.clone())).await.and_then(done)?;
    let store = wire::read(config).await?;
    let now = store.now();
    let after = load(store.as_ref(), &task).await?;
    let phase = semel_kernel::oblige::phase(&after);
    let why = why_task(&after, now);
    let json =
        serde_json::json!({"v": 1, "task": task, "phase": phase, "version": after.version, "why": why});
    ui.show(&json, || format!("{task} {}", ui::state(phase.word())));
    if !ui.json {
        ui.say(&format!("  {}", why.sentence2));
    }
    Ok(Exit::Done)
}

/// Every other answer to such a command is another program's.
pub(crate) fn done(reply: Reply) -> Result<(), Fail> {
    match reply {
        Reply::Done { .. } => Ok(()),
        other @ (Reply::Pong { .. } | Reply::Created { .. } | Reply::Attached { .. } | Reply::Refused(_)) => {
            let message = format!("the owner answered something else: {other:?}");
            Err(Fail::new(Exit::Store, "SM2011", message, "use one version of semel for one store"))
        }
    }
}
