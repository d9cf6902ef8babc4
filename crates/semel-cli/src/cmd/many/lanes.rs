//! Submits lines so that at most a given number of their tasks is under way, by our own engine or by the owner's.

use super::check::Line;
use crate::cmd::{follow, why::load};
use crate::{
    config::Config,
    fail::{Exit, Fail},
    wire,
};
use indicatif::ProgressBar;
use semel_engine::{
    command::{Command, Reply},
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
use tokio::sync::broadcast::{Receiver, error::RecvError};

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
    /// Operations of it that are unknown.
    pub(super) unknown: usize,
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
    done: Vec<Outcome>,
}

impl Flight {
    fn begin(&mut self, line: usize, task: TaskId, attached: bool) {
        self.ids.insert(task.clone());
        self.open.push((line, task, attached));
    }

    /// Takes out what has ended or needs a person: the task that was told of, or any.
    async fn look(
        &mut self,
        store: &dyn Store,
        told: Option<&TaskId>,
        bar: &ProgressBar,
    ) -> Result<(), Fail> {
        for (line, id, attached) in std::mem::take(&mut self.open) {
            if told.is_some_and(|told| *told != id) {
                self.open.push((line, id, attached));
                continue;
            }
            let outcome = outcome(store, line, &id, attached).await?;
            if outcome.phase.is_end() || outcome.phase == Phase::NeedsReview {
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
    let (phase, exit) = (oblige::phase(&task), follow::exit_of(&task));
    let unknown = task.unknown_operations().count();
    Ok(Outcome { line, task: id.clone(), attached, phase, exit, unknown })
}

impl Lane<'_> {
    /// This process owns the store and works on the lines.
    pub(super) async fn alone(&self, lines: Vec<Line>, bar: &ProgressBar) -> Result<Vec<Outcome>, Fail> {
        let mut owner = wire::own(self.config).await?;
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
        let mut flight = Flight::default();
        let mut lines = lines.into_iter();
        let mut more = true;
        while more || !flight.open.is_empty() {
            while more && flight.open.len() < self.width() {
                let Some(line) = lines.next() else {
                    more = false;
                    break;
                };
                match engine.submit(self.request(&line)?).await? {
                    Submitted::Created(task) => flight.begin(line.number, task, false),
                    Submitted::Attached(task) => {
                        flight.begin(line.number, task.clone(), true);
                        flight.look(engine.store().as_ref(), Some(&task), bar).await?;
                    }
                }
            }
            let told = tokio::select! {
                told = stands_still(&mut progress, &flight.ids) => told,
                () = tokio::time::sleep(REREAD) => None,
                _ = tokio::signal::ctrl_c() => return Ok(flight),
            };
            flight.look(engine.store().as_ref(), told.as_ref(), bar).await?;
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
                flight.look(store, None, bar).await?;
            }
            let (task, attached) = submitted(wire::submit(self.config, self.command(&line)).await?)?;
            flight.begin(line.number, task, attached);
        }
        while !detach && !flight.open.is_empty() {
            flight.look(store, None, bar).await?;
            tokio::select! {
                () = tokio::time::sleep(POLL) => {}
                _ = tokio::signal::ctrl_c() => break,
            }
        }
        flight.leave(store).await
    }

    /// Nobody owns the store: the lines are submitted in one go, for whoever works on it next.
    pub(super) async fn submitted_alone(
        &self,
        lines: Vec<Line>,
        bar: &ProgressBar,
    ) -> Result<Vec<Outcome>, Fail> {
        let owner = wire::own(self.config).await?;
        // A draining engine creates tasks for others and begins none itself.
        owner.engine.drain();
        let mut flight = Flight::default();
        for line in lines {
            let reply = owner.engine.execute(self.command(&line)).await;
            let (task, attached) = submitted(reply)?;
            flight.begin(line.number, task, attached);
            bar.inc(1);
        }
        wire::end(&owner).await?;
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

/// A task of ours that has ended or needs a person; `None` when something was missed.
async fn stands_still(progress: &mut Receiver<Progress>, ids: &BTreeSet<TaskId>) -> Option<TaskId> {
    loop {
        match progress.recv().await {
            Ok(told) if !ids.contains(&told.task) => {}
            Ok(told) if told.phase.is_end() || told.phase == Phase::NeedsReview => return Some(told.task),
            Ok(_) => {}
            Err(RecvError::Lagged(_)) => return None,
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}
