//! Reads the `http` part of a contract.
//!
//! Invariant: what is read can be sent: a method, an http address, header names that a header can have; and no secret
//! stands in it.

use super::{Auth, AuthPlace, BodyKind, HttpSpec};
use crate::{
    contract::expr::{self, template, tree},
    judge::is_secret_name,
    problem::{At, Problems},
    template::{Piece, Template},
    yaml::{Fields, Node},
};

const METHODS: [&str; 7] = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];
/// Headers that belong to the connection or that would change how the body is read.
const RESERVED: [&str; 7] =
    ["host", "content-length", "transfer-encoding", "connection", "te", "upgrade", "expect"];

/// The request under `http`, whose templates see `names`.
pub fn read(f: &mut Fields<'_>, names: &[&str], problems: &mut Problems) -> Option<HttpSpec> {
    f.required("http", problems)?;
    let mut http = f.map("http", problems)?;
    let method = method(&mut http, problems);
    let url = url(&mut http, names, problems);
    let query = query(&mut http, names, problems);
    let headers = headers(&mut http, names, problems);
    let auth = if http.has("auth") { auth(&mut http, problems).map(Some) } else { Some(None) };
    let body = body(&mut http, method.as_deref(), problems);
    let send = send(&mut http, names, problems);
    let ca = http.opt_text("ca", problems).map(str::to_owned);
    http.finish(problems);
    Some(HttpSpec {
        method: method?,
        url: url?,
        query: query?,
        headers: headers?,
        auth: auth?,
        body,
        send: send?,
        ca,
    })
}

fn method(http: &mut Fields<'_>, problems: &mut Problems) -> Option<String> {
    let found = http.text("method", problems)?.to_ascii_uppercase();
    if METHODS.contains(&found.as_str()) {
        return Some(found);
    }
    expr::wrong(
        http,
        "SM4205",
        "method",
        &format!("`{found}` is not a method"),
        &format!("use one of: {}", METHODS.join(", ")),
        problems,
    )
}

fn url(http: &mut Fields<'_>, names: &[&str], problems: &mut Problems) -> Option<Template> {
    let text = http.text("url", problems)?;
    let node = http.node("url")?;
    let path = http.path_of("url");
    let url = template(text, At { file: http.file(), span: node.span, path: &path }, names, problems)?;
    let begins = match url.pieces().first() {
        Some(Piece::Text(fixed)) => fixed.starts_with("https://") || fixed.starts_with("http://"),
        Some(Piece::Expr { .. }) => url.whole().is_some(),
        None => false,
    };
    if !begins || text.contains('#') {
        let hint = "begin with https:// or http://, or make the whole address one `${{ }}`; leave out `#`";
        return expr::wrong(http, "SM4205", "url", "this is not an http address", hint, problems);
    }
    let authority =
        text.split("://").nth(1).and_then(|rest| rest.split(['/', '?']).next()).unwrap_or_default();
    if authority.contains('@') {
        secret_problem(http, "url", problems);
        return None;
    }
    Some(url)
}

fn named_templates(
    http: &mut Fields<'_>,
    key: &'static str,
    names: &[&str],
    problems: &mut Problems,
) -> Option<Vec<(String, Template)>> {
    let Some(node) = http.node(key) else { return Some(Vec::new()) };
    let Some(members) = node.as_map() else {
        http.wrong(key, node, "a map (`name: value`)", problems);
        return None;
    };
    let mut found = Vec::new();
    for (name, value) in members {
        let path = crate::yaml::join(&http.path_of(key), &name.text);
        match value.as_scalar() {
            Some(text) => {
                let at = At { file: http.file(), span: value.span, path: &path };
                found.push(template(text, at, names, problems).map(|t| (name.text.clone(), t)));
            }
            None => {
                http.wrong(&format!("{key}[{}]", name.text), value, "a text", problems);
                found.push(None);
            }
        }
    }
    found.into_iter().collect()
}

fn headers(
    http: &mut Fields<'_>,
    names: &[&str],
    problems: &mut Problems,
) -> Option<Vec<(String, Template)>> {
    let found = named_templates(http, "headers", names, problems)?;
    let mut headers = Vec::new();
    for (name, value) in found {
        let lower = header_name(http, "headers", &name, problems)?;
        headers.push((lower, value));
    }
    no_literal_secret(http, "headers", &headers, problems);
    Some(headers)
}

fn query(http: &mut Fields<'_>, names: &[&str], problems: &mut Problems) -> Option<Vec<(String, Template)>> {
    let found = named_templates(http, "query", names, problems)?;
    no_literal_secret(http, "query", &found, problems);
    Some(found)
}

/// A fixed value under a secret's name is a secret, and a contract is stored and shown.
fn no_literal_secret(
    http: &mut Fields<'_>,
    key: &'static str,
    values: &[(String, Template)],
    problems: &mut Problems,
) {
    let literal = |(name, value): &(String, Template)| {
        is_secret_name(name) && value.programs().next().is_none() && !value.pieces().is_empty()
    };
    if values.iter().any(literal) {
        secret_problem(http, key, problems);
    }
}

/// The name in lower case, if a header can have it and a contract may set it.
pub(crate) fn header_name(
    f: &mut Fields<'_>,
    key: &'static str,
    name: &str,
    problems: &mut Problems,
) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if lower.is_empty() || !lower.chars().all(token) {
        return expr::wrong(
            f,
            "SM4205",
            key,
            &format!("`{name}` is not a header name"),
            "use letters, digits and -",
            problems,
        );
    }
    if RESERVED.contains(&lower.as_str()) {
        return expr::wrong(
            f,
            "SM4205",
            key,
            &format!("`{name}` belongs to the connection"),
            "leave it out",
            problems,
        );
    }
    Some(lower)
}

fn auth(http: &mut Fields<'_>, problems: &mut Problems) -> Option<Auth> {
    let mut auth = http.map("auth", problems)?;
    let secret = auth.text("secret", problems).map(str::to_owned);
    let place = match auth.node("as") {
        None => Some(AuthPlace::Bearer),
        Some(node) => auth_place(&mut auth, node, problems),
    };
    let by_reference = |s: &String| ["env:", "file:"].iter().any(|p| s.len() > p.len() && s.starts_with(p));
    if secret.as_ref().is_some_and(|s| !by_reference(s)) {
        secret_problem(&mut auth, "secret", problems);
    }
    auth.finish(problems);
    Some(Auth { secret: secret.filter(by_reference)?, place: place? })
}

fn secret_problem(f: &mut Fields<'_>, key: &'static str, problems: &mut Problems) {
    let hint = "write `auth: { secret: env:NAME }` or `file:PATH`, and change the secret that stood here";
    let message = "a secret is written here itself; contracts are stored and shown";
    expr::wrong::<()>(f, "SM4204", key, message, hint, problems);
}

fn auth_place(auth: &mut Fields<'_>, node: &Node, problems: &mut Problems) -> Option<AuthPlace> {
    let words: Vec<&str> = match (node.as_text(), node.as_map()) {
        (Some(text), _) => text.split_whitespace().collect(),
        (None, Some([(kind, name)])) => vec![kind.text.as_str(), name.as_text().unwrap_or_default()],
        (None, _) => Vec::new(),
    };
    match words.as_slice() {
        ["bearer"] => Some(AuthPlace::Bearer),
        ["basic"] => Some(AuthPlace::Basic),
        ["header", name] => header_name(auth, "as", name, problems).map(AuthPlace::Header),
        ["query", name] if !name.is_empty() => Some(AuthPlace::Query((*name).to_owned())),
        _ => expr::wrong(
            auth,
            "SM4205",
            "as",
            "this is no place for a secret",
            "use bearer, basic, `header NAME` or `query NAME`",
            problems,
        ),
    }
}

fn body(http: &mut Fields<'_>, method: Option<&str>, problems: &mut Problems) -> BodyKind {
    let usual =
        if matches!(method, Some("POST" | "PUT" | "PATCH")) { BodyKind::Json } else { BodyKind::None };
    match http.opt_text("body", problems) {
        None => usual,
        Some("json") => BodyKind::Json,
        Some("form") => BodyKind::Form,
        Some("none") => BodyKind::None,
        Some(other) => expr::wrong(
            http,
            "SM4205",
            "body",
            &format!("`{other}` is not a kind of body"),
            "use json, form or none",
            problems,
        )
        .unwrap_or(usual),
    }
}

fn send(
    http: &mut Fields<'_>,
    names: &[&str],
    problems: &mut Problems,
) -> Option<Option<crate::template::Tree>> {
    let Some(node) = http.node("send") else { return Some(None) };
    let path = http.path_of("send");
    tree(node, At { file: http.file(), span: node.span, path: &path }, names, problems).map(Some)
}
