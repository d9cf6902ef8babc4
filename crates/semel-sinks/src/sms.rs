//! The message gateway: takes a message and tells nothing afterwards.
//!
//! Invariant: a caller cannot find out here whether a message went out. It must not know faults.

use rusqlite::Connection;
use serde_json::json;

use crate::SinkError;
use crate::desk::{Asked, Desk, effect_of, not_found, text_field};
use crate::http::{Request, Response};
use crate::ledger::{self, Effect, Filter};

/// `POST /messages`.
pub(crate) struct Sms;

impl Desk for Sms {
    fn ask(&self, request: &Request) -> Asked {
        if (request.head.method.as_str(), request.path()) != ("POST", "/messages") {
            return not_found();
        }
        effect_of(request, |body| text_field(body, "to").filter(|_| body.contains_key("text")))
    }

    fn apply(&self, connection: &Connection, effect: &Effect, at_ms: i64) -> Result<Response, SinkError> {
        ledger::append(connection, effect, at_ms)?;
        Ok(Response::json(202, &json!({ "accepted": true })))
    }

    fn look(&self, _: &Connection, _: &Filter, _: i64) -> Result<Response, SinkError> {
        Ok(Response::error(404, "not_found"))
    }
}
