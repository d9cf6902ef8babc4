//! The machine of one task: completions in, IO out. It owns the folded task while it holds the lease.
//!
//! Nothing asynchronous happens while state changes: each completion is turned into facts, the facts into one turn,
//! and the turn into one commit. Calls leave only with the permits of a durable turn. Because all of this is plain
//! data, a simulator can interleave, crash, delay, repeat and lose any of it.
//!
//! Invariant: facts (answers, look-ups, outcomes of others) survive a lost race: they are taken again after a reload,
//! and filed as evidence when this owner was fenced.

mod account;
mod facts;
mod io;
mod person;
mod turn;

pub use io::{Asking, Body, Completion, Io};
pub use person::to_person;

use crate::names::First;
use semel_kernel::{
    hash::Hash,
    id::{OperationId, SessionId, StepName, ToolName, TurnId},
    input::{Ctx, Input},
    json::Json,
    outcome::{Outcome, Stored},
    review::ReviewCause,
    task::Task,
    time::{Generation, Now},
};
use semel_plan::plan::PlanDoc;
use semel_ports::{Artifact, CallPermit, CommitError, Created, Receipt, StoreError};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

/// Time, chance and the lease, as arguments.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Store time.
    pub now: Now,
    /// A random number.
    pub draw: u32,
    /// A fresh id, in case this moment closes a turn.
    pub turn: TurnId,
    /// Milliseconds that the owner's lease has left, less its margin.
    pub lease_left_ms: i64,
}

impl Moment {
    pub(crate) const fn ctx(&self) -> Ctx {
        Ctx { now: self.now, draw: self.draw }
    }
}

/// Where the machine stands with the store.
#[derive(Debug)]
enum State {
    /// The folded task, ready for the next turn.
    Ready(Box<Task>),
    /// A turn is being committed: the task as it will be, the facts that it carries, and what is asked once it is
    /// durable.
    Committing { next: Box<Task>, facts: Vec<Input>, parks: bool, then: Vec<Io> },
    /// The task is being loaded.
    Loading,
    /// Another owner holds the task, here as it was last known: what is heard late is understood by it, and filed.
    Fenced(Box<Task>),
    /// Over.
    Stopped,
}

/// Labels of the accounts of tools that name one, as they were read when the task was taken up; or why one cannot be.
pub type Accounts = BTreeMap<ToolName, Result<String, String>>;

/// The machine of one task.
pub struct Machine {
    state: State,
    plan: Arc<PlanDoc>,
    accounts: Accounts,
    generation: Generation,
    facts: VecDeque<Input>,
    unheard: Vec<Completion>,
    inputs: Json,
    outputs: BTreeMap<StepName, Json>,
    bodies: BTreeMap<Hash, Json>,
    sending: BTreeSet<(OperationId, u32)>,
    asking: BTreeSet<(OperationId, Asking)>,
    /// What the first of two sources said, until the second is heard. Not kept: after a crash both are asked again.
    confirming: BTreeMap<OperationId, First>,
    sharing: BTreeSet<StepName>,
    watching: BTreeSet<StepName>,
    watched: BTreeSet<StepName>,
    fetching: BTreeSet<Hash>,
    turns: u64,
    nudged: bool,
    draining: bool,
}

impl Machine {
    /// A machine for a task that was claimed under a new generation.
    #[must_use]
    pub fn claimed(
        task: Task,
        (plan, accounts): (Arc<PlanDoc>, Accounts),
        session: SessionId,
        generation: Generation,
    ) -> Self {
        let mut machine = Self::idle(plan, accounts, generation);
        machine.facts.push_back(Input::Claimed { session, generation });
        machine.adopt_outputs(&task);
        machine.state = State::Ready(Box::new(task));
        machine
    }

    fn idle(plan: Arc<PlanDoc>, accounts: Accounts, generation: Generation) -> Self {
        Self {
            state: State::Stopped,
            plan,
            accounts,
            generation,
            facts: VecDeque::new(),
            unheard: Vec::new(),
            inputs: Json::Null,
            outputs: BTreeMap::new(),
            bodies: BTreeMap::new(),
            sending: BTreeSet::new(),
            asking: BTreeSet::new(),
            confirming: BTreeMap::new(),
            sharing: BTreeSet::new(),
            watching: BTreeSet::new(),
            watched: BTreeSet::new(),
            fetching: BTreeSet::new(),
            turns: 0,
            nudged: false,
            draining: false,
        }
    }

    /// The task as last made durable, unless a commit is under way.
    #[must_use]
    pub fn task(&self) -> Option<&Task> {
        match &self.state {
            State::Ready(task) => Some(task),
            State::Committing { .. } | State::Loading | State::Fenced(_) | State::Stopped => None,
        }
    }

    /// Takes a completion and says what to do next.
    pub fn on(&mut self, moment: &Moment, done: Completion) -> Vec<Io> {
        match done {
            Completion::Committed(result) => self.committed(moment, result),
            Completion::Created(result) => self.created(moment, result),
            Completion::Loaded(task) => self.loaded(moment, *task),
            Completion::Nudged => self.nudge(),
            Completion::Drain => {
                self.draining = true;
                self.turn(moment)
            }
            Completion::Tick => self.turn(moment),
            Completion::Answered { ref op, attempt, .. } => {
                self.sending.remove(&(op.clone(), attempt));
                self.heard(done);
                self.turn(moment)
            }
            Completion::Asked { ref op, asking, .. } => {
                self.asking.remove(&(op.clone(), asking));
                self.heard(done);
                self.turn(moment)
            }
            Completion::Fetched { hash, body } => {
                self.fetched(hash, body);
                self.turn(moment)
            }
            Completion::Shared { step, result } => {
                self.sharing.remove(&step);
                if let Some(result) = result {
                    self.shared(step, result);
                }
                self.turn(moment)
            }
            Completion::Watched { step, settlement } => {
                // Not settled: looked at once in this life of the machine; its timer or its end brings the next one.
                self.watching.remove(&step);
                self.watched.insert(step.clone());
                let fact = settlement.map(|settlement| Input::AttachSettled { step, settlement });
                self.facts.extend(fact);
                self.turn(moment)
            }
        }
    }

    /// Somebody else wrote: load again, now or after the commit under way.
    fn nudge(&mut self) -> Vec<Io> {
        match &self.state {
            State::Ready(_) => self.reload(),
            State::Committing { .. } => {
                self.nudged = true;
                Vec::new()
            }
            State::Loading | State::Fenced(_) | State::Stopped => Vec::new(),
        }
    }

    fn reload(&mut self) -> Vec<Io> {
        self.state = State::Loading;
        vec![Io::Reload]
    }

    fn created(&mut self, moment: &Moment, result: Result<Created, CommitError>) -> Vec<Io> {
        match result {
            Ok(Created::New(receipt)) => self.committed(moment, Ok(receipt)),
            Ok(Created::Exists { .. }) => self.stop(),
            Err(e) => self.committed(moment, Err(e)),
        }
    }

    fn stop(&mut self) -> Vec<Io> {
        self.state = State::Stopped;
        vec![Io::Stop]
    }

    fn committed(&mut self, moment: &Moment, result: Result<Receipt, CommitError>) -> Vec<Io> {
        let state = std::mem::replace(&mut self.state, State::Loading);
        let State::Committing { next, facts, parks, then } = state else {
            return match result {
                Err(CommitError::Store(error)) => self.given_up(moment, &error),
                _ => self.stop(),
            };
        };
        match result {
            Ok(receipt) => self.durable(moment, next, receipt, parks, then),
            Err(CommitError::Conflict { .. }) => {
                self.unask(&then);
                self.keep_facts(facts);
                vec![Io::Reload]
            }
            Err(CommitError::Fenced { .. }) => {
                self.keep_facts(facts);
                self.fenced(next)
            }
            // It may be durable or not. What it started is not sent by us either way; the history decides.
            Err(CommitError::Store(StoreError::CommitUnknown(_))) => {
                self.unask(&then);
                self.keep_facts(facts);
                vec![Io::Reload]
            }
            Err(CommitError::Store(error)) => self.given_up(moment, &error),
        }
    }

    /// The task could not be read or written: what was to be recorded is lost here, and the next owner reconciles it.
    fn given_up(&mut self, moment: &Moment, error: &StoreError) -> Vec<Io> {
        tracing::error!(code = error.code(), "{error}; next: {}", error.next());
        self.state = State::Stopped;
        let due = Some(moment.now.at);
        vec![Io::Release { generation: self.generation, version: u64::MAX, due }, Io::Stop]
    }

    fn keep_facts(&mut self, facts: Vec<Input>) {
        for fact in facts.into_iter().rev() {
            self.facts.push_front(fact);
        }
    }

    /// What was to be asked after a turn that is lost was never asked.
    fn unask(&mut self, then: &[Io]) {
        for io in then {
            match io {
                Io::Ask { op, asking, .. } => self.asking.remove(&(op.clone(), *asking)),
                Io::Share { step, .. } => self.sharing.remove(step),
                Io::Watch { step, .. } => self.watching.remove(step),
                Io::Fetch(hash) => self.fetching.remove(hash),
                _ => false,
            };
        }
    }

    /// Only now do calls and questions leave.
    fn durable(
        &mut self,
        moment: &Moment,
        next: Box<Task>,
        receipt: Receipt,
        parks: bool,
        then: Vec<Io>,
    ) -> Vec<Io> {
        let permits = receipt.permits(&next);
        let mut io = then;
        for permit in permits {
            if self.draining {
                self.revoke(&permit);
            } else {
                self.sending.insert((permit.op().clone(), permit.attempt()));
                io.push(Io::Send(permit));
            }
        }
        self.state = State::Ready(next);
        if parks && self.facts.is_empty() {
            io.extend(self.stop());
        } else if std::mem::take(&mut self.nudged) {
            io.extend(self.reload());
        } else {
            io.extend(self.turn(moment));
        }
        io
    }

    /// The process drains: a permit that was not used is void, and what it would have sent was not sent.
    fn revoke(&mut self, permit: &CallPermit) {
        let (op, attempt) = (permit.op().clone(), permit.attempt());
        let outcome = Outcome::not_sent("the worker was stopped before it sent this");
        self.facts.push_back(Input::Answered {
            op,
            attempt,
            outcome,
            shown: Json::Null,
            late_ms: 0,
            cost: 0,
        });
    }

    fn loaded(&mut self, moment: &Moment, task: Task) -> Vec<Io> {
        self.nudged = false;
        let lost = task.generation > self.generation;
        self.adopt_outputs(&task);
        self.state = State::Ready(Box::new(task));
        for done in std::mem::take(&mut self.unheard) {
            self.heard(done);
        }
        match std::mem::replace(&mut self.state, State::Stopped) {
            State::Ready(task) if lost => self.fenced(task),
            state => {
                self.state = state;
                self.turn(moment)
            }
        }
    }

    /// Another owner holds the task: what we heard is evidence, and we change nothing any more. What is still under way
    /// is waited for, and filed when it is heard.
    fn fenced(&mut self, task: Box<Task>) -> Vec<Io> {
        self.state = State::Fenced(task);
        let mut io = self.file();
        io.push(Io::Stop);
        io
    }

    fn file(&mut self) -> Vec<Io> {
        let facts: Vec<Input> = self.facts.drain(..).filter(is_news).collect();
        if facts.is_empty() { Vec::new() } else { vec![Io::File(facts)] }
    }

    /// A body that the history refers to is not in the store: nothing may be evaluated without it.
    fn body_missing(&mut self, hash: Hash) {
        let what = format!("the body {} is not in the artifact store", hash.short());
        let cause = ReviewCause::VersionMissing { what };
        self.facts.push_back(Input::NeedPerson { cause });
    }

    fn adopt_outputs(&mut self, task: &Task) {
        self.outputs.clear();
        if let Stored::Inline(inputs) = &task.inputs {
            self.inputs = inputs.clone();
        }
        for step in task.steps.values() {
            self.adopt_output(&step.name, step.output.as_ref());
        }
    }

    fn adopt_output(&mut self, step: &StepName, output: Option<&Stored>) {
        match output {
            Some(Stored::Inline(value)) => {
                self.outputs.insert(step.clone(), value.clone());
            }
            Some(Stored::Artifact(at)) => {
                if let Some(value) = self.bodies.get(&at.hash) {
                    self.outputs.insert(step.clone(), value.clone());
                }
            }
            None => {}
        }
    }
}

/// Moves what is large in a fact into artifacts.
pub(crate) fn shrink(input: &mut Input, artifacts: &mut Vec<Artifact>) {
    facts::shrink(input, artifacts);
}

/// Inputs above the inline limit become an artifact.
pub(crate) fn shrink_inputs(inputs: &mut Stored, artifacts: &mut Vec<Artifact>) {
    facts::shrink_stored(inputs, artifacts);
}

/// A fact that the target or another task told; it must not be lost.
fn is_news(input: &Input) -> bool {
    matches!(input, Input::Answered { .. } | Input::Probed { .. } | Input::Evidence { .. })
}
