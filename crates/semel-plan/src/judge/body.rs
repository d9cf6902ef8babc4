//! The body of an answer as a value.
//!
//! Invariant: a number that JSON numbers cannot hold exactly keeps its digits, as a text; it is never rounded. What is
//! no JSON is a text.

use semel_kernel::json::{Json, Num};
use std::{borrow::Cow, collections::BTreeMap};

/// A body, read.
pub(super) struct Body {
    pub(super) value: Json,
    /// It was announced as JSON and is not.
    pub(super) garbled: bool,
}

/// Reads a body of that content type. Nothing is `null`.
pub(super) fn read(bytes: &[u8], content_type: &str) -> Body {
    let text = String::from_utf8_lossy(bytes);
    if text.trim().is_empty() {
        return Body { value: Json::Null, garbled: false };
    }
    let announced = content_type.to_ascii_lowercase().contains("json");
    let looks = content_type.is_empty() || text.trim_start().starts_with(['{', '[']);
    let parsed = if announced || looks { json(&text) } else { None };
    let garbled = announced && parsed.is_none();
    Body { value: parsed.unwrap_or_else(|| Json::Str(text.into_owned())), garbled }
}

fn json(text: &str) -> Option<Json> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Ok(strict) = Json::parse(text) {
        return Some(strict);
    }
    let quoted = quote_unsafe(text);
    Json::parse(&quoted).ok().or_else(|| serde_json::from_str(&quoted).ok().map(lenient))
}

/// Puts quotes around numbers that cannot be kept exactly.
fn quote_unsafe(text: &str) -> Cow<'_, str> {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        let length = if found.starts_with('"') { quoted_length(found) } else { number_length(found) };
        let (token, after) = found.split_at(length);
        let unsafe_number =
            !token.starts_with('"') && Json::parse(token).is_err() && token.parse::<f64>().is_ok();
        if unsafe_number {
            out.extend(["\"", token, "\""]);
        } else {
            out.push_str(token);
        }
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn quoted_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn number_length(text: &str) -> usize {
    text.bytes().take_while(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E')).count()
}

/// What the strict reader refuses but others take: the last of two equal names, replaced surrogates.
fn lenient(value: serde_json::Value) -> Json {
    match value {
        serde_json::Value::Null => Json::Null,
        serde_json::Value::Bool(truth) => Json::Bool(truth),
        serde_json::Value::Number(number) => {
            let exact = number.as_i64().and_then(|whole| Num::from_i64(whole).ok());
            let exact = exact.or_else(|| number.as_f64().and_then(|double| Num::from_f64(double).ok()));
            exact.map_or_else(|| Json::Str(number.to_string()), Json::Num)
        }
        serde_json::Value::String(text) => Json::Str(text),
        serde_json::Value::Array(items) => Json::Arr(items.into_iter().map(lenient).collect()),
        serde_json::Value::Object(members) => {
            Json::Obj(members.into_iter().map(|(k, v)| (k, lenient(v))).collect::<BTreeMap<_, _>>())
        }
    }
}
