//! The wire and the target: requests arrive or do not, and what they do there.

use crate::{
    game::Game,
    world::{Ask, NOBODY, Request, Said, Saw, Slot, Target, World},
};
use semel_kernel::terms::Effect;

impl Game {
    /// What can happen to the requests that are under way, and what a colleague can do.
    pub(crate) fn arrive(&self, world: &World, into: &mut Vec<World>) {
        for (at, slot) in world.wire.iter().enumerate() {
            match slot {
                Slot::Flying(request) => self.reach(world, at, *request, into),
                Slot::Inside(request) => into.push(self.write(world, at, *request)),
                Slot::Empty | Slot::Answer(..) => {}
            }
        }
    }

    fn reach(&self, world: &World, at: usize, request: Request, into: &mut Vec<World>) {
        let remembered = self.remembers(&world.target, request.key, world.now);
        if remembered {
            into.push(answered(world, at, request, Said::Replayed(1)));
        } else if self.scenario.effect == Effect::Keyed && !self.scenario.atomic {
            let mut after = *world;
            after.take(at);
            after.put(Slot::Inside(request));
            into.push(after);
        } else {
            into.push(self.write(world, at, request));
        }
        for said in [Said::NotNow, Said::Never] {
            if let Some(luck) = world.luck.spend(|l| &mut l.refusals) {
                into.push(answered(&World { luck, ..*world }, at, request, said));
            }
        }
    }

    fn write(&self, world: &World, at: usize, request: Request) -> World {
        let mut after = *world;
        let target = &mut after.target;
        if self.scenario.effect == Effect::Natural {
            // A colleague's state that every look-up has shown for a while, and that a repeat now sets back.
            let seen = target.theirs.is_some_and(|t| self.seen_before(t, request));
            target.overwritten |= seen;
            target.effects = 1;
            target.theirs = None;
        } else {
            target.effects = target.effects.saturating_add(1);
        }
        target.at = world.now;
        let key = usize::from(request.key);
        if let (Effect::Keyed, Some(seen)) = (self.scenario.effect, target.keys.get_mut(key)) {
            *seen = Some(world.now);
        }
        let effect = after.target.effects;
        answered(&after, at, request, Said::Applied(effect))
    }

    /// A colleague's change could be seen when this repeat was decided.
    fn seen_before(&self, changed: u8, request: Request) -> bool {
        request.attempt > 1 && changed.saturating_add(self.scenario.lag) <= request.looked
    }

    /// The target honours the key still; at the end of its window it forgets it, a little too early.
    fn remembers(&self, target: &Target, key: u8, now: u8) -> bool {
        let honoured = self.scenario.window.saturating_sub(self.scenario.drift);
        let seen = target.keys.get(usize::from(key)).copied().flatten();
        self.scenario.effect == Effect::Keyed && seen.is_some_and(|at| now <= at.saturating_add(honoured))
    }

    /// What a look-up can show now. What is younger than the read lag may be seen or not.
    pub(crate) fn shows(&self, world: &World, ask: Ask) -> Vec<Saw> {
        let target = &world.target;
        let fresh = |at: u8| world.now < at.saturating_add(self.scenario.lag);
        let mut seen = Vec::new();
        if let Some(at) = target.theirs {
            seen.push(Saw::Unclear);
            if fresh(at) {
                seen.push(if target.effects > 0 { Saw::There } else { Saw::Absent });
            }
            return seen;
        }
        if target.effects > 0 {
            seen.push(Saw::There);
        }
        if target.effects == 0 || fresh(target.at) {
            seen.push(Saw::Absent);
        }
        if ask == Ask::Probe && world.luck.spend(|l| &mut l.unclear).is_some() {
            seen.push(Saw::Unclear);
        }
        seen
    }

    /// What goes wrong on the wire, and what a colleague does.
    pub(crate) fn fail_outside(&self, world: &World, into: &mut Vec<World>) {
        if let Some(luck) = world.luck.spend(|l| &mut l.breaks) {
            let worse = World { luck, ..*world };
            for (at, slot) in world.wire.iter().enumerate() {
                into.extend(lost(&worse, at, *slot));
            }
        }
        if world.luck.colleague > 0 && world.target.effects > 0 && world.target.theirs.is_none() {
            let mut after = *world;
            after.target.theirs = Some(world.now);
            after.luck.colleague -= 1;
            into.push(after);
        }
    }
}

/// A request or an answer is lost, unheard; or the connection breaks, the worker hears that, and the request goes on.
fn lost(world: &World, at: usize, slot: Slot) -> Vec<World> {
    let mut gone = *world;
    gone.take(at);
    let orphan = |r: Request| Request { listener: NOBODY, ..r };
    let goes_on = match slot {
        Slot::Empty => return Vec::new(),
        Slot::Answer(..) => return vec![gone],
        Slot::Flying(request) => Slot::Flying(orphan(request)),
        Slot::Inside(request) => Slot::Inside(orphan(request)),
    };
    let (Slot::Flying(request) | Slot::Inside(request)) = slot else { return Vec::new() };
    let mut told = gone;
    told.put(goes_on);
    told.put(Slot::Answer(request, Said::Lost));
    let drops = matches!(slot, Slot::Flying(_)).then_some(gone);
    let breaks = (request.listener != NOBODY).then_some(told);
    drops.into_iter().chain(breaks).collect()
}

/// The request has done what it does; if somebody listens, the answer is on its way.
fn answered(world: &World, at: usize, request: Request, said: Said) -> World {
    let mut after = *world;
    after.take(at);
    if request.listener != NOBODY {
        let until = world.now.saturating_add(1);
        after.put(Slot::Answer(Request { until, ..request }, said));
    }
    after
}
