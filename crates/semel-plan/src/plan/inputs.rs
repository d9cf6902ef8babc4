//! Inputs of a plan: what is declared, and whether what is given fits.
//!
//! Invariant: what passes has every declared name, no other, and the declared types; defaults are values, never
//! expressions.

use super::{slot::cut, step::is_identifier};
use crate::{
    problem::{At, Problem, Problems, Span, closest, did_you_mean},
    yaml::{Fields, Node, join},
};
use semel_kernel::json::Json;
use std::{borrow::Cow, collections::BTreeMap};

/// The types that an input may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
}

impl Kind {
    const ALL: [(&'static str, Kind); 6] = [
        ("string", Kind::String),
        ("integer", Kind::Integer),
        ("number", Kind::Number),
        ("boolean", Kind::Boolean),
        ("array", Kind::Array),
        ("object", Kind::Object),
    ];

    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(word, _)| word)
    }

    fn fits(self, json: &Json) -> bool {
        match self {
            Kind::String => json.as_str().is_some(),
            Kind::Integer => json.as_i64().is_some(),
            Kind::Number => json.as_f64().is_some(),
            Kind::Boolean => json.as_bool().is_some(),
            Kind::Array => json.as_arr().is_some(),
            Kind::Object => json.as_obj().is_some(),
        }
    }
}

/// One declared input.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Input {
    kind: Kind,
    /// Its value when none is given; without one it must be given.
    pub(crate) default: Option<Json>,
    one_of: Option<Vec<Json>>,
}

/// The declared inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Inputs(pub(crate) BTreeMap<String, Input>);

/// Reads the `inputs` of a plan file.
pub(crate) fn read(node: Option<&Node>, file: &str, problems: &mut Problems) -> Inputs {
    let mut inputs = Inputs::default();
    for (key, node) in node.and_then(|n| members(n, file, problems)).unwrap_or_default() {
        let path = join("inputs", &key.text);
        let at = At { file, span: key.span, path: &path };
        if !is_identifier(&key.text) {
            let message = format!("`{}` cannot be the name of an input", cut(&key.text));
            problems.error("SM4103", at, message, "write a word of a-z, 0-9 and _, not one that CEL keeps");
        } else if let Some(input) = read_input(node, file, &path, problems) {
            inputs.0.insert(key.text.clone(), input);
        }
    }
    inputs
}

fn members<'a>(
    node: &'a Node,
    file: &str,
    problems: &mut Problems,
) -> Option<&'a [(crate::yaml::Key, Node)]> {
    Fields::of(node, file, "inputs", problems)?;
    node.as_map()
}

fn read_input(node: &Node, file: &str, path: &str, problems: &mut Problems) -> Option<Input> {
    let mut fields = Fields::of(node, file, path, problems)?;
    let word = fields.text("type", problems);
    let kind_span = fields.node("type").map_or(node.span, |n| n.span);
    let default = fields.json("default", problems);
    let default_span = fields.node("default").map_or(node.span, |n| n.span);
    let one_of = fields.list("enum", problems);
    let kind = word.and_then(|word| {
        let found = Kind::ALL.iter().find(|(w, _)| *w == word).map(|(_, kind)| *kind);
        if found.is_none() {
            let path = fields.path_of("type");
            let at = At { file, span: kind_span, path: &path };
            let hint = did_you_mean(word, Kind::ALL.iter().map(|(w, _)| *w));
            problems.error("SM4116", at, format!("`{}` is not a type", cut(word)), hint);
        }
        found
    });
    fields.finish(problems);
    let kind = kind?;
    let one_of = one_of.map(|items| choices(items, kind, file, path, problems));
    let input = Input { kind, default: None, one_of };
    if let Some(value) = &default {
        let place = join(path, "default");
        let at = At { file, span: default_span, path: &place };
        input.check("the default", value, at, problems);
    }
    Some(Input { default, ..input })
}

fn choices(items: &[Node], kind: Kind, file: &str, path: &str, problems: &mut Problems) -> Vec<Json> {
    let mut values = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let path = format!("{path}.enum[{i}]");
        let Some(value) = item.to_json(&path, problems) else { continue };
        if !kind.fits(&value) {
            let at = At { file, span: item.span, path: &path };
            let message = format!("the type is {}, but this is a {}", kind.word(), value.kind_name());
            problems.error("SM4116", at, message, "write values of the declared type");
        }
        values.push(value);
    }
    values
}

impl Input {
    fn check(&self, what: &str, value: &Json, at: At<'_>, problems: &mut Problems) {
        if !self.kind.fits(value) {
            let (wanted, found) = (self.kind.word(), value.kind_name());
            let message = format!("{what} must be of type {wanted}, but it is of type {found}");
            problems.error("SM4122", at, message, format!("give a value of type {wanted}"));
        } else if let Some(choices) = self.one_of.as_ref().filter(|all| !all.contains(value)) {
            let all: Vec<String> = choices.iter().take(24).map(Json::canonical).collect();
            let message = format!("{what} is not one of the declared values");
            problems.error("SM4123", at, message, format!("give one of: {}", all.join(", ")));
        }
    }

    fn document(&self) -> Json {
        let mut members = BTreeMap::from([("type".to_owned(), Json::str(self.kind.word()))]);
        members.extend(self.default.clone().map(|value| ("default".to_owned(), value)));
        members.extend(self.one_of.clone().map(|values| ("enum".to_owned(), Json::Arr(values))));
        Json::Obj(members)
    }
}

impl Inputs {
    /// The declarations, as they stand in the document.
    pub(crate) fn document(&self) -> Json {
        Json::obj(self.0.iter().map(|(name, input)| (name.as_str(), input.document())))
    }

    /// The declared inputs with their given or default values.
    pub(crate) fn check(&self, given: &Json) -> Result<Json, Vec<Problem>> {
        let mut problems = Problems::new();
        let place = |path| At { file: "inputs", span: Span::NONE, path };
        let Some(given) = given.as_obj() else {
            let message = format!("inputs are an object, but this is of type {}", given.kind_name());
            problems.error("SM4122", place(""), message, "give `{\"name\": value}`");
            return Err(problems.into_vec());
        };
        for name in given.keys().filter(|name| !self.0.contains_key(*name)) {
            let message = format!("the plan has no input `{}`", cut(name));
            problems.error("SM4120", place(name), message, self.hint(name));
        }
        let mut values = BTreeMap::new();
        for (name, input) in &self.0 {
            match given.get(name).or(input.default.as_ref()) {
                Some(value) => {
                    input.check(&format!("`{name}`"), value, place(name), &mut problems);
                    values.insert(name.clone(), value.clone());
                }
                None => {
                    let message = format!("the input `{name}` is missing");
                    let hint = format!("give a value of type {}", input.kind.word());
                    problems.error("SM4121", place(name), message, hint);
                }
            }
        }
        if problems.has_errors() { Err(problems.into_vec()) } else { Ok(Json::Obj(values)) }
    }

    fn hint(&self, name: &str) -> String {
        let names = self.0.keys().map(String::as_str);
        match closest(name, names.clone()) {
            None if self.0.is_empty() => "the plan declares no inputs; remove it".to_owned(),
            Some(_) | None => did_you_mean(name, names),
        }
    }

    /// What is given, with the defaults of what is not.
    pub(crate) fn filled<'a>(&self, given: &'a Json) -> Cow<'a, Json> {
        let lacks = |(name, input): &(&String, &Input)| input.default.is_some() && given.get(name).is_none();
        let lacking: Vec<_> = self.0.iter().filter(lacks).collect();
        if lacking.is_empty() {
            return Cow::Borrowed(given);
        }
        let mut values = given.as_obj().cloned().unwrap_or_default();
        values.extend(lacking.iter().filter_map(|(name, i)| Some(((*name).clone(), i.default.clone()?))));
        Cow::Owned(Json::Obj(values))
    }
}
