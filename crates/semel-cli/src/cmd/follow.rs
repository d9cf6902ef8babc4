//! Following a task to its end, and saying how it came out.

mod event;
mod held;

pub(crate) use event::print as print_event;
pub(crate) use held::held_by;

use crate::{
    fail::{Exit, Fail},
    ui::{self, Ui, table::table, time},
    wire::Owner,
};
use semel_engine::engine::Progress;
use semel_kernel::{
    id::TaskId,
    oblige,
    outcome::Stored,
    step::Step,
    task::{Phase, Task},
    time::Millis,
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
    let mut seen = 0;
    let deadline = tokio::time::sleep(timeout.unwrap_or(FOREVER));
    tokio::pin!(deadline);
    loop {
        let look = print_new(owner.engine.store().as_ref(), task, seen, ui).await?;
        seen = look.version;
        if look.stands_still {
            return Ok(Watched { task: task.clone(), early: None });
        }
        tokio::select! {
            () = next_of(&mut progress, task) => {}
            () = tokio::time::sleep(REREAD) => {}
            () = &mut deadline => return Ok(Watched { task: task.clone(), early: Some(Exit::Running) }),
            _ = tokio::signal::ctrl_c() => {
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
    let mut seen = 0;
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
            _ = tokio::signal::ctrl_c() => {
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
    let events = store.history(task, seen).await?;
    for recorded in &events {
        event::print(recorded, ui);
    }
    let now = store.load(task).await.and_then(Loaded::into_task)?;
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
    output: Option<&'a Stored>,
}

/// Says how it came out, and with which exit code.
pub(crate) async fn report(store: &dyn Store, watched: Watched, ui: Ui) -> Result<Exit, Fail> {
    let task = store.load(&watched.task).await.and_then(Loaded::into_task)?;
    let held = held_by(store, &task).await?;
    let still = held.as_ref().map_or_else(|| exit_of(&task), |held| held.exit);
    let exit = watched.early.filter(|_| still == Exit::Running).unwrap_or(still);
    if ui.json {
        ui.print_json(&report_json(&task, exit));
        return Ok(exit);
    }
    ui.data(&steps_table(&task, store.now().at));
    ui.data(&format!("{} {}", task.id, ui::state(oblige::phase(&task).word())));
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

/// The exit code that a task's state stands for.
pub(crate) fn exit_of(task: &Task) -> Exit {
    match oblige::phase(task) {
        Phase::Completed => Exit::Done,
        Phase::Failed if task.end.as_ref().is_some_and(|e| e.code == "SM1006") => Exit::Conflict,
        Phase::Failed | Phase::Cancelled => Exit::Failed,
        Phase::NeedsReview if task.unknown_operations().next().is_some() => Exit::Unknown,
        Phase::NeedsReview => Exit::Person,
        Phase::Created | Phase::Ready | Phase::Running | Phase::Waiting => Exit::Running,
    }
}

fn report_json(task: &Task, exit: Exit) -> Report<'_> {
    Report {
        v: 1,
        task: &task.id,
        phase: oblige::phase(task),
        exit,
        steps: task.steps_in_order().map(|s| step_report(task, s)).collect(),
        reviews: task.open_reviews().map(|r| r.id.as_str()).collect(),
        written_off: task.written_off().iter().map(ToString::to_string).collect(),
    }
}

/// A step for programs.
pub(crate) fn step_report<'a>(task: &'a Task, step: &'a Step) -> StepReport<'a> {
    let op = task.operation_of(step);
    StepReport {
        step: step.name.as_str(),
        state: step.state.word(),
        guarantee: op.and_then(|o| task.terms(&o.planned)).map(|t| t.guarantee().word()),
        operation: op.map(|o| o.planned.id.as_str()),
        code: &step.code,
        cause: &step.cause,
        fields: &step.fields,
        output: step.output.as_ref(),
    }
}

/// Steps with state, promise and proof.
pub(crate) fn steps_table(task: &Task, now: Millis) -> String {
    table(
        ["STEP", "STATE", "GUARANTEE", "ATTEMPTS", "SINCE", "NOTE"],
        task.steps_in_order().map(|step| {
            let op = task.operation_of(step);
            let guarantee = op.and_then(|o| task.terms(&o.planned)).map_or("-", |t| t.guarantee().word());
            [
                step.name.to_string(),
                ui::state(step.state.word()),
                guarantee.to_owned(),
                op.map_or_else(|| "-".to_owned(), |o| o.made().to_string()),
                time::ago(step.changed_at, now),
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
    if step.code.is_empty() { step.cause.clone() } else { format!("{}: {}", step.code, step.cause) }
}
