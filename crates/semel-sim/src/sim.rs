//! One run: a queue of what happens next, in the order of true time; ties by the order in which they were put there.
//!
//! Invariant: everything that happens is a function of the knobs. No clock is read, no thread runs, nothing iterates
//! over a hash table.

use crate::{
    chance::Chance,
    check::{Check, Checks, Violation},
    control::Control,
    cover::Cover,
    life::{Life, Step},
    people::Order,
    plans,
    swarm::{Faults, Knobs},
    verb::{Amend, Verb},
    wire::{OpenAsk, OpenCall, Parcel},
    world::World,
};
use semel_kernel::time::{Millis, Now};
use semel_ports::mem::MemStore;
use std::{collections::BTreeMap, panic, sync::Arc};

/// Store time at the beginning.
const EPOCH_MS: i64 = 1_700_000_000_000;
/// Milliseconds within which everything must have ended once nothing goes wrong any more.
const LIVE_MS: i64 = 12 * 3_600_000;
/// Acts after which a run is taken to go round in circles.
const MOST_ACTS: u64 = 100_000;

/// What happens next.
#[derive(Debug)]
pub(crate) enum Act {
    /// Something inside a process; void when that life is over, and late when it is stopped.
    Inside(u64, Step),
    /// A verb reaches the store, from a life's hand.
    Store(u64, u64, Verb),
    /// Somebody who is not the owner writes to a task.
    Amend(Amend),
    /// A request or a look-up moves on.
    Parcel(Parcel),
    /// A process starts in that seat.
    Boot(usize),
    /// The machine loses power and boots anew.
    Reboot,
    /// Some process is asked to leave in good order.
    Deploy,
    /// The store cannot be written for so many milliseconds.
    Outage(i64),
    /// A submission.
    Submit(u32),
    /// A person does something.
    Person(Order),
    /// Everything is mended; from here on all must come to an end.
    Heal,
    /// Reviews are answered, and the end is looked for.
    Tend,
}

/// Chance, a stream for each part.
pub(crate) struct Streams {
    pub(crate) time: Chance,
    pub(crate) crash: Chance,
    pub(crate) net: Chance,
    pub(crate) store: Chance,
    pub(crate) people: Chance,
}

/// The store's clock, as `semel-store-sqlite` keeps it: steady under one boot, doubtful after the next.
pub(crate) struct StoreClock {
    pub(crate) offset_ms: i64,
    pub(crate) steady_since: Millis,
    pub(crate) void_before: Millis,
}

/// One run.
pub struct Sim {
    pub(crate) knobs: Knobs,
    pub(crate) control: Option<Control>,
    pub(crate) faults: Faults,
    pub(crate) now: i64,
    pub(crate) chance: Streams,
    pub(crate) clock: StoreClock,
    pub(crate) store: Arc<MemStore>,
    pub(crate) kept: Option<MemStore>,
    pub(crate) world: World,
    pub(crate) lives: BTreeMap<u64, Life>,
    pub(crate) seats: Vec<Option<u64>>,
    pub(crate) calls: BTreeMap<u64, OpenCall>,
    pub(crate) asks: BTreeMap<u64, OpenAsk>,
    pub(crate) outage_until: i64,
    pub(crate) healed_at: Option<i64>,
    pub(crate) checks: Checks,
    pub(crate) cover: Cover,
    queue: BTreeMap<(i64, u64), Act>,
    serial: u64,
    acts: u64,
    log: Option<String>,
    done: bool,
}

/// How a run came out.
#[derive(Debug)]
pub struct Verdict {
    /// The first rule that was broken, if one was.
    pub violation: Option<Violation>,
    /// What was met.
    pub cover: Cover,
    /// Things that happened.
    pub acts: u64,
    /// The history, if it was asked for.
    pub log: Option<String>,
}

/// Runs the knobs to their end; with `log`, the history is written down.
#[must_use]
pub fn run(knobs: &Knobs, control: Option<Control>, log: bool) -> Verdict {
    // A panic is a broken rule of its seed, or the run would vanish from the count.
    panic::catch_unwind(|| run_to_its_end(knobs, control, log)).unwrap_or_else(|cause| {
        let said = cause.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("a panic without words");
        let violation = Violation { check: Check::Sound, what: said.to_owned(), at: 0 };
        Verdict { violation: Some(violation), cover: Cover::default(), acts: 0, log: None }
    })
}

fn run_to_its_end(knobs: &Knobs, control: Option<Control>, log: bool) -> Verdict {
    let mut sim = Sim::new(knobs.clone(), control, log);
    sim.prepare();
    while !sim.done && sim.checks.violation.is_none() {
        sim.step();
    }
    if sim.checks.violation.is_none() {
        sim.checks.at_the_end(&sim.world, &sim.store);
    }
    sim.tell_violation();
    Verdict { violation: sim.checks.violation, cover: sim.cover, acts: sim.acts, log: sim.log }
}

impl Sim {
    fn new(knobs: Knobs, control: Option<Control>, log: bool) -> Self {
        let seed = knobs.seed;
        let chance = Streams {
            time: Chance::of(seed, "time"),
            crash: Chance::of(seed, "crash"),
            net: Chance::of(seed, "net"),
            store: Chance::of(seed, "store"),
            people: Chance::of(seed, "people"),
        };
        let faults = knobs.faults.clone();
        let world = World::new(Chance::of(seed, "world"), faults.clone());
        let clock = StoreClock { offset_ms: EPOCH_MS, steady_since: Millis::MIN, void_before: Millis::MIN };
        Self {
            faults,
            now: 0,
            chance,
            clock,
            store: Arc::new(MemStore::new(EPOCH_MS)),
            kept: None,
            world,
            lives: BTreeMap::new(),
            seats: vec![None; knobs.workers as usize],
            calls: BTreeMap::new(),
            asks: BTreeMap::new(),
            outage_until: 0,
            healed_at: None,
            checks: Checks::new(control),
            cover: Cover::default(),
            queue: BTreeMap::new(),
            serial: 0,
            acts: 0,
            log: log.then(String::new),
            done: false,
            knobs,
            control,
        }
    }

    /// Puts down what happens by itself.
    fn prepare(&mut self) {
        for document in plans::all() {
            self.keep_plan(document);
        }
        for seat in 0..self.seats.len() {
            let at = self.chance.time.between(0, 500);
            self.after(at, Act::Boot(seat));
        }
        let horizon = self.knobs.horizon_ms;
        for n in 0..self.knobs.submits {
            self.sometime(horizon / 2, Act::Submit(n));
        }
        for _ in 0..self.knobs.resubmits {
            let n = self.chance.people.between(0, i64::from(self.knobs.submits) - 1);
            self.sometime(horizon, Act::Submit(u32::try_from(n).unwrap_or(0)));
        }
        for _ in 0..self.knobs.orders {
            self.sometime(horizon, Act::Person(Order::Something));
        }
        for _ in 0..self.knobs.meddling {
            self.sometime(horizon, Act::Person(Order::Meddle));
        }
        for _ in 0..self.knobs.outages {
            let ms = self.chance.store.between(100, 60_000);
            self.sometime(horizon, Act::Outage(ms));
        }
        for _ in 0..self.knobs.deploys {
            self.sometime(horizon, Act::Deploy);
        }
        for _ in 0..self.knobs.reboots {
            self.sometime(horizon, Act::Reboot);
        }
        self.after(horizon, Act::Heal);
    }

    fn sometime(&mut self, within: i64, act: Act) {
        let at = self.chance.people.between(0, within);
        self.after(at, act);
    }

    /// Puts something down for later.
    pub(crate) fn after(&mut self, ms: i64, act: Act) {
        self.serial += 1;
        self.queue.insert((self.now + ms.max(0), self.serial), act);
    }

    /// A number that was not used before.
    pub(crate) fn number(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    fn step(&mut self) {
        let Some(((at, _), act)) = self.queue.pop_first() else {
            self.done = true;
            return;
        };
        self.now = at;
        self.acts += 1;
        self.store.set_now(self.store_now());
        self.carry_out(act);
        self.watch_the_budget();
    }

    fn carry_out(&mut self, act: Act) {
        match act {
            Act::Inside(life, step) => self.inside(life, step),
            Act::Store(life, hand, verb) => self.reaches_store(life, hand, verb),
            Act::Amend(amend) => self.amends(amend),
            Act::Parcel(parcel) => self.moves_on(parcel),
            Act::Boot(seat) => self.boot(seat),
            Act::Reboot => self.reboot(),
            Act::Deploy => self.deploys(),
            Act::Outage(ms) => self.outage(ms),
            Act::Submit(n) => self.submits(n),
            Act::Person(order) => self.acts_by_person(order),
            Act::Heal => self.heal(),
            Act::Tend => self.tend(),
        }
    }

    fn watch_the_budget(&mut self) {
        let late = self.healed_at.is_some_and(|at| self.now - at > LIVE_MS);
        if late || self.acts > MOST_ACTS {
            let open = self.checks.open_tasks();
            self.checks.not_live(self.now, &open, self.acts);
        }
    }

    /// Store time.
    pub(crate) fn store_now(&self) -> Now {
        Now {
            at: Millis(self.now + self.clock.offset_ms),
            steady_since: self.clock.steady_since,
            windows_void_before: self.clock.void_before,
        }
    }

    fn outage(&mut self, ms: i64) {
        if self.healed_at.is_none() {
            self.outage_until = self.now + ms;
            self.cover.mark("fault: store cannot be written");
            self.note(|| format!("the store cannot be written for {ms} ms"));
        }
    }

    /// Nothing goes wrong from here on: whatever is open must come to an end by itself or by a person's answer.
    fn heal(&mut self) {
        self.note(|| "everything is mended".to_owned());
        self.healed_at = Some(self.now);
        self.faults = Faults::default();
        self.world.heal();
        self.outage_until = 0;
        self.after(20_000, Act::Tend);
    }

    /// Looks whether all is done, and answers what is asked.
    fn tend(&mut self) {
        if self.checks.all_done(self.knobs.submits) && self.calls.is_empty() {
            self.done = true;
            return;
        }
        self.checks.says_who_is_waited_for(self.now, &self.store);
        self.answer_reviews();
        self.after(20_000, Act::Tend);
    }

    /// Writes a line of the history.
    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            let (s, ms) = (self.now / 1_000, self.now % 1_000);
            log.push_str(&format!("{s:>6}.{ms:03}  {}\n", line()));
        }
    }

    fn tell_violation(&mut self) {
        if let Some(found) = self.checks.violation.clone() {
            self.note(|| format!("BROKEN {}: {}", found.check.word(), found.what));
        }
    }
}
