//! Sockets: listening, one task per connection, and the ways an answer leaves or does not.
//!
//! Invariant: a reply is sent only after the sink gave it, and a reset is a real TCP RST.
//! It must not know what requests mean.

use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::fault::Reply;
use crate::http::{self, ReadError, Response};
use crate::sink::Sink;
use crate::{SinkError, SinkKind};

/// The most connections served at a time; further ones wait in the system's queue.
const CONNECTIONS_MAX: usize = 1024;
/// How long a connection may take to bring its next request.
const REQUEST_WAIT: Duration = Duration::from_secs(600);
/// How long to rest after the system refused a connection, for want of descriptors for example.
const ACCEPT_REST: Duration = Duration::from_millis(50);
/// Bytes that no HTTP client can take for an answer.
pub(crate) const GARBAGE: &[u8] = b"\x00\xff\x16\x03 this is not HTTP \xfe\r\n\r\n";

/// Serves one outside system until the future is dropped, with its records in the file `db`.
/// `on_ready` is told the bound address as soon as connections are accepted.
///
/// # Errors
/// When the file cannot be opened as this kind of sink, or the address cannot be listened on.
pub async fn serve(
    kind: SinkKind,
    db: &Path,
    listen: SocketAddr,
    on_ready: impl FnOnce(SocketAddr),
) -> Result<(), SinkError> {
    let sink = Arc::new(Sink::open(kind, db)?);
    let (listener, address) = bind(listen).await?;
    on_ready(address);
    accept_all(listener, move |stream| converse(stream, Arc::clone(&sink))).await;
    Ok(())
}

/// Listens on `address` and gives the bound one.
///
/// # Errors
/// `Listen` when the system refuses.
pub(crate) async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), SinkError> {
    let refused = |source| SinkError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let bound = listener.local_addr().map_err(refused)?;
    Ok((listener, bound))
}

/// Gives every connection to `attend`, for ever; dropping this future ends all of them.
pub(crate) async fn accept_all<F, A>(listener: TcpListener, attend: A)
where
    A: Fn(TcpStream) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < CONNECTIONS_MAX => match accepted {
                Ok((stream, _)) => drop(connections.spawn(attend(stream))),
                Err(_) => tokio::time::sleep(ACCEPT_REST).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn converse(mut stream: TcpStream, sink: Arc<Sink>) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let mut buffer = Vec::new();
    loop {
        let read = http::read_request(&mut stream, &mut buffer);
        let Ok(outcome) = tokio::time::timeout(REQUEST_WAIT, read).await else { return };
        let (reply, keep_alive) = match outcome {
            Ok(Some(request)) => {
                let keep_alive = request.head.keep_alive;
                (sink.answer(request).await, keep_alive)
            }
            Err(ReadError::Refused(status, error)) => (Reply::Whole(Response::error(status, error)), false),
            Ok(None) | Err(ReadError::Broken) => return,
        };
        match send(stream, reply, keep_alive).await {
            Some(open) => stream = open,
            None => return,
        }
    }
}

/// Sends one reply; gives the stream back when the connection goes on.
async fn send(mut stream: TcpStream, reply: Reply, keep_alive: bool) -> Option<TcpStream> {
    let response = match reply {
        Reply::Whole(response) => response,
        Reply::Late(response, delay) => {
            tokio::time::sleep(delay).await;
            response
        }
        Reply::Half(response) => {
            finish(stream, &half(&response)).await;
            return None;
        }
        Reply::Garbage => {
            finish(stream, GARBAGE).await;
            return None;
        }
        Reply::Reset => {
            reset(stream);
            return None;
        }
    };
    stream.write_all(&response.bytes(keep_alive)).await.ok()?;
    if keep_alive {
        return Some(stream);
    }
    finish(stream, b"").await;
    None
}

/// An answer whose head announces more than follows, and of whose body only a part follows.
pub(crate) fn half(response: &Response) -> Vec<u8> {
    let mut bytes = response.head(response.body.len() + 64, true);
    bytes.extend_from_slice(&response.body[..response.body.len() / 2]);
    bytes
}

/// Sends the last bytes and closes in order. A peer that has gone is no trouble of ours.
pub(crate) async fn finish(mut stream: TcpStream, bytes: &[u8]) {
    if stream.write_all(bytes).await.is_ok() {
        drop(stream.shutdown().await);
    }
}

/// Closes with a RST instead of a FIN: with zero linger the system discards what is unsent and
/// resets. When even that option is refused the peer is gone, and a plain close is as good.
pub(crate) fn reset(stream: TcpStream) {
    drop(stream.set_zero_linger());
    drop(stream);
}
