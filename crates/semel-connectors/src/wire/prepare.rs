//! Fills a frozen request in and checks it: what comes out can be put on a connection as it is.
//!
//! Invariant: what is sent is what was frozen. Whatever would be read differently on the way (a control character, a
//! dot segment, credentials in the address, a framing header) is refused, never repaired.

use super::dial::Place;
use crate::{obstacle::Obstacle, options::HttpOptions};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Uri,
    header::{self, HOST},
};
use http_body_util::Full;
use semel_ports::request::{Fills, HttpRequest, Part, Template};
use url::{Host, Position, Url};

/// Headers that decide where a message ends or who reads it. They are the transport's.
const TRANSPORT_HEADERS: [HeaderName; 9] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

/// A request that can be put on a connection.
pub(crate) struct Prepared {
    pub(crate) place: Place,
    pub(crate) body_bytes: u64,
    pub(crate) request: Request<Full<Bytes>>,
}

/// Fills a request in and checks it.
pub(crate) fn prepare(
    frozen: &HttpRequest,
    fills: &Fills<'_>,
    options: &HttpOptions,
) -> Result<Prepared, Obstacle> {
    let url = address(&filled(&frozen.url, fills)?).map_err(|why| bad_address(&frozen.url, &why))?;
    let headers = headers(frozen, fills, &url)?;
    let lines = headers.iter().map(|(name, value)| name.as_str().len() + value.len());
    fits("address and headers", url.as_str().len() + lines.sum::<usize>(), options.request_head_bytes)?;
    let body = frozen.body.as_ref().map(|body| filled(body, fills)).transpose()?.unwrap_or_default();
    fits("body", body.len(), options.request_bytes)?;
    let uri = url[Position::BeforePath..].parse::<Uri>();
    let uri = uri.map_err(|e| bad_address(&frozen.url, &e.to_string()))?;
    let body_bytes = body.len() as u64;
    let mut request = Request::new(Full::new(Bytes::from(body)));
    *request.method_mut() = method(&frozen.method)?;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(Prepared { place: place(&url, frozen)?, body_bytes, request })
}

fn filled(template: &Template, fills: &Fills<'_>) -> Result<String, Obstacle> {
    template.fill(fills).map_err(Obstacle::Secret)
}

fn fits(part: &'static str, bytes: usize, limit: usize) -> Result<(), Obstacle> {
    if bytes > limit { Err(Obstacle::TooLarge { part, bytes, limit }) } else { Ok(()) }
}

fn method(name: &str) -> Result<Method, Obstacle> {
    match Method::from_bytes(name.as_bytes()) {
        // A tunnel has no answer that a contract could read.
        Ok(Method::CONNECT) | Err(_) => {
            Err(Obstacle::Request(format!("`{name:.32}` is no method for a call")))
        }
        Ok(method) => Ok(method),
    }
}

fn bad_address(url: &Template, why: &str) -> Obstacle {
    Obstacle::Request(format!("the address `{}`: {why}", url.shown()))
}

/// The URL parser repairs much in silence; what it would repair is refused before it sees it.
fn address(text: &str) -> Result<Url, String> {
    if text.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
        return Err("it holds a control character, a blank or a backslash".to_owned());
    }
    if text.contains('#') {
        return Err("it holds a `#`, and what follows would not be sent".to_owned());
    }
    let (_, rest) = text.split_once("://").ok_or("it does not begin with `http://` or `https://`")?;
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    if authority.contains('@') {
        return Err("it holds a user or a password; put them into a header by reference".to_owned());
    }
    if path.split('?').next().is_some_and(|path| path.split('/').any(is_dot_segment)) {
        return Err("its path holds a dot segment, and would be read as another path".to_owned());
    }
    let url = Url::parse(text).map_err(|e| e.to_string())?;
    if matches!(url.scheme(), "http" | "https") {
        Ok(url)
    } else {
        Err("only http and https are spoken".to_owned())
    }
}

fn is_dot_segment(segment: &str) -> bool {
    matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..")
}

fn place(url: &Url, frozen: &HttpRequest) -> Result<Place, Obstacle> {
    let host = match url.host() {
        Some(Host::Domain(name)) => name.to_owned(),
        Some(Host::Ipv4(address)) => address.to_string(),
        Some(Host::Ipv6(address)) => address.to_string(),
        None => return Err(bad_address(&frozen.url, "it names no host")),
    };
    let port = url.port_or_known_default().ok_or_else(|| bad_address(&frozen.url, "it names no port"))?;
    Ok(Place { tls: url.scheme() == "https", host, port, ca_file: frozen.ca_file.clone() })
}

fn headers(frozen: &HttpRequest, fills: &Fills<'_>, url: &Url) -> Result<HeaderMap, Obstacle> {
    let mut headers = HeaderMap::new();
    let host = &url[Position::BeforeHost..Position::AfterPort];
    headers.append(HOST, value("host", host.to_owned(), false)?);
    let mut own_host = false;
    for (text, template) in &frozen.headers {
        let name = name(text)?;
        let value = value(text, filled(template, fills)?, holds_secret(template))?;
        if name != HOST {
            headers.append(name, value);
        } else if std::mem::replace(&mut own_host, true) {
            return Err(Obstacle::Request("it has two `host` headers".to_owned()));
        } else {
            headers.insert(name, value);
        }
    }
    Ok(headers)
}

fn name(text: &str) -> Result<HeaderName, Obstacle> {
    let refused = |why: &str| Obstacle::Request(format!("the header `{}`: {why}", text.escape_debug()));
    let name = HeaderName::from_bytes(text.as_bytes()).map_err(|_| refused("this is no header name"))?;
    if TRANSPORT_HEADERS.contains(&name) {
        Err(refused("the transport sets it, or it has no place in a call"))
    } else {
        Ok(name)
    }
}

fn value(name: &str, text: String, secret: bool) -> Result<HeaderValue, Obstacle> {
    let refused = |_| Obstacle::Request(format!("the header `{name}`: its value holds a control character"));
    let mut value = HeaderValue::try_from(text).map_err(refused)?;
    value.set_sensitive(secret);
    Ok(value)
}

fn holds_secret(template: &Template) -> bool {
    template.0.iter().any(|part| matches!(part, Part::Secret(_)))
}
