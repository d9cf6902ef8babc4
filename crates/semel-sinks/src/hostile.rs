//! A TCP peer that misbehaves below HTTP, for the tests of every window in which a call can fail.
//!
//! Invariant: it never brings anything about, so whatever a caller sees here, there was no effect.
//! It must not know any desk.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::SinkError;
use crate::http::{Response, parse_head};
use crate::server::{GARBAGE, accept_all, bind, finish, half, reset};

/// The most bytes read of one request before it counts as whole.
const READ_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The bytes before the length of a TLS record, and of the length itself.
const TLS_HEADER_BYTES: usize = 5;

/// What the peer does with every connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Accepts, then resets without reading a byte.
    ResetOnAccept,
    /// Reads the request's head, then resets.
    HeadThenReset,
    /// Reads the whole request, then resets.
    ReadAllThenReset,
    /// Reads the whole request, then closes in order without an answer.
    ReadAllThenClose,
    /// Reads the whole request, then announces an answer and sends a part of it.
    HalfAnswer,
    /// Reads the whole request, then sends bytes that are not HTTP.
    Garbage,
    /// Reads the whole request, then keeps the connection open and silent until the caller leaves.
    NeverAnswer,
    /// Answers a TLS hello with plain HTTP.
    PlainToTls,
    /// Reads a TLS hello, then closes in order.
    CloseInTlsHandshake,
    /// Reads the whole request, then closes in order after this many bytes of a good answer.
    CloseAfterBytes(usize),
}

/// What the peer saw, over all connections.
#[derive(Debug, Default)]
pub struct Counters {
    connections: AtomicU64,
    bytes: AtomicU64,
    whole_requests: AtomicU64,
}

impl Counters {
    /// How many connections were accepted.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }

    /// How many bytes were read.
    #[must_use]
    pub fn bytes_received(&self) -> u64 {
        self.bytes.load(Ordering::SeqCst)
    }

    /// How many requests were read to their last byte.
    #[must_use]
    pub fn whole_requests(&self) -> u64 {
        self.whole_requests.load(Ordering::SeqCst)
    }
}

/// Serves one behaviour until the future is dropped. `on_ready` is told the bound address and given
/// the counters as soon as connections are accepted.
///
/// # Errors
/// `Listen` when the address cannot be listened on.
pub async fn serve_hostile(
    listen: SocketAddr,
    behaviour: Behaviour,
    on_ready: impl FnOnce(SocketAddr, Arc<Counters>),
) -> Result<(), SinkError> {
    let (listener, address) = bind(listen).await?;
    let counters = Arc::new(Counters::default());
    on_ready(address, Arc::clone(&counters));
    accept_all(listener, move |stream| misbehave(stream, behaviour, Arc::clone(&counters))).await;
    Ok(())
}

async fn misbehave(mut stream: TcpStream, behaviour: Behaviour, counters: Arc<Counters>) {
    counters.connections.fetch_add(1, Ordering::SeqCst);
    let arrived = match behaviour {
        Behaviour::ResetOnAccept => true,
        Behaviour::HeadThenReset => read_until(&mut stream, &counters, head_is_whole).await,
        Behaviour::PlainToTls | Behaviour::CloseInTlsHandshake => {
            read_until(&mut stream, &counters, tls_record_is_whole).await
        }
        Behaviour::ReadAllThenReset
        | Behaviour::ReadAllThenClose
        | Behaviour::HalfAnswer
        | Behaviour::Garbage
        | Behaviour::NeverAnswer
        | Behaviour::CloseAfterBytes(_) => read_request(&mut stream, &counters).await,
    };
    if arrived {
        part(stream, behaviour, &counters).await;
    }
}

/// What is done once the bytes that the behaviour waits for have arrived.
async fn part(mut stream: TcpStream, behaviour: Behaviour, counters: &Counters) {
    let good = Response::json(200, &serde_json::json!({ "id": "X-1", "state": "done" }));
    match behaviour {
        Behaviour::ResetOnAccept | Behaviour::HeadThenReset | Behaviour::ReadAllThenReset => reset(stream),
        Behaviour::ReadAllThenClose | Behaviour::CloseInTlsHandshake => finish(stream, b"").await,
        Behaviour::HalfAnswer => finish(stream, &half(&good)).await,
        Behaviour::Garbage => finish(stream, GARBAGE).await,
        Behaviour::NeverAnswer => drop(read_until(&mut stream, counters, |_| false).await),
        Behaviour::PlainToTls => finish(stream, &Response::error(400, "plain_http").bytes(false)).await,
        Behaviour::CloseAfterBytes(bytes) => {
            let answer = good.bytes(true);
            finish(stream, &answer[..bytes.min(answer.len())]).await;
        }
    }
}

async fn read_request(stream: &mut TcpStream, counters: &Counters) -> bool {
    let whole = read_until(stream, counters, request_is_whole).await;
    counters.whole_requests.fetch_add(u64::from(whole), Ordering::SeqCst);
    whole
}

/// Reads and counts until `whole` is content; false when the peer left before.
async fn read_until(stream: &mut TcpStream, counters: &Counters, whole: fn(&[u8]) -> bool) -> bool {
    let mut bytes = Vec::new();
    while !whole(&bytes) && bytes.len() < READ_BYTES_MAX {
        match stream.read_buf(&mut bytes).await {
            Ok(read @ 1..) => counters.bytes.fetch_add(read as u64, Ordering::SeqCst),
            Ok(_) | Err(_) => return false,
        };
    }
    true
}

fn head_is_whole(bytes: &[u8]) -> bool {
    !matches!(parse_head(bytes), Ok(None))
}

fn request_is_whole(bytes: &[u8]) -> bool {
    match parse_head(bytes) {
        Ok(Some((head, head_bytes))) => bytes.len() >= head_bytes + head.body_bytes,
        Ok(None) => false,
        Err(_) => true,
    }
}

fn tls_record_is_whole(bytes: &[u8]) -> bool {
    let length = bytes.get(3..TLS_HEADER_BYTES).map(|two| usize::from(two[0]) << 8 | usize::from(two[1]));
    length.is_some_and(|length| bytes.len() >= TLS_HEADER_BYTES + length)
}
