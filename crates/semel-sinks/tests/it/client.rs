//! A raw client that tells a reset, a close and an answer apart, and a sink in this process.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;

use semel_sinks::{SinkError, SinkKind, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// What a caller saw.
#[derive(Debug, PartialEq)]
pub(crate) enum Seen {
    Answer {
        status: u16,
        head: String,
        body: Value,
    },
    /// The connection was reset.
    Reset,
    /// The connection was closed in order after bytes that are no whole answer.
    Closed(Vec<u8>),
}

impl Seen {
    pub(crate) fn status(&self) -> u16 {
        self.parts().0
    }

    pub(crate) fn body(&self) -> &Value {
        self.parts().2
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.parts().1.lines();
        lines.filter_map(|line| line.split_once(": ")).find(|(known, _)| *known == name).map(|(_, v)| v)
    }

    fn parts(&self) -> (u16, &str, &Value) {
        match self {
            Self::Answer { status, head, body } => (*status, head, body),
            Self::Reset | Self::Closed(_) => panic!("no answer: {self:?}"),
        }
    }

    fn of(bytes: Vec<u8>) -> Self {
        whole_answer(&bytes).unwrap_or(Self::Closed(bytes))
    }
}

fn whole_answer(bytes: &[u8]) -> Option<Seen> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let announced = head.lines().find_map(|line| line.strip_prefix("Content-Length: "))?;
    let body = &bytes[end + 4..];
    let whole = announced.parse() == Ok(body.len());
    whole.then(|| Seen::Answer { status, head, body: serde_json::from_slice(body).unwrap() })
}

/// The bytes of one request.
pub(crate) fn request(method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    format!("{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}")
        .into_bytes()
}

/// Sends bytes on a connection of their own and reads until it ends.
pub(crate) async fn exchange(address: SocketAddr, bytes: &[u8]) -> Seen {
    // A peer may reset so early that connecting or writing already says so.
    let mut stream = match TcpStream::connect(address).await {
        Err(error) if error.kind() == ErrorKind::ConnectionReset => return Seen::Reset,
        connected => connected.unwrap(),
    };
    let wrote = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer).await {
        Err(error) if error.kind() == ErrorKind::ConnectionReset => Seen::Reset,
        Err(error) => panic!("unexpected: {error}"),
        Ok(_) if wrote.is_err() => Seen::Reset,
        Ok(_) => Seen::of(answer),
    }
}

/// A sink served by this process on a free port.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    task: JoinHandle<Result<(), SinkError>>,
}

impl Running {
    pub(crate) async fn start(kind: SinkKind, db: &Path) -> Self {
        let (ready, address) = oneshot::channel();
        let db = db.to_owned();
        let task = tokio::spawn(async move {
            serve(kind, &db, SocketAddr::from(([127, 0, 0, 1], 0)), |address| ready.send(address).unwrap())
                .await
        });
        Self { address: address.await.unwrap(), task }
    }

    pub(crate) async fn stop(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Seen {
        exchange(self.address, &request(method, target, headers, &body.to_string())).await
    }

    pub(crate) async fn get(&self, target: &str) -> Seen {
        exchange(self.address, &request("GET", target, &[], "")).await
    }

    /// Sends a request and leaves the connection open without reading.
    pub(crate) async fn send_only(&self, method: &str, target: &str, body: &Value) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let headers = [("Idempotency-Key", "slow")];
        stream.write_all(&request(method, target, &headers, &body.to_string())).await.unwrap();
        stream
    }

    pub(crate) async fn control(&self, body: Value) {
        assert_eq!(self.send("PUT", "/_control", &[], &body).await.status(), 200, "{body}");
    }

    pub(crate) async fn count(&self) -> Value {
        self.get("/_count").await.body().clone()
    }

    pub(crate) async fn effects(&self) -> u64 {
        self.count().await["effects"].as_u64().unwrap()
    }

    /// Asks for the count until a figure has the value.
    pub(crate) async fn until(&self, figure: &str, value: u64) {
        while self.count().await[figure] != json!(value) {}
    }
}

/// A sink of a kind on a new file, which goes away with the first part.
pub(crate) async fn fresh(kind: SinkKind) -> (tempfile::TempDir, Running) {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(kind, &folder.path().join("sink.db")).await;
    (folder, running)
}
