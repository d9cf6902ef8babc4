//! The ticket desk: a ticket for every request, found again by reference or incident.
//!
//! Invariant: without `Idempotency-Key` two requests are two tickets. It must not know faults.

use rusqlite::Connection;

use crate::SinkError;
use crate::desk::{Asked, Desk, KeyAnswers};
use crate::http::{Request, Response};
use crate::ledger::{Effect, Filter};
use crate::records::Records;

/// `POST /tickets`, `GET /tickets?ref=|incident=`, `GET /tickets/{id}`.
pub(crate) struct Tickets;

const RECORDS: Records =
    Records { path: "/tickets", target_field: "incident", needs: None, id_prefix: "T-", created: 201 };

impl Desk for Tickets {
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
        let reused = Response::error(422, "key_reused");
        Some(KeyAnswers { reused, in_use: Response::error(409, "key_in_use") })
    }
}
