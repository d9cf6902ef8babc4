//! What every kind of sink has to say about a request: the seam between the kinds and the server.
//!
//! Invariant: a desk only reads a request or works inside a given transaction; it never answers a
//! caller itself. It must not know faults, sockets or files.

use rusqlite::Connection;
use serde_json::{Map, Value};

use crate::accounts::Accounts;
use crate::http::{Request, Response};
use crate::ledger::{Effect, Filter};
use crate::payments::Payments;
use crate::sms::Sms;
use crate::tickets::Tickets;
use crate::{SinkError, SinkKind};

/// What a request turned out to ask for.
#[derive(Debug)]
pub(crate) enum Asked {
    /// Something is to be brought about.
    Effect(Effect),
    /// Something is to be looked up.
    Lookup(Filter),
    /// The state of accepted work is to be looked up, by the handle's number.
    Handle(i64),
    /// The answer is already known and nothing will happen.
    Refused(Response),
}

/// One kind of outside system.
pub(crate) trait Desk: Send + Sync {
    /// Reads a request.
    fn ask(&self, request: &Request) -> Asked;
    /// Brings the effect about within the transaction of `connection`; a refusal commits nothing.
    fn apply(&self, connection: &Connection, effect: &Effect, at_ms: i64) -> Result<Response, SinkError>;
    /// Answers a lookup, blind to effects younger than `seen_until_ms`.
    fn look(
        &self,
        connection: &Connection,
        filter: &Filter,
        seen_until_ms: i64,
    ) -> Result<Response, SinkError>;
    /// How keys are treated; `None` when the desk takes no notice of keys.
    fn keys(&self) -> Option<KeyAnswers> {
        None
    }
}

/// How a keyed desk refuses.
#[derive(Debug)]
pub(crate) struct KeyAnswers {
    /// The key came before with another request.
    pub(crate) reused: Response,
    /// The key's first request is still being processed.
    pub(crate) in_use: Response,
}

/// The desk of a kind.
pub(crate) fn desk_of(kind: SinkKind) -> &'static dyn Desk {
    match kind {
        SinkKind::Tickets => &Tickets,
        SinkKind::Payments => &Payments,
        SinkKind::Sms => &Sms,
        SinkKind::Accounts => &Accounts,
    }
}

/// The answer to a request that no desk knows.
pub(crate) fn not_found() -> Asked {
    Asked::Refused(Response::error(404, "not_found"))
}

/// Reads the body as an effect about the target that `target_of` finds in it.
pub(crate) fn effect_of(
    request: &Request,
    target_of: impl FnOnce(&Map<String, Value>) -> Option<String>,
) -> Asked {
    let Ok(Value::Object(body)) = serde_json::from_slice::<Value>(&request.body) else {
        return Asked::Refused(Response::error(400, "body_is_not_a_json_object"));
    };
    let Some(target) = target_of(&body) else {
        return Asked::Refused(Response::error(400, "field_missing"));
    };
    let header = |name| request.head.header(name).map(str::to_owned);
    let reference = header("x-operation").or_else(|| text_field(&body, "ref"));
    Asked::Effect(Effect {
        target,
        key: header("idempotency-key").filter(|key| !key.is_empty()),
        reference,
        if_match: header("if-match"),
        body,
    })
}

/// A field that names something, as text: strings as they are, numbers as written.
pub(crate) fn text_field(body: &Map<String, Value>, field: &str) -> Option<String> {
    match body.get(field)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
