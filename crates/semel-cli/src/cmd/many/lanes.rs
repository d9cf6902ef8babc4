//! Submits lines so that at most a given number of their tasks is under way, by our own engine or by the owner's.

use super::check::Line;
use crate::cmd::{follow, why::load};
use crate::{
    config::Config,
    fail::{Exit, Fail},
    wire::{self, Owner},
};
use indicatif::ProgressBar;
use semel_engine::{
    command::{Command, Refused, Reply},
    engine::{Engine, Progress},
    submit::{Request, Submitted},
};
use semel_kernel::{
    id::{TaskId, Tenant},
    oblige,
    task::Phase,
};
use semel_plan::plan::PlanDoc;
use semel_ports::Store;
use std::{collections::BTreeSet, sync::Arc, time::Duration};
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    task::{JoinError, JoinSet},
};

/// How one line came out.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    /// The line's number.
    pub(super) line: usize,
    /// Its task.
    pub(super) task: TaskId,
    /// The task was there before.
    pub(super) attached: bool,
    /// Its phase when we stopped looking.
    pub(super) phase: Phase,
    /// The exit code that its state stands for.
    pub(super) exit: Exit,
    /// Operations that are unknown: its own, and those of others that it waits for.
    pub(super) unknown: usize,
    /// Steps of it that are unknown for ever.
    pub(super) written_off: usize,
}

/// What all lines share.
pub(super) struct Lane<'a> {
    pub(super) config: &'a Config,
    pub(super) plan: Arc<PlanDoc>,
    pub(super) new_intent: bool,
    pub(super) in_flight: u32,
}

/// How often tasks are read although nothing was told.
const REREAD: Duration = Duration::from_millis(500);
/// How often tasks of another process are read.
const POLL: Duration = Duration::from_millis(150);

/// Tasks under way, and those that stand still.
#[derive(Default)]
struct Flight {
    open: Vec<(usize, TaskId, bool)>,
    ids: BTreeSet<TaskId>,
    /// Tasks that stood still before we knew whether they are ours: their submission is still on its way back.
    early: BTreeSet<TaskId>,
    done: Vec<Outcome>,
}

/// Submissions on their way, each with the number of its line. They share the commits of the store.
type Coming = JoinSet<Came>;
type Came = (usize, Result<Submitted, Refused>);

/// Which tasks are to be read.
enum Told {
    One(TaskId),
    Any,
    None,
}

impl Flight {
    fn begin(&mut self, line: usize, task: TaskId, attached: bool) {
        self.ids.insert(task.clone());
        self.open.push((line, task, attached));
    }

    /// Notes what became of a submission; the task is read if it may stand still already.
    fn came(&mut self, came: Result<Came, JoinError>) -> Result<Told, Fail> {
        let lost = |e: JoinError| Fail::new(Exit::Store, "SM2004", e.to_string(), "start again");
        let (line, submitted) = came.map_err(lost)?;
        let (task, attached) = match submitted? {
            Submitted::Created(task) => (task, false),
            Submitted::Attached(task) => (task, true),
        };
        let look = attached | self.early.remove(&task);
        self.begin(line, task.clone(), attached);
        Ok(if look { Told::One(task) } else { Told::None })
    }

    /// What a task that stands still means to us, while submissions are `coming` or not.
    fn is_ours(&mut self, told: Option<TaskId>, coming: bool) -> Told {
        match told {
            None => Told::Any,
            Some(task) if self.ids.contains(&task) => Told::One(task),
            Some(task) => {
                // With nothing on its way it is nobody's of ours: the task of an earlier run, or of another shell.
                if coming {
                    self.early.insert(task);
                } else {
                    self.early.clear();
                }
                Told::None
            }
        }
    }

    /// Takes out what has ended or needs a person, among the tasks that were told of.
    async fn look(&mut self, store: &dyn Store, told: &Told, bar: &ProgressBar) -> Result<(), Fail> {
        for (line, id, attached) in std::mem::take(&mut self.open) {
            let is_told = match told {
                Told::One(task) => *task == id,
                Told::Any => true,
                Told::None => false,
            };
            if !is_told {
                self.open.push((line, id, attached));
                continue;
            }
            let outcome = outcome(store, line, &id, attached).await?;
            if outcome.exit != Exit::Running {
                bar.inc(1);
                self.ids.remove(&id);
                self.done.push(outcome);
            } else {
                self.open.push((line, id, attached));
            }
        }
        Ok(())
    }

    /// Whatever is left, as it is now.
    async fn leave(mut self, store: &dyn Store) -> Result<Vec<Outcome>, Fail> {
        for (line, id, attached) in self.open {
            self.done.push(outcome(store, line, &id, attached).await?);
        }
        self.done.sort_by_key(|o| o.line);
        Ok(self.done)
    }
}

async fn outcome(store: &dyn Store, line: usize, id: &TaskId, attached: bool) -> Result<Outcome, Fail> {
    let task = load(store, id).await?;
    let held = follow::held_by(store, &task).await?;
    let phase = oblige::phase(&task);
    let (exit, others) = held.map_or_else(|| (follow::exit_of(&task), 0), |held| (held.exit, held.unknown));
    let unknown = task.unknown_operations().count().saturating_add(others);
    let written_off = task.written_off().len();
    Ok(Outcome { line, task: id.clone(), attached, phase, exit, unknown, written_off })
}

impl Lane<'_> {
    /// This process owns the store and works on the lines.
    pub(super) async fn alone(
        &self,
        mut owner: Owner,
        lines: Vec<Line>,
        bar: &ProgressBar,
    ) -> Result<Vec<Outcome>, Fail> {
        owner.open_door();
        let progress = owner.engine.progress();
        let engine = owner.engine.clone();
        let working = tokio::spawn(async move { engine.run().await });
        let flown = self.fly(&owner.engine, progress, lines, bar).await;
        owner.engine.drain();
        working.await.map_err(|e| Fail::new(Exit::Store, "SM2004", e.to_string(), "start again"))??;
        flown?.leave(owner.engine.store().as_ref()).await
    }

    async fn fly(
        &self,
        engine: &Engine,
        mut progress: Receiver<Progress>,
        lines: Vec<Line>,
        bar: &ProgressBar,
    ) -> Result<Flight, Fail> {
        let store = engine.store().as_ref();
        let (mut flight, mut coming) = (Flight::default(), Coming::new());
        let mut lines = lines.into_iter().peekable();
        while lines.peek().is_some() || !coming.is_empty() || !flight.open.is_empty() {
            let free = self.width().saturating_sub(flight.open.len() + coming.len());
            for line in lines.by_ref().take(free) {
                let (engine, request) = (engine.clone(), self.request(&line)?);
                coming.spawn(async move { (line.number, engine.submit(request).await) });
            }
            let told = tokio::select! {
                Some(came) = coming.join_next() => flight.came(came)?,
                told = stands_still(&mut progress) => flight.is_ours(told, !coming.is_empty()),
                () = tokio::time::sleep(REREAD) => Told::Any,
                () = crate::system::interrupted() => {
                    // Draining, the engine waits for no store that is full; what is on its way to it comes back at once.
                    engine.drain();
                    while let Some(came) = coming.join_next().await {
                        flight.came(came)?;
                    }
                    return Ok(flight);
                }
            };
            flight.look(store, &told, bar).await?;
        }
        Ok(flight)
    }

    fn width(&self) -> usize {
        usize::try_from(self.in_flight).unwrap_or(usize::MAX)
    }

    fn request(&self, line: &Line) -> Result<Request, Fail> {
        let tenant = Tenant::parse(&self.config.tenant)
            .map_err(|e| Fail::new(Exit::Usage, "SM1008", e.to_string(), "choose another tenant"))?;
        let (plan, inputs) = (Arc::clone(&self.plan), line.inputs.clone());
        Ok(Request { plan, inputs, tenant, client_id: None, new_intent: self.new_intent })
    }

    /// The owner of the store works on the lines, and we read along.
    pub(super) async fn by_owner(
        &self,
        lines: Vec<Line>,
        detach: bool,
        bar: &ProgressBar,
    ) -> Result<Vec<Outcome>, Fail> {
        let store = wire::read(self.config).await?;
        let store = store.as_ref();
        let mut flight = Flight::default();
        for line in lines {
            while !detach && flight.open.len() >= self.width() {
                tokio::time::sleep(POLL).await;
                flight.look(store, &Told::Any, bar).await?;
            }
            let (task, attached) = submitted(wire::submit(self.config, self.command(&line)).await?)?;
            flight.begin(line.number, task, attached);
        }
        while !detach && !flight.open.is_empty() {
            flight.look(store, &Told::Any, bar).await?;
            tokio::select! {
                () = tokio::time::sleep(POLL) => {}
                () = crate::system::interrupted() => break,
            }
        }
        flight.leave(store).await
    }

    /// Nobody owns the store: the lines are submitted in one go, for whoever works on it next.
    pub(super) async fn submitted_alone(
        &self,
        owner: &Owner,
        lines: Vec<Line>,
        bar: &ProgressBar,
    ) -> Result<Vec<Outcome>, Fail> {
        // A draining engine creates tasks for others and begins none itself.
        owner.engine.drain();
        let mut flight = Flight::default();
        for line in lines {
            let reply = owner.engine.execute(self.command(&line)).await;
            let (task, attached) = submitted(reply)?;
            flight.begin(line.number, task, attached);
            bar.inc(1);
        }
        wire::end(owner).await?;
        flight.leave(owner.engine.store().as_ref()).await
    }

    fn command(&self, line: &Line) -> Command {
        Command::Submit {
            document: self.plan.document.clone(),
            inputs: line.inputs.clone(),
            tenant: self.config.tenant.clone(),
            client_id: None,
            new_intent: self.new_intent,
        }
    }
}

fn submitted(reply: Reply) -> Result<(TaskId, bool), Fail> {
    match reply {
        Reply::Created { task } => Ok((task, false)),
        Reply::Attached { task, .. } => Ok((task, true)),
        Reply::Refused(refused) => Err(refused.into()),
        other @ (Reply::Pong { .. } | Reply::Done { .. }) => {
            let message = format!("the owner answered something else: {other:?}");
            Err(Fail::new(Exit::Store, "SM2011", message, "use one version of semel for one store"))
        }
    }
}

/// A task that has ended or needs a person; `None` when something was missed.
async fn stands_still(progress: &mut Receiver<Progress>) -> Option<TaskId> {
    loop {
        match progress.recv().await {
            Ok(told) if told.phase.is_end() || told.phase == Phase::NeedsReview => return Some(told.task),
            Ok(_) => {}
            Err(RecvError::Lagged(_)) => return None,
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}
