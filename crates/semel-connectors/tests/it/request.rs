//! What is put on the wire, and what is refused before.

use super::{KEY, answered, connector, connector_with, not_sent, post, send, text};
use crate::{
    permit::FENCE,
    server::{OK, Target},
};
use semel_connectors::HttpOptions;
use semel_ports::{HttpRequest, Part, Template};

#[tokio::test]
async fn the_open_parts_are_filled_and_nothing_is_added() {
    let target = Target::answering(OK).await;
    let request = HttpRequest {
        method: "PUT".to_owned(),
        url: Template(vec![
            Part::Text(format!("http://{}/pay/", target.address)),
            Part::Key,
            Part::Text("?a=b%20c".into()),
        ]),
        headers: vec![
            ("x-fence".to_owned(), Template(vec![Part::Fence])),
            ("x-two".to_owned(), text("1")),
            ("x-two".to_owned(), text("2")),
        ],
        body: Some(Template(vec![Part::Text("{\"k\":\"".into()), Part::Key, Part::Text("\"}".into())])),
        ca_file: None,
    };
    answered(send(&connector(), request).await);
    let wire = target.log.requests().remove(0);
    let (head, body) = wire.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<&str> = head.lines().collect();
    assert_eq!(lines.remove(0), format!("PUT /pay/{KEY}?a=b%20c HTTP/1.1"));
    lines.sort_unstable();
    let (host, fence) = (format!("host: {}", target.address), format!("x-fence: {FENCE}"));
    assert_eq!(lines, ["content-length: 15", &host, &fence, "x-two: 1", "x-two: 2"]);
    assert_eq!(body, format!("{{\"k\":\"{KEY}\"}}"));
}

#[tokio::test]
async fn a_request_may_name_its_own_host() {
    let target = Target::answering(OK).await;
    let mut request = post(&target.url());
    request.headers.push(("host".to_owned(), text("shop.example")));
    answered(send(&connector(), request.clone()).await);
    assert!(target.log.requests()[0].contains("\r\nhost: shop.example\r\n"));
    request.headers.push(("host".to_owned(), text("other.example")));
    not_sent(&send(&connector(), request).await, "SM3101");
    assert_eq!(target.log.connections(), 1);
}

#[tokio::test]
async fn an_address_that_would_be_read_otherwise_is_refused() {
    let target = Target::answering(OK).await;
    let at = target.address;
    let addresses = [
        format!("http://{at}/a b"),
        format!("http://{at}/a\r\nx-evil: 1"),
        format!("http://{at}/a\tb"),
        format!("http://{at}/a\\b"),
        format!("http://{at}/a\0"),
        format!("http://{at}/pay#part"),
        format!("http://{at}/ticket/../admin"),
        format!("http://{at}/ticket/%2E%2e/admin"),
        format!("http://{at}/ticket/."),
        format!("http://user:password@{at}/"),
        format!("http://user@{at}/"),
        format!("http://@{at}/"),
        format!("ftp://{at}/"),
        format!("file://{at}/etc"),
        format!("http:{at}/"),
        at.to_string(),
        "http://".to_owned(),
        String::new(),
    ];
    for address in addresses {
        not_sent(&send(&connector(), post(&address)).await, "SM3101");
    }
    assert_eq!(target.log.connections(), 0);
}

#[tokio::test]
async fn a_header_that_would_become_two_is_refused() {
    let target = Target::answering(OK).await;
    let headers = [
        ("x-a", "1\r\nx-evil: 1"),
        ("x-a", "1\n x"),
        ("x-a", "1\r"),
        ("x-a", "1\0"),
        ("x-a\r\nx-evil", "1"),
        ("x a", "1"),
        ("x-a:", "1"),
        ("", "1"),
        ("content-length", "3"),
        ("transfer-encoding", "chunked"),
        ("connection", "idempotency-key"),
        ("upgrade", "h2c"),
        ("expect", "100-continue"),
        ("te", "trailers"),
    ];
    for (name, value) in headers {
        let mut request = post(&target.url());
        request.headers.push((name.to_owned(), text(value)));
        not_sent(&send(&connector(), request).await, "SM3101");
    }
    assert_eq!(target.log.connections(), 0);
}

#[tokio::test]
async fn a_method_that_is_none_is_refused() {
    let target = Target::answering(OK).await;
    for method in ["", "PO ST", "GET / HTTP/1.1\r\n", "CONNECT"] {
        let request = HttpRequest { method: method.to_owned(), ..post(&target.url()) };
        not_sent(&send(&connector(), request).await, "SM3101");
    }
    assert_eq!(target.log.connections(), 0);
}

#[tokio::test]
async fn a_request_beyond_its_limits_is_refused() {
    let target = Target::answering(OK).await;
    let options = HttpOptions { request_bytes: 20, request_head_bytes: 200, ..HttpOptions::default() };
    let connector = connector_with(options);
    let with_body = |body: &str| HttpRequest { body: Some(text(body)), ..post(&target.url()) };
    answered(send(&connector, with_body(&"x".repeat(20))).await);
    not_sent(&send(&connector, with_body(&"x".repeat(21))).await, "SM3102");
    let mut long = post(&target.url());
    long.headers.push(("x-long".to_owned(), text(&"x".repeat(200))));
    not_sent(&send(&connector, long).await, "SM3102");
    assert_eq!(target.log.requests().len(), 1);
}

#[tokio::test]
async fn a_question_without_a_body_has_no_length() {
    let target = Target::answering(OK).await;
    let request = HttpRequest { method: "GET".to_owned(), body: None, ..post(&target.url()) };
    answered(send(&connector(), request).await);
    assert!(!target.log.requests()[0].contains("content-length"));
}
