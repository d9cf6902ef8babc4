//! The TCP socket below TLS: it counts what leaves for the network.
//!
//! Invariant: a connection that is dropped while a request is open is reset, not closed, so that the kernel throws
//! away what it had not delivered and the abandoned request stops travelling on our side.

use super::gauge::Meter;
use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// What a request can go over.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl Stream for Socket {}
impl Stream for tokio_rustls::client::TlsStream<Socket> {}

/// A TCP socket that counts.
pub(crate) struct Socket {
    tcp: TcpStream,
    meter: Arc<Meter>,
}

impl Socket {
    pub(crate) fn new(tcp: TcpStream, meter: Arc<Meter>) -> Self {
        Self { tcp, meter }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.meter.is_open()
            && let Err(error) = self.tcp.set_zero_linger()
        {
            tracing::debug!(%error, "an abandoned connection is closed without a reset");
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.tcp).poll_write(cx, buf);
        if let Poll::Ready(Ok(bytes)) = polled {
            self.meter.left_socket(bytes);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}
