//! HTTP requests of a contract: from templates to a frozen request.
//!
//! Invariant: an argument can fill a place of the address, a header or the body, and never change which place it fills:
//! values are encoded in addresses, and refused where they could start a new header or another path. Nothing is added
//! that the contract does not say, except content-type, accept and user-agent. Secrets are references.

mod read;

use crate::template::{Template, Tree, Vars, scalar};
pub(crate) use read::header_name;
pub use read::read;
use semel_kernel::{json::Json, percent};
use semel_ports::request::{HttpRequest, Part, Template as Open};
use std::collections::BTreeMap;

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// Canonical JSON.
    Json,
    /// `a=1&b%5Bc%5D=2`.
    Form,
    /// There is none.
    None,
}

/// Where a secret is put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthPlace {
    /// `Authorization: Bearer …`.
    Bearer,
    /// `Authorization: Basic …`; the secret is the encoded pair.
    Basic,
    /// A header of its own.
    Header(String),
    /// A query parameter.
    Query(String),
}

/// Where the operation's key is put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// A header.
    Header(String),
    /// A query parameter.
    Query(String),
    /// A member of the body.
    Body(String),
}

/// A secret and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Auth {
    /// `env:NAME` or `file:PATH`.
    pub secret: String,
    /// Where it is put.
    pub place: AuthPlace,
}

/// An HTTP request with open arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSpec {
    /// `GET`, `POST`, …
    pub method: String,
    /// The address.
    pub url: Template,
    /// Query parameters.
    pub query: Vec<(String, Template)>,
    /// Header names in lower case.
    pub headers: Vec<(String, Template)>,
    /// The credential.
    pub auth: Option<Auth>,
    /// How the body is written.
    pub body: BodyKind,
    /// What is sent; without it, all arguments.
    pub send: Option<Tree>,
    /// A PEM file with further trusted roots.
    pub ca: Option<String>,
}

/// What is put in beside the arguments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks<'a> {
    /// The operation's key.
    pub key: &'a str,
    /// Where it is put; `None` for requests that carry none.
    pub place: Option<&'a KeyPlace>,
    /// The header that carries the fencing token.
    pub fence: Option<&'a str>,
    /// The version that the object must still have.
    pub if_match: Option<&'a str>,
}

impl HttpSpec {
    /// Whether a template of it reads the name `root`.
    #[must_use]
    pub fn reads(&self, root: &str) -> bool {
        let named = self.query.iter().chain(&self.headers).map(|(_, template)| template);
        let texts = named.chain([&self.url]).flat_map(Template::programs).map(|(program, _)| program);
        let sent = self.send.iter().flat_map(Tree::programs).map(|(_, program)| program);
        texts.chain(sent).any(|program| program.names().iter().any(|n| n.split('.').next() == Some(root)))
    }

    /// The frozen request. Wherever the key stands in it, it stays open, because it may grow with its epoch.
    ///
    /// # Errors
    /// A sentence that names the part which cannot be filled.
    pub fn build(&self, vars: &Vars<'_>, marks: Marks<'_>) -> Result<HttpRequest, String> {
        let args = vars.iter().find(|(name, _)| *name == "args").map_or(&Json::Null, |(_, json)| *json);
        Ok(HttpRequest {
            method: self.method.clone(),
            url: self.address(vars, marks)?,
            headers: self.all_headers(vars, marks)?,
            body: self.content(args, vars, marks)?,
            ca_file: self.ca.clone(),
        })
    }

    fn address(&self, vars: &Vars<'_>, marks: Marks<'_>) -> Result<Open, String> {
        let mut url = open(&self.url_text(vars)?, marks.key);
        let has_query = url.shown().contains('?');
        let mut pairs: Vec<(&str, Open)> = Vec::new();
        for (name, template) in &self.query {
            if let Some(text) = optional(template, vars).map_err(|e| format!("http.query.{name}: {e}"))? {
                pairs.push((name, open(&percent::encode(&text), marks.key)));
            }
        }
        if let Some(KeyPlace::Query(name)) = marks.place {
            pairs.push((name, Open(vec![Part::Key])));
        }
        if let Some(Auth { secret, place: AuthPlace::Query(name) }) = &self.auth {
            pairs.push((name, Open(vec![Part::Secret(secret.clone())])));
        }
        for (n, (name, value)) in pairs.into_iter().enumerate() {
            let joint = if n == 0 && !has_query { '?' } else { '&' };
            push_text(&mut url, &format!("{joint}{}=", percent::encode(name)));
            url.0.extend(value.0);
        }
        Ok(url)
    }

    fn url_text(&self, vars: &Vars<'_>) -> Result<String, String> {
        let url = match self.url.whole() {
            Some(_) => self.url.text(vars, str::to_owned),
            None => self.url.text_checked(vars, url_part),
        };
        let url = url.map_err(|e| format!("http.url: {e}"))?;
        let plain = url.chars().all(|c| c.is_ascii_graphic() && c != '#');
        let known = url.starts_with("https://") || url.starts_with("http://");
        if plain && known { Ok(url) } else { Err("http.url: it is not an http or https address".to_owned()) }
    }

    fn all_headers(&self, vars: &Vars<'_>, marks: Marks<'_>) -> Result<Vec<(String, Open)>, String> {
        let mut headers = BTreeMap::new();
        headers.insert("accept".to_owned(), Open::text("application/json"));
        headers.insert("user-agent".to_owned(), Open::text(concat!("semel/", env!("CARGO_PKG_VERSION"))));
        match self.body {
            BodyKind::Json => headers.insert("content-type".to_owned(), Open::text("application/json")),
            BodyKind::Form => {
                headers.insert("content-type".to_owned(), Open::text("application/x-www-form-urlencoded"))
            }
            BodyKind::None => None,
        };
        for (name, template) in &self.headers {
            let text = optional(template, vars).and_then(|text| text.map(header_value).transpose());
            if let Some(text) = text.map_err(|e| format!("http.headers.{name}: {e}"))? {
                headers.insert(name.clone(), open(&text, marks.key));
            }
        }
        if let Some(KeyPlace::Header(name)) = marks.place {
            headers.insert(name.clone(), Open(vec![Part::Key]));
        }
        if let Some(name) = marks.fence {
            headers.insert(name.to_owned(), Open(vec![Part::Fence]));
        }
        if let Some(tag) = marks.if_match {
            let tag = header_value(tag.to_owned()).map_err(|e| format!("if_match: {e}"))?;
            headers.insert("if-match".to_owned(), Open::text(tag));
        }
        if let Some((name, value)) = self.auth.as_ref().and_then(auth_header) {
            headers.insert(name, value);
        }
        Ok(headers.into_iter().collect())
    }

    fn content(&self, args: &Json, vars: &Vars<'_>, marks: Marks<'_>) -> Result<Option<Open>, String> {
        if self.body == BodyKind::None {
            return Ok(None);
        }
        let mut value = match &self.send {
            Some(tree) => tree.resolve(vars).map_err(|e| format!("http.send: {e}"))?,
            None => args.clone(),
        };
        if let Some(KeyPlace::Body(name)) = marks.place {
            let Json::Obj(members) = &mut value else {
                return Err("http.send: the key goes into the body, which is not a map".to_owned());
            };
            members.insert(name.clone(), Json::str(marks.key));
        }
        let text = if self.body == BodyKind::Form { form(&value)? } else { value.canonical() };
        Ok(Some(open(&text, marks.key)))
    }
}

/// The text with the key left open wherever it stands. The key is a digest that no argument can guess.
fn open(text: &str, key: &str) -> Open {
    if key.is_empty() {
        return Open::text(text);
    }
    let mut parts = Vec::new();
    for (n, fixed) in text.split(key).enumerate() {
        if n > 0 {
            parts.push(Part::Key);
        }
        if !fixed.is_empty() {
            parts.push(Part::Text(fixed.to_owned()));
        }
    }
    Open(parts)
}

fn push_text(template: &mut Open, text: &str) {
    match template.0.last_mut() {
        Some(Part::Text(last)) => last.push_str(text),
        Some(Part::Key | Part::Fence | Part::Secret(_)) | None => {
            template.0.push(Part::Text(text.to_owned()))
        }
    }
}

fn auth_header(auth: &Auth) -> Option<(String, Open)> {
    let secret = Part::Secret(auth.secret.clone());
    let authorization = |scheme: &str| {
        ("authorization".to_owned(), Open(vec![Part::Text(scheme.to_owned()), secret.clone()]))
    };
    match &auth.place {
        AuthPlace::Bearer => Some(authorization("Bearer ")),
        AuthPlace::Basic => Some(authorization("Basic ")),
        AuthPlace::Header(name) => Some((name.clone(), Open(vec![secret]))),
        AuthPlace::Query(_) => None,
    }
}

/// The text of a template; `None` when it is one expression whose value is `null`, which leaves the part out.
fn optional(template: &Template, vars: &Vars<'_>) -> Result<Option<String>, String> {
    match template.resolve(vars)? {
        Json::Null => Ok(None),
        value => scalar(&value).map(Some),
    }
}

/// A value inside an address. One that is empty or made of dots would name another resource.
fn url_part(value: &str) -> Result<String, String> {
    if matches!(value, "" | "." | "..") {
        return Err(format!("its value is {value:?}, which would change the address"));
    }
    Ok(percent::encode(value))
}

fn header_value(text: String) -> Result<String, String> {
    let plain = text.chars().all(|c| c == ' ' || c.is_ascii_graphic());
    if plain { Ok(text) } else { Err("its value has characters that a header cannot carry".to_owned()) }
}

/// Form fields; members of maps and lists stand in brackets, `null` is left out.
fn form(value: &Json) -> Result<String, String> {
    let Json::Obj(members) = value else {
        return Err("http.send: a form is made of a map".to_owned());
    };
    let mut pairs = Vec::new();
    for (name, value) in members {
        form_field(&percent::encode(name), value, &mut pairs);
    }
    Ok(pairs.join("&"))
}

fn form_field(name: &str, value: &Json, pairs: &mut Vec<String>) {
    let inside = |member: &str| format!("{name}%5B{}%5D", percent::encode(member));
    match value {
        Json::Null => {}
        Json::Str(text) => pairs.push(format!("{name}={}", percent::encode(text))),
        Json::Bool(_) | Json::Num(_) => pairs.push(format!("{name}={}", percent::encode(&value.canonical()))),
        Json::Arr(items) => {
            items.iter().enumerate().for_each(|(i, item)| form_field(&inside(&i.to_string()), item, pairs));
        }
        Json::Obj(members) => members.iter().for_each(|(k, v)| form_field(&inside(k), v, pairs)),
    }
}
