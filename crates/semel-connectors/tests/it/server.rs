//! A raw server: each test says what it does with a connection, byte by byte.

use std::{
    future::Future,
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinHandle,
};

/// A short whole answer on a connection that stays open.
pub(crate) const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// What the server saw.
#[derive(Default)]
pub(crate) struct Log {
    connections: AtomicUsize,
    bytes: AtomicUsize,
    requests: Mutex<Vec<String>>,
}

impl Log {
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Request bytes, as they are after TLS.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::SeqCst)
    }

    /// Requests that were read whole.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Reads up to the head's end, and then what `content-length` says. `None` when the peer ends before.
pub(crate) async fn request(stream: &mut (impl AsyncRead + Unpin), log: &Log) -> Option<String> {
    let head = head(stream, log).await?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.ok()?;
    log.bytes.fetch_add(body.len(), Ordering::SeqCst);
    let whole = head + &String::from_utf8(body).unwrap();
    log.requests.lock().unwrap().push(whole.clone());
    Some(whole)
}

/// Reads up to the head's end.
pub(crate) async fn head(stream: &mut (impl AsyncRead + Unpin), log: &Log) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
        log.bytes.fetch_add(1, Ordering::SeqCst);
    }
    Some(String::from_utf8(head).unwrap())
}

/// Waits for the peer's end; `Err` when it is a reset. Bytes that come before are counted.
pub(crate) async fn end(stream: &mut (impl AsyncRead + Unpin), log: &Log) -> io::Result<()> {
    let mut rest = Vec::new();
    let ended = stream.read_to_end(&mut rest).await;
    log.bytes.fetch_add(rest.len(), Ordering::SeqCst);
    ended.map(drop)
}

/// Ends the connection with a reset.
pub(crate) fn reset(tcp: &TcpStream) {
    tcp.set_zero_linger().unwrap();
}

/// A server on a free port.
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) log: Arc<Log>,
    ended: mpsc::UnboundedReceiver<()>,
    accepting: JoinHandle<()>,
}

impl Target {
    /// Does `script` with every connection.
    pub(crate) async fn start<F, S>(script: F) -> Self
    where
        F: Fn(TcpStream, Arc<Log>) -> S + Send + 'static,
        S: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Log::default());
        let (tell, ended) = mpsc::unbounded_channel();
        let seen = Arc::clone(&log);
        let accepting = tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                seen.connections.fetch_add(1, Ordering::SeqCst);
                let (work, tell) = (script(tcp, Arc::clone(&seen)), tell.clone());
                tokio::spawn(async move {
                    work.await;
                    tell.send(()).ok();
                });
            }
        });
        Self { address, log, ended, accepting }
    }

    /// Answers every request of every connection with these bytes.
    pub(crate) async fn answering(answer: &'static [u8]) -> Self {
        Self::start(move |mut tcp, log| async move {
            while request(&mut tcp, &log).await.is_some() {
                tcp.write_all(answer).await.unwrap();
            }
        })
        .await
    }

    /// Answers one request of every connection with these bytes, and ends the connection.
    pub(crate) async fn answering_once(answer: &'static [u8]) -> Self {
        Self::start(move |mut tcp, log| async move {
            if request(&mut tcp, &log).await.is_some() {
                tcp.write_all(answer).await.unwrap();
            }
        })
        .await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/pay", self.address)
    }

    pub(crate) fn tls_url(&self) -> String {
        format!("https://localhost:{}/pay", self.address.port())
    }

    /// Waits until the script of one more connection has ended.
    pub(crate) async fn ended(&mut self) {
        self.ended.recv().await.unwrap();
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}
