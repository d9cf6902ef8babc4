//! YAML as plans use it: one document, no anchors, aliases, tags or merges, and every value with its place.
//!
//! Invariant: a number that exists can be kept exactly or was refused with its place, a quoted `"1"` is a text, and no
//! key appears twice. This module must not know what a plan or a contract is.

mod build;
mod fields;
mod scalar;

use crate::problem::{At, Problems, Span};
pub use build::parse;
pub use fields::Fields;
use semel_kernel::json::Json;
use std::collections::BTreeMap;

/// A value with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Where it begins; for a text its first character, behind a quote or the line of a `|`.
    pub span: Span,
    /// What it is.
    pub value: Value,
}

/// The name of a member, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The name, as it is written; `1:` is the name `1`.
    pub text: String,
    /// Where it begins.
    pub span: Span,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `null`, `~` or nothing.
    Null,
    /// `true` or `false`; `yes` and `on` are texts.
    Bool(bool),
    /// A number as it was written, so that a version `1.10` does not become `1.1`.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the file.
    Map(Vec<(Key, Node)>),
}

impl Value {
    /// The word for the kind of value, for messages.
    #[must_use]
    pub const fn kind_name(&self) -> &'static str {
        match self {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}

impl Node {
    /// A value without a place.
    #[must_use]
    pub const fn bare(value: Value) -> Node {
        Node { span: Span::NONE, value }
    }

    /// The member of that name, if this is a map that has one.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_map()?.iter().find(|(k, _)| k.text == key).map(|(_, node)| node)
    }

    /// The text, if this is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    /// A text, a number or a truth value as it is written.
    #[must_use]
    pub fn as_scalar(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) | Value::Number(text) => Some(text),
            Value::Bool(truth) => Some(if *truth { "true" } else { "false" }),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// The items, if this is a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Node]> {
        if let Value::List(items) = &self.value { Some(items) } else { None }
    }

    /// The members, if this is a map.
    #[must_use]
    pub fn as_map(&self) -> Option<&[(Key, Node)]> {
        if let Value::Map(members) = &self.value { Some(members) } else { None }
    }

    /// Whether nothing is written here.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// The value as JSON. Numbers of a parsed file were checked when it was parsed; a node built by hand may hold one
    /// that is refused here, at `path`.
    pub fn to_json(&self, path: &str, problems: &mut Problems) -> Option<Json> {
        match &self.value {
            Value::Null => Some(Json::Null),
            Value::Bool(truth) => Some(Json::Bool(*truth)),
            Value::Text(text) => Some(Json::str(text)),
            Value::Number(raw) => self.number(raw, path, problems),
            Value::List(items) => {
                let all = items.iter().enumerate().map(|(i, n)| n.to_json(&format!("{path}[{i}]"), problems));
                collect(all).map(Json::Arr)
            }
            Value::Map(members) => {
                let all = members
                    .iter()
                    .map(|(k, n)| Some((k.text.clone(), n.to_json(&join(path, &k.text), problems)?)));
                collect(all).map(|all| Json::Obj(all.into_iter().collect::<BTreeMap<_, _>>()))
            }
        }
    }

    fn number(&self, raw: &str, path: &str, problems: &mut Problems) -> Option<Json> {
        match scalar::number(raw) {
            Ok(number) => Some(Json::Num(number)),
            Err(refused) => {
                let at = At { file: "", span: self.span, path };
                problems.error("SM4008", at, refused.message, refused.hint);
                None
            }
        }
    }

    /// A node for a JSON value, without places.
    #[must_use]
    pub fn from_json(json: &Json) -> Node {
        Node::bare(match json {
            Json::Null => Value::Null,
            Json::Bool(truth) => Value::Bool(*truth),
            Json::Num(_) => Value::Number(json.canonical()),
            Json::Str(text) => Value::Text(text.clone()),
            Json::Arr(items) => Value::List(items.iter().map(Node::from_json).collect()),
            Json::Obj(members) => {
                let key = |text: &String| Key { text: text.clone(), span: Span::NONE };
                Value::Map(members.iter().map(|(k, v)| (key(k), Node::from_json(v))).collect())
            }
        })
    }
}

/// All of them or none, but every one is looked at, so that every problem is told.
fn collect<T>(all: impl Iterator<Item = Option<T>>) -> Option<Vec<T>> {
    let all: Vec<Option<T>> = all.collect();
    all.into_iter().collect()
}

/// `path.key`, or `key` at the top; a name that is no plain word stands in brackets.
#[must_use]
pub fn join(path: &str, key: &str) -> String {
    let plain = key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    match (plain && !key.is_empty(), path.is_empty()) {
        (true, true) => key.to_owned(),
        (true, false) => format!("{path}.{key}"),
        (false, _) => format!("{path}[{key:?}]"),
    }
}
