//! Templates: values with `${{ expression }}` in them.
//!
//! Invariant: a text that is one whole `${{ }}` becomes the value of its expression, with its type; inside a longer
//! text only scalars are put in, so a list or a map never turns into text by accident. Member names are never
//! templates.

use crate::cel::{CelError, Program};
use semel_kernel::json::Json;
use std::collections::BTreeMap;

const OPEN: &str = "${{";
const CLOSE: &str = "}}";

/// Names and values that expressions see.
pub type Vars<'a> = [(&'a str, &'a Json)];

/// One part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Fixed text.
    Text(String),
    /// An expression, and the byte of the whole text at which its source begins.
    Expr {
        /// The expression.
        program: Program,
        /// Where its source begins.
        offset: usize,
    },
}

/// A text with expressions in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
}

impl Template {
    /// Reads a text.
    ///
    /// # Errors
    /// [`CelError`] for a `${{` without its `}}` and for an expression that does not compile; the offset counts in the
    /// whole text.
    pub fn parse(text: &str) -> Result<Template, CelError> {
        let mut pieces = Vec::new();
        let mut at = 0;
        while let Some(open) = text[at..].find(OPEN).map(|found| at + found) {
            let start = open + OPEN.len();
            let length = end_of(&text[start..])
                .ok_or_else(|| CelError { message: "`${{` has no `}}`".to_owned(), offset: open })?;
            if open > at {
                pieces.push(Piece::Text(text[at..open].to_owned()));
            }
            pieces.push(expr(text, start, length)?);
            at = start + length + CLOSE.len();
        }
        if at < text.len() {
            pieces.push(Piece::Text(text[at..].to_owned()));
        }
        Ok(Template { pieces })
    }

    /// Its parts, in order.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The expression, when the text is nothing but one; its value keeps its type.
    #[must_use]
    pub fn whole(&self) -> Option<&Program> {
        match self.pieces.as_slice() {
            [Piece::Expr { program, .. }] => Some(program),
            _ => None,
        }
    }

    /// Its expressions, each with the byte at which its source begins.
    pub fn programs(&self) -> impl Iterator<Item = (&Program, usize)> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Expr { program, offset } => Some((program, *offset)),
        })
    }

    /// The value of the text under these names.
    ///
    /// # Errors
    /// A sentence, when an expression fails or a list or a map stands inside a longer text.
    pub fn resolve(&self, vars: &Vars<'_>) -> Result<Json, String> {
        match self.whole() {
            Some(program) => program.eval(vars).map_err(|e| named(program, &e)),
            None => self.text(vars, |text| text.to_owned()).map(Json::Str),
        }
    }

    /// The text under these names, each value passed through `encode`.
    ///
    /// # Errors
    /// As [`Template::resolve`]; a whole expression must give a scalar here too.
    pub fn text(&self, vars: &Vars<'_>, encode: impl Fn(&str) -> String) -> Result<String, String> {
        self.text_checked(vars, |value| Ok(encode(value)))
    }

    /// As [`Template::text`], where a value may be refused.
    ///
    /// # Errors
    /// As [`Template::text`], and what `encode` says.
    pub fn text_checked(
        &self,
        vars: &Vars<'_>,
        encode: impl Fn(&str) -> Result<String, String>,
    ) -> Result<String, String> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(fixed) => text.push_str(fixed),
                Piece::Expr { program, .. } => {
                    let value = program.eval(vars).map_err(|e| named(program, &e))?;
                    let encoded = scalar(&value).and_then(|value| encode(&value));
                    text.push_str(&encoded.map_err(|e| named(program, &e))?);
                }
            }
        }
        Ok(text)
    }
}

/// A value as it stands inside a text.
///
/// # Errors
/// A sentence, for `null`, a list or a map.
pub fn scalar(value: &Json) -> Result<String, String> {
    match value {
        Json::Str(text) => Ok(text.clone()),
        Json::Num(_) | Json::Bool(_) => Ok(value.canonical()),
        Json::Null | Json::Arr(_) | Json::Obj(_) => {
            Err(format!("its value is {} and cannot stand inside a text", value.kind_name()))
        }
    }
}

fn named(program: &Program, error: &str) -> String {
    format!("`{}`: {error}", program.source())
}

fn expr(text: &str, start: usize, length: usize) -> Result<Piece, CelError> {
    let raw = &text[start..start + length];
    let offset = start + (raw.len() - raw.trim_start().len());
    let compiled = Program::compile(raw.trim());
    let program = compiled.map_err(|e| CelError { offset: offset + e.offset, ..e })?;
    Ok(Piece::Expr { program, offset })
}

/// The length of the expression up to its `}}`; braces of map literals and quoted texts are stepped over.
fn end_of(source: &str) -> Option<usize> {
    let mut open = 0_usize;
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in source.char_indices() {
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(q), _) => quote = if c == q { None } else { Some(q) },
            (None, '"' | '\'') => quote = Some(c),
            (None, '{') => open += 1,
            (None, '}') if open == 0 => return source[at..].starts_with(CLOSE).then_some(at),
            (None, '}') => open -= 1,
            (None, _) => {}
        }
    }
    None
}

/// A JSON value whose texts may be templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// A value without expressions.
    Fixed(Json),
    /// A text with expressions.
    Text(Template),
    /// A list.
    Arr(Vec<Tree>),
    /// Named members.
    Obj(BTreeMap<String, Tree>),
}

/// What is wrong with one text inside a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeError {
    /// Where in the value: `lines[2].sku`; empty for the value itself.
    pub path: String,
    /// What is wrong, and at which byte of that text.
    pub error: CelError,
}

impl Tree {
    /// Reads a value; every text that does not compile is told.
    ///
    /// # Errors
    /// All of them.
    pub fn parse(json: &Json) -> Result<Tree, Vec<TreeError>> {
        let mut errors = Vec::new();
        let tree = read(json, "", &mut errors);
        if errors.is_empty() { Ok(tree) } else { Err(errors) }
    }

    /// Its expressions, each with the path of its text.
    #[must_use]
    pub fn programs(&self) -> Vec<(String, &Program)> {
        let mut found = Vec::new();
        gather(self, "", &mut found);
        found
    }

    /// The value under these names.
    ///
    /// # Errors
    /// A sentence with the path of the text that failed.
    pub fn resolve(&self, vars: &Vars<'_>) -> Result<Json, String> {
        self.resolve_at(vars, "")
    }

    fn resolve_at(&self, vars: &Vars<'_>, path: &str) -> Result<Json, String> {
        match self {
            Tree::Fixed(json) => Ok(json.clone()),
            Tree::Text(template) => {
                template.resolve(vars).map_err(|e| if path.is_empty() { e } else { format!("{path}: {e}") })
            }
            Tree::Arr(items) => {
                let each =
                    items.iter().enumerate().map(|(i, item)| item.resolve_at(vars, &format!("{path}[{i}]")));
                each.collect::<Result<Vec<_>, _>>().map(Json::Arr)
            }
            Tree::Obj(members) => {
                let each = members
                    .iter()
                    .map(|(k, v)| Ok((k.clone(), v.resolve_at(vars, &crate::yaml::join(path, k))?)));
                each.collect::<Result<BTreeMap<_, _>, String>>().map(Json::Obj)
            }
        }
    }
}

fn read(json: &Json, path: &str, errors: &mut Vec<TreeError>) -> Tree {
    match json {
        Json::Str(text) if text.contains(OPEN) => match Template::parse(text) {
            Ok(template) => Tree::Text(template),
            Err(error) => {
                errors.push(TreeError { path: path.to_owned(), error });
                Tree::Fixed(Json::Null)
            }
        },
        Json::Arr(items) => {
            let each = items.iter().enumerate().map(|(i, item)| read(item, &format!("{path}[{i}]"), errors));
            Tree::Arr(each.collect())
        }
        Json::Obj(members) => {
            let each = members.iter().map(|(k, v)| (k.clone(), read(v, &crate::yaml::join(path, k), errors)));
            Tree::Obj(each.collect())
        }
        Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) => Tree::Fixed(json.clone()),
    }
}

fn gather<'t>(tree: &'t Tree, path: &str, found: &mut Vec<(String, &'t Program)>) {
    match tree {
        Tree::Fixed(_) => {}
        Tree::Text(template) => found.extend(template.programs().map(|(p, _)| (path.to_owned(), p))),
        Tree::Arr(items) => {
            items.iter().enumerate().for_each(|(i, item)| gather(item, &format!("{path}[{i}]"), found));
        }
        Tree::Obj(members) => {
            members.iter().for_each(|(k, v)| gather(v, &crate::yaml::join(path, k), found));
        }
    }
}
