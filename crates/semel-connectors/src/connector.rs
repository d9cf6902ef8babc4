//! The HTTP connector: one call, one physical request, one report.
//!
//! Invariant: every path that handed over no byte reports *not sent*, and every other one without a full answer
//! reports *lost*; which of the two is decided by the counter alone, never by the name of an error.

use crate::{
    obstacle::Obstacle,
    options::{HttpOptions, Point},
    redact::Witness,
    window::Window,
    wire::{
        dial::{Place, dial},
        exchange::{Broken, exchange},
        gauge::{HeldBack, Leg, Seen},
        link::Link,
        pool::Pool,
        prepare::{Prepared, prepare},
        tls::Trust,
    },
};
use semel_kernel::{outcome::UnknownCause, time::Millis};
use semel_ports::{
    connector::{Answer, Connector, Question, Recall, Report, Transport, Witnessed},
    outside::{NoSecret, Secrets},
    receipt::CallPermit,
    request::{Fills, HttpRequest},
};
use std::{fmt, future::Future, pin::Pin, sync::Arc};

/// A boxed future, as `async_trait` writes it.
type Boxed<'a> = Pin<Box<dyn Future<Output = Report> + Send + 'a>>;

/// Speaks HTTP/1.1 to targets. Never repeats a request, never follows a redirect, knows no proxy.
pub struct HttpConnector {
    secrets: Arc<dyn Secrets>,
    options: HttpOptions,
    trust: Trust,
    pool: Pool,
}

/// One call.
struct Order {
    request: HttpRequest,
    key: String,
    fence: String,
    window: Window,
    recall: Recall,
    /// Reached first, with nothing handed over.
    before: Point,
    /// Reached when the request has left whole.
    left: Option<Point>,
    /// Reached when the answer was read whole.
    after: Point,
}

impl HttpConnector {
    /// A connector that resolves references through `secrets`.
    #[must_use]
    pub fn new(secrets: Arc<dyn Secrets>, options: HttpOptions) -> Self {
        let pool = Pool::new(options.idle, options.idle_ms);
        Self { secrets, options, trust: Trust::default(), pool }
    }

    // Borrows the permit from the one place that consumes it.
    fn send_order(&self, permit: &CallPermit, request: HttpRequest, now: Millis, recall: Recall) -> Order {
        Order {
            request,
            recall,
            key: permit.key().to_owned(),
            fence: permit.generation().to_string(),
            window: Window::for_send(&self.options.clock, now, permit.send_by(), permit.timeout_ms()),
            before: self.point("call.before_send"),
            left: Some(self.point("call.after_send")),
            after: self.point("call.after_answer"),
        }
    }

    fn question_order(&self, question: Question) -> Order {
        Order {
            window: Window::for_question(&self.options.clock, question.timeout_ms),
            request: question.request,
            key: question.key,
            fence: question.fence,
            recall: Recall::never(),
            before: self.point("probe.before"),
            left: None,
            after: self.point("probe.after"),
        }
    }

    fn point(&self, name: &'static str) -> Point {
        Point { call: self.options.crash, name }
    }

    async fn call(&self, order: Order) -> Report {
        order.before.reach();
        let secrets = Witness::of(&*self.secrets);
        let fills = Fills { key: &order.key, fence: &order.fence, secrets: &secrets };
        let report = match prepare(&order.request, &fills, &self.options) {
            Ok(prepared) => self.over_a_link(prepared, &order).await,
            Err(obstacle) => not_sent(&obstacle),
        };
        if matches!(report.transport, Transport::Answered(_)) {
            order.after.reach();
        }
        redacted(report, secrets.witnessed())
    }

    async fn over_a_link(&self, prepared: Prepared, order: &Order) -> Report {
        let Prepared { place, body_bytes, request } = prepared;
        let Order { window, recall, left, .. } = order;
        let mut link = match self.link(&place, window, recall).await {
            Ok(link) => link,
            Err(obstacle) => return not_sent(&obstacle),
        };
        link.meter.open(Leg { window: window.clone(), recall: recall.clone(), body_bytes, left: *left });
        let patience = window.patience();
        let result = tokio::select! {
            // An answer that is there is heard, even when the time is over.
            biased;
            result = exchange(&mut link, request, self.options.response_bytes) => result,
            () = window.over(patience) => Err(timed_out()),
        };
        let seen = link.meter.seen();
        let report = report(&place, result, seen);
        if matches!(&report.transport, Transport::Answered(answer) if !answer.truncated) && link.rest().await
        {
            self.pool.put(place, link, self.options.clock.ms());
        }
        report
    }

    async fn link(&self, place: &Place, window: &Window, recall: &Recall) -> Result<Link, Obstacle> {
        if window.late_ms() > 0 {
            return Err(Obstacle::Late { before: "the connection was asked for" });
        }
        if let Some(link) = self.pool.take(place, self.options.clock.ms()) {
            return Ok(link);
        }
        tokio::select! {
            biased;
            link = dial(place, &self.trust, &self.options) => link,
            () = window.over(window.send_by) => Err(Obstacle::Late { before: "the connection stood" }),
            () = recall.given() => Err(Obstacle::Recalled { before: "the connection stood" }),
        }
    }
}

impl Connector for HttpConnector {
    // Written out instead of `async fn`, so that the time counts from the call and not from the first poll.
    fn send<'life0, 'async_trait>(
        &'life0 self,
        permit: CallPermit,
        request: HttpRequest,
        now: Millis,
        recall: Recall,
    ) -> Boxed<'async_trait>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(self.call(self.send_order(&permit, request, now, recall)))
    }

    fn ask<'life0, 'async_trait>(&'life0 self, question: Question) -> Boxed<'async_trait>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(self.call(self.question_order(question)))
    }

    fn account(&self, reference: &str) -> Result<String, NoSecret> {
        self.secrets.resolve(reference).map(|label| label.expose().to_owned())
    }
}

impl fmt::Debug for HttpConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpConnector").field("options", &self.options).finish_non_exhaustive()
    }
}

fn not_sent(obstacle: &Obstacle) -> Report {
    Report::not_sent(obstacle.cause())
}

fn timed_out() -> Broken {
    Broken { cause: UnknownCause::Timeout, detail: "no full answer came in time".to_owned() }
}

fn report(place: &Place, result: Result<Answer, Broken>, seen: Seen) -> Report {
    let before = "the first byte left";
    let transport = match result {
        _ if seen.handed == 0 => {
            return not_sent(&match seen.held_back {
                Some(HeldBack::Late) => Obstacle::Late { before },
                Some(HeldBack::Recalled) => Obstacle::Recalled { before },
                None => untouched(place, result.err()),
            });
        }
        Ok(answer) => Transport::Answered(answer),
        Err(Broken { cause, detail }) => {
            let detail = format!("{detail} ({} request bytes were handed over)", seen.handed);
            Transport::Lost { cause, detail }
        }
    };
    Report::new(transport, seen.handed, seen.late_ms)
}

fn untouched(place: &Place, broken: Option<Broken>) -> Obstacle {
    let cause = broken.map_or_else(|| "it answered before it was asked".to_owned(), |b| b.detail);
    Obstacle::Unreachable { place: place.to_string(), cause: format!("{cause}, before the first byte") }
}

/// Our own words are shown as they are, so they lose the secrets here; the answer stays raw, and its secrets go with it.
fn redacted(mut report: Report, secrets: Witnessed) -> Report {
    match &mut report.transport {
        Transport::NotSent { cause: text } | Transport::Lost { detail: text, .. } => {
            *text = secrets.strict_eraser().text(text).into_owned();
        }
        Transport::Answered(_) => (),
    }
    Report { secrets, ..report }
}
