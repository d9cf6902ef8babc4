//! One request and its answer over a connection.
//!
//! Invariant: an answer is whole by HTTP's own rules, or it is none. A 3xx is an answer like any other.

use super::link::Link;
use crate::obstacle::chain;
use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use semel_kernel::outcome::UnknownCause;
use semel_ports::connector::Answer;

/// No full answer came.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) cause: UnknownCause,
    /// What was seen.
    pub(crate) detail: String,
}

/// Sends the request and reads the whole answer, its body up to `limit` bytes.
pub(crate) async fn exchange(
    link: &mut Link,
    request: Request<Full<Bytes>>,
    limit: usize,
) -> Result<Answer, Broken> {
    let sent = link.sender.send_request(request);
    let response = link.drive(sent).await.map_err(|error| before_the_head(link, &error))?;
    let (head, body) = response.into_parts();
    let (body, truncated) = read_body(link, body, limit).await?;
    Ok(Answer { status: head.status.as_u16(), headers: headers(&head.headers), body, truncated })
}

/// Silence is a lost answer; bytes that are no answer are a garbled one.
fn before_the_head(link: &Link, error: &hyper::Error) -> Broken {
    let heard = error.is_parse() || link.meter.seen().read > 0;
    let cause = if heard { UnknownCause::Garbled } else { UnknownCause::Lost };
    Broken { cause, detail: chain(error) }
}

async fn read_body(link: &mut Link, mut body: Incoming, limit: usize) -> Result<(Vec<u8>, bool), Broken> {
    let mut read = Vec::new();
    while let Some(frame) = link.drive(body.frame()).await {
        let frame = frame.map_err(|error| half(read.len(), &error))?;
        // Trailers are not looked at.
        let Ok(data) = frame.into_data() else { continue };
        let room = limit.saturating_sub(read.len());
        read.extend_from_slice(data.get(..room).unwrap_or(&data));
        if data.len() > room {
            return Ok((read, true));
        }
    }
    Ok((read, false))
}

fn half(bytes: usize, error: &hyper::Error) -> Broken {
    let detail = format!("half an answer: it ended after {bytes} bytes of its body: {}", chain(error));
    Broken { cause: UnknownCause::Garbled, detail }
}

fn headers(map: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    map.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}
