//! Reads a contract document.
//!
//! Invariant: every key is known and every part is looked at, so that one reading tells all that is wrong; what cannot
//! work is an error here, what may not be meant is the linter's.

use super::{
    AnswerRules, Contract, KeyFormat, ProbeRules, RefusalRule, Source,
    expr::{REQUEST, rule, word, wrong},
    probe, require, retry, terms,
};
use crate::{
    fields::{FieldRules, MOST_FIELDS},
    http::{self, BodyKind, HttpSpec, KeyPlace},
    problem::{At, Problems},
    schema::Schema,
    yaml::{Fields, Node},
};
use semel_kernel::{hash::Hash, json::Json, terms::Effect};
use std::collections::BTreeMap;

const KEY_FORMATS: [(&str, KeyFormat); 2] = [("base32", KeyFormat::Base32), ("uuid", KeyFormat::Uuid)];

pub(super) fn contract(node: &Node, file: &str, problems: &mut Problems) -> Option<Contract> {
    let errors = problems.errors();
    let mut f = Fields::of(node, file, "", problems)?;
    let document = node.to_json("", problems);
    let hash = Hash::of(document.as_ref().unwrap_or(&Json::Null).canonical().as_bytes());
    let mut terms = terms::read(&mut f, hash, problems);
    let fields = fields(&mut f, problems);
    let key_format = word(&mut f, "key_format", &KEY_FORMATS, KeyFormat::Base32, problems);
    let http = http::read(&mut f, &REQUEST, problems);
    let declared = key_place(&mut f, http.as_ref(), problems);
    let fence = fence(&mut f, problems);
    let rules = answer_rules(&mut f, problems);
    let require = require::require(&mut f, problems);
    let if_match = require::if_match(&mut f, http.as_ref(), problems);
    let probe = probe::probe(&mut f, problems).map(|probe| ProbeRules { require, if_match, ..probe });
    let (input, output) = (schema(&mut f, "input", problems), schema(&mut f, "output", problems));
    let account = account(&mut f, problems);
    undo(&mut f, problems);
    require::check(&mut f, problems);
    f.finish(problems);
    if problems.errors() > errors {
        return None;
    }
    if let (Some(terms), Some(probe)) = (&mut terms, &probe) {
        terms.require = probe.require.is_some() || probe.if_match.is_some();
    }
    let (terms, http) = (terms?, http?);
    let key_place = declared.or_else(|| usual_key_place(terms.effect, &http));
    let source = source(node, file);
    let document = document?;
    Some(Contract {
        terms,
        document,
        account,
        fields,
        key_format,
        key_place,
        fence,
        http,
        rules,
        probe,
        input,
        output,
        source,
    })
}

/// A label, or a reference to one; an empty one would be the same as every other.
fn account(f: &mut Fields<'_>, problems: &mut Problems) -> Option<String> {
    let said = f.opt_text("account", problems)?;
    let label = said.strip_prefix("env:").or_else(|| said.strip_prefix("file:")).unwrap_or(said);
    if label.trim().is_empty() {
        let hint = "write a label, or where it is read: `env:NAME`, `file:PATH`";
        return wrong(f, "SM4203", "account", "`account` names nothing", hint, problems);
    }
    Some(said.to_owned())
}

fn source(node: &Node, file: &str) -> Source {
    let members = node.as_map().unwrap_or_default();
    let mut spans = BTreeMap::new();
    for (key, value) in members {
        spans.insert(key.text.clone(), key.span);
        for (inner, _) in value.as_map().unwrap_or_default() {
            spans.insert(format!("{}.{}", key.text, inner.text), inner.span);
        }
    }
    Source { file: file.to_owned(), span: node.span, spans }
}

/// A keyed target gets the key in the usual header, unless the contract puts it somewhere itself.
fn usual_key_place(effect: Effect, http: &HttpSpec) -> Option<KeyPlace> {
    let keyed = effect == Effect::Keyed && !http.reads("key");
    keyed.then(|| KeyPlace::Header("idempotency-key".to_owned()))
}

fn fields(f: &mut Fields<'_>, problems: &mut Problems) -> FieldRules {
    let mut seen = BTreeMap::new();
    let mut list = |key: &'static str, problems: &mut Problems| {
        let texts = f.texts(key, problems).unwrap_or_default();
        if texts.len() > MOST_FIELDS {
            let message = format!("{} fields, more than {MOST_FIELDS}", texts.len());
            wrong::<()>(f, "SM4206", key, &message, "name fewer, or group them", problems);
        }
        for (text, span) in &texts {
            if let Some(first) = seen.insert((*text).to_owned(), key) {
                let path = f.path_of(key);
                let message = format!("`{text}` stands in `{first}` already");
                problems.error(
                    "SM4207",
                    At { file: f.file(), span: *span, path: &path },
                    message,
                    "name it once",
                );
            }
        }
        texts.into_iter().map(|(text, _)| text.to_owned()).collect::<Vec<String>>()
    };
    let identity = list("key", problems);
    // Material is what nobody named otherwise; the list only lets an author say so.
    list("material", problems);
    let (cosmetic, volatile) = (list("cosmetic", problems), list("volatile", problems));
    FieldRules {
        identity,
        cosmetic: cosmetic.into_iter().collect(),
        volatile: volatile.into_iter().collect(),
    }
}

fn key_place(f: &mut Fields<'_>, http: Option<&HttpSpec>, problems: &mut Problems) -> Option<KeyPlace> {
    let mut place = f.map("send_key_as", problems)?;
    let header = place.opt_text("header", problems);
    let query = place.opt_text("query", problems);
    let body = place.opt_text("body", problems);
    let found = match (header, query, body) {
        (Some(name), None, None) => {
            http::header_name(&mut place, "header", name, problems).map(KeyPlace::Header)
        }
        (None, Some(name), None) => Some(KeyPlace::Query(name.to_owned())),
        (None, None, Some(name)) => Some(KeyPlace::Body(name.to_owned())),
        (_, _, _) => {
            let hint = "write one of `header: NAME`, `query: NAME`, `body: NAME`";
            wrong(f, "SM4203", "send_key_as", "the key goes to exactly one place", hint, problems)
        }
    };
    place.finish(problems);
    if matches!(found, Some(KeyPlace::Body(_))) && http.is_some_and(|h| h.body == BodyKind::None) {
        let hint = "put it into a header, or declare `http.body`";
        return wrong(f, "SM4203", "send_key_as", "the request has no body for the key", hint, problems);
    }
    found
}

fn fence(f: &mut Fields<'_>, problems: &mut Problems) -> Option<String> {
    let mut fence = f.map("fence", problems)?;
    let name = fence.text("header", problems)?;
    let found = http::header_name(&mut fence, "header", name, problems);
    fence.finish(problems);
    found
}

fn answer_rules(f: &mut Fields<'_>, problems: &mut Problems) -> AnswerRules {
    AnswerRules {
        success: rule(f, "success", problems),
        refusals: refusals(f, problems),
        pending: rule(f, "pending", problems),
        handle: rule(f, "handle", problems),
        replayed: rule(f, "replayed", problems),
        key_in_use: rule(f, "key_in_use", problems),
        key_reused: rule(f, "key_reused", problems),
        result: rule(f, "result", problems),
        retry_on: retry::on(f, problems),
        cost: terms::cost_rule(f, problems),
    }
}

fn refusals(f: &mut Fields<'_>, problems: &mut Problems) -> Vec<RefusalRule> {
    let items = f.list("refusals", problems).unwrap_or_default();
    let path = f.path_of("refusals");
    let read = |(i, node): (usize, &Node)| {
        let mut one = Fields::of(node, f.file(), format!("{path}[{i}]"), problems)?;
        one.required("when", problems);
        let when = rule(&mut one, "when", problems);
        let retryable = kind(&mut one, problems);
        let cause = one.opt_text("cause", problems).map(str::to_owned);
        one.finish(problems);
        Some(RefusalRule { when: when?, retryable: retryable?, cause })
    };
    items.iter().enumerate().filter_map(read).collect()
}

/// `final: true` or `retryable: true`; one of them must be said, because neither may be guessed.
fn kind(one: &mut Fields<'_>, problems: &mut Problems) -> Option<bool> {
    match (one.bool("final", problems), one.bool("retryable", problems)) {
        (Some(is_final), None) => Some(!is_final),
        (None, Some(retryable)) => Some(retryable),
        (Some(is_final), Some(retryable)) if is_final != retryable => Some(retryable),
        (Some(_), Some(_)) | (None, None) => {
            let hint = "say `final: true` (never again) or `retryable: true` (it may pass later)";
            wrong(one, "SM4209", "when", "this does not say whether the refusal is final", hint, problems)
        }
    }
}

fn schema(f: &mut Fields<'_>, key: &'static str, problems: &mut Problems) -> Option<Schema> {
    let json = f.json(key, problems)?;
    match Schema::compile(&json) {
        Ok(schema) => Some(schema),
        Err(message) => {
            let message = format!("this is not a JSON Schema: {message}");
            wrong(
                f,
                "SM4208",
                key,
                &message,
                "correct it; references to other documents are not followed",
                problems,
            )
        }
    }
}

/// What undoes the effect is kept in the document; only `none` changes the terms.
fn undo(f: &mut Fields<'_>, problems: &mut Problems) {
    let other = f.node("undo").filter(|node| node.as_text() != Some("none"));
    if let Some(mut undo) = other.and_then(|node| Fields::of(node, f.file(), f.path_of("undo"), problems)) {
        undo.text("act", problems);
        undo.json("with", problems);
        undo.finish(problems);
    }
    word(f, "risk", &[("ask", ())], (), problems);
}
