//! Answers as they may be stored and shown: without secrets, and cut.
//!
//! Invariant: what leaves here has at most [`limit::SHOWN_BYTES`] bytes, and no value that stands under a secret's name
//! or has a secret's shape. It errs on the side of hiding.

use super::answer::View;
use semel_kernel::{json::Json, limit};
use std::collections::BTreeMap;

const HIDDEN: &str = "***";
/// Parts of names whose values are hidden; compared without case, `_` and `-`.
const SECRET_NAMES: [&str; 16] = [
    "authorization",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "accesskey",
    "privatekey",
    "cookie",
    "credential",
    "signature",
    "sessionid",
    "cvc",
    "cvv",
    "cardnumber",
];
/// Beginnings of values that are secrets wherever they stand.
const SECRET_BEGINNINGS: [&str; 14] = [
    "sk_",
    "rk_",
    "sk-",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "ya29.",
    "AIza",
    "-----BEGIN",
];
/// Headers that are kept, with those that name a request.
const SAFE_HEADERS: [&str; 8] = [
    "content-type",
    "retry-after",
    "location",
    "idempotent-replayed",
    "idempotency-replayed",
    "idempotency-key",
    "date",
    "etag",
];
/// Characters of one word of mixed letters and digits from which it counts as a secret.
const LONG_WORD: usize = 40;
/// Bytes of one text inside a body.
const TEXT_BYTES: usize = 512;
/// Bytes of the words of an answer that a cause repeats.
const SAID_BYTES: usize = 160;
/// Bytes that notes may take.
const NOTE_BYTES: usize = 300;
const MOST_NOTES: usize = 2;
/// Bytes that headers may take.
const HEADER_BYTES: usize = 120;
const MOST_HEADERS: usize = 6;
/// Members of a body that have names in which an answer says what is wrong.
const SAYING: [&str; 7] = ["message", "error_description", "detail", "title", "error", "code", "reason"];

/// An answer.
pub(super) fn answer(view: &View<'_>, notes: &[String]) -> Json {
    let mut shown = BTreeMap::from([("status".to_owned(), Json::from(u32::from(view.status)))]);
    let kept = view.headers.keys().filter(|name| is_safe_header(name)).take(MOST_HEADERS);
    let headers: Vec<(&str, Json)> = kept
        .filter_map(|name| Some((name.as_str(), Json::Str(cut(&text(view.header(name)?), HEADER_BYTES)))))
        .collect();
    shown.insert("headers".to_owned(), Json::obj(headers));
    if !notes.is_empty() {
        let notes = notes.iter().take(MOST_NOTES).map(|note| Json::Str(cut(note, NOTE_BYTES)));
        shown.insert("notes".to_owned(), Json::Arr(notes.collect()));
    }
    let bytes = u32::try_from(view.bytes()).unwrap_or(u32::MAX);
    shown.insert("body_bytes".to_owned(), Json::from(bytes));
    let used = Json::Obj(shown.clone()).size_bytes() + 16;
    shown.insert("body".to_owned(), fitted(&view.body, limit::SHOWN_BYTES.saturating_sub(used)));
    Json::Obj(shown)
}

/// Why there is no answer.
pub(super) fn transport(what: &str, detail: &str) -> Json {
    Json::obj([("transport", Json::str(what)), ("detail", Json::Str(cut(&text(detail), NOTE_BYTES)))])
}

/// What an answer says in words, in short.
pub(super) fn said(body: &Json) -> String {
    let words = match body {
        Json::Str(all) => Some(all.as_str()),
        Json::Obj(_) => message(body).or_else(|| body.get("error").and_then(message)),
        Json::Null | Json::Bool(_) | Json::Num(_) | Json::Arr(_) => None,
    };
    let line = words.unwrap_or_default().split_whitespace().take(40).collect::<Vec<_>>().join(" ");
    cut(&text(&line), SAID_BYTES)
}

fn message(body: &Json) -> Option<&str> {
    SAYING.iter().find_map(|name| body.get(name).and_then(Json::as_str))
}

fn is_safe_header(name: &str) -> bool {
    SAFE_HEADERS.contains(&name) || name.ends_with("request-id") || name.ends_with("correlation-id")
}

/// The body, redacted; when it is larger than `most` bytes, the beginning of its text.
fn fitted(body: &Json, most: usize) -> Json {
    let mut left = 4 * most;
    let redacted = value(body, &mut left);
    if redacted.size_bytes() <= most {
        return redacted;
    }
    let whole = redacted.canonical();
    let mut bytes = most.saturating_sub(8);
    loop {
        let text = Json::Str(cut(&whole, bytes));
        if text.size_bytes() <= most || bytes == 0 {
            return text;
        }
        bytes = bytes * 3 / 4;
    }
}

/// Redacts a value; stops when `left` bytes are used up, so that a huge body costs no more than a small one.
fn value(json: &Json, left: &mut usize) -> Json {
    if *left == 0 {
        return Json::str("…");
    }
    *left = left.saturating_sub(8);
    match json {
        Json::Null | Json::Bool(_) | Json::Num(_) => json.clone(),
        Json::Str(all) => {
            let kept = cut(all, TEXT_BYTES.min(*left));
            *left = left.saturating_sub(kept.len());
            Json::Str(text(&kept))
        }
        Json::Arr(items) => {
            let mut kept = Vec::new();
            for item in items {
                kept.push(value(item, left));
                if *left == 0 {
                    break;
                }
            }
            Json::Arr(kept)
        }
        Json::Obj(members) => {
            let mut kept = BTreeMap::new();
            for (name, member) in members {
                let shown = if is_secret_name(name) { Json::str(HIDDEN) } else { value(member, left) };
                *left = left.saturating_sub(name.len());
                kept.insert(cut(name, TEXT_BYTES), shown);
                if *left == 0 {
                    break;
                }
            }
            Json::Obj(kept)
        }
    }
}

/// Whether what stands under that name is a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let plain: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    SECRET_NAMES.iter().any(|secret| plain.contains(secret))
}

/// A text without its secrets: words that look like one, words after a secret's name, and what follows `Bearer`.
pub(super) fn text(all: &str) -> String {
    let mut out = String::with_capacity(all.len());
    let mut hide_next = false;
    let mut rest = all;
    while !rest.is_empty() {
        let gap = rest.find(|c: char| !is_gap(c)).unwrap_or(rest.len());
        let (between, from_word) = rest.split_at(gap);
        out.push_str(between);
        let (word, after) = from_word.split_at(from_word.find(is_gap).unwrap_or(from_word.len()));
        let hidden = !word.is_empty() && (hide_next || is_secret_word(word));
        out.push_str(if hidden { HIDDEN } else { word });
        let scheme = word.eq_ignore_ascii_case("bearer") || word.eq_ignore_ascii_case("basic");
        let named =
            is_secret_name(word) && after.trim_start_matches(['"', '\'', ' ']).starts_with([':', '=']);
        // A scheme is hidden after `Authorization:`, and what follows it is the secret itself.
        hide_next = !word.is_empty() && (scheme || named);
        rest = after;
    }
    out
}

fn is_gap(c: char) -> bool {
    c.is_whitespace() || "\"',;&<>()[]{}=:?".contains(c)
}

fn is_secret_word(word: &str) -> bool {
    let begins = SECRET_BEGINNINGS.iter().any(|b| word.starts_with(b) && word.len() >= b.len() + 4);
    let jwt = word.starts_with("eyJ") && word.len() >= 20;
    let has = |test: fn(char) -> bool| word.chars().any(test);
    let encoded = word.chars().all(|c| c.is_ascii_alphanumeric() || "+/_-.".contains(c));
    let mixed =
        has(|c| c.is_ascii_uppercase()) && has(|c| c.is_ascii_lowercase()) && has(|c| c.is_ascii_digit());
    begins || jwt || (word.len() >= LONG_WORD && encoded && mixed && !word.contains("//"))
}

/// At most `most` bytes of a text, ended by `…` when something is missing.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most.saturating_sub(3)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", text.get(..end).unwrap_or_default())
}
