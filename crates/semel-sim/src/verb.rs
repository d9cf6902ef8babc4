//! Verbs of the store, as they reach it: late, twice failed, or with their answer lost.

use crate::{
    control::Control,
    life::Step,
    sim::{Act, Sim},
};
use semel_engine::machine::{Body, Completion};
use semel_kernel::{
    decide::Draft,
    hash::Hash,
    id::{StepName, TaskId},
    input::{Ctx, Input},
    json::Json,
    time::{Generation, Millis},
};
use semel_plan::{plan::PlanDoc, resolve::SharedCall};
use semel_ports::{
    Authority, CommitError, Created, Creation, Due, Loaded, Receipt, Store as _, StoreError, Turn,
};
use std::{
    collections::VecDeque,
    pin::pin,
    task::{Context, Poll, Waker},
};

/// A verb of an owner.
#[derive(Debug)]
pub(crate) enum Verb {
    /// Create a task.
    Create(Box<Creation>),
    /// Append a turn.
    Commit(Box<Turn>),
    /// Load the task.
    Reload,
    /// Give it back.
    Release {
        /// Under which token.
        generation: Generation,
        /// The version it was seen at.
        version: u64,
        /// When it is due again.
        due: Option<Millis>,
    },
    /// Read a body.
    Fetch(Hash),
    /// Find or create the task of a tenant-scoped operation.
    Share {
        /// For which step.
        step: StepName,
        /// The call.
        call: Box<SharedCall>,
    },
    /// Look at another task.
    Watch {
        /// For which step.
        step: StepName,
        /// The other task.
        task: TaskId,
    },
}

/// Turns of somebody who is not the owner: read, decide, write; again when the task has moved on.
#[derive(Debug)]
pub(crate) struct Amend {
    pub(crate) task: TaskId,
    pub(crate) facts: VecDeque<Input>,
    pub(crate) turn: Option<Box<Turn>>,
    /// The life and hand that wait for it.
    pub(crate) back: Option<(u64, u64)>,
}

/// The value of a future that never waits: the in-memory store answers at once.
///
/// # Panics
/// When it waits: then the simulator would not be a function of its seed.
#[expect(clippy::panic, reason = "a verb that waits has no place in a simulation")]
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a verb of the in-memory store waited"),
    }
}

impl Sim {
    pub(crate) fn keep_plan(&mut self, plan: &PlanDoc) {
        drop(at_once(self.store.put_artifact(plan.document.canonical().into_bytes())));
    }

    /// A verb reaches the store.
    pub(crate) fn reaches_store(&mut self, life: u64, hand: u64, verb: Verb) {
        let Some(found) = self.lives.get(&life) else {
            if self.knobs.outlives && self.healed_at.is_none() {
                self.arrives_after_death(verb);
            }
            return;
        };
        if found.paused_until > self.now && !self.knobs.outlives {
            let rest = found.paused_until - self.now;
            return self.after(rest, Act::Store(life, hand, verb));
        }
        let busy = self.chance.store.happens(self.faults.busy);
        if busy || self.now < self.outage_until {
            // The driver repeats the very same verb while the store says that it may pass.
            self.cover.mark(if busy { "fault: store busy" } else { "fault: verb during an outage" });
            let pause = self.chance.store.between(20, 2_000);
            return self.after(pause, Act::Store(life, hand, verb));
        }
        match verb {
            Verb::Create(creation) => self.create(life, hand, *creation),
            Verb::Commit(turn) => self.commit(life, hand, &turn),
            Verb::Reload => self.reload(life, hand),
            Verb::Release { generation, version, due } => {
                let Some(task) = self.task_of(life, hand) else { return };
                drop(at_once(self.store.release(&task, generation, version, due)));
                self.reply(life, hand, Completion::Nudged);
            }
            Verb::Fetch(hash) => {
                let bytes = at_once(self.store.artifact(hash)).ok();
                let text = bytes.and_then(|b| String::from_utf8(b).ok());
                let body = text.and_then(|t| Json::parse(&t).ok()).map_or(Body::Missing, Body::There);
                self.reply(life, hand, Completion::Fetched { hash, body });
            }
            Verb::Share { step, call } => self.share(life, hand, step, &call),
            Verb::Watch { step, task } => {
                let Some(found) = self.lives.get(&life) else { return };
                let settlement = at_once(found.desk.settlement(&task));
                self.reply(life, hand, Completion::Watched { step, settlement });
            }
        }
    }

    fn task_of(&self, life: u64, hand: u64) -> Option<TaskId> {
        self.lives.get(&life)?.hands.get(&hand).map(|h| h.task.clone())
    }

    /// A turn that was on its way when its process died.
    fn arrives_after_death(&mut self, verb: Verb) {
        if let Verb::Commit(turn) = verb {
            self.cover.mark("fault: turn of a dead owner");
            drop(self.write(*turn));
        }
    }

    fn create(&mut self, life: u64, hand: u64, creation: Creation) {
        if self.dies_at(life, "submit.before_commit") {
            return;
        }
        if self.chance.store.happens(self.faults.commit_unmade) {
            return self.unknown(life, hand, "create");
        }
        let lost = self.loses_answer();
        let (task, turn) = (creation.turn.task.clone(), creation.turn.clone());
        let mut result = at_once(self.store.create(creation));
        self.note(|| format!("create {task}: {}", word(&result)));
        self.look_at(&task);
        if self.dies_at(life, "submit.after_commit") {
            return;
        }
        if lost {
            self.cover.mark("fault: commit answer lost");
            result = self.read_back(&turn).map_or(result, |receipt| Ok(Created::New(receipt)));
        }
        self.reply(life, hand, Completion::Created(result));
    }

    fn commit(&mut self, life: u64, hand: u64, turn: &Turn) {
        if self.dies_at(life, "turn.before_commit") {
            return;
        }
        if self.chance.store.happens(self.faults.commit_unmade) {
            return self.unknown(life, hand, "turn");
        }
        let lost = self.loses_answer();
        let mut result = self.write(turn.clone());
        if self.dies_at(life, "turn.after_commit") {
            return;
        }
        if lost {
            self.cover.mark("fault: commit answer lost");
            result = self.read_back(turn).map_or(result, Ok);
        }
        self.reply(life, hand, Completion::Committed(result));
    }

    /// A turn whose answer was lost is looked up, as the driver does; sometimes that does not succeed either.
    fn read_back(&mut self, turn: &Turn) -> Option<Receipt> {
        if self.chance.store.happens(300) {
            return None;
        }
        let found = at_once(self.store.read_back(turn)).ok().flatten();
        if found.is_some() {
            self.cover.mark("a lost commit is read back");
        }
        found
    }

    fn loses_answer(&mut self) -> bool {
        let lost = self.chance.store.happens(self.faults.commit_lost);
        if lost {
            self.store.lose_next_answer();
        }
        lost
    }

    fn unknown(&mut self, life: u64, hand: u64, what: &str) {
        self.cover.mark("fault: commit not made and not known");
        let error = StoreError::CommitUnknown(format!("the {what} was never made"));
        self.reply(life, hand, Completion::Committed(Err(error.into())));
    }

    /// Writes a turn and looks at what became of it.
    pub(crate) fn write(&mut self, mut turn: Turn) -> Result<Receipt, CommitError> {
        let (task, events) = (turn.task.clone(), turn.events.len());
        let held = self.store.coordination(&task).map(|c| c.generation);
        let claimed = turn.authority.clone();
        if let (Some(Control::NoGenerationCheck), Authority::Owner(_), Some(held)) =
            (self.control, &turn.authority, held)
        {
            turn.authority = Authority::Owner(held);
        }
        if let Some(Control::UnversionedEvidence) = self.control
            && turn.authority == Authority::Anyone
        {
            turn.base = self.checks.version_of(&task).unwrap_or(turn.base);
        }
        let result = at_once(self.store.commit(turn));
        self.note(|| format!("turn of {events} events on {task}: {}", word(&result)));
        let durable = match &result {
            Ok(_) => true,
            Err(CommitError::Store(StoreError::CommitUnknown(_))) => true,
            Err(e) => {
                self.cover.mark(&format!("refused: {}", refusal(e)));
                false
            }
        };
        if durable {
            self.checks.wrote(self.now, &task, &claimed, held);
        }
        self.look_at(&task);
        result
    }

    fn look_at(&mut self, task: &TaskId) {
        let from = self.checks.version_of(task).unwrap_or(0);
        self.checks.sync(self.now, &self.store, task, &mut self.cover, &self.world);
        if self.control == Some(Control::PowerCutNormal) && self.chance.store.happens(200) {
            self.kept = Some(self.store.snapshot());
        }
        self.note_events(task, from);
    }

    fn note_events(&mut self, task: &TaskId, from: u64) {
        let Ok(history) = at_once(self.store.history(task, from)) else { return };
        for recorded in history {
            self.note(|| {
                let text = serde_json::to_string(&recorded.event).unwrap_or_default();
                format!("  {task} #{} {}", recorded.seq, crate::history::line(&text))
            });
        }
    }

    fn reload(&mut self, life: u64, hand: u64) {
        let Some(task) = self.task_of(life, hand) else { return };
        match at_once(self.store.load(&task)).and_then(Loaded::into_task) {
            Ok(task) => self.reply(life, hand, Completion::Loaded(Box::new(task))),
            Err(StoreError::NoTask(_)) => {
                // A creation that was never made: the submitter comes again.
                let error = CommitError::Store(StoreError::NoTask(task));
                self.reply(life, hand, Completion::Committed(Err(error)));
            }
            Err(e) => self.checks.cannot_load(self.now, &task, &e.to_string()),
        }
    }

    fn share(&mut self, life: u64, hand: u64, step: StepName, call: &SharedCall) {
        let Some(waiter) = self.task_of(life, hand) else { return };
        let Some(found) = self.lives.get(&life) else { return };
        let result = at_once(found.desk.share(&waiter, call));
        if let Some(Ok((task, _))) = &result {
            let task = task.clone();
            self.look_at(&task);
            self.ring();
        }
        self.reply(life, hand, Completion::Shared { step, result });
    }

    pub(crate) fn reply(&mut self, life: u64, hand: u64, done: Completion) {
        let ms = self.chance.store.delay(20);
        self.after(ms, Act::Inside(life, Step::Done { hand, done }));
    }

    /// One step of an amendment: read and decide, or write.
    pub(crate) fn amends(&mut self, mut amend: Amend) {
        if self.now < self.outage_until {
            return self.after(500, Act::Amend(amend));
        }
        match amend.turn.take() {
            None => self.amend_reads(amend),
            Some(turn) => self.amend_writes(amend, *turn),
        }
    }

    fn amend_reads(&mut self, mut amend: Amend) {
        let Some(fact) = amend.facts.front().cloned() else { return self.amended(&amend) };
        let Ok(task) = at_once(self.store.load(&amend.task)).and_then(Loaded::into_task) else {
            return self.amended(&amend);
        };
        let ctx = Ctx { now: self.store_now(), draw: u32::MAX };
        let mut draft = Draft::on(task);
        let taken = draft.take(fact, ctx);
        if let Err(reject) = &taken {
            self.cover.mark(&format!("rejected: {}", reject.code()));
            self.note(|| format!("refused: {reject}"));
        }
        if taken.is_err() || draft.is_empty() {
            amend.facts.pop_front();
            return self.after(1, Act::Amend(amend));
        }
        let Some(id) = self.turn_id() else { return };
        let (turn, _) = Turn::close(draft, id, Authority::Anyone, ctx.now.at, Due::Wake);
        amend.turn = Some(Box::new(turn));
        let ms = self.chance.store.delay(3_000);
        self.after(ms, Act::Amend(amend));
    }

    fn amend_writes(&mut self, mut amend: Amend, turn: Turn) {
        match self.write(turn) {
            Ok(_) => {
                amend.facts.pop_front();
                let task = amend.task.clone();
                self.nudge(&task);
            }
            Err(CommitError::Conflict { .. }) => self.cover.mark("amended again after a conflict"),
            Err(_) => {
                amend.facts.pop_front();
            }
        }
        self.after(1, Act::Amend(amend));
    }

    fn amended(&mut self, amend: &Amend) {
        if let Some((life, hand)) = amend.back {
            self.reply(life, hand, Completion::Nudged);
        }
    }
}

fn refusal(error: &CommitError) -> &'static str {
    match error {
        CommitError::Conflict { .. } => "version",
        CommitError::Fenced { .. } => "generation",
        CommitError::Store(_) => "store",
    }
}

fn word<T: std::fmt::Debug>(result: &Result<T, CommitError>) -> String {
    match result {
        Ok(_) => "durable".to_owned(),
        Err(e) => e.to_string(),
    }
}
