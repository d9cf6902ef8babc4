//! The directory of accounts: a state that can be set, and set again without harm.
//!
//! Invariant: only a change of state is an effect, so the version counts real changes. Every id
//! names an account that is active until it is changed. It must not know faults.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::SinkError;
use crate::desk::{Asked, Desk, effect_of, not_found, text_field};
use crate::handles;
use crate::http::{Request, Response};
use crate::ledger::{self, Effect, Entry, Filter};

/// `GET /accounts/{id}`, `PUT /accounts/{id}`.
pub(crate) struct Accounts;

/// An account as its history leaves it.
struct Account {
    id: String,
    state: String,
    by: String,
    version: usize,
}

impl Desk for Accounts {
    fn ask(&self, request: &Request) -> Asked {
        let Some(id) = request.segment_after("/accounts") else { return not_found() };
        match request.head.method.as_str() {
            "GET" => Asked::Lookup(Filter::Target(id)),
            "PUT" => effect_of(request, |body| {
                let state = text_field(body, "state")?;
                ["active", "blocked"].contains(&state.as_str()).then_some(id)
            }),
            _ => not_found(),
        }
    }

    fn apply(&self, connection: &Connection, effect: &Effect, at_ms: i64) -> Result<Response, SinkError> {
        let before = Account::read(connection, &effect.target, i64::MAX)?;
        if effect.if_match.as_deref().is_some_and(|wanted| !matches(wanted, &before.etag())) {
            let body = json!({ "error": "precondition_failed", "version": before.version });
            return Ok(Response::json(412, &body));
        }
        if text_field(&effect.body, "state").is_some_and(|state| state != before.state) {
            ledger::append(connection, effect, at_ms)?;
        }
        Ok(Account::read(connection, &effect.target, i64::MAX)?.answer())
    }

    fn look(
        &self,
        connection: &Connection,
        filter: &Filter,
        seen_until_ms: i64,
    ) -> Result<Response, SinkError> {
        let Filter::Target(id) = filter else { return Ok(Response::error(404, "not_found")) };
        let mut account = Account::read(connection, id, seen_until_ms)?;
        if handles::executing(connection, id)? {
            account.state = "blocking".to_owned();
        }
        Ok(account.answer())
    }
}

impl Account {
    fn read(connection: &Connection, id: &str, seen_until_ms: i64) -> Result<Self, SinkError> {
        let changes = ledger::find(connection, &Filter::Target(id.to_owned()), seen_until_ms)?;
        let version = changes.len() + 1;
        let last = changes.last();
        let state = last.and_then(|entry| text_field(&entry.body, "state"));
        let by = last.map(by_whom).unwrap_or_default();
        Ok(Self { id: id.to_owned(), state: state.unwrap_or_else(|| "active".to_owned()), by, version })
    }

    fn etag(&self) -> String {
        format!("\"{}\"", self.version)
    }

    fn answer(&self) -> Response {
        let body: Value =
            json!({ "id": self.id, "state": self.state, "by": self.by, "version": self.version });
        Response::json(200, &body).with("ETag", self.etag())
    }
}

fn by_whom(entry: &Entry) -> String {
    text_field(&entry.body, "by").or_else(|| entry.reference.clone()).unwrap_or_default()
}

fn matches(if_match: &str, etag: &str) -> bool {
    if_match.split(',').map(str::trim).any(|wanted| wanted == "*" || wanted == etag)
}
