//! The failure window of one operation, drawn as a rail: `L0● ①▨ ②▨ ③▨ ④▨ ⑤▨ ⑥▨ ⑦✕ L8✕`.
//!
//! A station is proven when any attempt or evidence proves it, proven not when every attempt does, and open otherwise
//! (DESIGN section 4). After a dead owner nothing past L0 is proven, not even that no answer was heard.
//!
//! Invariant: the rail never claims more than the table of DESIGN section 4 lets it; signs, not colours, carry it.

use semel_kernel::{
    event::Proof,
    operation::{Attempt, AttemptState, Evidence, Operation},
    outcome::{Finding, Outcome, Source, UnknownCause},
    step::StepState,
    task::Task,
};
use serde::{Serialize, Serializer};
use std::fmt;

/// What is known of a station. Signs carry it, words say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// It is proven to have happened.
    Proven,
    /// It is proven not to have happened.
    ProvenNot,
    /// Nothing is proven.
    Open,
}

impl Mark {
    /// The sign that is drawn.
    #[must_use]
    pub const fn sign(self) -> char {
        match self {
            Self::Proven => '●',
            Self::ProvenNot => '✕',
            Self::Open => '▨',
        }
    }

    /// The word that says it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::ProvenNot => "proven not",
            Self::Open => "open",
        }
    }
}

/// The stations in order: their signs and what happens there.
pub const STATIONS: [(&str, &str); 9] = [
    ("L0", "our intent is recorded"),
    ("①", "the request reached the target"),
    ("②", "the target accepted it"),
    ("③", "the write began"),
    ("④", "the write committed"),
    ("⑤", "the target stored its answer"),
    ("⑥", "the target sent its answer"),
    ("⑦", "we heard the answer"),
    ("L8", "our record of the outcome is durable"),
];

const L0: usize = 0;
const REACHED: usize = 1;
const ACCEPTED: usize = 2;
const BEGAN: usize = 3;
const COMMITTED: usize = 4;
const SENT: usize = 6;
const HEARD: usize = 7;
const L8: usize = 8;

/// The note that the kernel leaves on an attempt which a settled look-up disproves. A test holds the two together.
const LOOKED_UP: &str = "a look-up after the settled moment found nothing";

const NOTHING_SHOWN: &str = "nothing that was seen speaks of it";

/// The rail of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rail {
    /// L0, ① to ⑦, L8.
    pub marks: [Mark; 9],
    rules: [&'static str; 9],
}

/// A station with its mark and the rule that derived it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Station {
    /// `L0`, `①` … `⑦`, `L8`.
    pub station: &'static str,
    /// What happens there.
    pub name: &'static str,
    /// What is known of it.
    pub mark: Mark,
    /// By which rule.
    pub rule: &'static str,
}

impl Rail {
    /// The rail of an operation of the task.
    #[must_use]
    pub fn of(task: &Task, op: &Operation) -> Self {
        let attempts: Vec<Self> = op.attempts.iter().map(|a| of_attempt(op, a)).collect();
        let mut rail = if attempts.is_empty() { Self::unsent() } else { merged(&attempts) };
        rail.add_probes(op);
        rail.add_proof(op);
        rail.add_contradiction(op);
        rail.add_records(task, op);
        rail
    }

    const fn open() -> Self {
        Self { marks: [Mark::Open; 9], rules: [NOTHING_SHOWN; 9] }
    }

    fn unsent() -> Self {
        let mut rail = Self::open();
        rail.set(REACHED..=HEARD, Mark::ProvenNot, "no attempt is recorded, and nothing leaves unrecorded");
        rail
    }

    fn set(&mut self, stations: std::ops::RangeInclusive<usize>, mark: Mark, rule: &'static str) {
        for at in stations {
            if let (Some(m), Some(r)) = (self.marks.get_mut(at), self.rules.get_mut(at)) {
                (*m, *r) = (mark, rule);
            }
        }
    }

    /// Marks as proven what is not proven already.
    fn prove(&mut self, stations: std::ops::RangeInclusive<usize>, rule: &'static str) {
        for at in stations {
            if self.marks.get(at) != Some(&Mark::Proven) {
                self.set(at..=at, Mark::Proven, rule);
            }
        }
    }

    fn add_probes(&mut self, op: &Operation) {
        if matches!(op.probes.last, Some(Finding::Pending)) {
            self.prove(REACHED..=ACCEPTED, "a look-up found it in progress");
        }
    }

    fn add_proof(&mut self, op: &Operation) {
        let Some(applied) = &op.applied else { return };
        match &applied.proof {
            Proof::Probe if op.attempts.is_empty() => {
                let rule = "the state held before anything was sent; by whose doing is not proven";
                self.set(COMMITTED..=COMMITTED, Mark::Proven, rule);
            }
            Proof::Probe => {
                self.prove(REACHED..=COMMITTED, "a look-up found it once, with our key or reference")
            }
            Proof::Evidence => {
                self.prove(REACHED..=COMMITTED, "an authenticated receipt or a late answer shows it")
            }
            Proof::Person { .. } => {
                self.prove(REACHED..=COMMITTED, "a person says so; weaker than proof from the target");
            }
            Proof::Replay { .. } => {
                self.prove(REACHED..=COMMITTED, "the operation that it repeats is proven")
            }
            Proof::Answer { .. } | Proof::Timer | Proof::Items => {}
        }
    }

    /// While sources contradict each other, none of them proves that nothing was done.
    fn add_contradiction(&mut self, op: &Operation) {
        if op.contradiction.is_none() {
            return;
        }
        for at in ACCEPTED..=COMMITTED {
            if self.marks.get(at) == Some(&Mark::ProvenNot) {
                self.set(at..=at, Mark::Open, "sources contradict each other");
            }
        }
    }

    fn add_records(&mut self, task: &Task, op: &Operation) {
        let (intent, rule) = if op.made() > 0 {
            (Mark::Proven, "STARTED is durable")
        } else if op.attempts.is_empty() {
            (Mark::ProvenNot, "no STARTED is recorded")
        } else {
            (Mark::Open, "the original of this restored store may have recorded it")
        };
        self.set(L0..=L0, intent, rule);
        let state = task.steps.get(&op.step).map_or(StepState::Planned, |s| s.state);
        let (record, rule) = match state {
            StepState::Committed | StepState::Compensated => (Mark::Proven, "COMMITTED is durable"),
            StepState::Failed => (Mark::Proven, "FAILED is durable"),
            StepState::Skipped => (Mark::Proven, "SKIPPED is durable"),
            StepState::Planned | StepState::Started | StepState::Unknown => {
                (Mark::ProvenNot, "no outcome is recorded")
            }
        };
        self.set(L8..=L8, record, rule);
    }

    /// All nine stations: `L0● ①▨ … L8✕`.
    #[must_use]
    pub fn full(&self) -> String {
        let one = |(station, mark): (&(&str, &str), &Mark)| format!("{}{}", station.0, mark.sign());
        STATIONS.iter().zip(&self.marks).map(one).collect::<Vec<_>>().join(" ")
    }

    /// The signs of ① to ⑦ alone, for tables.
    #[must_use]
    pub fn strip(&self) -> String {
        self.marks.iter().skip(REACHED).take(HEARD).map(|m| m.sign()).collect()
    }

    /// The same as [`Rail::why`], with neighbours of one mark and one rule put together.
    #[must_use]
    pub fn reaches(&self) -> Vec<Reach> {
        let stations = self.why();
        let groups = stations.chunk_by(|a, b| a.mark == b.mark && a.rule == b.rule);
        groups.filter_map(reach).collect()
    }

    /// Every station with the rule that derived its mark.
    #[must_use]
    pub fn why(&self) -> [Station; 9] {
        std::array::from_fn(|at| {
            let (station, name) = STATIONS.get(at).copied().unwrap_or_default();
            let mark = self.marks.get(at).copied().unwrap_or(Mark::Open);
            Station { station, name, mark, rule: self.rules.get(at).copied().unwrap_or_default() }
        })
    }
}

/// Neighbouring stations that share a mark and the rule which derived it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// `L0`, `①–⑦`.
    pub stations: String,
    /// What happens there; of several, at the first and at the last.
    pub name: String,
    /// What is known of them.
    pub mark: Mark,
    /// By which rule.
    pub rule: &'static str,
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stations, name, mark, rule } = self;
        write!(f, "{} {stations:<3} {}: {rule} ({name})", mark.sign(), mark.word())
    }
}

impl fmt::Display for Rail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.full())
    }
}

#[derive(Serialize)]
struct Form {
    full: String,
    strip: String,
    stations: [Station; 9],
}

impl Serialize for Rail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Form { full: self.full(), strip: self.strip(), stations: self.why() }.serialize(serializer)
    }
}

fn reach(group: &[Station]) -> Option<Reach> {
    let (first, last) = (group.first()?, group.last()?);
    let pair = |a: &str, b: &str, between: &str| {
        if group.len() == 1 { a.to_owned() } else { format!("{a}{between}{b}") }
    };
    Some(Reach {
        stations: pair(first.station, last.station, "–"),
        name: pair(first.name, last.name, " … "),
        mark: first.mark,
        rule: first.rule,
    })
}

/// Proven by any, proven not by all: a refusal of the second attempt says nothing about the first.
fn merged(attempts: &[Rail]) -> Rail {
    let mut rail = Rail::open();
    for at in REACHED..=HEARD {
        let seen = |r: &Rail| (r.marks.get(at).copied(), r.rules.get(at).copied().unwrap_or_default());
        let proven = attempts.iter().map(seen).find(|(mark, _)| *mark == Some(Mark::Proven));
        if let Some((_, rule)) = proven {
            rail.set(at..=at, Mark::Proven, rule);
        } else if attempts.iter().all(|r| seen(r).0 == Some(Mark::ProvenNot)) {
            let rule = attempts.last().map_or(NOTHING_SHOWN, |r| seen(r).1);
            rail.set(at..=at, Mark::ProvenNot, rule);
        } else if let Some(open) = attempts.iter().find(|r| seen(r).0 == Some(Mark::Open)) {
            rail.set(at..=at, Mark::Open, seen(open).1);
        }
    }
    rail
}

/// What one attempt shows, by the table of DESIGN section 4.
fn of_attempt(op: &Operation, attempt: &Attempt) -> Rail {
    let mut rail = Rail::open();
    match &attempt.state {
        AttemptState::Open => {
            rail.set(REACHED..=HEARD, Mark::Open, "no answer to the attempt is recorded yet")
        }
        AttemptState::Applied => applied(&mut rail, op, attempt),
        AttemptState::Pending { .. } => {
            let rule = "the target answered that it works on it";
            rail.set(REACHED..=ACCEPTED, Mark::Proven, rule);
            rail.set(SENT..=HEARD, Mark::Proven, rule);
        }
        AttemptState::NotApplied { sent: false, .. } => {
            rail.set(REACHED..=HEARD, Mark::ProvenNot, "not one byte of it was handed to a connection");
        }
        AttemptState::NotApplied { sent: true, .. } => refused(&mut rail, op, attempt),
        AttemptState::Unknown { cause } => unknown(&mut rail, cause),
    }
    rail
}

fn applied(rail: &mut Rail, op: &Operation, attempt: &Attempt) {
    let answered = op.applied.as_ref().is_some_and(|a| a.proof == Proof::Answer { attempt: attempt.n });
    let late = op.evidence.iter().any(|e| {
        e.source == Source::LateAnswer && matches!(e.outcome, Outcome::Applied { .. }) && !e.contradicts
    });
    if answered {
        rail.set(REACHED..=HEARD, Mark::Proven, "a full answer says that it is applied");
    } else if late {
        rail.set(REACHED..=HEARD, Mark::Proven, "a late answer says that it is applied");
    } else {
        rail.set(REACHED..=COMMITTED, Mark::Proven, "an authenticated receipt shows it");
    }
}

/// Proven effect-free: by its own answer, which was then heard, or from outside, which proves nothing but ④.
fn refused(rail: &mut Rail, op: &Operation, attempt: &Attempt) {
    let says = |e: &Evidence| {
        matches!(e.source, Source::Person(_))
            && matches!(&e.outcome, Outcome::NotApplied { cause, .. } if *cause == attempt.note)
    };
    let by_person = op.evidence.iter().any(says);
    if by_person {
        let rule = "a person says that it did not; weaker than proof from the target";
        rail.set(COMMITTED..=COMMITTED, Mark::ProvenNot, rule);
    } else if attempt.note == LOOKED_UP {
        rail.set(COMMITTED..=COMMITTED, Mark::ProvenNot, "a look-up after the settled moment found nothing");
    } else {
        let rule = "the target refused it, which the contract declares effect-free";
        rail.set(REACHED..=REACHED, Mark::Proven, rule);
        rail.set(ACCEPTED..=ACCEPTED, Mark::ProvenNot, rule);
        rail.set(BEGAN..=COMMITTED, Mark::ProvenNot, "what is refused is not written");
        rail.set(SENT..=HEARD, Mark::Proven, rule);
    }
}

/// A time-out proves only that we heard nothing; an answer that says nothing proves that the target spoke.
fn unknown(rail: &mut Rail, cause: &UnknownCause) {
    match cause {
        UnknownCause::Timeout | UnknownCause::Lost | UnknownCause::Deadline => {
            rail.set(HEARD..=HEARD, Mark::ProvenNot, "the worker lived and heard no answer");
        }
        UnknownCause::Garbled | UnknownCause::Undeclared | UnknownCause::NotASuccess => {
            let rule = "the target answered, but its answer does not say whether it is applied";
            rail.set(REACHED..=REACHED, Mark::Proven, rule);
            rail.set(SENT..=HEARD, Mark::Proven, rule);
        }
        UnknownCause::OwnerGone => {
            let rule = "the worker died before it recorded an answer";
            rail.set(REACHED..=HEARD, Mark::Open, rule);
        }
        UnknownCause::Body => {
            rail.set(REACHED..=HEARD, Mark::Open, "the tool ended without saying what it did");
        }
        UnknownCause::Restored => {
            rail.set(REACHED..=HEARD, Mark::Open, "the original of this restored store may have sent it");
        }
    }
}
