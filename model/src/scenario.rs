//! The tiny worlds: one for each class of target, with terms for the kernel and what the world really does.
//!
//! Invariant: with all rules on, the world keeps the assumptions of `docs/guarantees.md` to the tick: pause after the
//! last check ≤ time-out, life on the wire + read lag ≤ settle, the key is honoured for its window less the margin.

use crate::world::Luck;
use semel_kernel::{
    hash::Hash,
    id::{BadId, ToolName},
    terms::{Effect, ProbeTerms, RetryTerms, Terms},
};

/// Milliseconds of a tick: the margin of a key's window is at least a minute.
pub const TICK_MS: i64 = 60_000;
/// Until this tick a process may be stopped, a claim and a person's answer may take their time. Every wait of the kernel
/// and every window of these worlds is over by then.
pub const LAZY_UNTIL: u8 = 7;
/// Ticks that a lease lasts after its renewal; a session that runs renews it with every tick.
pub const LEASE: u8 = 1;

/// A world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// What it is called.
    pub name: &'static str,
    /// The class that its contract declares.
    pub effect: Effect,
    /// It can be asked.
    pub probed: bool,
    /// Its deduplication looks the key up and writes in one act.
    pub atomic: bool,
    /// Ticks an attempt may take after `send_by`.
    pub timeout: u8,
    /// Ticks that `settle` is declared with.
    pub settle: u8,
    /// Ticks that the key is promised for.
    pub window: u8,
    /// Attempts in all.
    pub attempts: u32,
    /// Ticks that a process may be stopped between the last check and the write, beyond `send_by`.
    pub slip: u8,
    /// Ticks that a request lives on the wire and inside the target.
    pub life: u8,
    /// Ticks after which an effect is seen by every look-up.
    pub lag: u8,
    /// Ticks that the target forgets a key too early.
    pub drift: u8,
    /// What may go wrong.
    pub luck: Luck,
}

/// Crashes, stops, losses and refusals in one run.
pub const MISHAPS: u8 = 2;

const CALM: Luck = Luck {
    mishaps: MISHAPS,
    crashes: 2,
    pauses: 1,
    breaks: 2,
    refusals: 0,
    unclear: 0,
    colleague: 0,
    steals: 0,
    answers: 0,
};

const BASE: Scenario = Scenario {
    name: "",
    effect: Effect::Blind,
    probed: false,
    atomic: true,
    timeout: 1,
    settle: 1,
    window: 0,
    attempts: 2,
    slip: 1,
    life: 1,
    lag: 1,
    drift: 0,
    luck: CALM,
};

/// No key; it can be asked, and shows an effect after a tick.
pub const QUERYABLE: Scenario = Scenario {
    name: "queryable",
    effect: Effect::Queryable,
    probed: true,
    settle: 2,
    luck: Luck { refusals: 1, unclear: 2, ..CALM },
    ..BASE
};

/// Honours a key, in one act, a tick less long than it promises.
pub const KEYED: Scenario = Scenario {
    name: "keyed",
    effect: Effect::Keyed,
    window: 6,
    drift: 1,
    luck: Luck { refusals: 1, ..CALM },
    ..BASE
};

/// Looks its key up before it writes, so that two requests at the same time are both applied.
pub const CHECK_THEN_WRITE: Scenario = Scenario {
    name: "keyed, looks up before it writes",
    effect: Effect::Keyed,
    atomic: false,
    timeout: 2,
    slip: 0,
    window: 8,
    drift: 1,
    ..BASE
};

/// Honours a key and can be asked, too.
pub const KEYED_PROBED: Scenario = Scenario {
    name: "keyed and queryable",
    effect: Effect::Keyed,
    probed: true,
    settle: 2,
    window: 7,
    drift: 1,
    ..BASE
};

/// Neither; a person looks at the target himself and answers truly.
pub const BLIND: Scenario =
    Scenario { name: "blind", slip: 0, luck: Luck { refusals: 1, answers: 1, ..CALM }, ..BASE };

/// Setting it twice is harmless, setting it over a colleague's newer state is not.
pub const NATURAL: Scenario = Scenario {
    name: "natural",
    effect: Effect::Natural,
    probed: true,
    settle: 2,
    luck: Luck { colleague: 1, pauses: 0, ..CALM },
    ..BASE
};

/// All of them, with every assumption kept.
pub const ALL: [Scenario; 6] = [QUERYABLE, KEYED, CHECK_THEN_WRITE, KEYED_PROBED, BLIND, NATURAL];

/// Assumptions that do not hold, with all rules on: what each is worth.
pub const BEYOND: [(&str, Scenario); 4] = [
    (
        "a process is stopped between the last check and the write for longer than the time-out",
        Scenario { slip: 2, ..QUERYABLE },
    ),
    ("`settle` is declared shorter than read lag and life on the wire", Scenario { life: 2, ..QUERYABLE }),
    ("the target forgets a key earlier than the margin allows", Scenario { drift: 2, ..KEYED }),
    (
        "a target that looks its key up before it writes, and a request that lives longer than the time-out, though \
         within `settle`",
        Scenario { atomic: false, slip: 0, life: 2, settle: 3, window: 9, ..KEYED_PROBED },
    ),
];

impl Scenario {
    /// The terms that the kernel is given.
    ///
    /// # Errors
    /// Never: the tool's name is a constant.
    pub fn terms(&self) -> Result<Terms, BadId> {
        let mut terms = Terms::new(ToolName::parse("act")?, Hash::of(b"contract"));
        let settle_ms = ms(self.settle);
        terms.effect = self.effect;
        terms.timeout_ms = ms(self.timeout);
        terms.send_within_ms = TICK_MS;
        terms.clock_error_ms = 0;
        terms.dedupe_atomic = self.atomic;
        terms.key_window_ms = (self.effect == Effect::Keyed).then_some(ms(self.window));
        terms.retry = RetryTerms { max: self.attempts, wait_ms: 0, cap_ms: 0, jitter: false };
        terms.probe = self.probed.then_some(ProbeTerms {
            settle_ms,
            poll_ms: TICK_MS,
            poll_cap_ms: 2 * TICK_MS,
            for_ms: 4 * TICK_MS,
            max: 2,
        });
        Ok(terms)
    }
}

/// Ticks in milliseconds.
#[must_use]
pub fn ms(ticks: u8) -> i64 {
    i64::from(ticks) * TICK_MS
}
