//! One turn: take all facts, then do whatever can be done without the outside, then commit it all at once.
//!
//! So the commit of step *n* carries the STARTED of step *n + 1*: one durable write per effect step.

use super::{
    Accounts, Asking, Io, Machine, Moment, State, account,
    facts::{shrink, shrink_stored},
};
use crate::names::Names;
use semel_kernel::{
    decide::{Draft, Submission, submit},
    event::Event,
    hash,
    id::{OperationId, SessionId, StepName},
    input::{Input, Resolution},
    json::Json,
    limit,
    oblige::{self, Obligation},
    outcome::{Look, Stored},
    reject::Reject,
    task::Task,
    time::{Generation, Millis},
};
use semel_plan::{
    contract::{Call, Refusal},
    plan::PlanDoc,
    resolve::{Resolved, View},
};
use semel_ports::{Artifact, Authority, Creation, Due, Turn};
use std::sync::Arc;

/// A turn in the making: the draft, what goes with it, and what is asked besides.
pub(super) struct Making {
    pub(super) draft: Draft,
    taken: Vec<Input>,
    artifacts: Vec<Artifact>,
    io: Vec<Io>,
    /// What is owed after the last input that was taken.
    owed: Vec<Obligation>,
}

impl Making {
    const fn of(draft: Draft, artifacts: Vec<Artifact>) -> Self {
        Self { draft, taken: Vec::new(), artifacts, io: Vec::new(), owed: Vec::new() }
    }

    /// When the task must be looked at again. All consequences of this moment are drawn.
    fn wake(&self, moment: &Moment) -> Option<Millis> {
        oblige::wake_of(self.draft.task(), &self.owed, moment.now)
    }
}

impl Machine {
    /// A machine for a task that is created and owned at once: its first turn carries the first STARTED.
    ///
    /// # Errors
    /// [`Reject`] when the plan breaks its invariant.
    pub fn create(
        mut submission: Submission,
        (plan, accounts): (Arc<PlanDoc>, Accounts),
        session: SessionId,
        digest: hash::Hash,
        moment: &Moment,
    ) -> Result<(Self, Vec<Io>), Reject> {
        let generation = Generation { epoch: submission.epoch, counter: 1 };
        let mut machine = Self::idle(plan, accounts, generation);
        let mut artifacts = Vec::new();
        if let Stored::Inline(inputs) = &submission.inputs {
            machine.inputs = inputs.clone();
        }
        machine.bodies.extend(shrink_stored(&mut submission.inputs, &mut artifacts));
        machine.facts.push_back(Input::Claimed { session: session.clone(), generation });
        let draft = submit(submission, moment.ctx())?;
        let mut making = Making::of(draft, artifacts);
        machine.make(&mut making, moment);
        let mut turn = machine.close(making, moment);
        turn.owner = Some(session);
        Ok((machine, vec![Io::Create(Box::new(Creation { turn, digest }))]))
    }

    /// Takes everything that is known and goes as far as possible.
    pub(super) fn turn(&mut self, moment: &Moment) -> Vec<Io> {
        let task = match std::mem::replace(&mut self.state, State::Loading) {
            State::Ready(task) => task,
            state => {
                let fenced = matches!(state, State::Fenced(_));
                self.state = state;
                return if fenced { self.file() } else { Vec::new() };
            }
        };
        let mut making = Making::of(Draft::on(*task), Vec::new());
        self.make(&mut making, moment);
        if making.draft.is_empty() {
            let wake = making.wake(moment);
            let (task, _) = making.draft.finish();
            let mut io = making.io;
            io.extend(self.rest(task, wake, moment));
            io
        } else {
            vec![Io::Commit(Box::new(self.close(making, moment)))]
        }
    }

    fn make(&mut self, making: &mut Making, moment: &Moment) {
        while let Some(mut fact) = self.facts.pop_front() {
            let kept = fact.clone();
            self.take(making, &mut fact, moment, Some(kept));
        }
        self.take(making, &mut Input::Tick, moment, None);
        while self.advance(making, moment) {}
    }

    /// Takes one input into the draft. A refusal is an answer: the fact is known to be void, so it is only logged.
    pub(super) fn take(
        &mut self,
        making: &mut Making,
        input: &mut Input,
        moment: &Moment,
        keep: Option<Input>,
    ) -> bool {
        self.bodies.extend(shrink(input, &mut making.artifacts));
        let before = making.draft.events().len();
        match making.draft.take(input.clone(), moment.ctx()) {
            Ok(()) => {
                making.taken.extend(keep);
                self.follow_outputs(making, before);
                true
            }
            Err(reject) => {
                tracing::debug!(task = %making.draft.task().id, code = reject.code(), "{reject}");
                false
            }
        }
    }

    /// What steps that were committed in this turn give to those after them.
    fn follow_outputs(&mut self, making: &Making, from: usize) {
        for event in making.draft.events().iter().skip(from) {
            if let Event::StepCommitted { step, output, .. } = event {
                self.adopt_output(step, Some(output));
            }
        }
    }

    /// One round over the obligations; `true` when the draft has grown.
    fn advance(&mut self, making: &mut Making, moment: &Moment) -> bool {
        making.owed = oblige::obligations(making.draft.task(), moment.now);
        let before = making.draft.events().len();
        for obligation in making.owed.clone() {
            match obligation {
                Obligation::Resolve(step) if !self.draining => self.resolve(making, &step, moment),
                Obligation::Begin { op, .. } if !self.draining => self.begin(making, &op, moment),
                Obligation::Precheck(op) if !self.draining => self.ask(making, op, Asking::Precheck, moment),
                Obligation::Probe(op) if !self.draining => self.ask(making, op, Asking::Probe, moment),
                Obligation::Watch { step, task } => {
                    if !self.draining && !self.watched.contains(&step) && self.watching.insert(step.clone()) {
                        making.io.push(Io::Watch { step, task });
                    }
                }
                Obligation::Resolve(_)
                | Obligation::Begin { .. }
                | Obligation::Precheck(_)
                | Obligation::Probe(_)
                | Obligation::WaitUntil(_)
                | Obligation::Answer(_)
                | Obligation::Person => {}
            }
        }
        making.draft.events().len() > before
    }

    fn resolve(&mut self, making: &mut Making, step: &StepName, moment: &Moment) {
        let task = making.draft.task();
        let still_owed = task.steps.get(step).is_some_and(|s| s.is_unresolved() && task.is_ready(s));
        if !still_owed || self.sharing.contains(step) || self.wants_bodies(making) {
            return;
        }
        let task = making.draft.task();
        let view = View { task, inputs: &self.inputs, outputs: &self.outputs, now: moment.now.at };
        let resolution = match self.plan.resolve(&view, step) {
            Resolved::Skip { cause } => Resolution::Skip { cause },
            Resolved::Act { operation } => Resolution::Act { operation },
            Resolved::Each { items, list } => Resolution::Each { items, list: Stored::Inline(list) },
            Resolved::Sleep { until } => Resolution::Sleep { until },
            Resolved::Refuse(refusal) => refuse(refusal),
            Resolved::Shared(call) => {
                self.sharing.insert(step.clone());
                making.io.push(Io::Share { step: step.clone(), call: Box::new(call) });
                return;
            }
        };
        let mut input = Input::Resolved { step: step.clone(), resolution };
        self.take(making, &mut input, moment, None);
    }

    /// Outputs that lie in the artifact store are read before any expression that may use them is evaluated.
    fn wants_bodies(&mut self, making: &mut Making) -> bool {
        let task = making.draft.task();
        let outputs = task.steps.values().filter_map(|s| s.output.as_ref());
        let stored = outputs.chain([&task.inputs]).filter_map(|o| match o {
            Stored::Artifact(at) if !self.bodies.contains_key(&at.hash) => Some(at.hash),
            Stored::Artifact(_) | Stored::Inline(_) => None,
        });
        let missing: Vec<_> = stored.collect();
        for hash in &missing {
            if self.fetching.insert(*hash) {
                making.io.push(Io::Fetch(*hash));
            }
        }
        if let Stored::Artifact(at) = &task.inputs
            && let Some(inputs) = self.bodies.get(&at.hash)
        {
            self.inputs = inputs.clone();
        }
        !missing.is_empty()
    }

    fn begin(&mut self, making: &mut Making, op: &OperationId, moment: &Moment) {
        if moment.lease_left_ms == 0 {
            return;
        }
        if !self.see_account(making, op, moment) || !account::still_begins(making.draft.task(), op, moment) {
            return;
        }
        let Some(args) = self.arguments(making, op) else { return };
        let request = match self.frozen(making.draft.task(), op, &args) {
            Some(Ok(request)) => request,
            Some(Err(refusal)) => return self.cannot_write(making, op, refusal, moment),
            None => return,
        };
        let next_key = self.next_key(making.draft.task(), op);
        let lease_left_ms = moment.lease_left_ms;
        let mut input = Input::Begin { op: op.clone(), request, lease_left_ms, next_key };
        self.take(making, &mut input, moment, None);
    }

    /// The arguments of an operation; large ones are read from the artifact store first.
    fn arguments(&mut self, making: &mut Making, op: &OperationId) -> Option<Json> {
        let stored = &making.draft.task().operations.get(op)?.planned.arguments;
        let value = self.value_of(stored);
        if let (None, Stored::Artifact(at)) = (&value, stored)
            && self.fetching.insert(at.hash)
        {
            let hash = at.hash;
            making.io.push(Io::Fetch(hash));
        }
        value
    }

    /// The request, at the first attempt; later ones send the frozen bytes again.
    fn frozen(&self, task: &Task, op: &OperationId, args: &Json) -> Option<Result<Option<Stored>, Refusal>> {
        let found = task.operations.get(op)?;
        if found.request.is_some() {
            return Some(Ok(None));
        }
        let contract = self.plan.contracts.get(&found.planned.tool)?;
        let call = Call {
            tenant: &task.tenant,
            task: &task.id,
            step: &found.step,
            version: &found.planned.version,
            intent: found.planned.intent,
            key_epoch: found.key_epoch,
            args,
        };
        let request = contract.request(&call, &found.planned.key, found.tag());
        Some(request.and_then(|r| to_json(&r)).map(|json| Some(Stored::Inline(json))))
    }

    fn next_key(&self, task: &Task, op: &OperationId) -> String {
        let Some(found) = task.operations.get(op) else { return String::new() };
        let epoch = found.key_epoch.saturating_add(1);
        let make =
            if found.planned.key.contains('-') { hash::operation_key_uuid } else { hash::operation_key };
        make(task.tenant.as_str(), op.as_str(), epoch)
    }

    fn ask(&mut self, making: &mut Making, op: OperationId, asking: Asking, moment: &Moment) {
        let second = asking == Asking::Probe && self.confirming.contains_key(&op);
        let asking = if second { Asking::Confirm } else { asking };
        let under_way = |asking| self.asking.contains(&(op.clone(), asking));
        if under_way(asking) || asking == Asking::Probe && under_way(Asking::Confirm) {
            return;
        }
        if asking != Asking::Precheck && !self.asks_under(making, &op, asking, moment) {
            return;
        }
        let Some(args) = self.arguments(making, &op) else { return };
        let task = making.draft.task();
        let Some(found) = task.operations.get(&op) else { return };
        let Some(contract) = self.plan.contracts.get(&found.planned.tool) else { return };
        match Names::of(task, found, args).question(contract, asking) {
            Ok(question) => {
                self.asking.insert((op.clone(), asking));
                making.io.push(Io::Ask { op, asking, question: Box::new(question) });
            }
            Err(refusal) => self.cannot_ask(making, op, asking, &refusal, moment),
        }
    }

    /// A question that cannot even be written down is an unclear finding, never an absent one.
    pub(super) fn cannot_ask(
        &mut self,
        making: &mut Making,
        op: OperationId,
        asking: Asking,
        refusal: &Refusal,
        moment: &Moment,
    ) {
        let finding = semel_kernel::outcome::Finding::Unclear { cause: refusal.cause.clone() };
        self.confirming.remove(&op);
        let mut input = match asking {
            Asking::Probe | Asking::Confirm => {
                Input::Probed { op, asked_at: moment.now.at, finding, confirm: None, shown: Json::Null }
            }
            Asking::Precheck => Input::Prechecked { op, finding, look: Look::default(), shown: Json::Null },
        };
        self.take(making, &mut input, moment, None);
    }

    fn close(&mut self, making: Making, moment: &Moment) -> Turn {
        let due = self.due(making.draft.task(), making.draft.events(), making.wake(moment), moment);
        let parks = matches!(due, Due::Park(_));
        let authority = Authority::Owner(self.generation);
        let (mut turn, task) = Turn::close(making.draft, moment.turn.clone(), authority, moment.now.at, due);
        turn.artifacts = making.artifacts;
        self.turns = self.turns.saturating_add(1);
        if parks && task.end.is_none() || self.turns.is_multiple_of(limit::CHECKPOINT_TURNS) {
            turn.checkpoint = Some(Box::new(task.clone()));
        }
        let (facts, then) = (making.taken, making.io);
        self.state = State::Committing { next: Box::new(task), facts, parks, then };
        turn
    }

    /// Whether the owner keeps the task: it does while something of it is under way, or can be done at once.
    fn due(&self, task: &Task, events: &[Event], wake: Option<Millis>, moment: &Moment) -> Due {
        let starts = events.iter().any(|e| matches!(e, Event::StepStarted { .. }));
        if starts || self.is_busy() {
            return Due::Held;
        }
        if task.end.is_some() {
            return Due::Park(None);
        }
        match wake {
            Some(at) if self.draining => Due::Park(Some(at.max(moment.now.at))),
            Some(at) if at <= moment.now.at => Due::Held,
            wake => Due::Park(wake),
        }
    }

    fn is_busy(&self) -> bool {
        !(self.sending.is_empty()
            && self.asking.is_empty()
            && self.sharing.is_empty()
            && self.fetching.is_empty()
            && self.watching.is_empty())
    }

    /// Nothing to commit: wait for what is under way, or give the task back.
    fn rest(&mut self, task: Task, wake: Option<Millis>, moment: &Moment) -> Vec<Io> {
        let (ended, version) = (task.end.is_some(), task.version);
        let begins = wake.is_some_and(|at| at <= moment.now.at) && !self.draining;
        self.state = State::Ready(Box::new(task));
        if self.is_busy() || (begins && moment.lease_left_ms == 0) {
            // What is owed at once is under way, or waits for the lease to be renewed: no reason to turn in circles.
            let soon = moment.now.at.plus(SOON_MS);
            let wake = wake.filter(|at| *at < Millis::MAX).map(|at| Io::WakeAt(at.max(soon)));
            return wake.into_iter().collect();
        }
        self.state = State::Stopped;
        let due = if ended { None } else { wake.map(|at| at.max(moment.now.at)) };
        vec![Io::Release { generation: self.generation, version, due }, Io::Stop]
    }
}

/// Milliseconds after which a machine that could do nothing looks again.
const SOON_MS: i64 = 100;

fn refuse(refusal: Refusal) -> Resolution {
    Resolution::Refuse { code: refusal.code.into(), cause: refusal.cause, fields: refusal.fields }
}

fn to_json<T: serde::Serialize>(value: &T) -> Result<Json, Refusal> {
    let broken = |e: String| Refusal { code: "SM9003", cause: e, fields: Vec::new() };
    let text = serde_json::to_string(value).map_err(|e| broken(e.to_string()))?;
    Json::parse(&text).map_err(|e| broken(e.to_string()))
}
