//! The game: what can happen next, and what must never be.

use crate::worker::fail;
use crate::{
    check::Model,
    ledger::{Broken, Ledger},
    rule::{Off, Rule},
    scenario::{LAZY_UNTIL, LEASE, Scenario},
    world::{NOBODY, Slot, Store, Target, Worker, World},
};
use semel_kernel::terms::Effect;

/// A scenario with some rules switched off.
pub struct Game {
    /// The tiny world.
    pub scenario: Scenario,
    /// Rules that are off.
    pub off: Off,
    /// The only property that is looked at, where not all are.
    pub watched: Option<&'static str>,
    /// The tasks.
    pub ledger: Ledger,
}

/// An effect too many.
pub const ONCE: &str = "at most one effect";
/// COMMITTED without an effect.
pub const TRUE: &str = "COMMITTED means that the effect is there";
/// FAILED with an effect.
pub const NOT_FAILED: &str = "FAILED means that the effect is not there";
/// An end in doubt, with nobody asked.
pub const NOT_ENDED: &str = "what is unknown does not end unless a person is asked";
/// What was heard is lost.
pub const KEPT: &str = "what was heard is on record";
/// A colleague's newer state is overwritten.
pub const THEIRS: &str = "what a colleague had set is not overwritten by a repeat";
/// The kernel's own laws.
pub const LAWS: &str = "the laws of the kernel hold";

impl Game {
    /// A game.
    ///
    /// # Errors
    /// When the kernel refuses the plan.
    pub fn new(mut scenario: Scenario, off: Off) -> Result<Self, Broken> {
        scenario.luck.steals = if off.has(Rule::Lease) { scenario.luck.mishaps } else { 0 };
        Ok(Self { scenario, off, watched: None, ledger: Ledger::new(&scenario, off)? })
    }

    pub(crate) const fn is_off(&self, rule: Rule) -> bool {
        self.off.has(rule)
    }

    /// The task has ended, or a person is asked.
    fn is_answered(&self, world: &World) -> bool {
        let known = self.ledger.known(world.store.task);
        known.ended || known.review
    }

    /// Time passes, and every session that runs renews its lease. A process that runs does at once what it can do: to be
    /// slow is to be stopped. What is on the wire takes its time.
    fn tick(&self, world: &World, urgent: bool, into: &mut Vec<World>) {
        let known = self.ledger.known(world.store.task);
        let waits_for_person = known.review && world.luck.answers > 0 && world.now < LAZY_UNTIL;
        let over = self.is_answered(world) && !waits_for_person && !world.has_loose_ends();
        if urgent || over || world.now >= LAST || !self.may_pass(world) {
            return;
        }
        let mut after = *world;
        after.now += 1;
        let owner = after.workers.get(usize::from(after.store.owner));
        if owner.is_some_and(|w| !w.paused && w.generation == after.store.generation) {
            after.store.lease = after.now + LEASE;
        }
        into.push(after);
    }

    /// The assumptions: a request has its effect within its life, and no process is stopped between the last check and
    /// the write for longer than the slip.
    fn may_pass(&self, world: &World) -> bool {
        let late = |s: &Slot| match s {
            Slot::Flying(r) | Slot::Inside(r) => r.until <= world.now,
            // A process that runs hears an answer within a tick, if it is not lost.
            Slot::Answer(r, _) => {
                let runs = world.workers.get(usize::from(r.listener)).is_some_and(|w| !w.paused);
                runs && r.until <= world.now
            }
            Slot::Empty => false,
        };
        let slips = |w: &Worker| {
            w.permit.is_some_and(|p| p.checked && world.now >= p.send_by.saturating_add(self.scenario.slip))
        };
        let waits = |w: &Worker| !w.paused && w.look.is_some_and(|(_, at, _)| world.now > at);
        !world.wire.iter().any(late) && !world.workers.iter().any(slips) && !world.workers.iter().any(waits)
    }

    /// A person looks at the target, sees what is there now, and says so.
    fn person(&mut self, world: &World, into: &mut Vec<World>) {
        if world.luck.answers == 0 || !self.ledger.known(world.store.task).review {
            return;
        }
        let happened = world.target.effects > 0;
        if let Some(task) = self.ledger.person(world.store.task, happened, world.now) {
            let mut after = *world;
            after.store.task = task;
            after.luck.answers -= 1;
            into.push(after);
        }
    }
}

/// No clock goes further. A state from which only later moments would help would be reported as stuck.
const LAST: u8 = 60;

impl Model for Game {
    type State = World;

    fn initial(&mut self) -> World {
        let mut workers = [Worker::default(); 2];
        if let Some(first) = workers.first_mut() {
            first.generation = 1;
        }
        World {
            now: 0,
            store: Store { task: 0, generation: 1, owner: 0, lease: LEASE },
            workers,
            wire: [Slot::Empty; crate::world::SLOTS],
            target: Target::default(),
            luck: self.scenario.luck,
            told: false,
        }
    }

    fn next(&mut self, world: &World, into: &mut Vec<World>) {
        for w in 0..crate::world::WORKERS {
            self.work(world, w, into);
        }
        let urgent = !into.is_empty();
        let before = into.len();
        for w in 0..crate::world::WORKERS {
            self.resume(world, w, into);
        }
        self.claim(world, into);
        self.person(world, into);
        let waits = into.len() > before && world.now >= LAZY_UNTIL;
        let over = self.is_answered(world) && world.luck.answers == 0 && !world.has_loose_ends();
        if !over {
            fail(world, into);
        }
        // What processes do with the store and what happens on the wire do not touch each other, so one order of them
        // stands for all; only a question reads the target, and is put among its events.
        if urgent && world.workers.iter().all(|w| w.asks.is_none()) {
            return;
        }
        for w in 0..crate::world::WORKERS {
            self.hear(world, w, into);
        }
        self.arrive(world, into);
        if !over {
            self.fail_outside(world, into);
        }
        self.tick(world, urgent || waits, into);
    }

    fn broken(&self, world: &World) -> Option<&'static str> {
        let known = self.ledger.known(world.store.task);
        let effects = world.target.effects;
        let natural = self.scenario.effect == Effect::Natural;
        let properties = [
            (LAWS, known.law.is_none()),
            (THEIRS, !world.target.overwritten),
            (ONCE, natural || effects <= 1),
            (TRUE, !known.committed || effects > 0),
            (NOT_FAILED, !known.failed || effects == 0),
            (NOT_ENDED, !(known.ended && known.unknown) || known.review),
            (KEPT, !world.told || known.applied),
        ];
        let watched = |name: &str| self.watched.is_none_or(|only| only == name);
        properties.into_iter().find(|(name, holds)| !holds && watched(name)).map(|(name, _)| name)
    }

    fn is_done(&self, world: &World) -> bool {
        self.is_answered(world)
    }
}

/// Everybody that waited for an answer of this worker's connections is gone.
pub(crate) fn hang_up(world: &mut World, worker: usize) {
    for slot in &mut world.wire {
        match slot {
            Slot::Flying(r) | Slot::Inside(r) if usize::from(r.listener) == worker => r.listener = NOBODY,
            Slot::Answer(r, _) if usize::from(r.listener) == worker => *slot = Slot::Empty,
            Slot::Empty | Slot::Flying(_) | Slot::Inside(_) | Slot::Answer(..) => {}
        }
    }
    world.wire.sort_unstable();
}
