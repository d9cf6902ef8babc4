//! A desk's drawer of records: every effect creates one, and records can be looked up.
//!
//! Invariant: a record is its effect's body with the desk's id and the caller's reference on top.
//! It must not know keys or faults.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::SinkError;
use crate::desk::{Asked, effect_of, not_found, text_field};
use crate::http::{Request, Response};
use crate::ledger::{self, Effect, Entry, Filter};

/// How one desk names its records.
pub(crate) struct Records {
    /// Where records are created and looked up.
    pub(crate) path: &'static str,
    /// The body field that says what a record is about.
    pub(crate) target_field: &'static str,
    /// Another body field without which a record is refused.
    pub(crate) needs: Option<&'static str>,
    /// What stands before a record's number in its id.
    pub(crate) id_prefix: &'static str,
    /// The status of a creation.
    pub(crate) created: u16,
}

const FIRST_NUMBER: i64 = 1000;

impl Records {
    pub(crate) fn ask(&self, request: &Request) -> Asked {
        match (request.head.method.as_str(), request.path()) {
            ("POST", path) if path == self.path => self.creation(request),
            ("GET", path) if path == self.path => self.listing(request),
            ("GET", _) => self.by_id(request),
            _ => not_found(),
        }
    }

    fn creation(&self, request: &Request) -> Asked {
        effect_of(request, |body| {
            let complete = self.needs.is_none_or(|field| body.contains_key(field));
            text_field(body, self.target_field).filter(|_| complete)
        })
    }

    fn listing(&self, request: &Request) -> Asked {
        let by_reference = request.query("ref").map(Filter::Reference);
        let filter = by_reference.or_else(|| request.query(self.target_field).map(Filter::Target));
        filter.map_or_else(|| Asked::Refused(Response::error(400, "query_missing")), Asked::Lookup)
    }

    fn by_id(&self, request: &Request) -> Asked {
        let segment = request.segment_after(self.path);
        let number = segment.and_then(|id| id.strip_prefix(self.id_prefix)?.parse::<i64>().ok());
        let id = number.and_then(|number| number.checked_sub(FIRST_NUMBER));
        id.map_or_else(not_found, |id| Asked::Lookup(Filter::Id(id)))
    }

    pub(crate) fn apply(
        &self,
        connection: &Connection,
        effect: &Effect,
        at_ms: i64,
    ) -> Result<Response, SinkError> {
        let id = ledger::append(connection, effect, at_ms)?;
        let entry = Entry {
            id,
            target: effect.target.clone(),
            reference: effect.reference.clone(),
            body: effect.body.clone(),
        };
        Ok(Response::json(self.created, &self.record(entry)))
    }

    pub(crate) fn look(
        &self,
        connection: &Connection,
        filter: &Filter,
        seen_until_ms: i64,
    ) -> Result<Response, SinkError> {
        let found = ledger::find(connection, filter, seen_until_ms)?;
        let mut records: Vec<Value> = found.into_iter().map(|entry| self.record(entry)).collect();
        Ok(match filter {
            Filter::Id(_) => records
                .pop()
                .map_or_else(|| Response::error(404, "not_found"), |record| Response::json(200, &record)),
            Filter::Reference(_) | Filter::Target(_) => {
                Response::json(200, &json!({ "total": records.len(), "items": records }))
            }
        })
    }

    fn record(&self, entry: Entry) -> Value {
        let mut record = entry.body;
        record.insert("id".to_owned(), json!(format!("{}{}", self.id_prefix, FIRST_NUMBER + entry.id)));
        record.insert(self.target_field.to_owned(), json!(entry.target));
        record.insert("ref".to_owned(), json!(entry.reference));
        Value::Object(record)
    }
}
