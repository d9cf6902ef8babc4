//! Reads the members of a map one by one, and knows at the end which of them nobody asked for.

use super::{Key, Node, Value, join};
use crate::{
    duration,
    problem::{At, Problems, Span, did_you_mean},
};
use semel_kernel::json::Json;

/// A reader of one map. Every accessor names a key that is allowed; [`Fields::finish`] reports the others.
pub struct Fields<'a> {
    file: &'a str,
    path: String,
    span: Span,
    members: &'a [(Key, Node)],
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// A reader of `node`, which lies at `path`; a problem and `None` when it is no map.
    pub fn of(
        node: &'a Node,
        file: &'a str,
        path: impl Into<String>,
        problems: &mut Problems,
    ) -> Option<Self> {
        let path = path.into();
        if let Value::Map(members) = &node.value {
            return Some(Self { file, path, span: node.span, members, known: Vec::new() });
        }
        wrong_type(problems, At { file, span: node.span, path: &path }, node, "a map (`key: value`)");
        None
    }

    /// The file.
    #[must_use]
    pub const fn file(&self) -> &'a str {
        self.file
    }

    /// Where the map lies in the document.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Where the map begins.
    #[must_use]
    pub const fn span(&self) -> Span {
        self.span
    }

    /// Where the member `key` lies in the document.
    #[must_use]
    pub fn path_of(&self, key: &str) -> String {
        join(&self.path, key)
    }

    /// The place of the whole map.
    #[must_use]
    pub fn at(&self) -> At<'_> {
        At { file: self.file, span: self.span, path: &self.path }
    }

    /// Whether the map has that member; the key counts as allowed.
    pub fn has(&mut self, key: &'static str) -> bool {
        self.node(key).is_some()
    }

    /// The member `key` as it is, `null` too.
    pub fn node(&mut self, key: &'static str) -> Option<&'a Node> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        self.members.iter().find(|(k, _)| k.text == key).map(|(_, node)| node)
    }

    /// The member `key`; a problem when it is absent.
    pub fn required(&mut self, key: &'static str, problems: &mut Problems) -> Option<&'a Node> {
        let found = self.node(key);
        if found.is_none() {
            let message = format!("`{key}` is missing");
            problems.error("SM4011", self.at(), message, format!("add `{key}:` here"));
        }
        found
    }

    /// A text that must be there.
    pub fn text(&mut self, key: &'static str, problems: &mut Problems) -> Option<&'a str> {
        let node = self.required(key, problems)?;
        self.as_text(key, node, problems)
    }

    /// A text, if it is there.
    pub fn opt_text(&mut self, key: &'static str, problems: &mut Problems) -> Option<&'a str> {
        let node = self.node(key)?;
        self.as_text(key, node, problems)
    }

    /// An expression, if it is there: its text and where it begins. `true`, `false` and numbers are expressions too.
    pub fn expr(&mut self, key: &'static str, problems: &mut Problems) -> Option<(&'a str, Span)> {
        let node = self.node(key)?;
        let found = node.as_scalar();
        if found.is_none() {
            self.wrong(key, node, "an expression", problems);
        }
        found.map(|text| (text, node.span))
    }

    fn as_text(&self, key: &str, node: &'a Node, problems: &mut Problems) -> Option<&'a str> {
        let found = node.as_text();
        if found.is_none() {
            self.wrong(key, node, "a text", problems);
        }
        found
    }

    /// A list, if it is there.
    pub fn list(&mut self, key: &'static str, problems: &mut Problems) -> Option<&'a [Node]> {
        let node = self.node(key)?;
        let found = node.as_list();
        if found.is_none() {
            self.wrong(key, node, "a list", problems);
        }
        found
    }

    /// A list of texts, if it is there; one text stands for a list of one.
    pub fn texts(&mut self, key: &'static str, problems: &mut Problems) -> Option<Vec<(&'a str, Span)>> {
        let node = self.node(key)?;
        if let Some(one) = node.as_text() {
            return Some(vec![(one, node.span)]);
        }
        let Some(items) = node.as_list() else {
            self.wrong(key, node, "a list of texts", problems);
            return None;
        };
        let mut texts = Vec::new();
        for (i, item) in items.iter().enumerate() {
            match item.as_text() {
                Some(text) => texts.push((text, item.span)),
                None => self.wrong(&format!("{key}[{i}]"), item, "a text", problems),
            }
        }
        Some(texts)
    }

    /// A reader of a map, if it is there.
    pub fn map(&mut self, key: &'static str, problems: &mut Problems) -> Option<Fields<'a>> {
        let node = self.node(key)?;
        Fields::of(node, self.file, self.path_of(key), problems)
    }

    /// A duration in milliseconds, if it is there.
    pub fn duration(&mut self, key: &'static str, problems: &mut Problems) -> Option<i64> {
        let node = self.node(key)?;
        let Some(text) = node.as_scalar() else {
            self.wrong(key, node, "a duration such as 30s", problems);
            return None;
        };
        match duration::parse(text) {
            Ok(ms) => Some(ms),
            Err(message) => {
                let path = self.path_of(key);
                let at = At { file: self.file, span: node.span, path: &path };
                problems.error("SM4012", at, message, "write the unit: 250ms, 30s, 5m, 2h, 7d");
                None
            }
        }
    }

    /// A whole number, if it is there.
    pub fn int(&mut self, key: &'static str, problems: &mut Problems) -> Option<i64> {
        let node = self.node(key)?;
        let found = match &node.value {
            Value::Number(_) => node.to_json(&self.path_of(key), problems).and_then(|n| n.as_i64()),
            Value::Null | Value::Bool(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => None,
        };
        if found.is_none() {
            self.wrong(key, node, "a whole number", problems);
        }
        found
    }

    /// A whole number from `least` to 4,294,967,295, if it is there.
    pub fn count(&mut self, key: &'static str, least: u32, problems: &mut Problems) -> Option<u32> {
        let span = self.members.iter().find(|(k, _)| k.text == key).map_or(self.span, |(_, n)| n.span);
        let value = self.int(key, problems)?;
        let found = u32::try_from(value).ok().filter(|n| *n >= least);
        if found.is_none() {
            let path = self.path_of(key);
            let message = format!("`{key}` is {value}, but must be a whole number from {least}");
            problems.error(
                "SM4009",
                At { file: self.file, span, path: &path },
                message,
                "write such a number",
            );
        }
        found
    }

    /// A truth value, if it is there.
    pub fn bool(&mut self, key: &'static str, problems: &mut Problems) -> Option<bool> {
        let node = self.node(key)?;
        if let Value::Bool(truth) = node.value {
            return Some(truth);
        }
        self.wrong(key, node, "true or false", problems);
        None
    }

    /// Any value, if it is there.
    pub fn json(&mut self, key: &'static str, problems: &mut Problems) -> Option<Json> {
        let path = self.path_of(key);
        self.node(key)?.to_json(&path, problems)
    }

    /// Records that the member `key` has the wrong type.
    pub fn wrong(&self, key: &str, node: &Node, wanted: &str, problems: &mut Problems) {
        let path = if key.contains('[') { format!("{}.{key}", self.path) } else { self.path_of(key) };
        wrong_type(problems, At { file: self.file, span: node.span, path: &path }, node, wanted);
    }

    /// Reports the members that no accessor named.
    pub fn finish(self, problems: &mut Problems) {
        for (key, _) in self.members.iter().filter(|(k, _)| !self.known.contains(&k.text.as_str())) {
            if problems.is_full() {
                return;
            }
            let path = self.path_of(&key.text);
            let at = At { file: self.file, span: key.span, path: &path };
            let shown: String = key.text.chars().take(80).collect();
            let hint = did_you_mean(&key.text, self.known.iter().copied());
            problems.error("SM4010", at, format!("`{shown}` is not known here"), hint);
        }
    }
}

fn wrong_type(problems: &mut Problems, at: At<'_>, node: &Node, wanted: &str) {
    let quoted = match &node.value {
        Value::Number(raw) if wanted == "a text" => format!("; quote it: \"{raw}\""),
        Value::Bool(truth) if wanted == "a text" => format!("; quote it: \"{truth}\""),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => {
            String::new()
        }
    };
    let message = format!("this must be {wanted}, but it is {}", node.value.kind_name());
    problems.error("SM4009", at, message, format!("write {wanted} here{quoted}"));
}
