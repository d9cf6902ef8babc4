//! TLS: before the handshake's end nothing is sent, after it everything counts.

use super::{
    HandClock, SEND_MS, UnknownCause, answered, connector, connector_at, lost, not_sent, post, send,
};
use crate::server::{OK, Target, end, request, reset};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use semel_ports::HttpRequest;
use std::{io::Write, sync::Arc};
use tempfile::NamedTempFile;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// A certificate for a name, and a file that trusts it.
struct Identity {
    acceptor: TlsAcceptor,
    ca_file: NamedTempFile,
}

impl Identity {
    fn of(name: &str) -> Self {
        let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
        let mut ca_file = NamedTempFile::new().unwrap();
        ca_file.write_all(made.cert.pem().as_bytes()).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        Self { acceptor: TlsAcceptor::from(Arc::new(config)), ca_file }
    }

    fn trusted(&self, target: &Target) -> HttpRequest {
        let ca_file = Some(self.ca_file.path().to_str().unwrap().to_owned());
        HttpRequest { ca_file, ..post(&target.tls_url()) }
    }

    /// A target that answers one request with these bytes and then cuts the TCP connection, without a TLS goodbye.
    async fn cutting(&self, answer: &'static [u8]) -> Target {
        let acceptor = self.acceptor.clone();
        Target::start(move |tcp, log| {
            let acceptor = acceptor.clone();
            async move {
                let mut tls = acceptor.accept(tcp).await.unwrap();
                request(&mut tls, &log).await.unwrap();
                tls.write_all(answer).await.unwrap();
                tls.flush().await.unwrap();
            }
        })
        .await
    }
}

async fn serve(tls: &mut TlsStream<TcpStream>, log: &crate::server::Log) {
    while request(tls, log).await.is_some() {
        tls.write_all(OK).await.unwrap();
        tls.flush().await.unwrap();
    }
}

async fn serving(identity: &Identity) -> Target {
    let acceptor = identity.acceptor.clone();
    Target::start(move |tcp, log| {
        let acceptor = acceptor.clone();
        async move {
            if let Ok(mut tls) = acceptor.accept(tcp).await {
                serve(&mut tls, &log).await;
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_trusted_target_answers_and_its_connection_is_used_again() {
    let identity = Identity::of("localhost");
    let target = serving(&identity).await;
    let connector = connector();
    for _ in 0..3 {
        let report = send(&connector, identity.trusted(&target)).await;
        answered(report);
    }
    assert_eq!((target.log.connections(), target.log.requests().len()), (1, 3));
}

#[tokio::test]
async fn only_plain_request_bytes_are_counted() {
    let identity = Identity::of("localhost");
    let target = serving(&identity).await;
    let report = send(&connector(), identity.trusted(&target)).await;
    assert_eq!(report.bytes_out, target.log.bytes() as u64);
}

#[tokio::test]
async fn an_untrusted_certificate_is_not_sent() {
    let identity = Identity::of("localhost");
    let mut target = serving(&identity).await;
    // Trust in somebody else keeps the machine's own roots out of the question.
    let other = Identity::of("localhost");
    not_sent(&send(&connector(), other.trusted(&target)).await, "SM3105");
    target.ended().await;
    assert_eq!((target.log.connections(), target.log.bytes()), (1, 0));
}

#[tokio::test]
async fn a_certificate_for_another_name_is_not_sent() {
    let identity = Identity::of("elsewhere.example");
    let mut target = serving(&identity).await;
    not_sent(&send(&connector(), identity.trusted(&target)).await, "SM3105");
    target.ended().await;
    assert_eq!((target.log.connections(), target.log.bytes()), (1, 0));
}

#[tokio::test]
async fn trust_is_not_shared_between_requests() {
    let identity = Identity::of("localhost");
    let mut target = serving(&identity).await;
    let connector = connector();
    answered(send(&connector, identity.trusted(&target)).await);
    let other = Identity::of("localhost");
    not_sent(&send(&connector, other.trusted(&target)).await, "SM3105");
    target.ended().await;
    assert_eq!((target.log.connections(), target.log.requests().len()), (2, 1));
}

#[tokio::test]
async fn a_ca_file_that_cannot_be_used_is_not_sent() {
    let identity = Identity::of("localhost");
    let target = serving(&identity).await;
    let empty = NamedTempFile::new().unwrap();
    for path in [empty.path().to_str().unwrap(), "/nonexistent/ca.pem"] {
        let request = HttpRequest { ca_file: Some(path.to_owned()), ..post(&target.tls_url()) };
        not_sent(&send(&connector(), request).await, "SM3105");
    }
    assert_eq!(target.log.bytes(), 0);
}

#[tokio::test]
async fn plain_text_to_a_hello_is_not_sent() {
    let identity = Identity::of("localhost");
    let mut target = Target::start(|mut tcp, log| async move {
        tcp.read_u8().await.unwrap();
        tcp.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        assert_eq!(request(&mut tcp, &log).await, None);
    })
    .await;
    not_sent(&send(&connector(), identity.trusted(&target)).await, "SM3105");
    target.ended().await;
    assert_eq!((target.log.connections(), target.log.requests().len()), (1, 0));
}

#[tokio::test]
async fn a_reset_during_the_handshake_is_not_sent() {
    let identity = Identity::of("localhost");
    let target = Target::start(|mut tcp, _| async move {
        tcp.read_u8().await.unwrap();
        reset(&tcp);
    })
    .await;
    not_sent(&send(&connector(), identity.trusted(&target)).await, "SM3105");
    assert_eq!(target.log.connections(), 1);
}

#[tokio::test]
async fn a_handshake_that_ends_too_late_carries_nothing() {
    let identity = Identity::of("localhost");
    let clock = Arc::new(HandClock::default());
    let (acceptor, late) = (identity.acceptor.clone(), Arc::clone(&clock));
    let mut target = Target::start(move |tcp, log| {
        let (acceptor, late) = (acceptor.clone(), Arc::clone(&late));
        async move {
            tcp.readable().await.unwrap();
            late.pass(SEND_MS + 1);
            if let Ok(mut tls) = acceptor.accept(tcp).await {
                drop(end(&mut tls, &log).await);
            }
        }
    })
    .await;
    not_sent(&send(&connector_at(&clock), identity.trusted(&target)).await, "SM3106");
    target.ended().await;
    assert_eq!((target.log.connections(), target.log.bytes()), (1, 0));
}

#[tokio::test]
async fn a_cut_before_the_answer_is_lost() {
    let identity = Identity::of("localhost");
    let target = identity.cutting(b"").await;
    lost(&send(&connector(), identity.trusted(&target)).await, &UnknownCause::Lost);
    assert_eq!((target.log.connections(), target.log.requests().len()), (1, 1));
}

#[tokio::test]
async fn a_cut_during_the_answer_is_garbled() {
    let identity = Identity::of("localhost");
    // The second one has no length: only a TLS goodbye could say that it is whole.
    for half in [&b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"[..], b"HTTP/1.1 200 OK\r\n\r\nwhole?"] {
        let target = identity.cutting(half).await;
        lost(&send(&connector(), identity.trusted(&target)).await, &UnknownCause::Garbled);
        assert_eq!((target.log.connections(), target.log.requests().len()), (1, 1));
    }
}

#[tokio::test]
async fn a_cut_after_a_whole_answer_does_no_harm() {
    let identity = Identity::of("localhost");
    let mut target = identity.cutting(OK).await;
    let connector = connector();
    for _ in 0..2 {
        answered(send(&connector, identity.trusted(&target)).await);
        target.ended().await;
    }
    assert_eq!((target.log.connections(), target.log.requests().len()), (2, 2));
}
