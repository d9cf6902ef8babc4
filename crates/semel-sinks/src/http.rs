//! A small HTTP/1.1 server side over one byte stream, written by hand because a fault server must
//! own every byte it sends.
//!
//! Invariant: nothing is read beyond the limits, and bytes after one request stay for the next.
//! It must not know what a request means.

use std::io;

use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The most bytes a request line and its headers may take.
pub(crate) const HEAD_BYTES_MAX: usize = 64 * 1024;
/// The most bytes a request body may take.
pub(crate) const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What stood before the body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) method: String,
    /// Path and query as sent.
    pub(crate) target: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    pub(crate) keep_alive: bool,
    pub(crate) body_bytes: usize,
}

/// One whole request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
}

/// Why no request came out of the stream.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The stream ended or broke inside a request.
    Broken,
    /// The bytes are not a request that this server takes; the answer's status and reason.
    Refused(u16, &'static str),
}

impl From<io::Error> for ReadError {
    fn from(_: io::Error) -> Self {
        Self::Broken
    }
}

impl Head {
    /// The value of a header, by its lower-case name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl Request {
    /// The path without the query, still percent-encoded.
    pub(crate) fn path(&self) -> &str {
        self.head.target.split_once('?').map_or(self.head.target.as_str(), |(path, _)| path)
    }

    /// The first value of a query field, decoded.
    pub(crate) fn query(&self, field: &str) -> Option<String> {
        let (_, query) = self.head.target.split_once('?')?;
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.find(|(name, _)| name == field).map(|(_, value)| value.into_owned())
    }

    /// What follows `prefix` in the path when it is exactly one segment, decoded.
    pub(crate) fn segment_after(&self, prefix: &str) -> Option<String> {
        let rest = self.path().strip_prefix(prefix)?.strip_prefix('/')?;
        let one = !rest.is_empty() && !rest.contains('/');
        let text = percent_encoding::percent_decode_str(rest).decode_utf8().ok()?;
        one.then(|| text.into_owned())
    }

    /// SHA-256 of the body, lower-case hexadecimal.
    pub(crate) fn body_sha256(&self) -> String {
        hex(&Sha256::digest(&self.body))
    }

    /// SHA-256 over everything that makes two requests under one key the same request.
    pub(crate) fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for part in [self.head.method.as_bytes(), b"\n", self.head.target.as_bytes(), b"\n", &self.body] {
            hash.update(part);
        }
        hex(&hash.finalize())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Finds the head at the start of `bytes`: the head and its length, or `None` while it is not whole.
///
/// # Errors
/// `Refused` when the bytes cannot become a request that this server takes.
pub(crate) fn parse_head(bytes: &[u8]) -> Result<Option<(Head, usize)>, ReadError> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        let too_long = bytes.len() > HEAD_BYTES_MAX;
        return if too_long { Err(ReadError::Refused(431, "head_too_large")) } else { Ok(None) };
    };
    if end > HEAD_BYTES_MAX {
        return Err(ReadError::Refused(431, "head_too_large"));
    }
    let text = std::str::from_utf8(&bytes[..end]).map_err(|_| ReadError::Refused(400, "head_not_text"))?;
    Ok(Some((head_of(text)?, end + 4)))
}

fn head_of(text: &str) -> Result<Head, ReadError> {
    let mut lines = text.split("\r\n");
    let (method, target, version) = request_line(lines.next().unwrap_or_default())?;
    let headers = lines.map(header_line).collect::<Result<Vec<_>, _>>()?;
    let mut head = Head { method, target, headers, keep_alive: version == "HTTP/1.1", body_bytes: 0 };
    if head.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
        head.keep_alive = false;
    }
    head.body_bytes = body_bytes(&head)?;
    Ok(head)
}

fn request_line(line: &str) -> Result<(String, String, &str), ReadError> {
    let parts: Vec<&str> = line.split(' ').collect();
    match parts.as_slice() {
        [method, target, version @ ("HTTP/1.1" | "HTTP/1.0")] if target.starts_with('/') => {
            Ok(((*method).to_owned(), (*target).to_owned(), version))
        }
        _ => Err(ReadError::Refused(400, "bad_request_line")),
    }
}

fn header_line(line: &str) -> Result<(String, String), ReadError> {
    let (name, value) = line.split_once(':').ok_or(ReadError::Refused(400, "bad_header"))?;
    let folded_or_spaced = name.is_empty() || name.contains([' ', '\t']);
    if folded_or_spaced {
        return Err(ReadError::Refused(400, "bad_header"));
    }
    Ok((name.to_ascii_lowercase(), value.trim().to_owned()))
}

fn body_bytes(head: &Head) -> Result<usize, ReadError> {
    if head.header("transfer-encoding").is_some() {
        return Err(ReadError::Refused(411, "length_required"));
    }
    let mut lengths =
        head.headers.iter().filter(|(name, _)| name == "content-length").map(|(_, value)| value);
    let Some(first) = lengths.next() else { return Ok(0) };
    let digits = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || lengths.any(|other| other != first) {
        return Err(ReadError::Refused(400, "bad_length"));
    }
    let bytes = first.parse().unwrap_or(usize::MAX);
    if bytes > BODY_BYTES_MAX { Err(ReadError::Refused(413, "body_too_large")) } else { Ok(bytes) }
}

/// Reads the next request; `None` when the peer closed between requests. `buffer` keeps what was
/// read beyond it.
///
/// # Errors
/// `Broken` when the stream ended inside a request, `Refused` when the answer is fixed by the head.
pub(crate) async fn read_request<S>(
    stream: &mut S,
    buffer: &mut Vec<u8>,
) -> Result<Option<Request>, ReadError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (head, head_bytes) = loop {
        if let Some(found) = parse_head(buffer)? {
            break found;
        }
        if stream.read_buf(buffer).await? == 0 {
            return if buffer.is_empty() { Ok(None) } else { Err(ReadError::Broken) };
        }
    };
    if head.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    let end = head_bytes + head.body_bytes;
    while buffer.len() < end {
        if stream.read_buf(buffer).await? == 0 {
            return Err(ReadError::Broken);
        }
    }
    let rest = buffer.split_off(end);
    let body = std::mem::replace(buffer, rest).split_off(head_bytes);
    Ok(Some(Request { head, body }))
}

/// One whole answer; the length is added when it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// An answer with a JSON body.
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
        Self { status, headers, body: body.to_string().into_bytes() }
    }

    /// An answer `{"error": error}`.
    pub(crate) fn error(status: u16, error: &str) -> Self {
        Self::json(status, &serde_json::json!({ "error": error }))
    }

    /// The same answer with one header more.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// The head as bytes, announcing `announced_bytes` of body.
    pub(crate) fn head(&self, announced_bytes: usize, keep_alive: bool) -> Vec<u8> {
        let reason = reason(self.status);
        let connection = if keep_alive { "keep-alive" } else { "close" };
        let mut text = format!("HTTP/1.1 {} {reason}\r\n", self.status);
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {}\r\n", value.replace(['\r', '\n'], " ")));
        }
        text.push_str(&format!("Content-Length: {announced_bytes}\r\nConnection: {connection}\r\n\r\n"));
        text.into_bytes()
    }

    /// The whole answer as bytes.
    pub(crate) fn bytes(&self, keep_alive: bool) -> Vec<u8> {
        let mut bytes = self.head(self.body.len(), keep_alive);
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        302 => "Found",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        409 => "Conflict",
        412 => "Precondition Failed",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Status",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status_of(text: &str) -> u16 {
        match parse_head(text.as_bytes()) {
            Err(ReadError::Refused(status, _)) => status,
            other => panic!("not refused: {other:?}"),
        }
    }

    #[test]
    fn head_is_read_up_to_its_end_and_names_are_lowered() {
        let text = b"POST /a?b=c HTTP/1.1\r\nX-Operation:  op 1 \r\nContent-Length: 3\r\n\r\nabcGET";
        let (head, bytes) = parse_head(text).unwrap().unwrap();
        assert_eq!(&text[bytes..], b"abcGET");
        assert_eq!(head.header("x-operation"), Some("op 1"));
        assert_eq!((head.body_bytes, head.keep_alive), (3, true));
    }

    #[test]
    fn ambiguous_framing_is_refused() {
        assert_eq!(status_of("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"), 400);
        assert_eq!(status_of("POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n"), 400);
        assert_eq!(status_of("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 411);
        assert_eq!(status_of("POST / HTTP/1.1\r\nA: b\r\n folded: c\r\n\r\n"), 400);
        assert_eq!(status_of("POST / HTTP/2\r\n\r\n"), 400);
    }

    #[test]
    fn limits_hold() {
        assert_eq!(status_of(&"x".repeat(HEAD_BYTES_MAX + 1)), 431);
        let body = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n", BODY_BYTES_MAX + 1);
        assert_eq!(status_of(&body), 413);
        assert_eq!(status_of("POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n"), 413);
    }

    #[test]
    fn a_header_value_cannot_open_a_new_line() {
        let head = Response::error(400, "x").with("A", "b\r\nC: d").head(0, false);
        assert!(String::from_utf8(head).unwrap().contains("A: b  C: d\r\n"));
    }
}
