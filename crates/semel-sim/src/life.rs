//! One life of one worker process: it claims tasks, runs a machine for each, renews its lease, and can die or stand
//! still anywhere. It does what the engine's tokio drivers do, without tokio.

use crate::{
    chance::SeededEntropy,
    sim::{Act, Sim},
    verb::{Amend, Verb, at_once},
    wire::Told,
};
use semel_engine::{
    catalog::Catalog,
    engine::{Engine, Options},
    machine::{Completion, Io, Machine, Moment},
};
use semel_kernel::{
    id::{SessionId, TaskId, TurnId},
    input::Input,
    time::Millis,
};
use semel_ports::{CallPermit, Connector, HttpRequest, Question, Report, Store, connector::Recall};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

/// Milliseconds a session's lease lasts, and between two renewals, and by which it is taken to end earlier.
pub(crate) const LEASE_MS: i64 = 15_000;
pub(crate) const RENEW_MS: i64 = 5_000;
const MARGIN_MS: i64 = 3_000;
/// Tasks in hand at once.
pub(crate) const SLOTS: usize = 3;

/// Something inside a process.
#[derive(Debug)]
pub(crate) enum Step {
    /// It looks for tasks that are due.
    Claim,
    /// It renews its lease.
    Renew,
    /// The timer of a hand.
    Wake { hand: u64, token: u64 },
    /// A hand's IO is done.
    Done { hand: u64, done: Completion },
    /// The connection stands; the first byte is about to leave.
    Dial { hand: u64, permit: CallPermit, called_at: Millis },
    /// An answer was heard, or the wait for it is over.
    Heard(u64, Told),
    /// A look-up leaves.
    AskLeaves(u64),
    /// A look-up was answered, or the wait for it is over.
    AskHeard(u64, Told),
}

/// A task in hand.
pub(crate) struct Hand {
    pub(crate) task: TaskId,
    machine: Machine,
    running: u32,
    stop: bool,
    wake: u64,
    client: Option<u32>,
}

/// One life.
pub(crate) struct Life {
    pub(crate) seat: usize,
    pub(crate) session: SessionId,
    pub(crate) lease_until: Millis,
    pub(crate) paused_until: i64,
    pub(crate) draining: bool,
    pub(crate) hands: BTreeMap<u64, Hand>,
    pub(crate) desk: Engine,
    pub(crate) catalog: Catalog,
}

/// The engine of a life is asked for single verbs only; what it would send is sent by the simulated wire.
struct NoConnector;

#[async_trait::async_trait]
impl Connector for NoConnector {
    async fn send(&self, _: CallPermit, _: HttpRequest, _: Millis, _: Recall) -> Report {
        Report::not_sent("the simulator sends by itself".to_owned())
    }

    async fn ask(&self, _: Question) -> Report {
        Report::not_sent("the simulator asks by itself".to_owned())
    }
}

impl Sim {
    /// A process starts.
    pub(crate) fn boot(&mut self, seat: usize) {
        if self.now < self.outage_until || self.seats.get(seat).is_none_or(Option::is_some) {
            if self.seats.get(seat).is_some_and(Option::is_none) {
                self.after(1_000, Act::Boot(seat));
            }
            return;
        }
        let life = self.number();
        let entropy = Arc::new(SeededEntropy::new(self.knobs.seed.wrapping_mul(31).wrapping_add(life)));
        let store: Arc<dyn Store> = Arc::<semel_ports::mem::MemStore>::clone(&self.store);
        let options = Options { slots: 4, lease_ms: LEASE_MS, renew_ms: RENEW_MS, margin_ms: MARGIN_MS };
        let started = at_once(Engine::start(store, Arc::new(NoConnector), entropy, options));
        let Ok(desk) = started else {
            self.after(1_000, Act::Boot(seat));
            return;
        };
        let session = desk.session();
        self.note(|| format!("w{seat} starts as {life}"));
        let now = self.store_now().at;
        let born = Life {
            seat,
            session,
            lease_until: now.plus(LEASE_MS),
            paused_until: 0,
            draining: false,
            hands: BTreeMap::new(),
            desk,
            catalog: Catalog::default(),
        };
        self.lives.insert(life, born);
        if let Some(place) = self.seats.get_mut(seat) {
            *place = Some(life);
        }
        self.after(1, Act::Inside(life, Step::Claim));
        self.after(RENEW_MS, Act::Inside(life, Step::Renew));
    }

    /// A process dies: whatever it had not handed over is gone with it.
    pub(crate) fn kill(&mut self, life: u64) {
        let Some(dead) = self.lives.remove(&life) else { return };
        self.note(|| format!("w{} ({life}) dies", dead.seat));
        if let Some(place) = self.seats.get_mut(dead.seat) {
            *place = None;
        }
        if self.knobs.locked {
            // The next process takes the lock, so it knows that this one is dead.
            drop(at_once(self.store.end_session(&dead.session)));
        }
        self.calls.retain(|_, call| call.life != life);
        self.asks.retain(|_, ask| ask.life != life);
        self.forget_what_was_in_flight();
        let rest = self.chance.crash.between(0, 20_000);
        self.after(rest, Act::Boot(dead.seat));
    }

    /// A process is asked to leave: it begins nothing more, waits for what was sent, and gives everything back.
    pub(crate) fn deploys(&mut self) {
        let lives: Vec<u64> = self.lives.keys().copied().collect();
        let Some(life) = self.chance.people.pick(&lives).copied() else { return };
        let Some(found) = self.lives.get_mut(&life).filter(|l| !l.draining) else { return };
        found.draining = true;
        let hands: Vec<u64> = found.hands.keys().copied().collect();
        self.cover.mark("fault: deploy");
        self.note(|| format!("life {life} is asked to leave"));
        for hand in hands {
            self.feed(life, hand, Completion::Drain);
        }
        self.leaves_when_empty(life);
    }

    /// The end of its session makes whatever it had not given back claimable at once.
    fn leaves_when_empty(&mut self, life: u64) {
        let Some(found) = self.lives.get(&life).filter(|l| l.draining && l.hands.is_empty()) else { return };
        let session = found.session.clone();
        drop(at_once(self.store.end_session(&session)));
        self.kill(life);
        self.ring();
    }

    /// The process may die at this named point.
    pub(crate) fn dies_at(&mut self, life: u64, point: &'static str) -> bool {
        if !self.chance.crash.happens(self.faults.crash) {
            return false;
        }
        self.cover.mark(&format!("crash: {point}"));
        self.note(|| format!("crash point {point}"));
        self.kill(life);
        true
    }

    /// Something happens inside a process, unless it is dead; a stopped one does it later.
    pub(crate) fn inside(&mut self, life: u64, step: Step) {
        let Some(found) = self.lives.get(&life) else { return };
        if found.paused_until > self.now {
            let rest = found.paused_until - self.now;
            self.after(rest, Act::Inside(life, step));
            return;
        }
        // Pauses that matter most lie between a question and the judgement of its answer, or before a first byte.
        let weight = if matches!(step, Step::AskHeard(..) | Step::Dial { .. }) { 4 } else { 1 };
        if self.chance.crash.happens(self.faults.pause * weight) {
            let ms = self.chance.crash.between(100, 3 * LEASE_MS);
            self.cover.mark(if ms > LEASE_MS { "fault: pause past the lease" } else { "fault: pause" });
            self.note(|| format!("life {life} stands still for {ms} ms"));
            let until = self.now + ms;
            if let Some(found) = self.lives.get_mut(&life) {
                found.paused_until = until;
            }
            self.after(ms, Act::Inside(life, step));
            return;
        }
        match step {
            Step::Claim => self.claims(life),
            Step::Renew => self.renews(life),
            Step::Wake { hand, token } => self.wakes(life, hand, token),
            Step::Done { hand, done } => self.done(life, hand, done),
            Step::Dial { hand, permit, called_at } => self.dials(life, hand, &permit, called_at),
            Step::Heard(call, told) => self.heard(life, call, told),
            Step::AskLeaves(ask) => self.ask_leaves(life, ask),
            Step::AskHeard(ask, told) => self.ask_heard(life, ask, told),
        }
    }

    pub(crate) fn holds(&mut self, life: u64, task: &TaskId, machine: Machine, client: Option<u32>) -> u64 {
        let hand = self.number();
        let held = Hand { task: task.clone(), machine, running: 0, stop: false, wake: 0, client };
        if let Some(found) = self.lives.get_mut(&life) {
            found.hands.insert(hand, held);
        }
        hand
    }

    /// Time, chance and the lease, as that life sees them.
    pub(crate) fn moment(&mut self, life: u64) -> Option<Moment> {
        let turn = self.turn_id()?;
        let draw = self.chance.time.draw();
        let now = self.store_now();
        let found = self.lives.get(&life)?;
        let left = found.lease_until.since(now.at).saturating_sub(MARGIN_MS).max(0);
        Some(Moment { now, draw, turn, lease_left_ms: left })
    }

    pub(crate) fn turn_id(&mut self) -> Option<TurnId> {
        TurnId::parse(&format!("t{}", self.number())).ok()
    }

    fn wakes(&mut self, life: u64, hand: u64, token: u64) {
        let live = self.lives.get(&life).and_then(|l| l.hands.get(&hand));
        if live.is_some_and(|h| h.wake == token && !h.stop) {
            self.feed(life, hand, Completion::Tick);
        }
    }

    fn done(&mut self, life: u64, hand: u64, done: Completion) {
        let Some(held) = self.lives.get_mut(&life).and_then(|l| l.hands.get_mut(&hand)) else { return };
        held.running = held.running.saturating_sub(1);
        let told = matches!(done, Completion::Created(Ok(_))).then_some(held.client).flatten();
        if let Some(client) = told {
            self.checks.acknowledged(client);
        }
        self.feed(life, hand, done);
    }

    /// Somebody wrote to a task: its owners are told.
    pub(crate) fn nudge(&mut self, task: &TaskId) {
        let mut hands = Vec::new();
        for (life, found) in &self.lives {
            let mine = found.hands.iter().filter(|(_, h)| h.task == *task && !h.stop);
            hands.extend(mine.map(|(hand, _)| (*life, *hand)));
        }
        for (life, hand) in hands {
            self.feed(life, hand, Completion::Nudged);
        }
        self.ring();
    }

    pub(crate) fn feed(&mut self, life: u64, hand: u64, done: Completion) {
        let Some(moment) = self.moment(life) else { return };
        let Some(held) = self.lives.get_mut(&life).and_then(|l| l.hands.get_mut(&hand)) else { return };
        let io = held.machine.on(&moment, done);
        self.wants(life, hand, io);
    }

    /// Carries out what a machine wants; a hand that wants nothing more and waits for nothing is let go.
    pub(crate) fn wants(&mut self, life: u64, hand: u64, io: Vec<Io>) {
        for io in io {
            self.want(life, hand, io);
        }
        let Some(found) = self.lives.get_mut(&life) else { return };
        if found.hands.get(&hand).is_some_and(|h| h.stop && h.running == 0) {
            found.hands.remove(&hand);
            self.after(1, Act::Inside(life, Step::Claim));
            self.leaves_when_empty(life);
        }
    }

    fn want(&mut self, life: u64, hand: u64, io: Io) {
        match io {
            Io::Stop => self.hand(life, hand, |h| h.stop = true),
            Io::WakeAt(at) => self.wake_at(life, hand, at),
            Io::Create(creation) => {
                self.sends_too_early(life, hand, &creation.turn);
                self.verb(life, hand, Verb::Create(creation));
            }
            Io::Commit(turn) => {
                self.sends_too_early(life, hand, &turn);
                self.verb(life, hand, Verb::Commit(turn));
            }
            Io::Reload => self.verb(life, hand, Verb::Reload),
            Io::Send(permit) => self.send(life, hand, permit),
            Io::Ask { op, asking, question } => self.ask(life, hand, op, asking, &question),
            Io::Fetch(hash) => self.verb(life, hand, Verb::Fetch(hash)),
            Io::Share { step, call } => self.verb(life, hand, Verb::Share { step, call }),
            Io::Watch { step, task } => self.verb(life, hand, Verb::Watch { step, task }),
            Io::Release { generation, version, due } => {
                self.verb(life, hand, Verb::Release { generation, version, due });
            }
            Io::File(facts) => self.files(life, hand, facts.into()),
        }
    }

    fn files(&mut self, life: u64, hand: u64, facts: VecDeque<Input>) {
        let Some(task) = self.lives.get(&life).and_then(|l| l.hands.get(&hand)).map(|h| h.task.clone())
        else {
            return;
        };
        self.hand(life, hand, |h| h.running += 1);
        self.cover.mark("late truth is filed");
        self.after(1, Act::Amend(Amend { task, facts, turn: None, back: Some((life, hand)) }));
    }

    pub(crate) fn hand(&mut self, life: u64, hand: u64, change: impl FnOnce(&mut Hand)) {
        if let Some(held) = self.lives.get_mut(&life).and_then(|l| l.hands.get_mut(&hand)) {
            change(held);
        }
    }

    /// Something is under way for a hand.
    pub(crate) fn runs(&mut self, life: u64, hand: u64) {
        self.hand(life, hand, |h| h.running += 1);
    }

    fn verb(&mut self, life: u64, hand: u64, verb: Verb) {
        self.runs(life, hand);
        let ms = self.chance.store.delay(if self.chance.net.happens(self.faults.delay) { 2_000 } else { 20 });
        self.after(ms, Act::Store(life, hand, verb));
    }

    fn wake_at(&mut self, life: u64, hand: u64, at: Millis) {
        let token = self.number();
        self.hand(life, hand, |h| h.wake = token);
        let rest = at.since(self.store_now().at);
        if at < Millis::MAX {
            self.after(rest, Act::Inside(life, Step::Wake { hand, token }));
        }
    }
}
