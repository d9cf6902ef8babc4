//! One outside system at work: from a whole request to the reply that leaves.
//!
//! Invariant: the request is noted before anything is done, and an effect is committed before its
//! reply exists. It must not know sockets.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rusqlite::Connection;
use serde_json::json;

use crate::db::{Db, now_ms};
use crate::desk::{Asked, Desk, KeyAnswers, desk_of};
use crate::fault::{Reply, Rule, Script};
use crate::handles::{self, Acceptance};
use crate::http::{Request, Response};
use crate::keys::{self, InFlight, Known};
use crate::ledger::{Effect, Filter};
use crate::{SinkError, SinkKind, control, count};

/// The state of a running sink.
pub(crate) struct Sink {
    kind: SinkKind,
    desk: &'static dyn Desk,
    db: Db,
    script: Mutex<Script>,
    in_flight: InFlight,
    /// Milliseconds from the coming of a request to its effect, of the slowest so far: callers who look an effect up rely
    /// on it, and a machine that is overloaded breaks such a promise.
    slowest_ms: AtomicU64,
}

impl Sink {
    /// Opens the sink's file; the script starts empty.
    ///
    /// # Errors
    /// `ForeignFile` or `Database`.
    pub(crate) fn open(kind: SinkKind, path: &Path) -> Result<Self, SinkError> {
        let db = Db::open(path, kind)?;
        let (script, in_flight, slowest_ms) = (Mutex::default(), InFlight::default(), AtomicU64::new(0));
        Ok(Self { kind, desk: desk_of(kind), db, script, in_flight, slowest_ms })
    }

    /// Works one request through to its reply; the sink's own troubles become `500`.
    pub(crate) async fn answer(&self, request: Request) -> Reply {
        let outcome = if request.path().starts_with("/_") {
            self.administer(&request).await.map(Reply::Whole)
        } else {
            self.attend(request).await
        };
        outcome.unwrap_or_else(|error| {
            let body = json!({ "error": "sink", "code": error.code(), "what": error.to_string() });
            Reply::Whole(Response::json(500, &body))
        })
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn administer(&self, request: &Request) -> Result<Response, SinkError> {
        let (kind, desk) = (self.kind, self.desk);
        match (request.head.method.as_str(), request.path()) {
            ("GET", "/_count") => {
                let slowest_ms = self.slowest_ms.load(Ordering::Relaxed);
                let read = move |tx: &rusqlite::Transaction<'_>| {
                    handles::settle(tx, desk, now_ms())?;
                    count::answer(tx, kind, slowest_ms)
                };
                self.db.call(read).await
            }
            ("GET", "/_effects") => self.db.call(|tx| count::effects(tx)).await,
            ("PUT", "/_control") => Ok(control::apply(&mut self.script(), &request.body)),
            ("POST", "/_reset") => {
                *self.script() = Script::default();
                self.db.call(|tx| count::reset(tx)).await
            }
            _ => Ok(Response::error(404, "not_found")),
        }
    }

    async fn attend(&self, request: Request) -> Result<Reply, SinkError> {
        let (noted, came) = (request.clone(), Instant::now());
        self.db.call(move |tx| count::note(tx, &noted, now_ms())).await?;
        let rule = self.script().take(&request);
        if let Some(reply) = rule.before(&request) {
            return Ok(reply);
        }
        let response = match self.ask(&request) {
            Asked::Effect(effect) => {
                let response = self.bring_about(effect, request.fingerprint(), &rule).await?;
                let took_ms = u64::try_from(came.elapsed().as_millis()).unwrap_or(u64::MAX);
                self.slowest_ms.fetch_max(took_ms, Ordering::Relaxed);
                response
            }
            Asked::Lookup(filter) => self.look(filter, &rule).await?,
            Asked::Handle(id) => self.look_at_handle(id).await?,
            Asked::Refused(response) => response,
        };
        Ok(rule.after(response))
    }

    fn ask(&self, request: &Request) -> Asked {
        let segment = request.segment_after("/handles").filter(|_| request.head.method == "GET");
        let handle = segment.and_then(|handle| handle.strip_prefix('h')?.parse().ok());
        handle.map_or_else(|| self.desk.ask(request), Asked::Handle)
    }

    async fn bring_about(
        &self,
        effect: Effect,
        fingerprint: String,
        rule: &Rule,
    ) -> Result<Response, SinkError> {
        let keyed = effect.key.clone().zip(self.desk.keys());
        let held = match &keyed {
            None => None,
            Some((key, answers)) => match self.in_flight.hold(key) {
                None => return Ok(answers.in_use.clone()),
                taken => taken,
            },
        };
        if let Some(delay) = rule.delay() {
            tokio::time::sleep(delay).await;
        }
        let keyed = keyed.map(|(key, answers)| Keyed { key, fingerprint, answers });
        let work = Work { effect, keyed, desk: self.desk, acceptance: rule.acceptance() };
        let key_window_ms = self.script().key_window_ms;
        // The key goes with the work: if the server is dropped meanwhile, the commit still runs on
        // its own thread and must not meet a second request under the same key.
        let commit = move |tx: &rusqlite::Transaction<'_>| {
            let _held = held;
            work.run(tx, key_window_ms)
        };
        self.db.call(commit).await
    }

    async fn look(&self, filter: Filter, rule: &Rule) -> Result<Response, SinkError> {
        let desk = self.desk;
        let lag_ms = rule.read_lag_ms();
        let read = move |tx: &rusqlite::Transaction<'_>| {
            let now_ms = now_ms();
            handles::settle(tx, desk, now_ms)?;
            let seen_until_ms = lag_ms.map_or(i64::MAX, |lag_ms| now_ms.saturating_sub(lag_ms));
            desk.look(tx, &filter, seen_until_ms)
        };
        self.db.call(read).await
    }

    async fn look_at_handle(&self, id: i64) -> Result<Response, SinkError> {
        let desk = self.desk;
        let read = move |tx: &rusqlite::Transaction<'_>| {
            handles::settle(tx, desk, now_ms())?;
            handles::look(tx, id)
        };
        self.db.call(read).await
    }
}

/// A request under a key.
struct Keyed {
    key: String,
    fingerprint: String,
    answers: KeyAnswers,
}

/// Everything one effect needs inside its transaction.
struct Work {
    effect: Effect,
    keyed: Option<Keyed>,
    desk: &'static dyn Desk,
    acceptance: Option<Acceptance>,
}

impl Work {
    /// Brings the effect about, or gives the answer that the key already has.
    fn run(self, connection: &Connection, key_window_ms: Option<i64>) -> Result<Response, SinkError> {
        let now_ms = now_ms();
        handles::settle(connection, self.desk, now_ms)?;
        if let Some(window_ms) = key_window_ms {
            keys::forget(connection, now_ms.saturating_sub(window_ms))?;
        }
        let Some(keyed) = &self.keyed else { return self.perform(connection, now_ms) };
        match keys::known(connection, &keyed.key, &keyed.fingerprint)? {
            Known::Answered(response) => Ok(response),
            Known::Reused => Ok(keyed.answers.reused.clone()),
            Known::New => {
                let response = self.perform(connection, now_ms)?;
                keys::remember(connection, &keyed.key, &keyed.fingerprint, &response, now_ms)?;
                Ok(response)
            }
        }
    }

    fn perform(&self, connection: &Connection, now_ms: i64) -> Result<Response, SinkError> {
        match self.acceptance {
            Some(acceptance) => handles::accept(connection, &self.effect, acceptance, now_ms),
            None => self.desk.apply(connection, &self.effect, now_ms),
        }
    }
}
