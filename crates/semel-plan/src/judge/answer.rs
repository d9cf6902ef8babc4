//! One answer, as rules see it, and rules as they are tried on it.
//!
//! Invariant: a rule that cannot be evaluated has no verdict, and why is noted for people.

use super::{body, redact};
use crate::{
    cel::Program,
    contract::{Names, Seen, answer_vars},
};
use semel_kernel::json::Json;
use semel_ports::connector::Answer;
use std::collections::BTreeMap;

/// Headers by which targets say that an answer is that of an earlier request.
const REPLAY_HEADERS: [&str; 3] = ["idempotent-replayed", "idempotency-replayed", "x-idempotent-replayed"];

/// An answer, read.
pub(super) struct View<'a> {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, Json>,
    pub(super) body: Json,
    pub(super) truncated: bool,
    garbled: bool,
    answer: &'a Answer,
}

impl<'a> View<'a> {
    pub(super) fn of(answer: &'a Answer) -> View<'a> {
        let headers = headers(&answer.headers);
        let kind = headers.get("content-type").and_then(Json::as_str).unwrap_or_default();
        let read = body::read(&answer.body, kind);
        View {
            status: answer.status,
            body: read.value,
            truncated: answer.truncated,
            garbled: read.garbled && !answer.truncated,
            headers,
            answer,
        }
    }

    pub(super) fn is_2xx(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// It says that it is JSON, and is not.
    pub(super) fn is_garbled(&self) -> bool {
        self.garbled
    }

    pub(super) fn bytes(&self) -> usize {
        self.answer.body.len()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(Json::as_str)
    }

    pub(super) fn says_replayed(&self) -> bool {
        REPLAY_HEADERS.iter().any(|name| self.header(name).is_some_and(|v| v.eq_ignore_ascii_case("true")))
    }

    /// Only seconds; a date would need a clock that agrees with the target's.
    pub(super) fn retry_after_ms(&self) -> Option<i64> {
        self.header("retry-after")?.trim().parse::<u32>().ok().map(|seconds| i64::from(seconds) * 1_000)
    }

    /// `meaning` with the status and the first words of the answer.
    pub(super) fn cause(&self, meaning: &str) -> String {
        let said = redact::said(&self.body);
        let joint = if said.is_empty() { "" } else { ": " };
        format!("{meaning} (HTTP {}){joint}{said}", self.status)
    }
}

/// Names in lower case; the values of a repeated header are joined, as HTTP allows.
fn headers(all: &[(String, String)]) -> BTreeMap<String, Json> {
    let mut joined: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in all {
        let slot = joined.entry(name.to_ascii_lowercase()).or_default();
        if !slot.is_empty() {
            slot.push_str(", ");
        }
        slot.push_str(value);
    }
    joined.into_iter().map(|(name, value)| (name, Json::Str(value))).collect()
}

/// The rules of a contract, tried on one answer.
pub(super) struct Rules<'a> {
    status: Json,
    headers: Json,
    body: &'a Json,
    seen: Seen<'a>,
    names: Names,
    notes: Vec<String>,
}

impl<'a> Rules<'a> {
    pub(super) fn new(view: &'a View<'_>, seen: &Seen<'a>) -> Rules<'a> {
        Rules {
            status: Json::from(u32::from(view.status)),
            headers: Json::Obj(view.headers.clone()),
            body: &view.body,
            seen: *seen,
            names: Names::of(seen),
            notes: Vec::new(),
        }
    }

    /// The value of an expression, or `None` with a note.
    pub(super) fn value(&mut self, name: &str, rule: &Program) -> Option<Json> {
        let result = rule.eval(&self.vars());
        self.kept(name, result)
    }

    /// Whether a rule holds, or `None` with a note.
    pub(super) fn verdict(&mut self, name: &str, rule: &Program) -> Option<bool> {
        let result = rule.holds(&self.vars());
        self.kept(name, result)
    }

    /// Whether a rule is there, can be evaluated, and holds.
    pub(super) fn holds(&mut self, name: &str, rule: Option<&Program>) -> bool {
        rule.is_some_and(|rule| self.verdict(name, rule) == Some(true))
    }

    pub(super) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    pub(super) fn last_note(&self) -> Option<&str> {
        self.notes.last().map(String::as_str)
    }

    pub(super) fn into_notes(self) -> Vec<String> {
        self.notes
    }

    fn kept<T>(&mut self, name: &str, result: Result<T, String>) -> Option<T> {
        result.map_err(|error| self.notes.push(format!("`{name}` cannot be evaluated: {error}"))).ok()
    }

    fn vars(&self) -> Vec<(&str, &Json)> {
        let answer = [("status", &self.status), ("headers", &self.headers), ("body", self.body)];
        answer_vars(answer, &self.names.vars(&self.seen))
    }
}
