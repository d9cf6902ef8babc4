//! A sink of the demo: a process of its own, asked over HTTP what it has done.

use super::stage::Stage;
use crate::fail::{Exit, Fail};
use semel_connectors::{EnvFileSecrets, HttpConnector, HttpOptions};
use semel_kernel::json::Json;
use semel_ports::{Connector as _, HttpRequest, Question, Template, Transport};
use std::{process::Stdio, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

/// A running sink.
pub(crate) struct Sink {
    child: Child,
    address: String,
    http: HttpConnector,
}

fn broken(what: impl Into<String>) -> Fail {
    Fail::new(
        Exit::Failed,
        "SM1016",
        what,
        "run `semel doctor`; if it finds nothing, this is a fault of semel",
    )
}

impl Sink {
    /// Starts one and waits until it listens.
    pub(crate) async fn start(stage: &Stage, kind: &str) -> Result<Self, Fail> {
        let mut child = Command::new(stage.program())
            .args(["sink", kind, "--db"])
            .arg(stage.path(&format!("{kind}.db")))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|e| Fail::io("starting a sink", &e))?;
        let out = child.stdout.take().ok_or_else(|| broken("a sink has no output"))?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).await.map_err(|e| Fail::io("reading from a sink", &e))?;
        let ready =
            Json::parse(line.trim()).map_err(|e| broken(format!("the {kind} sink did not start: {e}")))?;
        let address =
            ready.get("address").and_then(Json::as_str).ok_or_else(|| broken("a sink without address"))?;
        let http = HttpConnector::new(
            Arc::new(EnvFileSecrets::new(Box::new(|_: &str| None))),
            HttpOptions::default(),
        );
        Ok(Self { address: format!("http://{address}"), child, http })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id().unwrap_or(0)
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    async fn call(&self, method: &str, path: &str, body: Option<String>) -> Result<Json, Fail> {
        let request = HttpRequest {
            method: method.to_owned(),
            url: Template::text(format!("{}{path}", self.address)),
            headers: vec![("content-type".to_owned(), Template::text("application/json"))],
            body: body.map(Template::text),
            ca_file: None,
        };
        let question = Question { request, key: String::new(), fence: String::new(), timeout_ms: 5_000 };
        match self.http.ask(question).await.transport {
            Transport::Answered(answer) => {
                let text = String::from_utf8_lossy(&answer.body).into_owned();
                Json::parse(&text).map_err(|e| broken(format!("a sink answered {}: {e}", answer.status)))
            }
            Transport::NotSent { cause } | Transport::Lost { detail: cause, .. } => {
                Err(broken(format!("a sink does not answer: {cause}")))
            }
        }
    }

    /// The next effect is answered late, so that there is time to pull the plug after it was committed.
    pub(crate) async fn answer_late(&self) -> Result<(), Fail> {
        self.answer_after(Duration::from_secs(20)).await
    }

    pub(crate) async fn answer_after(&self, pause: Duration) -> Result<(), Fail> {
        let fault = format!("slow_after:{}", pause.as_millis());
        let rule = Json::obj([("fault", Json::str(&fault)), ("times", Json::from(1_u32))]);
        self.call("PUT", "/_control", Some(rule.canonical())).await.map(drop)
    }

    /// Effects that the sink has really made.
    pub(crate) async fn effects(&self) -> Result<u64, Fail> {
        self.number(&["effects"]).await
    }

    /// Requests that asked for an effect.
    pub(crate) async fn posts(&self) -> Result<u64, Fail> {
        let count = self.call("GET", "/_count", None).await?;
        let log = count.get("requests_log").and_then(Json::as_arr).unwrap_or_default();
        let post = |r: &&Json| r.get("method").and_then(Json::as_str) == Some("POST");
        Ok(u64::try_from(log.iter().filter(post).count()).unwrap_or(0))
    }

    pub(crate) async fn effects_for(&self, target: &str) -> Result<u64, Fail> {
        self.number(&["by_target", target]).await
    }

    async fn number(&self, path: &[&str]) -> Result<u64, Fail> {
        let count = self.call("GET", "/_count", None).await?;
        let found = count.at(path).and_then(Json::as_i64).unwrap_or(0);
        Ok(u64::try_from(found).unwrap_or(0))
    }

    /// Waits until the sink has made so many effects.
    pub(crate) async fn until_effects(&self, n: u64) -> Result<(), Fail> {
        for _ in 0..1_000 {
            if self.effects().await? >= n {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Err(broken("the effect did not come within ten seconds"))
    }
}
