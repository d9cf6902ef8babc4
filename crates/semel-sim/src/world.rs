//! The targets, which count what happens to them. They know nothing of Semel: a method, a path, a key, a body.
//!
//! | path | dedupes by key | can be asked | keeps a state |
//! |---|---|---|---|
//! | `keyed`, `both`, `stuck` | at the write, for a day | `both` | – |
//! | `short` | at the write, for five minutes | – | – |
//! | `looks` | looks first and writes later, for a day | – | – |
//! | `asked`, `common` | – | yes | – |
//! | `blind`, `twice`, `loses` | – | – | – |
//! | `sets` | – | yes | yes, which a colleague changes, too |
//! | `read` | – | – | changes nothing |

use crate::{
    chance::Chance,
    plans::{LAG_MS, LONG_WINDOW_MS, SHORT_WINDOW_MS},
    swarm::Faults,
};
use semel_kernel::json::Json;
use semel_ports::Answer;
use std::collections::BTreeMap;

/// Milliseconds that a slow target works on a request, at most: with the wire and the lag, less than the time-out and
/// `settle` of its contract.
const SLOW_MS: i64 = 5_000;

/// A request as it arrives at a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its method.
    pub method: String,
    /// The target.
    pub path: String,
    /// What it is about.
    pub what: String,
    /// The key, if it carries one.
    pub key: Option<String>,
    /// The body, byte for byte, the key's own place left out.
    pub body: String,
}

/// Where and what: the business intent, whatever key or id somebody gave it.
pub type Place = (String, String);

/// Something that happened to a target.
#[derive(Clone, Debug)]
pub struct Effect {
    /// When, in true time.
    pub at: i64,
    /// From when on look-ups show it.
    pub seen_from: i64,
    /// The key it came with.
    pub key: Option<String>,
}

/// What a target does with a request that has arrived.
#[derive(Clone, Debug)]
pub enum Doing {
    /// It answers, and that is all.
    Answers(Answer),
    /// It writes after so many milliseconds.
    Writes {
        /// So many.
        after: i64,
        /// It looked the key up when the request arrived, and found nothing.
        looked: bool,
        /// It, or a gateway before it, answers at once, before it writes.
        early: Option<Answer>,
    },
}

#[derive(Clone, Debug)]
struct Memory {
    at: i64,
    body: String,
    answer: Option<Answer>,
}

/// All targets.
pub struct World {
    chance: Chance,
    faults: Faults,
    effects: BTreeMap<Place, Vec<Effect>>,
    keys: BTreeMap<(String, String), Memory>,
    working: BTreeMap<Place, u32>,
    states: BTreeMap<Place, Vec<(i64, String)>>,
    refusals: BTreeMap<(String, String), u16>,
}

impl World {
    /// Targets without any effect yet.
    #[must_use]
    pub fn new(chance: Chance, faults: Faults) -> Self {
        Self {
            chance,
            faults,
            effects: BTreeMap::new(),
            keys: BTreeMap::new(),
            working: BTreeMap::new(),
            states: BTreeMap::new(),
            refusals: BTreeMap::new(),
        }
    }

    /// Nothing goes wrong any more.
    pub fn heal(&mut self) {
        self.faults = Faults::default();
    }

    /// What happened at a place.
    #[must_use]
    pub fn effects(&self, place: &Place) -> &[Effect] {
        self.effects.get(place).map_or(&[], Vec::as_slice)
    }

    /// All places at which something happened.
    pub fn places(&self) -> impl Iterator<Item = (&Place, &Vec<Effect>)> {
        self.effects.iter()
    }

    /// The state at a place was `value` at some time.
    #[must_use]
    pub fn was(&self, place: &Place, value: &str) -> bool {
        self.states.get(place).is_some_and(|s| s.iter().any(|(_, v)| v == value))
    }

    /// Something is under way there.
    #[must_use]
    pub fn is_working(&self, place: &Place) -> bool {
        self.working.get(place).is_some_and(|n| *n > 0)
    }

    /// A colleague sets a state.
    pub fn meddle(&mut self, now: i64, place: &Place) {
        self.states.entry(place.clone()).or_default().push((now, "theirs".to_owned()));
    }

    /// A request arrives.
    pub fn arrive(&mut self, now: i64, sent: &Sent) -> Doing {
        if sent.path == "read" {
            return Doing::Answers(answer(200, &Json::obj([("read", Json::Bool(true))])));
        }
        if let Some(answer) = self.refuses(sent) {
            return Doing::Answers(answer);
        }
        if self.chance.happens(self.faults.trouble / 2) {
            return Doing::Answers(answer(500, &text("broken before it did anything")));
        }
        if let Some(known) = self.known(now, sent) {
            return Doing::Answers(known);
        }
        let looked = sent.path == "looks";
        let place = (sent.path.clone(), sent.what.clone());
        *self.working.entry(place).or_default() += 1;
        if dedupes(&sent.path) && !looked {
            self.remember(now, sent, None);
        }
        let can_be_asked = matches!(sent.path.as_str(), "both" | "asked" | "common");
        if can_be_asked && self.chance.happens(self.faults.later) {
            let accepted = answer(202, &Json::obj([("accepted", Json::Bool(true))]));
            return Doing::Writes { after: self.chance.delay(SLOW_MS), looked, early: Some(accepted) };
        }
        let may_be_slow = can_be_asked || matches!(sent.path.as_str(), "blind" | "twice" | "loses");
        if may_be_slow && self.chance.happens(self.faults.trouble) {
            let gone = answer(502, &text("the gateway lost its patience, the target works on"));
            return Doing::Writes { after: self.chance.between(0, SLOW_MS), looked, early: Some(gone) };
        }
        Doing::Writes { after: self.chance.delay(1_500), looked, early: None }
    }

    /// The write; the answer that follows from it.
    pub fn write(&mut self, now: i64, sent: &Sent) -> Answer {
        let place = (sent.path.clone(), sent.what.clone());
        if let Some(n) = self.working.get_mut(&place) {
            *n = n.saturating_sub(1);
        }
        if sent.path == "sets" {
            self.states.entry(place.clone()).or_default().push((now, "ours".to_owned()));
        }
        let seen_from = now + self.chance.between(0, LAG_MS);
        let effects = self.effects.entry(place).or_default();
        effects.push(Effect { at: now, seen_from, key: sent.key.clone() });
        let id = format!("{}-{}-{}", sent.path, sent.what, effects.len());
        let done = answer(201, &Json::obj([("id", Json::str(&id))]));
        if dedupes(&sent.path) {
            self.remember(now, sent, Some(done.clone()));
        }
        if self.chance.happens(self.faults.trouble) { self.troubled() } else { done }
    }

    /// It happened, and the answer says nothing useful.
    fn troubled(&mut self) -> Answer {
        match self.chance.between(0, 3) {
            0 => answer(500, &text("broken after it had done it")),
            1 => answer(302, &text("elsewhere")),
            2 => Answer { status: 201, body: b"{\"id\": \"cut".to_vec(), ..json_answer() },
            _ => answer(404, &text("who are you looking for?")),
        }
    }

    /// Refusals change nothing. Where they stick to the key, the same one is given again.
    fn refuses(&mut self, sent: &Sent) -> Option<Answer> {
        let sticks = sent.path == "stuck";
        let at = (sent.path.clone(), sent.key.clone().unwrap_or_default());
        if let Some(status) = self.refusals.get(&at).filter(|_| sticks) {
            return Some(answer(*status, &text("refused as before")));
        }
        if !self.chance.happens(self.faults.refuse) {
            return None;
        }
        let status = *self.chance.pick(if sticks { &[503, 503, 400] } else { &[429, 429, 401, 400] })?;
        if sticks && !self.keys.contains_key(&at) {
            self.refusals.insert(at, status);
        }
        Some(answer(status, &text("refused")))
    }

    /// What the target remembers of the key.
    fn known(&mut self, now: i64, sent: &Sent) -> Option<Answer> {
        let key = sent.key.clone().filter(|_| dedupes(&sent.path))?;
        let at = (sent.path.clone(), key);
        if now - self.keys.get(&at)?.at > window_of(&sent.path) {
            self.keys.remove(&at);
        }
        let memory = self.keys.get(&at)?;
        if memory.body != sent.body {
            return Some(answer(422, &text("this key came with other parameters")));
        }
        let Some(done) = memory.answer.clone() else { return Some(answer(409, &text("in use"))) };
        let mut again = done;
        again.headers.push(("idempotent-replayed".to_owned(), "true".to_owned()));
        Some(again)
    }

    fn remember(&mut self, now: i64, sent: &Sent, answer: Option<Answer>) {
        let Some(key) = sent.key.clone() else { return };
        let at = (sent.path.clone(), key);
        let first = self.keys.get(&at).filter(|m| m.body == sent.body).map_or(now, |m| m.at);
        self.keys.insert(at, Memory { at: first, body: sent.body.clone(), answer });
    }

    /// A look-up.
    pub fn look(&mut self, now: i64, sent: &Sent) -> Answer {
        let place = (sent.path.clone(), sent.what.clone());
        if self.chance.happens(self.faults.dont_know) {
            return answer(503, &text("I do not know"));
        }
        if sent.path == "sets" {
            let value = self.states.get(&place).and_then(|s| s.last()).map_or("", |(_, v)| v);
            return answer(200, &Json::obj([("value", Json::str(value))]));
        }
        let seen = self.effects(&place).iter().filter(|e| e.seen_from <= now).count();
        let pending = seen == 0 && self.is_working(&place) && self.chance.happens(500);
        let id = format!("{}-{}-1", sent.path, sent.what);
        let found = Json::from(i32::try_from(seen).unwrap_or(i32::MAX));
        answer(200, &Json::obj([("found", found), ("pending", Json::Bool(pending)), ("id", Json::str(&id))]))
    }
}

/// Milliseconds for which a target honours a key.
#[must_use]
pub fn window_of(path: &str) -> i64 {
    if path == "short" { SHORT_WINDOW_MS } else { LONG_WINDOW_MS }
}

/// The target looks its keys up.
#[must_use]
pub fn dedupes(path: &str) -> bool {
    matches!(path, "keyed" | "both" | "stuck" | "short" | "looks")
}

/// More than one effect is no fault there.
#[must_use]
pub fn may_repeat(path: &str) -> bool {
    matches!(path, "read" | "sets" | "twice")
}

fn text(what: &str) -> Json {
    Json::obj([("error", Json::str(what))])
}

fn json_answer() -> Answer {
    Answer {
        status: 200,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        ..Answer::default()
    }
}

/// An answer with a JSON body.
#[must_use]
pub fn answer(status: u16, body: &Json) -> Answer {
    Answer { status, body: body.canonical().into_bytes(), ..json_answer() }
}
