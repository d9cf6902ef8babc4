//! Following a task to its end, and saying how it came out.

mod event;
mod held;
mod steps;

pub(crate) use event::print as print_event;
pub(crate) use held::held_by;
pub(crate) use steps::{Shared, StepReport, shared, step_report, steps_table};

use crate::{
    fail::{Exit, Fail},
    ui::{self, Ui},
    wire::Owner,
};
use semel_engine::engine::Progress;
use semel_kernel::{
    event::Recorded,
    id::TaskId,
    oblige,
    task::{Phase, Task},
};
use semel_ports::{Loaded, Store};
use serde::Serialize;
use std::time::Duration;
use tokio::sync::broadcast::{Receiver, error::RecvError};

/// Why we stopped watching.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    /// The task.
    pub(crate) task: TaskId,
    /// The wait was ended by a time-out or by Ctrl-C.
    pub(crate) early: Option<Exit>,
}

/// Follows a task of our own engine, event by event.
pub(crate) async fn live(
    owner: &Owner,
    mut progress: Receiver<Progress>,
    task: &TaskId,
    timeout: Option<Duration>,
    ui: Ui,
) -> Result<Watched, Fail> {
    let store = owner.engine.store().as_ref();
    let session = owner.engine.session();
    let mut seen = skip_earlier(store, task, |history| event::before(history, &session), ui).await?;
    let deadline = tokio::time::sleep(timeout.unwrap_or(FOREVER));
    tokio::pin!(deadline);
    loop {
        let look = print_new(store, task, seen, ui).await?;
        seen = look.version;
        if look.stands_still {
            return Ok(Watched { task: task.clone(), early: None });
        }
        tokio::select! {
            () = next_of(&mut progress, task) => {}
            () = tokio::time::sleep(REREAD) => {}
            () = &mut deadline => return Ok(Watched { task: task.clone(), early: Some(Exit::Running) }),
            () = crate::system::interrupted() => {
                ui.say("interrupted: nothing new is started, what was sent is waited for up to its time-out");
                return Ok(Watched { task: task.clone(), early: Some(Exit::Interrupted) });
            }
        }
    }
}

/// Follows a task of another process by reading the store.
pub(crate) async fn polled(
    store: &dyn Store,
    task: &TaskId,
    timeout: Option<Duration>,
    ui: Ui,
) -> Result<Watched, Fail> {
    let recent = store.now().at.plus(-RECENT_MS);
    let mut seen = skip_earlier(store, task, |h| h.iter().filter(|r| r.at < recent).count(), ui).await?;
    let deadline = tokio::time::sleep(timeout.unwrap_or(FOREVER));
    tokio::pin!(deadline);
    loop {
        let look = print_new(store, task, seen, ui).await?;
        seen = look.version;
        if look.stands_still {
            return Ok(Watched { task: task.clone(), early: None });
        }
        tokio::select! {
            () = tokio::time::sleep(POLL) => {}
            () = &mut deadline => return Ok(Watched { task: task.clone(), early: Some(Exit::Running) }),
            () = crate::system::interrupted() => {
                return Ok(Watched { task: task.clone(), early: Some(Exit::Interrupted) });
            }
        }
    }
}

/// Longer than anybody waits.
const FOREVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);
/// How often a task of another process is read.
const POLL: Duration = Duration::from_millis(150);
/// How often our own is read although nothing was told.
const REREAD: Duration = Duration::from_secs(2);

/// Events that are older than this when we begin to look are another run's.
const RECENT_MS: i64 = 5_000;

/// Says how many events there were before this run, instead of all of them; the number of the last one.
async fn skip_earlier(
    store: &dyn Store,
    task: &TaskId,
    earlier: impl FnOnce(&[Recorded]) -> usize,
    ui: Ui,
) -> Result<u64, Fail> {
    let history = store.history(task, 0).await?;
    let n = earlier(&history);
    let Some(last) = n.checked_sub(1).and_then(|at| history.get(at)) else { return Ok(0) };
    if !ui.json {
        let events = ui::count(u64::try_from(n).unwrap_or(u64::MAX), "earlier event");
        ui.say(&format!("  {events} (semel task timeline {task})"));
    }
    Ok(last.seq)
}

/// It has ended, or only a person can go on.
const fn stands_still(phase: Phase) -> bool {
    phase.is_end() || matches!(phase, Phase::NeedsReview)
}

async fn next_of(progress: &mut Receiver<Progress>, task: &TaskId) {
    loop {
        match progress.recv().await {
            Ok(told) if told.task == *task => return,
            Ok(_) => {}
            Err(RecvError::Lagged(_)) => return,
            Err(RecvError::Closed) => std::future::pending::<()>().await,
        }
    }
}

/// What a look at a task showed.
struct Look {
    version: u64,
    /// It has ended, or only a person can go on, be it with another task that it waits for.
    stands_still: bool,
}

/// Prints the events after `seen`.
async fn print_new(store: &dyn Store, task: &TaskId, seen: u64, ui: Ui) -> Result<Look, Fail> {
    // The task first: what brought it to its end is then among the events.
    let now = store.load(task).await.and_then(Loaded::into_task)?;
    let events = store.history(task, seen).await?;
    for recorded in &events {
        event::print(recorded, ui);
    }
    let version = events.last().map_or(seen, |r| r.seq);
    let stands_still = stands_still(oblige::phase(&now)) || held_by(store, &now).await?.is_some();
    Ok(Look { version, stands_still })
}

#[derive(Serialize)]
struct Report<'a> {
    v: u32,
    task: &'a TaskId,
    phase: Phase,
    exit: Exit,
    steps: Vec<StepReport<'a>>,
    reviews: Vec<&'a str>,
    written_off: Vec<String>,
}

/// Says how it came out, and with which exit code.
pub(crate) async fn report(store: &dyn Store, watched: Watched, ui: Ui) -> Result<Exit, Fail> {
    let task = store.load(&watched.task).await.and_then(Loaded::into_task)?;
    let held = held_by(store, &task).await?;
    let still = held.as_ref().map_or_else(|| exit_of(&task), |held| held.exit);
    let exit = watched.early.filter(|_| still == Exit::Running).unwrap_or(still);
    if ui.json {
        ui.print_json(&report_json(&task, &shared(store, &task).await?, exit));
        return Ok(exit);
    }
    ui.data(&steps_table(&task, &shared(store, &task).await?, store.now().at));
    ui.data(&format!("{} {}", task.id, phase_text(oblige::phase(&task), task.written_off().len())));
    if !task.written_off().is_empty() {
        ui.say("  what is written off stays unknown for ever: it may have happened or not");
        ui.say(&format!("  next: semel why {}", task.id));
    }
    for review in task.open_reviews() {
        ui.say(&format!("  {}", review.question));
        ui.say(&format!("  next: semel review show {}", review.id));
    }
    for line in held.iter().flat_map(|held| &held.lines) {
        ui.say(line);
    }
    if matches!(exit, Exit::Running | Exit::Interrupted) {
        ui.say(&format!("  the task goes on: semel task wait {}", task.id));
    }
    Ok(exit)
}

/// The intent was meant before with another request, or the object has another version than it was meant for.
fn is_conflict(code: &str) -> bool {
    matches!(code, "SM1006" | "SM3008")
}

/// The exit code that a task's state stands for. An end is no success while something of it is unknown for ever, or a
/// person is still asked about it.
pub(crate) fn exit_of(task: &Task) -> Exit {
    let phase = oblige::phase(task);
    if phase.is_end() && !task.written_off().is_empty() {
        return Exit::Unknown;
    }
    if phase.is_end() && task.open_reviews().next().is_some() {
        return Exit::Person;
    }
    match phase {
        Phase::Completed => Exit::Done,
        Phase::Failed if task.end.as_ref().is_some_and(|e| is_conflict(&e.code)) => Exit::Conflict,
        Phase::Failed | Phase::Cancelled => Exit::Failed,
        Phase::NeedsReview if task.unknown_operations().next().is_some() => Exit::Unknown,
        Phase::NeedsReview => Exit::Person,
        Phase::Created | Phase::Ready | Phase::Running | Phase::Waiting => Exit::Running,
    }
}

/// The phase, with what is unknown for ever inside it.
pub(crate) fn phase_text(phase: Phase, written_off: usize) -> String {
    let word = ui::state(phase.word());
    if written_off == 0 { word } else { format!("{word}, {written_off} written off") }
}

fn report_json<'a>(task: &'a Task, shared: &Shared, exit: Exit) -> Report<'a> {
    Report {
        v: 1,
        task: &task.id,
        phase: oblige::phase(task),
        exit,
        steps: task.steps_in_order().map(|s| step_report(task, s, shared)).collect(),
        reviews: task.open_reviews().map(|r| r.id.as_str()).collect(),
        written_off: task.written_off().iter().map(ToString::to_string).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_leaves_something_unknown_does_not_look_like_success() {
        assert!(phase_text(Phase::Completed, 0).ends_with("COMPLETED"));
        assert!(phase_text(Phase::Completed, 2).ends_with(", 2 written off"));
    }
}
