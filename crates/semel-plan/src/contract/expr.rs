//! Expressions and templates of a contract, compiled with their places.
//!
//! Invariant: an expression that is kept compiles and reads only names that will exist where it runs.

use crate::{
    cel::{CelError, Program},
    problem::{At, Problems, did_you_mean},
    template::{Template, Tree},
    yaml::{Fields, Node, Value, join},
};
use semel_kernel::json::Json;
use std::collections::BTreeMap;

/// Names that a request's templates see.
pub(crate) const REQUEST: [&str; 4] = ["args", "key", "operation", "task"];
/// Names that a look-up's templates see.
pub(crate) const QUESTION: [&str; 5] = ["args", "key", "operation", "task", "handle"];
/// Names that a rule over an answer sees.
pub(crate) const ANSWER: [&str; 8] =
    ["status", "headers", "body", "args", "key", "operation", "task", "handle"];

/// The rule under `key`, if it is there.
pub(crate) fn rule(f: &mut Fields<'_>, key: &'static str, problems: &mut Problems) -> Option<Program> {
    let (text, span) = f.expr(key, problems)?;
    let path = f.path_of(key);
    compile(text, At { file: f.file(), span, path: &path }, &ANSWER, problems)
}

fn compile(text: &str, at: At<'_>, names: &[&str], problems: &mut Problems) -> Option<Program> {
    if text.trim_start().starts_with("${{") {
        let message = "a rule is an expression already";
        problems.error("SM4201", at, message, "write it without `${{ }}`");
        return None;
    }
    match Program::compile(text) {
        Ok(program) => check_names(&program, at, names, problems).then_some(program),
        Err(error) => {
            bad_expression(text, &error, at, problems);
            None
        }
    }
}

fn bad_expression(text: &str, error: &CelError, at: At<'_>, problems: &mut Problems) {
    let at = At { span: at.span.inside(text, error.offset), ..at };
    problems.error(
        "SM4201",
        at,
        format!("this is not an expression: {}", error.message),
        "write CEL, such as `status == 200 && body.id == args.id`",
    );
}

fn check_names(program: &Program, at: At<'_>, names: &[&str], problems: &mut Problems) -> bool {
    let root = |name: &String| name.split('.').next().unwrap_or_default().to_owned();
    let unknown: Vec<String> =
        program.names().iter().map(root).filter(|r| !names.contains(&r.as_str())).collect();
    for name in &unknown {
        let hint = did_you_mean(name, names.iter().copied());
        problems.error("SM4202", at, format!("`{name}` is not known in `{}`", program.source()), hint);
    }
    unknown.is_empty()
}

/// The template in a text.
pub(crate) fn template(text: &str, at: At<'_>, names: &[&str], problems: &mut Problems) -> Option<Template> {
    match Template::parse(text) {
        Ok(template) => {
            let known = template.programs().fold(true, |known, (program, offset)| {
                let at = At { span: at.span.inside(text, offset), ..at };
                check_names(program, at, names, problems) && known
            });
            known.then_some(template)
        }
        Err(error) => {
            bad_expression(text, &error, at, problems);
            None
        }
    }
}

/// A value whose texts are templates.
pub(crate) fn tree(node: &Node, at: At<'_>, names: &[&str], problems: &mut Problems) -> Option<Tree> {
    let at = At { span: node.span, ..at };
    match &node.value {
        Value::Text(text) if text.contains("${{") => template(text, at, names, problems).map(Tree::Text),
        Value::Text(text) => Some(Tree::Fixed(Json::str(text))),
        Value::Null | Value::Bool(_) | Value::Number(_) => node.to_json(at.path, problems).map(Tree::Fixed),
        Value::List(items) => {
            let mut list = Vec::new();
            for (i, item) in items.iter().enumerate() {
                let path = format!("{}[{i}]", at.path);
                list.push(tree(item, At { path: &path, ..at }, names, problems));
            }
            list.into_iter().collect::<Option<Vec<_>>>().map(Tree::Arr)
        }
        Value::Map(members) => {
            let mut map = Vec::new();
            for (key, value) in members {
                let path = join(at.path, &key.text);
                map.push(
                    tree(value, At { path: &path, ..at }, names, problems).map(|t| (key.text.clone(), t)),
                );
            }
            map.into_iter().collect::<Option<BTreeMap<_, _>>>().map(Tree::Obj)
        }
    }
}

/// Records that the member `key` has a value that it cannot have.
pub(crate) fn wrong<T>(
    f: &mut Fields<'_>,
    code: &'static str,
    key: &'static str,
    message: &str,
    hint: &str,
    problems: &mut Problems,
) -> Option<T> {
    let path = f.path_of(key);
    let span = f.node(key).map_or(f.span(), |node| node.span);
    problems.error(code, At { file: f.file(), span, path: &path }, message, hint);
    None
}

/// The member `key` as one of a few words, or `usual` when it is absent.
pub(crate) fn word<T: Copy>(
    f: &mut Fields<'_>,
    key: &'static str,
    words: &[(&str, T)],
    usual: T,
    problems: &mut Problems,
) -> T {
    let Some(text) = f.opt_text(key, problems) else { return usual };
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
        return *value;
    }
    let hint = did_you_mean(text, words.iter().map(|(word, _)| *word));
    wrong(f, "SM4203", key, &format!("`{text}` is not a value of `{key}`"), &hint, problems).unwrap_or(usual)
}
