//! A plan file, read: all of its parts, not yet compared with each other.

use super::{
    inputs::{self, Inputs},
    slot::cut,
    step::{self, StepDraft},
};
use crate::{
    contract::Contract,
    problem::{At, Problems, Span, did_you_mean},
    yaml::{self, Fields, Key, Node, Value},
};
use semel_kernel::{id::ToolName, limit, plan::Budget};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::ErrorKind,
    path::Path,
};

/// The version of the format.
const FORMAT: i64 = 1;

/// Where a plan comes from.
pub(super) enum Origin<'a> {
    /// A file in a folder; contracts may lie beside it.
    File(&'a Path),
    /// A document of the store: self-contained.
    Store,
}

/// What was read. Parts that are not sound are left out, and have been recorded.
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) inputs: Inputs,
    /// Input names, of broken declarations too.
    pub(super) input_names: BTreeSet<String>,
    pub(super) budget: Budget,
    pub(super) pins: BTreeMap<String, String>,
    pub(super) tools: Tools,
    pub(super) steps: Vec<StepDraft>,
    /// The one step is the tenant-scoped operation itself.
    pub(super) shared: bool,
}

/// The tools of a plan.
#[derive(Default)]
pub(super) struct Tools {
    /// Their names and places, broken ones too.
    pub(super) declared: BTreeMap<String, Span>,
    /// The sound ones.
    pub(super) contracts: BTreeMap<ToolName, Contract>,
}

/// Reads all parts; `None` when the rest would only repeat one mistake.
pub(super) fn read(root: &Node, file: &str, origin: &Origin<'_>, problems: &mut Problems) -> Option<Draft> {
    let mut fields = Fields::of(root, file, "", problems)?;
    if is_contract(root) {
        let hint = format!("use `semel tool lint {file}` for it; a plan names it under `tools:`");
        problems.error("SM4125", fields.at(), "this is a contract, not a plan", hint);
        return None;
    }
    let steps = fields.node("steps");
    if let Some(items) = steps.and_then(Node::as_list).filter(|items| items.len() > limit::PLAN_STEPS) {
        let at = At { file, span: steps.map_or(root.span, |n| n.span), path: "steps" };
        let message = format!("the plan has {} steps, the limit is {}", items.len(), limit::PLAN_STEPS);
        problems.error("SM4102", at, message, "use `each` over a list, or split the work over several plans");
        return None;
    }
    check_format(&mut fields, problems);
    let name = plan_name(&mut fields, problems);
    let input_node = fields.node("inputs");
    let inputs = inputs::read(input_node, file, problems);
    let budget = budget(&mut fields, problems);
    let pins = pins(&mut fields, problems);
    let tools = tools(&mut fields, origin, problems);
    let shared = matches!(origin, Origin::Store) && fields.bool("shared", problems).unwrap_or(false);
    fields.required("steps", problems);
    let items = fields.list("steps", problems);
    if items.is_some_and(<[Node]>::is_empty) {
        let at = At { file, span: steps.map_or(root.span, |n| n.span), path: "steps" };
        problems.error("SM4102", at, "the plan has no steps", "add `- step: NAME` with `act: TOOL`");
    }
    fields.finish(problems);
    let items = items.unwrap_or_default().iter().enumerate();
    let steps = items.filter_map(|(i, node)| step::read(node, file, i, problems)).collect();
    let names = input_node.and_then(Node::as_map).unwrap_or_default().iter();
    let input_names = names.map(|(key, _)| key.text.clone()).collect();
    Some(Draft { name, inputs, input_names, budget, pins, tools, steps, shared })
}

/// A contract that was named in place of a plan; the faults of a plan would all be beside the point.
fn is_contract(root: &Node) -> bool {
    let has = |key: &str| root.get(key).is_some();
    !has("semel") && !has("steps") && (has("tool") || has("http"))
}

fn check_format(fields: &mut Fields<'_>, problems: &mut Problems) {
    let Some(node) = fields.required("semel", problems) else { return };
    let format = fields.int("semel", problems);
    if format.is_some_and(|format| format != FORMAT) {
        let at = At { file: fields.file(), span: node.span, path: "semel" };
        let message = format!("this program reads plans of format {FORMAT} only");
        problems.error(
            "SM4101",
            at,
            message,
            format!("write `semel: {FORMAT}`, or use the program that fits the plan"),
        );
    }
}

fn plan_name(fields: &mut Fields<'_>, problems: &mut Problems) -> String {
    let name = fields.text("name", problems).unwrap_or_default();
    let span = fields.node("name").map_or(fields.span(), |n| n.span);
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-' | '.');
    let fits = !name.is_empty() && name.len() <= 64 && name.chars().all(word);
    if !fits && fields.node("name").is_some_and(|n| n.as_text().is_some()) {
        let at = At { file: fields.file(), span, path: "name" };
        let message = format!("`{}` is not a plan name", cut(name));
        problems.error("SM4103", at, message, "write 1 to 64 of a-z 0-9 _ - .");
    }
    name.to_owned()
}

fn budget(fields: &mut Fields<'_>, problems: &mut Problems) -> Budget {
    let Some(mut limits) = fields.map("limits", problems) else { return Budget::default() };
    let budget = Budget {
        deadline_ms: limits.duration("deadline", problems),
        attempts: limits.count("attempts", 1, problems),
        unknowns: limits.count("unknowns", 1, problems),
    };
    limits.finish(problems);
    budget
}

/// Pins are names and scalars; a number keeps its spelling.
fn pins(fields: &mut Fields<'_>, problems: &mut Problems) -> BTreeMap<String, String> {
    let Some(node) = fields.node("pins") else { return BTreeMap::new() };
    let Some(members) = node.as_map() else {
        fields.wrong("pins", node, "a map (`model: NAME`)", problems);
        return BTreeMap::new();
    };
    let mut pins = BTreeMap::new();
    for (key, value) in members {
        match value.as_scalar() {
            Some(text) => drop(pins.insert(key.text.clone(), text.to_owned())),
            None => {
                let path = yaml::join("pins", &key.text);
                let at = At { file: fields.file(), span: value.span, path: &path };
                let message = format!("a pin is a text, but this is {}", value.value.kind_name());
                problems.error("SM4009", at, message, "write the version as a text");
            }
        }
    }
    pins
}

fn tools(fields: &mut Fields<'_>, origin: &Origin<'_>, problems: &mut Problems) -> Tools {
    let mut tools = Tools::default();
    let Some(node) = fields.node("tools") else { return tools };
    let Some(members) = node.as_map() else {
        fields.wrong("tools", node, "a map (`NAME: { from: FILE }`)", problems);
        return tools;
    };
    for (key, node) in members {
        tools.declared.insert(key.text.clone(), key.span);
        let path = yaml::join("tools", &key.text);
        let at = At { file: fields.file(), span: key.span, path: &path };
        let Ok(name) = ToolName::parse(&key.text) else {
            let message = format!("`{}` is not a tool name", cut(&key.text));
            problems.error("SM4103", at, message, "write 1 to 64 of a-z 0-9 _ - .");
            continue;
        };
        let contract = match origin {
            Origin::Store => stored(node, at, problems),
            Origin::File(_) if node.get("from").is_none() => inline(node, &key.text, fields.file(), problems),
            Origin::File(dir) => from_file(node, dir, at, problems),
        };
        let Some(contract) = contract else { continue };
        if contract.terms.tool == name {
            tools.contracts.insert(name, contract);
        } else {
            let message =
                format!("the contract is for `{}`, but the plan calls it `{name}`", contract.terms.tool);
            problems.error("SM4117", at, message, format!("call it `{}:` here", contract.terms.tool));
        }
    }
    tools
}

fn stored(node: &Node, at: At<'_>, problems: &mut Problems) -> Option<Contract> {
    let document = node.to_json(at.path, problems)?;
    Contract::from_document(&document).map_err(|found| problems.extend(found)).ok()
}

/// An inline contract is named by its key, so it need not say `tool:` again.
fn inline(node: &Node, name: &str, file: &str, problems: &mut Problems) -> Option<Contract> {
    let mut named = node.clone();
    if let Value::Map(members) = &mut named.value
        && node.get("tool").is_none()
    {
        let tool = Node { span: node.span, value: Value::Text(name.to_owned()) };
        members.push((Key { text: "tool".to_owned(), span: node.span }, tool));
    }
    Contract::read(&named, file, problems)
}

fn from_file(node: &Node, dir: &Path, at: At<'_>, problems: &mut Problems) -> Option<Contract> {
    let mut fields = Fields::of(node, at.file, at.path, problems)?;
    let from = fields.text("from", problems);
    let span = fields.node("from").map_or(at.span, |n| n.span);
    fields.finish(problems);
    let from = from?;
    let named = Path::new(at.file).parent().unwrap_or(Path::new("")).join(from);
    let text = match load(&dir.join(from)) {
        Ok(text) => text,
        Err(cause) => {
            let path = yaml::join(at.path, "from");
            let message = format!("the contract `{}` cannot be read: {cause}", cut(from));
            let hint = format!("a path counts from the plan's folder; {}", beside(&dir.join(from)));
            problems.error("SM4001", At { span, path: &path, ..at }, message, hint);
            return None;
        }
    };
    let named = named.to_string_lossy();
    let root = yaml::parse(&named, &text, problems)?;
    Contract::read(&root, &named, problems)
}

/// The files that lie where a missing one was looked for.
fn beside(path: &Path) -> String {
    let wanted = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let entries = path.parent().and_then(|dir| std::fs::read_dir(dir).ok());
    let names = entries.into_iter().flatten().flatten().map(|e| e.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|n| n.ends_with(".yaml") || n.ends_with(".yml")).collect();
    names.sort();
    if names.is_empty() {
        return "there are no YAML files in that folder".to_owned();
    }
    did_you_mean(&wanted, names.iter().map(String::as_str))
}

/// The usual causes in the words of people.
fn said(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file".to_owned(),
        other => other.to_string(),
    }
}

/// The text of a file, if it is a file and no larger than a plan may be.
pub(super) fn load(path: &Path) -> Result<String, String> {
    let about = std::fs::metadata(path).map_err(|e| said(&e))?;
    if !about.is_file() {
        return Err("it is not a file".to_owned());
    }
    if about.len() > limit::PLAN_BYTES as u64 {
        return Err(format!("it has {} bytes, the limit is {}", about.len(), limit::PLAN_BYTES));
    }
    let bytes = std::fs::read(path).map_err(|e| said(&e))?;
    String::from_utf8(bytes).map_err(|e| format!("byte {} is not UTF-8", e.utf8_error().valid_up_to()))
}
