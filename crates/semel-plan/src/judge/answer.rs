//! One answer, as rules see it, and rules as they are tried on it.
//!
//! Invariant: a rule that cannot be evaluated has no verdict, and why is noted for people. A rule reads the answer as
//! it came; its value and its notes come out without the secrets of the call.

use super::{body, redact};
use crate::{
    cel::Program,
    contract::{Names, Seen, answer_vars},
};
use semel_kernel::json::Json;
use semel_ports::connector::{Answer, Eraser, Witnessed};
use std::{borrow::Cow, collections::BTreeMap, time::SystemTime};

/// Headers by which targets say that an answer is that of an earlier request.
const REPLAY_HEADERS: [&str; 3] = ["idempotent-replayed", "idempotency-replayed", "x-idempotent-replayed"];

/// An answer, read.
#[derive(Clone)]
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

    /// The answer as it may be kept: a secret that the target repeated is taken out before anything is cut.
    pub(super) fn without(&self, secrets: &Witnessed, eraser: &Eraser) -> Cow<'_, Self> {
        if secrets.is_empty() {
            return Cow::Borrowed(self);
        }
        let body = match &self.body {
            Json::Str(text) if self.truncated => Json::Str(eraser.cut_text(text)),
            whole => eraser.json(whole),
        };
        let clean = |(name, value): (&String, &Json)| (eraser.text(name).into_owned(), eraser.json(value));
        let headers = self.headers.iter().map(clean).collect();
        Cow::Owned(View { headers, body, ..*self })
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

    /// Seconds, or a date counted from the answer's own `Date`: only the target's clock says what its dates mean, so
    /// without one a date is not obeyed. A number too large to count is the longest wait there is, not none.
    pub(super) fn retry_after_ms(&self) -> Option<i64> {
        let text = self.header("retry-after")?.trim();
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
            return Some(text.parse::<i64>().unwrap_or(i64::MAX).saturating_mul(1_000));
        }
        let (due, said_at) = (date(text)?, date(self.header("date")?.trim())?);
        let wait = due.duration_since(said_at).unwrap_or_default();
        Some(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX))
    }

    /// `meaning` with the status and the first words of the answer.
    pub(super) fn cause(&self, meaning: &str) -> String {
        let said = redact::said(&self.body);
        let joint = if said.is_empty() { "" } else { ": " };
        format!("{meaning} (HTTP {}){joint}{said}", self.status)
    }
}

/// A moment as HTTP writes it.
fn date(text: &str) -> Option<SystemTime> {
    httpdate::parse_http_date(text).ok()
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
    eraser: &'a Eraser,
    notes: Vec<String>,
}

impl<'a> Rules<'a> {
    pub(super) fn new(view: &'a View<'_>, seen: &Seen<'a>, eraser: &'a Eraser) -> Rules<'a> {
        Rules {
            status: Json::from(u32::from(view.status)),
            headers: Json::Obj(view.headers.clone()),
            body: &view.body,
            seen: *seen,
            names: Names::of(seen),
            eraser,
            notes: Vec::new(),
        }
    }

    /// The value of an expression, or `None` with a note.
    pub(super) fn value(&mut self, name: &str, rule: &Program) -> Option<Json> {
        let result = rule.eval(&self.vars());
        self.kept(name, result).map(|value| self.eraser.json(&value))
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

    pub(super) fn note(&mut self, note: &str) {
        self.notes.push(self.eraser.text(note).into_owned());
    }

    pub(super) fn last_note(&self) -> Option<&str> {
        self.notes.last().map(String::as_str)
    }

    pub(super) fn into_notes(self) -> Vec<String> {
        self.notes
    }

    fn kept<T>(&mut self, name: &str, result: Result<T, String>) -> Option<T> {
        result.map_err(|error| self.note(&format!("`{name}` cannot be evaluated: {error}"))).ok()
    }

    fn vars(&self) -> Vec<(&str, &Json)> {
        let answer = [("status", &self.status), ("headers", &self.headers), ("body", self.body)];
        answer_vars(answer, &self.names.vars(&self.seen))
    }
}
