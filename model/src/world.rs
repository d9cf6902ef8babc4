//! The world: a clock of ticks, two workers, a wire and a target. The task itself is the kernel's own, by number.

/// Two workers are enough for every race that the engine knows: an owner and the one that takes over.
pub const WORKERS: usize = 2;
/// Physical requests under way at the same time.
pub const SLOTS: usize = 4;
/// Keys that differ: the operation's own, and one for each attempt where that rule is switched off.
pub const KEYS: usize = 5;

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Said {
    /// The effect is there; with its number, so that a second one is another.
    Applied(u8),
    /// The answer of an earlier request under the same key.
    Replayed(u8),
    /// Refused without effect; the retry may pass.
    NotNow,
    /// Refused without effect, for good.
    Never,
    /// The connection broke after bytes had left.
    Lost,
    /// No byte left.
    NotSent,
}

/// What a look-up found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Saw {
    /// Our effect, once.
    There,
    /// Nothing.
    Absent,
    /// Something that is not ours, or no answer.
    Unclear,
}

/// A question to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ask {
    /// Its state before the first send.
    Before,
    /// Whether it happened.
    Probe,
}

/// What a worker has heard, and still has to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fact {
    /// An attempt has ended.
    Answer {
        /// Which.
        attempt: u8,
        /// How.
        said: Said,
        /// Ticks that its first byte left after `send_by`.
        late: u8,
    },
    /// The target was asked.
    Look {
        /// Which question.
        ask: Ask,
        /// When the question left.
        asked_at: u8,
        /// What it found.
        saw: Saw,
    },
}

/// A turn that is decided and not yet durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Turn {
    /// The task it was decided on.
    pub base: u32,
    /// The task as it will be.
    pub next: u32,
    /// The attempt that may leave once it is durable; 0 for none.
    pub starts: u8,
    /// What the target is asked once it is durable.
    pub asks: Option<Ask>,
    /// What it records.
    pub fact: Option<Fact>,
}

/// The right to send one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Permit {
    /// Its number.
    pub attempt: u8,
    /// The first byte leaves at or before this tick, or never.
    pub send_by: u8,
    /// Which key.
    pub key: u8,
    /// The check has passed and the process was stopped before the write.
    pub checked: bool,
}

/// One process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Worker {
    /// Stopped by SIGSTOP.
    pub paused: bool,
    /// Under which it owns the task, as it believes; 0 when it owns none.
    pub generation: u8,
    /// The task as it knows it.
    pub task: u32,
    /// Decided, not yet durable.
    pub turn: Option<Turn>,
    /// Durable, not yet sent.
    pub permit: Option<Permit>,
    /// It is going to ask the target.
    pub asks: Option<Ask>,
    /// A question was answered: which one, when it left, what was found; on its way to the worker.
    pub look: Option<(Ask, u8, Saw)>,
    /// When the look was taken on which it acts; kept for natural targets only.
    pub looked: Option<u8>,
}

/// The durable store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Store {
    /// The task.
    pub task: u32,
    /// The last generation that was given out.
    pub generation: u8,
    /// Who claimed it last.
    pub owner: u8,
    /// The lease of that session lasts until then.
    pub lease: u8,
}

/// A request on its way, or its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Request {
    /// The attempt it belongs to.
    pub attempt: u8,
    /// Its key.
    pub key: u8,
    /// It has its effect by then, or never.
    pub until: u8,
    /// Ticks that it left after `send_by`.
    pub late: u8,
    /// For a natural target: when it was looked at last before this left.
    pub looked: u8,
    /// The worker that waits for the answer; [`NOBODY`] when none does.
    pub listener: u8,
}

/// Nobody listens any more.
pub const NOBODY: u8 = 9;

/// One place on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// Free.
    #[default]
    Empty,
    /// On its way to the target.
    Flying(Request),
    /// The target has looked its key up and found nothing, and has not written yet.
    Inside(Request),
    /// The answer is on its way back.
    Answer(Request, Said),
}

/// The target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Target {
    /// Effects, counted where they happen.
    pub effects: u8,
    /// When the last of them happened.
    pub at: u8,
    /// When each key was written first.
    pub keys: [Option<u8>; KEYS],
    /// A colleague has set the state to something else, then.
    pub theirs: Option<u8>,
    /// What a colleague had set, and what we could have seen, was overwritten.
    pub overwritten: bool,
}

/// What may still go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Luck {
    /// Of crashes, stops, breaks and refusals together.
    pub mishaps: u8,
    /// Crashes.
    pub crashes: u8,
    /// SIGSTOPs.
    pub pauses: u8,
    /// Requests and answers that are lost, with or without the worker being told.
    pub breaks: u8,
    /// Refusals.
    pub refusals: u8,
    /// Look-ups without an answer.
    pub unclear: u8,
    /// Changes by a colleague.
    pub colleague: u8,
    /// Claims of a task whose owner is well: only where the lease is off.
    pub steals: u8,
    /// Answers of a person.
    pub answers: u8,
}

impl Luck {
    /// One of them less, and one mishap less; `None` when none is left.
    #[must_use]
    pub fn spend(mut self, of: fn(&mut Self) -> &mut u8) -> Option<Self> {
        self.mishaps = self.mishaps.checked_sub(1)?;
        let left = of(&mut self).checked_sub(1)?;
        *of(&mut self) = left;
        Some(self)
    }
}

/// A state of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// Store time, in ticks.
    pub now: u8,
    /// The store.
    pub store: Store,
    /// The processes.
    pub workers: [Worker; WORKERS],
    /// The wire.
    pub wire: [Slot; SLOTS],
    /// The target.
    pub target: Target,
    /// What may still go wrong.
    pub luck: Luck,
    /// A worker has heard, and had the time to record, that it is applied.
    pub told: bool,
}

impl World {
    /// A request still may have its effect, or somebody still may send or record one.
    #[must_use]
    pub fn has_loose_ends(&self) -> bool {
        let busy = |w: &Worker| w.turn.is_some() || w.permit.is_some();
        let flies = |s: &Slot| matches!(s, Slot::Flying(_) | Slot::Inside(_));
        self.workers.iter().any(busy) || self.wire.iter().any(flies)
    }

    /// Puts a request on the wire; `false` when it is full, which the bounds of the scenarios exclude.
    pub fn put(&mut self, slot: Slot) -> bool {
        let Some(free) = self.wire.iter_mut().find(|s| **s == Slot::Empty) else { return false };
        *free = slot;
        self.wire.sort_unstable();
        true
    }

    /// Takes a place off the wire; the others are kept in order, so that equal worlds look equal.
    pub fn take(&mut self, at: usize) {
        if let Some(slot) = self.wire.get_mut(at) {
            *slot = Slot::Empty;
        }
        self.wire.sort_unstable();
    }
}
