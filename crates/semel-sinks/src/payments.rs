//! The payment desk: charges, keyed the way Stripe keys them.
//!
//! Invariant: one key is one charge; without a key every request charges. It must not know faults.

use rusqlite::Connection;
use serde_json::json;

use crate::SinkError;
use crate::desk::{Asked, Desk, KeyAnswers};
use crate::http::{Request, Response};
use crate::ledger::{Effect, Filter};
use crate::records::Records;

/// `POST /charges`, `GET /charges?order=|ref=`, `GET /charges/{id}`.
pub(crate) struct Payments;

const RECORDS: Records = Records {
    path: "/charges",
    target_field: "order",
    needs: Some("amount"),
    id_prefix: "ch_",
    created: 200,
};

impl Desk for Payments {
    fn ask(&self, request: &Request) -> Asked {
        RECORDS.ask(request)
    }

    fn apply(&self, connection: &Connection, effect: &Effect, at_ms: i64) -> Result<Response, SinkError> {
        RECORDS.apply(connection, effect, at_ms)
    }

    fn look(
        &self,
        connection: &Connection,
        filter: &Filter,
        seen_until_ms: i64,
    ) -> Result<Response, SinkError> {
        RECORDS.look(connection, filter, seen_until_ms)
    }

    fn keys(&self) -> Option<KeyAnswers> {
        let kind = "idempotency_error";
        let reused = Response::json(400, &json!({ "error": { "type": kind } }));
        let in_use =
            Response::json(409, &json!({ "error": { "type": kind, "code": "idempotency_key_in_use" } }));
        Some(KeyAnswers { reused, in_use })
    }
}
