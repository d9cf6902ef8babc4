//! One step of a plan file: read, its expressions compiled, not yet compared with the other steps.

use super::{
    each::{self, EachDoc},
    slot::{Slots, Use, cut},
};
use crate::{
    cel::Program,
    problem::{At, Problems, Span},
    template::{Template, Tree},
    yaml::{Fields, Node},
};
use semel_kernel::{
    id::{StepName, ToolName},
    json::Json,
};
use std::collections::BTreeMap;

/// Names that every expression sees, so that no item may be called so.
pub(crate) const ROOTS: [&str; 4] = ["inputs", "steps", "task", "now"];

/// Words that CEL keeps for itself.
const CEL_WORDS: [&str; 25] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "type",
    "var",
    "void",
    "while",
    "size",
    "has",
    "map",
];

/// Words of DESIGN section 13 that this version does not run.
const LATER: [&str; 3] = ["decide", "approve", "wait"];

/// A value and how it was written.
#[derive(Clone, Debug)]
pub(crate) struct Written<T> {
    /// Compiled.
    pub(crate) value: T,
    /// As it stands in the document.
    pub(crate) json: Json,
}

/// What a step does.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// Calls a tool, for each item of a list if there is one.
    Act {
        /// The tool.
        tool: ToolName,
        /// Boxed, because most steps have none.
        each: Option<Box<EachDoc>>,
    },
    /// Waits.
    Sleep(Written<Template>),
}

/// A step whose expressions are compiled.
#[derive(Clone, Debug)]
pub(crate) struct StepDoc {
    /// Its name.
    pub(crate) name: StepName,
    /// What it does.
    pub(crate) work: Work,
    /// Its `if`.
    pub(crate) condition: Option<Program>,
    /// Its `with`.
    pub(crate) with: Written<Tree>,
    /// Its `version`.
    pub(crate) version: Written<Template>,
    /// Its `intent`.
    pub(crate) intent: u32,
    /// The steps that its expressions read; true where the items of an `each` are read.
    pub(crate) reads: BTreeMap<StepName, bool>,
}

impl StepDoc {
    /// Its `each`, if it has one.
    pub(crate) fn each(&self) -> Option<&EachDoc> {
        match &self.work {
            Work::Act { each, .. } => each.as_deref(),
            Work::Sleep(_) => None,
        }
    }
}

/// A text of the file with its place.
pub(crate) type Placed = (String, Span);

/// A step as it was read: whatever is sound of it, and what must be compared with the other steps.
pub(crate) struct StepDraft {
    /// Its name and where it stands.
    pub(crate) name: Option<(StepName, Span)>,
    /// `steps[2]`.
    pub(crate) path: String,
    /// Its `needs`, when it has that key.
    pub(crate) needs: Option<Vec<Placed>>,
    /// The tool it names.
    pub(crate) act: Option<Placed>,
    /// The `each` it has, whether sound or not: the name of its item.
    pub(crate) bind: Option<String>,
    /// The names its expressions use.
    pub(crate) uses: Vec<Use>,
    /// For a `with` that is written as a map: where it begins, and its names.
    pub(crate) args: Option<(Span, Vec<Placed>)>,
    /// The step, when all of it is sound.
    pub(crate) doc: Option<StepDoc>,
}

/// Reads one entry of `steps`.
pub(crate) fn read(node: &Node, file: &str, at: usize, problems: &mut Problems) -> Option<StepDraft> {
    let path = format!("steps[{at}]");
    let mut fields = Fields::of(node, file, path.clone(), problems)?;
    let name = step_name(&mut fields, problems);
    let needs = fields.texts("needs", problems).map(owned);
    let act = fields.opt_text("act", problems).map(str::to_owned);
    let act = act.map(|text| (text, fields.node("act").map_or(node.span, |n| n.span)));
    let intent = fields.count("intent", 1, problems).unwrap_or(1);
    let nodes = Nodes::of(&mut fields);
    check_words(&fields, &nodes, problems);
    fields.finish(problems);
    let mut slots = Slots { file, problems, uses: Vec::new(), item: false };
    let (each, bind) = each::read(nodes.each, &path, &mut slots);
    slots.item = bind.is_some();
    let sound = read_slots(&nodes, &path, &mut slots);
    let uses = slots.uses;
    let args = nodes.with.and_then(|n| Some((n.span, keys(n)?)));
    let work = match (&act, sound.sleep) {
        (Some((tool, _)), None) => {
            let tool = ToolName::parse(tool).ok();
            tool.filter(|_| each.is_some() == nodes.each.is_some())
                .map(|tool| Work::Act { tool, each: each.map(Box::new) })
        }
        (None, Some(sleep)) => Some(Work::Sleep(sleep)),
        (Some(_), Some(_)) | (None, None) => None,
    };
    let doc = (|| {
        let (name, _) = name.clone()?;
        let (condition, with, version) = (sound.condition?, sound.with?, sound.version?);
        Some(StepDoc { name, work: work?, condition, with, version, intent, reads: BTreeMap::new() })
    })();
    Some(StepDraft { name, path, needs, act, bind, uses, args, doc })
}

/// The parts of a step that may hold expressions, or must not be there.
struct Nodes<'a> {
    act: bool,
    sleep: Option<&'a Node>,
    with: Option<&'a Node>,
    condition: Option<&'a Node>,
    version: Option<&'a Node>,
    each: Option<&'a Node>,
    later: Option<(&'static str, &'a Node)>,
    act_only: Vec<(&'static str, Span)>,
}

impl<'a> Nodes<'a> {
    fn of(fields: &mut Fields<'a>) -> Self {
        let (with, version, each) = (fields.node("with"), fields.node("version"), fields.node("each"));
        let present =
            [("with", with), ("version", version), ("each", each), ("intent", fields.node("intent"))];
        let later = LATER.iter().filter_map(|word| Some((*word, fields.node(word)?))).next();
        Self {
            act: fields.has("act"),
            sleep: fields.node("sleep"),
            with,
            condition: fields.node("if"),
            version,
            each,
            later,
            act_only: present.iter().filter_map(|(key, n)| Some((*key, (*n)?.span))).collect(),
        }
    }
}

/// A step does one thing, and only an act has arguments.
fn check_words(fields: &Fields<'_>, nodes: &Nodes<'_>, problems: &mut Problems) {
    let (file, path) = (fields.file(), fields.path());
    if let Some((word, node)) = nodes.later {
        let at = At { file, span: node.span, path: &fields.path_of(word) };
        let message = format!("`{word}` is planned, but not in this version");
        problems.error("SM4108", at, message, "use `act` or `sleep`");
        return;
    }
    let at = At { file, span: fields.span(), path };
    match (nodes.act, nodes.sleep) {
        (false, None) => {
            problems.error("SM4109", at, "this step does nothing", "add `act: TOOL` or `sleep: 30s`")
        }
        (true, Some(_)) => problems.error("SM4109", at, "this step acts and sleeps", "make two steps of it"),
        (false, Some(_)) => {
            for (key, span) in &nodes.act_only {
                let at = At { file, span: *span, path: &fields.path_of(key) };
                problems.error("SM4109", at, format!("a sleep has no `{key}`"), "remove it");
            }
        }
        (true, None) => {}
    }
}

/// What is sound of the parts with expressions; `None` where something is wrong, which has been recorded.
struct Sound {
    sleep: Option<Written<Template>>,
    condition: Option<Option<Program>>,
    with: Option<Written<Tree>>,
    version: Option<Written<Template>>,
}

fn read_slots(nodes: &Nodes<'_>, path: &str, slots: &mut Slots<'_, '_>) -> Sound {
    let condition = match nodes.condition {
        Some(node) => slots.condition(node, &format!("{path}.if")).map(Some),
        None => Some(None),
    };
    let with = match nodes.with {
        Some(node) => with(node, &format!("{path}.with"), slots),
        None => Some(Written { value: Tree::Fixed(empty()), json: empty() }),
    };
    let version = match nodes.version {
        Some(node) => scalar(node, &format!("{path}.version"), slots),
        None => fixed("1"),
    };
    let sleep = nodes.sleep.and_then(|node| sleep(node, &format!("{path}.sleep"), slots));
    Sound { sleep, condition, with, version }
}

fn empty() -> Json {
    Json::Obj(BTreeMap::new())
}

fn fixed(text: &str) -> Option<Written<Template>> {
    Template::parse(text).ok().map(|value| Written { value, json: Json::str(text) })
}

pub(super) fn scalar(node: &Node, path: &str, slots: &mut Slots<'_, '_>) -> Option<Written<Template>> {
    let (value, text) = slots.template(node, path)?;
    if text.is_empty() {
        slots.error("SM4009", node.span, path, "this text is empty", "write a text, or remove the key");
        return None;
    }
    Some(Written { value, json: Json::Str(text) })
}

/// A map of arguments, or one expression that gives it.
fn with(node: &Node, path: &str, slots: &mut Slots<'_, '_>) -> Option<Written<Tree>> {
    let (value, json) = slots.tree(node, path)?;
    let whole = matches!(&value, Tree::Text(template) if template.whole().is_some());
    if json.as_obj().is_none() && !whole {
        let message = format!("arguments are a map, but this is {}", node.value.kind_name());
        slots.error("SM4009", node.span, path, message, "write `name: value` lines, or one whole `${{ }}`");
        return None;
    }
    Some(Written { value, json })
}

/// A duration that stands there is checked now; one that is computed, when it is known.
fn sleep(node: &Node, path: &str, slots: &mut Slots<'_, '_>) -> Option<Written<Template>> {
    let written = scalar(node, path, slots)?;
    let text = written.json.as_str().unwrap_or_default();
    if written.value.programs().next().is_some() {
        return Some(written);
    }
    match crate::duration::parse(text) {
        Ok(ms) => fixed(&crate::duration::text(ms)),
        Err(message) => {
            slots.error("SM4012", node.span, path, message, "write the unit: 250ms, 30s, 5m, 2h, 7d");
            None
        }
    }
}

fn step_name(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<(StepName, Span)> {
    let node = fields.required("step", problems)?;
    let Some(text) = node.as_text() else {
        fields.wrong("step", node, "a text", problems);
        return None;
    };
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-' | '.');
    let name = StepName::parse(text).ok().filter(|n| n.as_str().len() <= 64 && n.as_str().chars().all(plain));
    if name.is_none() {
        let path = fields.path_of("step");
        let at = At { file: fields.file(), span: node.span, path: &path };
        let message = format!("`{}` is not a step name", cut(text));
        problems.error("SM4103", at, message, "write 1 to 64 of a-z 0-9 _ - .");
    }
    name.map(|name| (name, node.span))
}

fn owned(texts: Vec<(&str, Span)>) -> Vec<Placed> {
    texts.into_iter().map(|(text, span)| (text.to_owned(), span)).collect()
}

fn keys(node: &Node) -> Option<Vec<Placed>> {
    Some(node.as_map()?.iter().map(|(key, _)| (key.text.clone(), key.span)).collect())
}

/// A name that expressions can use as it is.
pub(crate) fn is_identifier(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let word = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    starts && word && text.len() <= 64 && !CEL_WORDS.contains(&text)
}
