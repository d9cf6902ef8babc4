//! Makes a connection: name, TCP, TLS. Not one byte of the request is involved.

use super::{
    gauge::Meter,
    link::Link,
    socket::{Socket, Stream},
    tls::Trust,
};
use crate::{
    obstacle::{Obstacle, chain},
    options::HttpOptions,
};
use rustls::pki_types::ServerName;
use std::{fmt, sync::Arc, time::Duration};
use tokio::net::TcpStream;

/// Where a request goes, and whom it trusts. Connections are shared only between equal ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) tls: bool,
    /// A name or an address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) ca_file: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{open}{}{close}:{}", self.host, self.port)
    }
}

impl Place {
    fn unreachable(&self, cause: impl Into<String>) -> Obstacle {
        Obstacle::Unreachable { place: self.to_string(), cause: cause.into() }
    }

    fn tls_failed(&self, cause: impl Into<String>) -> Obstacle {
        Obstacle::Tls { place: self.to_string(), cause: cause.into() }
    }
}

/// Makes a connection.
pub(crate) async fn dial(place: &Place, trust: &Trust, options: &HttpOptions) -> Result<Link, Obstacle> {
    let tcp = connect(place, options.connect_ms).await?;
    let (tcp, tap) = tapped(tcp).map_err(|e| place.unreachable(e.to_string()))?;
    let meter = Arc::new(Meter::default());
    let socket = Socket::new(tcp, Arc::clone(&meter));
    let stream: Box<dyn Stream> =
        if place.tls { secure(place, socket, trust).await? } else { Box::new(socket) };
    let link = Link::over(stream, meter, tap, options.answer_head_bytes).await;
    link.map_err(|e| place.unreachable(chain(&e)))
}

/// Tries the addresses in their order; trying the next one is no repetition, for nothing was sent to the last.
async fn connect(place: &Place, connect_ms: i64) -> Result<TcpStream, Obstacle> {
    let limit = Duration::from_millis(connect_ms.max(0).unsigned_abs());
    let found = tokio::net::lookup_host((place.host.as_str(), place.port)).await;
    let mut cause = "the name has no address".to_owned();
    for address in found.map_err(|e| place.unreachable(format!("the name is not found: {e}")))? {
        match tokio::time::timeout(limit, TcpStream::connect(address)).await {
            Ok(Ok(tcp)) => return Ok(tcp),
            Ok(Err(error)) => cause = format!("{address}: {error}"),
            Err(_) => cause = format!("{address}: no connection within {connect_ms} ms"),
        }
    }
    Err(place.unreachable(cause))
}

fn tapped(tcp: TcpStream) -> std::io::Result<(TcpStream, std::net::TcpStream)> {
    tcp.set_nodelay(true)?;
    let tcp = tcp.into_std()?;
    let tap = tcp.try_clone()?;
    Ok((TcpStream::from_std(tcp)?, tap))
}

async fn secure(place: &Place, socket: Socket, trust: &Trust) -> Result<Box<dyn Stream>, Obstacle> {
    let config = trust.config(place.ca_file.as_deref()).await.map_err(|e| place.tls_failed(e))?;
    let name = ServerName::try_from(place.host.clone()).map_err(|e| place.tls_failed(e.to_string()))?;
    let tls = tokio_rustls::TlsConnector::from(config).connect(name, socket).await;
    Ok(Box::new(tls.map_err(|e| place.tls_failed(chain(&e)))?))
}
