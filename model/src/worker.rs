//! The workers: they claim, decide, commit, send, ask and hear, as the engine's machine and driver do.

use crate::{
    game::{Game, hang_up},
    ledger::Made,
    rule::Rule,
    world::{Fact, NOBODY, Permit, Request, Said, Saw, Slot, Turn, Worker, World},
};
use semel_kernel::terms::Effect;

/// Each claim follows a mishap, so this many are never reached.
const GENERATIONS: u8 = 8;

impl Game {
    /// What one worker can do next.
    pub(crate) fn work(&mut self, world: &World, w: usize, into: &mut Vec<World>) {
        let Some(worker) = world.workers.get(w).copied() else { return };
        if worker.paused {
            return;
        }
        if worker.permit.is_some() && (worker.turn.is_none() || self.is_off(Rule::DurableFirst)) {
            into.push(self.send(world, w));
        }
        if worker.turn.is_some() {
            into.push(self.commit(world, w));
            return;
        }
        if worker.asks.is_some() {
            self.ask(world, w, into);
            return;
        }
        if worker.generation > 0 {
            self.look_around(world, w, into);
        }
    }

    /// An owner reads the task again when somebody has written to it, or draws what follows by now.
    fn look_around(&mut self, world: &World, w: usize, into: &mut Vec<World>) {
        let Some(worker) = world.workers.get(w).copied() else { return };
        let mut after = *world;
        if worker.task != world.store.task {
            self.reload(&mut after, w, None);
        } else {
            self.decide(&mut after, w, None);
        }
        if after != *world {
            into.push(after);
        }
    }

    /// Decides a turn on the task as the worker knows it; without anything to record, it asks at once.
    fn decide(&mut self, world: &mut World, w: usize, fact: Option<Fact>) {
        let (now, lease) = (world.now, world.store.lease);
        let Some(worker) = world.workers.get_mut(w) else { return };
        let base = worker.task;
        let Made { next, starts, asks } = self.ledger.turn(base, worker.generation, fact, now, lease);
        let asks = asks.filter(|_| worker.asks.is_none() && worker.look.is_none());
        if next == base {
            worker.asks = worker.asks.or(asks);
            return;
        }
        worker.turn = Some(Turn { base, next, starts, asks, fact });
        if starts > 0 && self.off.has(Rule::DurableFirst) {
            worker.permit = self.permit(next, starts);
        }
    }

    fn permit(&self, task: u32, attempt: u8) -> Option<Permit> {
        self.ledger.known(task).attempts.iter().find(|a| a.attempt == attempt).copied()
    }

    /// The store takes the turn, or says that the task has moved on, or that it has another owner.
    fn commit(&mut self, world: &World, w: usize) -> World {
        let mut after = *world;
        let Some(worker) = after.workers.get_mut(w) else { return after };
        let Some(turn) = worker.turn.take() else { return after };
        if worker.generation != world.store.generation && !self.off.has(Rule::Generation) {
            self.fenced(&mut after, w, turn.fact);
            return after;
        }
        if turn.base != world.store.task && !self.off.has(Rule::Version) {
            self.reload(&mut after, w, turn.fact);
            return after;
        }
        worker.task = turn.next;
        worker.asks = turn.asks;
        if turn.starts > 0 && !self.off.has(Rule::DurableFirst) {
            worker.permit = self.permit(turn.next, turn.starts);
        }
        after.store.task = turn.next;
        after.told |= is_applied(turn.fact);
        after
    }

    fn reload(&mut self, world: &mut World, w: usize, fact: Option<Fact>) {
        let task = world.store.task;
        let Some(worker) = world.workers.get_mut(w) else { return };
        worker.task = task;
        let lost = self.ledger.known(task).generation > worker.generation;
        if lost && !self.off.has(Rule::Generation) {
            self.fenced(world, w, fact);
        } else {
            self.decide(world, w, fact);
        }
    }

    /// Another one owns the task: what this one has heard is filed, and it changes nothing any more.
    fn fenced(&mut self, world: &mut World, w: usize, fact: Option<Fact>) {
        if let Some(worker) = world.workers.get_mut(w) {
            worker.generation = 0;
            worker.task = 0;
            worker.asks = None;
        }
        if let Some(fact) = fact {
            self.file(world, fact);
        }
    }

    fn file(&mut self, world: &mut World, fact: Fact) {
        world.store.task = self.ledger.file(world.store.task, fact, world.now);
        world.told |= is_applied(Some(fact));
    }

    fn heard(&mut self, world: &mut World, w: usize, fact: Fact) {
        if world.workers.get(w).is_some_and(|worker| worker.generation > 0) {
            self.decide(world, w, Some(fact));
        } else {
            self.file(world, fact);
        }
    }

    /// The last check, and the first byte.
    fn send(&mut self, world: &World, w: usize) -> World {
        let mut after = *world;
        let Some(permit) = after.workers.get_mut(w).and_then(|w| w.permit.take()) else { return after };
        let late = world.now.saturating_sub(permit.send_by);
        if late > 0 && !permit.checked && !self.off.has(Rule::SendBy) {
            let fact = Fact::Answer { attempt: permit.attempt, said: Said::NotSent, late: 0 };
            if after.workers.get(w).is_some_and(|w| w.turn.is_none()) {
                self.heard(&mut after, w, fact);
            }
            return after;
        }
        let request = Request {
            attempt: permit.attempt,
            key: permit.key,
            until: world.now.saturating_add(self.scenario.life),
            late,
            looked: self.looked(world, w),
            listener: u8::try_from(w).unwrap_or(NOBODY),
        };
        after.put(Slot::Flying(request));
        after
    }

    /// The look that a request to a natural target rests on; the moment itself where none was made, or none counts.
    fn looked(&self, world: &World, w: usize) -> u8 {
        let natural = self.scenario.effect == Effect::Natural;
        let looked = world.workers.get(w).and_then(|w| w.looked);
        let looked = looked.unwrap_or(world.now);
        if natural { looked } else { 0 }
    }

    /// SIGCONT: one that was stopped between check and write writes at once.
    pub(crate) fn resume(&mut self, world: &World, w: usize, into: &mut Vec<World>) {
        let mut after = *world;
        let Some(worker) = after.workers.get_mut(w).filter(|w| w.paused) else { return };
        worker.paused = false;
        let writes = worker.permit.is_some_and(|p| p.checked);
        into.push(if writes { self.send(&after, w) } else { after });
    }

    /// The question leaves and is read at once; how long the answer takes is another matter.
    fn ask(&self, world: &World, w: usize, into: &mut Vec<World>) {
        let Some(ask) = world.workers.get(w).and_then(|w| w.asks) else { return };
        for saw in self.shows(world, ask) {
            let mut after = *world;
            if saw == Saw::Unclear && world.target.theirs.is_none() {
                after.luck = world.luck.spend(|l| &mut l.unclear).unwrap_or_default();
            }
            if let Some(worker) = after.workers.get_mut(w) {
                worker.asks = None;
                worker.look = Some((ask, world.now, saw));
            }
            into.push(after);
        }
    }

    /// An answer arrives, of the target or of a look-up. Between two turns only, as the machine does.
    pub(crate) fn hear(&mut self, world: &World, w: usize, into: &mut Vec<World>) {
        let listens = world.workers.get(w).is_some_and(|w| !w.paused && w.turn.is_none() && w.asks.is_none());
        if !listens {
            return;
        }
        if let Some((ask, asked_at, saw)) = world.workers.get(w).and_then(|w| w.look) {
            let mut after = *world;
            if let Some(worker) = after.workers.get_mut(w) {
                worker.look = None;
                worker.looked = Some(asked_at).filter(|_| self.scenario.effect == Effect::Natural);
            }
            self.heard(&mut after, w, Fact::Look { ask, asked_at, saw });
            into.push(after);
        }
        for (at, slot) in world.wire.iter().enumerate() {
            let Slot::Answer(request, said) = *slot else { continue };
            if usize::from(request.listener) == w {
                let mut after = *world;
                after.take(at);
                let Request { attempt, late, .. } = request;
                self.heard(&mut after, w, Fact::Answer { attempt, said, late });
                into.push(after);
            }
        }
    }

    /// Another session takes the task when its owner's lease is over. One of them is as good as the other, so the one
    /// that did not own it goes first.
    pub(crate) fn claim(&mut self, world: &World, into: &mut Vec<World>) {
        let lives = self.owner(world).is_some_and(|w| w.generation == world.store.generation && !w.paused);
        let steals = world.now < world.store.lease || lives;
        let luck = if steals { world.luck.spend(|l| &mut l.steals) } else { Some(world.luck) };
        let Some(luck) = luck.filter(|_| world.store.generation < GENERATIONS) else { return };
        let idle = |w: &Worker| !w.paused && w.generation == 0 && w.turn.is_none() && w.permit.is_none();
        let free = |w: &usize| world.workers.get(*w).is_some_and(idle);
        let owner = usize::from(world.store.owner);
        let Some(w) = [1 - owner, owner].into_iter().find(free) else { return };
        if self.ledger.known(world.store.task).ended {
            return;
        }
        let mut after = World { luck, ..*world };
        after.store.generation += 1;
        after.store.owner = u8::try_from(w).unwrap_or(NOBODY);
        after.store.lease = world.now + crate::scenario::LEASE;
        if let Some(worker) = after.workers.get_mut(w) {
            worker.generation = after.store.generation;
            worker.task = after.store.task;
            worker.looked = None;
        }
        self.decide(&mut after, w, None);
        into.push(after);
    }

    fn owner<'a>(&self, world: &'a World) -> Option<&'a Worker> {
        world.workers.get(usize::from(world.store.owner))
    }
}

/// Crashes and stops. A crash with a turn in hand is a crash before that turn was decided.
pub(crate) fn fail(world: &World, into: &mut Vec<World>) {
    for (w, worker) in world.workers.iter().enumerate() {
        let listens = |s: &Slot| match s {
            Slot::Flying(r) | Slot::Inside(r) | Slot::Answer(r, _) => usize::from(r.listener) == w,
            Slot::Empty => false,
        };
        let busy = worker.generation > 0 || worker.permit.is_some() || world.wire.iter().any(listens);
        if !busy {
            continue;
        }
        if worker.turn.is_none() || worker.permit.is_some() {
            into.extend(crashed(world, w));
        }
        into.extend(paused(world, w, false));
        if worker.turn.is_none() && worker.permit.is_some_and(|p| world.now <= p.send_by) {
            into.extend(paused(world, w, true));
        }
    }
}

fn crashed(world: &World, w: usize) -> Option<World> {
    let mut after = *world;
    after.luck = world.luck.spend(|l| &mut l.crashes)?;
    *after.workers.get_mut(w)? = Worker::default();
    hang_up(&mut after, w);
    Some(after)
}

/// Stopped by SIGSTOP, perhaps between the last check and the write.
fn paused(world: &World, w: usize, checked: bool) -> Option<World> {
    let mut after = *world;
    after.luck = world.luck.spend(|l| &mut l.pauses)?;
    let worker = after.workers.get_mut(w).filter(|w| !w.paused)?;
    worker.paused = true;
    if let Some(permit) = &mut worker.permit {
        permit.checked = checked;
    }
    Some(after)
}

const fn is_applied(fact: Option<Fact>) -> bool {
    matches!(fact, Some(Fact::Answer { said: Said::Applied(_) | Said::Replayed(_), .. }))
}
