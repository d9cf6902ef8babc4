//! `semel task recover`: what recovery does with a task, or that recovery now.
//!
//! Invariant: the dry run opens the store for reading only and sends nothing, not even a look-up; the recovery works
//! on the named task and on no other.

mod only;

use crate::cmd::{
    find,
    follow::{self, Watched},
    why::load,
};
use crate::{
    config::Config,
    fail::{Exit, Fail},
    ui::{self, Ui, time},
    wire::{self, Owner},
};
use only::Only;
use semel_engine::view::{DryRun, dry_run as forecast};
use semel_kernel::{
    id::{StepName, TaskId},
    oblige,
    task::{Phase, Task},
    time::{Millis, Now},
};
use std::{sync::Arc, time::Duration};
use tokio::sync::broadcast::error::RecvError;

pub(super) async fn dry_run(config: &Config, id: &str, ui: Ui) -> Result<Exit, Fail> {
    let store = wire::read(config).await?;
    let store = store.as_ref();
    let id = find::task(config, store, id).await?;
    let loaded = store.load(&id).await?;
    let owned = loaded.session.clone();
    let next = loaded.generation.next();
    let task = loaded.into_task()?;
    let run = forecast(&task, store.now(), next).map_err(semel_engine::command::Refused::from)?;
    if let Some(owner) = owned.filter(|_| !ui.json) {
        ui.say(&format!(
            "session {owner} owns it now; this is what happens when somebody else takes it over"
        ));
    }
    ui.show(&serde_json::json!({"v": 1, "recovery": run}), || text(&run));
    Ok(Exit::Done)
}

fn text(run: &DryRun) -> String {
    let mut lines = vec![format!("{} under generation {}; nothing is sent", run.task, run.generation)];
    for step in &run.steps {
        lines.push(format!("{} {}: {}", step.step, ui::state(step.state.word()), step.found));
        for branch in &step.will {
            let (lead, when) =
                branch.when.as_ref().map_or(("  →", String::new()), |w| ("    ·", format!(" {w}:")));
            lines.push(format!("{lead} [{}]{when} {}", branch.kind.word(), branch.act));
        }
    }
    lines.join("\n")
}

/// What recovery does next with a step, in words; for those who have just changed something about it.
pub(crate) fn first_branch(task: &Task, step: &StepName, now: Now) -> Option<String> {
    let run = forecast(task, now, task.generation.next()).ok()?;
    let found = run.steps.into_iter().find(|s| s.step == *step)?;
    found.will.into_iter().next().map(|branch| branch.act)
}

/// Takes the store, works on the task until it stands still, and hands everything back.
pub(super) async fn run(config: &Config, id: &str, ui: Ui) -> Result<Exit, Fail> {
    let reader = wire::read(config).await?;
    let task = find::task(config, reader.as_ref(), id).await?;
    if load(reader.as_ref(), &task).await?.end.is_some() {
        return follow::report(reader.as_ref(), Watched { task, early: None }, ui).await;
    }
    drop(reader);
    if wire::has_owner(config).await {
        let next = format!("watch it: semel task tail {task}, or stop that process first");
        let message = format!("another process owns this store and recovers {task} by itself");
        return Err(Fail::new(Exit::Store, "SM2007", message, next));
    }
    let wanted = task.clone();
    let mut owner = wire::own_as(config, |store| Arc::new(Only::new(store, wanted))).await?;
    owner.open_door();
    let mut progress = owner.engine.progress();
    let engine = owner.engine.clone();
    let working = tokio::spawn(async move { engine.run().await });
    let watched = until_still(&owner, &mut progress, &task, ui).await;
    owner.engine.drain();
    working.await.map_err(|e| Fail::new(Exit::Store, "SM2004", e.to_string(), "start again"))??;
    follow::report(owner.engine.store().as_ref(), watched?, ui).await
}

/// Waits longer than this are not waited for; a worker takes the task up when they are over.
const PATIENCE_MS: i64 = 10_000;
const REREAD: Duration = Duration::from_millis(100);

async fn until_still(
    owner: &Owner,
    progress: &mut tokio::sync::broadcast::Receiver<semel_engine::engine::Progress>,
    id: &TaskId,
    ui: Ui,
) -> Result<Watched, Fail> {
    let store = owner.engine.store();
    let mut seen = load(store.as_ref(), id).await?.version;
    loop {
        // The task first: what brought it to a stand is then among the events.
        let task = load(store.as_ref(), id).await?;
        for recorded in store.history(id, seen).await? {
            seen = recorded.seq;
            follow::print_event(&recorded, ui);
        }
        let early = match standing(&task, store.now(), owner.engine.is_idle()) {
            Some(Standing::Still) => None,
            Some(Standing::Until(at)) => {
                let when = at.map_or_else(|| "another task".to_owned(), time::moment);
                ui.say(&format!("it waits for {when}; next: semel worker"));
                Some(Exit::Running)
            }
            None => {
                tokio::select! {
                    told = progress.recv() => if matches!(told, Err(RecvError::Closed)) {
                        tokio::time::sleep(REREAD).await;
                    },
                    () = tokio::time::sleep(REREAD) => {}
                    () = crate::system::interrupted() => {
                        return Ok(Watched { task: id.clone(), early: Some(Exit::Interrupted) });
                    }
                }
                continue;
            }
        };
        return Ok(Watched { task: id.clone(), early });
    }
}

enum Standing {
    /// It has ended, or only a person can go on.
    Still,
    /// It waits for that moment, or for something that no time brings.
    Until(Option<Millis>),
}

fn standing(task: &Task, now: Now, idle: bool) -> Option<Standing> {
    let phase = oblige::phase(task);
    if phase.is_end() || phase == Phase::NeedsReview {
        return Some(Standing::Still);
    }
    if !idle || phase != Phase::Waiting {
        return None;
    }
    let watches =
        oblige::obligations(task, now).iter().any(|o| matches!(o, oblige::Obligation::Watch { .. }));
    match oblige::wakes_at(task, now) {
        Some(_) if watches => Some(Standing::Until(None)),
        Some(at) if at.since(now.at) > PATIENCE_MS => Some(Standing::Until(Some(at))),
        Some(_) => None,
        None => Some(Standing::Until(None)),
    }
}
