//! Secrets go into the request and nowhere else.

use super::{TOKEN, answered, connector, environment, not_sent, post, send, text};
use crate::server::{OK, Target};
use semel_connectors::{
    EnvFileSecrets,
    redact::{redact_headers, redact_text, secrets_of},
};
use semel_ports::{HttpRequest, Part, Secrets, Template};
use std::io::Write;
use tempfile::NamedTempFile;

fn with_secret(url: &str, reference: &str) -> HttpRequest {
    let mut request = post(url);
    let value = Template(vec![Part::Text("Bearer ".to_owned()), Part::Secret(reference.to_owned())]);
    request.headers.push(("authorization".to_owned(), value));
    request
}

fn secrets() -> EnvFileSecrets {
    EnvFileSecrets::new(Box::new(environment))
}

#[tokio::test]
async fn a_secret_reaches_the_target_and_no_report() {
    let target = Target::answering(OK).await;
    let connector = connector();
    let report = send(&connector, with_secret(&target.url(), "env:TOKEN")).await;
    let shown = format!("{report:?} {connector:?} {:?}", secrets());
    answered(report);
    assert!(target.log.requests()[0].contains(&format!("authorization: Bearer {TOKEN}\r\n")));
    assert!(!shown.contains(TOKEN), "{shown}");
}

#[tokio::test]
async fn a_secret_in_the_address_stays_out_of_the_cause() {
    let parts = ["http://", ".invalid/"].map(|text| Part::Text(text.to_owned()));
    let [before, after] = parts;
    let url = Template(vec![before, Part::Secret("env:HOST".to_owned()), after]);
    let report = send(&connector(), HttpRequest { url, ..post("") }).await;
    not_sent(&report, "SM3104");
    assert!(!format!("{report:?}").contains("very-secret-name"), "{report:?}");
    let url = Template(vec![Part::Text("http://h/ ".to_owned()), Part::Secret("env:HOST".to_owned())]);
    let report = send(&connector(), HttpRequest { url, ..post("") }).await;
    not_sent(&report, "{secret env:HOST}");
}

#[tokio::test]
async fn without_its_secret_a_request_is_not_sent() {
    let target = Target::answering(OK).await;
    for reference in ["env:MISSING", "file:/nonexistent/secret", "vault:x", "TOKEN", ""] {
        not_sent(&send(&connector(), with_secret(&target.url(), reference)).await, "SM3103");
    }
    let report = send(&connector(), with_secret(&target.url(), "env:BROKEN")).await;
    not_sent(&report, "SM3101");
    assert!(!format!("{report:?}").contains("lines"));
    assert_eq!(target.log.connections(), 0);
}

#[test]
fn a_file_loses_one_newline_at_its_end() {
    let cases: [(&[u8], Option<&str>); 9] = [
        (b"s3cret", Some("s3cret")),
        (b"s3cret\n", Some("s3cret")),
        (b"s3cret\r\n", Some("s3cret")),
        (b"s3cret\n\n", Some("s3cret\n")),
        (b"s3cret\r", Some("s3cret\r")),
        (b" s3cret ", Some(" s3cret ")),
        (b"", None),
        (b"\n", None),
        (b"\xff\xfe", None),
    ];
    for (bytes, expected) in cases {
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let found = secrets().resolve(&format!("file:{}", file.path().display()));
        assert_eq!(found.ok().as_ref().map(|secret| secret.expose()), expected, "{bytes:?}");
    }
}

#[test]
fn a_file_that_is_no_secret_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    secrets().resolve(&format!("file:{}", folder.path().display())).unwrap_err();
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(&vec![b'x'; (64 << 10) + 1]).unwrap();
    let error = secrets().resolve(&format!("file:{}", file.path().display())).unwrap_err();
    assert!(error.cause.contains("65536"), "{error}");
}

#[test]
fn an_error_names_the_reference() {
    let error = secrets().resolve("env:MISSING").unwrap_err();
    assert_eq!(error.reference, "env:MISSING");
}

#[test]
fn known_secrets_are_taken_out_in_every_form() {
    let known = secrets_of(&with_secret("http://h/", "env:TOKEN"), &secrets());
    let encoded = "t0k3n%2Fof%2Ban%3Daccount";
    let shown = redact_text(&format!("plain {TOKEN}, encoded {encoded}"), &known);
    assert_eq!(shown, "plain ***, encoded ***");
    assert_eq!(redact_text("nothing here", &[]), "nothing here");
}

#[test]
fn headers_that_carry_credentials_are_marked_out() {
    let headers = ["Authorization", "set-cookie", "x-api-key", "X-Auth-Token", "content-type"];
    let headers = headers.map(|name| (name.to_owned(), "value".to_owned()));
    let values: Vec<String> = redact_headers(&headers).into_iter().map(|(_, value)| value).collect();
    assert_eq!(values, ["***", "***", "***", "***", "value"]);
}

#[test]
fn a_template_shows_the_reference() {
    assert_eq!(text("a").shown(), "a");
    let request = with_secret("http://h/", "env:TOKEN");
    assert!(!format!("{request:?}").contains(TOKEN));
}
