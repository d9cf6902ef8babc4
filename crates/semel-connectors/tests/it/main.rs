//! Every transport row of the failure window, against a server that really does it. Servers count connections,
//! requests and bytes; nothing here asserts how long something took.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod ask;
mod echo;
mod permit;
mod points;
mod pool;
mod recall;
mod request;
mod secrets;
mod server;
mod tls;
mod transport;
mod window;

use permit::{KEY, NOW, permit};
use semel_connectors::{BootClock, EnvFileSecrets, HttpConnector, HttpOptions};
use semel_kernel::{outcome::UnknownCause, time::Millis};
use semel_ports::{
    Connector, HttpRequest, Part, Report, Template, Transport,
    connector::{Answer, Recall},
};
use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};
use tokio::sync::Notify;

/// Milliseconds from the call to `send_by`; passed by hand, never waited for.
const SEND_MS: i64 = 60_000;
/// Milliseconds from `send_by` to the end.
const TIMEOUT_MS: i64 = 60_000;
/// The secret behind `env:TOKEN`.
const TOKEN: &str = "t0k3n/of+an=account";

/// A clock that stands still until a test moves it.
#[derive(Default)]
struct HandClock {
    ms: AtomicI64,
    read: Notify,
}

impl HandClock {
    fn pass(&self, ms: i64) {
        self.ms.fetch_add(ms, Ordering::SeqCst);
    }

    /// Waits until somebody has looked at the clock after this call.
    async fn looked_at(&self) {
        // The first one may be from before.
        self.read.notified().await;
        self.read.notified().await;
    }
}

impl BootClock for HandClock {
    fn ms(&self) -> i64 {
        self.read.notify_one();
        self.ms.load(Ordering::SeqCst)
    }
}

fn environment(name: &str) -> Option<String> {
    match name {
        "TOKEN" => Some(TOKEN.to_owned()),
        "HOST" => Some("very-secret-name".to_owned()),
        "BROKEN" => Some("two\r\nlines".to_owned()),
        _ => None,
    }
}

fn connector_with(options: HttpOptions) -> HttpConnector {
    HttpConnector::new(Arc::new(EnvFileSecrets::new(Box::new(environment))), options)
}

fn connector() -> HttpConnector {
    connector_with(HttpOptions::default())
}

fn connector_at(clock: &Arc<HandClock>) -> HttpConnector {
    let clock: Arc<dyn BootClock> = clock.clone();
    connector_with(HttpOptions { clock, ..HttpOptions::default() })
}

fn text(text: &str) -> Template {
    Template::text(text)
}

fn post(url: &str) -> HttpRequest {
    HttpRequest {
        method: "POST".to_owned(),
        url: text(url),
        headers: vec![("idempotency-key".to_owned(), Template(vec![Part::Key]))],
        body: Some(text("{\"amount\":5}")),
        ca_file: None,
    }
}

async fn send(connector: &HttpConnector, request: HttpRequest) -> Report {
    connector.send(permit(SEND_MS, TIMEOUT_MS).await, request, Millis(NOW), Recall::never()).await
}

#[track_caller]
fn answered(report: Report) -> Answer {
    match report.transport {
        Transport::Answered(answer) => {
            assert!(report.bytes_out > 0);
            answer
        }
        other => panic!("no answer: {other:?}"),
    }
}

/// Nothing was handed over, and the cause carries this code.
#[track_caller]
fn not_sent(report: &Report, code: &str) {
    match &report.transport {
        Transport::NotSent { cause } => {
            assert!(cause.contains(code) && cause.contains("next: "), "{code}: {cause}");
            assert_eq!((report.bytes_out, report.late_ms), (0, 0));
        }
        other => panic!("not `not sent`: {other:?}"),
    }
}

/// Bytes were handed over, and no full answer came.
#[track_caller]
fn lost(report: &Report, why: &UnknownCause) {
    match &report.transport {
        Transport::Lost { cause, detail } => {
            assert_eq!(cause, why, "{detail}");
            assert!(report.bytes_out > 0);
        }
        other => panic!("not `lost`: {other:?}"),
    }
}
