//! Compares the parts of a plan with each other: names, needs, circles, tools, and what expressions read.
//!
//! Invariant: an expression of a plan that passes reads only what is settled before its step.

use super::{
    read::Draft,
    slot::{Use, cut},
    step::{Placed, ROOTS, StepDraft},
};
use crate::{
    contract::Contract,
    problem::{At, Problems, Span, did_you_mean},
};
use semel_kernel::{
    id::{StepName, ToolName},
    json::Json,
};
use std::collections::{BTreeMap, BTreeSet};

/// The order of the steps, as far as it is sound.
#[derive(Default)]
pub(super) struct Order {
    /// Needs of each step, sorted; of the first one where two share a name.
    pub(super) needs: BTreeMap<StepName, Vec<StepName>>,
}

/// Checks everything that needs more than one part, and gives the order.
pub(super) fn check(draft: &Draft, file: &str, problems: &mut Problems) -> Order {
    let mut check = Check { draft, file, problems, each: BTreeSet::new(), order: Order::default() };
    check.steps();
    check.needs();
    check.circles();
    for step in &draft.steps {
        check.tool(step);
        check.uses(step);
    }
    check.unused_tools();
    check.order
}

struct Check<'a> {
    draft: &'a Draft,
    file: &'a str,
    problems: &'a mut Problems,
    /// Steps with an `each`.
    each: BTreeSet<&'a StepName>,
    order: Order,
}

impl<'a> Check<'a> {
    fn error(
        &mut self,
        code: &'static str,
        span: Span,
        path: &str,
        message: String,
        hint: impl Into<String>,
    ) {
        self.problems.error(code, At { file: self.file, span, path }, message, hint);
    }

    /// Two steps of one name, and the default needs.
    fn steps(&mut self) {
        let mut first: BTreeMap<&StepName, Span> = BTreeMap::new();
        let mut before: Option<&StepName> = None;
        for step in &self.draft.steps {
            let Some((name, span)) = &step.name else { continue };
            if let Some(earlier) = first.get(name) {
                let hint = format!("rename one of them; the first is in line {}", earlier.line);
                let message = format!("two steps are called `{name}`");
                self.error("SM4104", *span, &format!("{}.step", step.path), message, hint);
            } else {
                first.insert(name, *span);
                self.order.needs.insert(name.clone(), before.cloned().into_iter().collect());
                if step.bind.is_some() {
                    self.each.insert(name);
                }
            }
            before = Some(name);
        }
    }

    fn needs(&mut self) {
        for step in &self.draft.steps {
            let (Some((name, _)), Some(needs)) = (&step.name, &step.needs) else { continue };
            let mut sound = BTreeSet::new();
            for (i, (text, span)) in needs.iter().enumerate() {
                match self.known_step(text) {
                    Some(need) => drop(sound.insert(need)),
                    None => self.missing(step, i, text, *span),
                }
            }
            self.order.needs.insert(name.clone(), sound.into_iter().collect());
        }
    }

    fn known_step(&self, text: &str) -> Option<StepName> {
        let name = StepName::parse(text).ok()?;
        self.order.needs.contains_key(&name).then_some(name)
    }

    fn missing(&mut self, step: &StepDraft, at: usize, text: &str, span: Span) {
        if self.problems.is_full() {
            return;
        }
        let names: Vec<String> = self.order.needs.keys().map(ToString::to_string).collect();
        let hint = did_you_mean(text, names.iter().map(String::as_str));
        let message = format!("there is no step `{}` to wait for", cut(text));
        self.error("SM4105", span, &format!("{}.needs[{at}]", step.path), message, hint);
    }

    /// Each circle is told once, at its first step in the file.
    fn circles(&mut self) {
        let mut told: BTreeSet<StepName> = BTreeSet::new();
        for step in &self.draft.steps {
            let Some((name, span)) = &step.name else { continue };
            if told.contains(name) {
                continue;
            }
            let Some(circle) = self.circle(name) else { continue };
            let shown: Vec<&str> = circle.iter().chain([name]).map(StepName::as_str).collect();
            let message = format!("the needs form a circle: {}", shown.join(" needs "));
            told.extend(circle);
            self.error(
                "SM4106",
                *span,
                &format!("{}.needs", step.path),
                message,
                "remove one of these needs",
            );
        }
    }

    /// The shortest way from a step through its needs back to itself.
    fn circle(&self, from: &StepName) -> Option<Vec<StepName>> {
        let mut came: BTreeMap<&StepName, &StepName> = BTreeMap::new();
        let mut queue = std::collections::VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            for need in self.order.needs.get_key_value(at).map_or(&[][..], |(_, n)| n) {
                if need == from {
                    let back = std::iter::successors(Some(at), |s| came.get(*s).copied());
                    let mut way: Vec<StepName> = back.cloned().collect();
                    way.reverse();
                    return Some(way);
                }
                if !came.contains_key(need) {
                    came.insert(need, at);
                    queue.push_back(need);
                }
            }
        }
        None
    }

    fn tool(&mut self, step: &StepDraft) {
        let Some((text, span)) = &step.act else { return };
        let path = format!("{}.act", step.path);
        if !self.draft.tools.declared.contains_key(text) {
            let names = self.draft.tools.declared.keys().map(String::as_str);
            let hint = if self.draft.tools.declared.is_empty() {
                format!("add `tools: {{ {}: {{ from: FILE }} }}`", cut(text))
            } else {
                did_you_mean(text, names)
            };
            self.error("SM4107", *span, &path, format!("there is no tool `{}`", cut(text)), hint);
            return;
        }
        let contract = ToolName::parse(text).ok().and_then(|name| self.draft.tools.contracts.get(&name));
        if let (Some(contract), Some((at, args))) = (contract, &step.args) {
            let before = self.problems.errors();
            self.key_fields(step, text, &contract.document, (*at, args));
            self.unknown_args(step, text, &contract.document, args);
            // A misspelt argument is not used either; that need not be told twice.
            if self.problems.errors() == before {
                self.unused_args(step, text, contract, args);
            }
        }
    }

    /// An operation without its identity fields would be refused when it is planned; it is told now.
    fn key_fields(&mut self, step: &StepDraft, tool: &str, contract: &Json, (span, args): (Span, &[Placed])) {
        let key = contract.get("key");
        let one = key.and_then(Json::as_str).into_iter();
        let many = key.and_then(Json::as_arr).unwrap_or_default().iter().filter_map(Json::as_str);
        for field in one.chain(many).map(|f| f.split('.').next().unwrap_or(f)) {
            if !args.iter().any(|(name, _)| name == field) {
                let message =
                    format!("`{tool}` is identified by `{field}`, which is not among the arguments");
                let hint = format!("add `{field}:`; without it two calls cannot be told apart");
                self.error("SM4113", span, &format!("{}.with", step.path), message, hint);
            }
        }
    }

    fn unknown_args(&mut self, step: &StepDraft, tool: &str, contract: &Json, args: &[Placed]) {
        let Some(schema) = contract.get("input") else { return };
        let Some(known) = schema.get("properties").and_then(Json::as_obj) else { return };
        let open = schema.get("additionalProperties").is_some_and(|a| *a != Json::Bool(false));
        if open || schema.get("patternProperties").is_some() {
            return;
        }
        for (name, span) in args.iter().filter(|(name, _)| !known.contains_key(name)) {
            let path = crate::yaml::join(&format!("{}.with", step.path), name);
            let hint = did_you_mean(name, known.keys().map(String::as_str));
            self.error("SM4114", *span, &path, format!("`{tool}` has no argument `{}`", cut(name)), hint);
        }
    }

    /// An argument that is never sent is most often one that was forgotten in `send`.
    fn unused_args(&mut self, step: &StepDraft, tool: &str, contract: &Contract, args: &[Placed]) {
        for (name, span) in args.iter().filter(|(name, _)| !contract.uses_argument(name)) {
            let path = crate::yaml::join(&format!("{}.with", step.path), name);
            let name = cut(name);
            let message = format!("`{tool}` never uses the argument `{name}`: the target does not get it");
            let hint =
                format!("add it to `http.send` of the contract, call it `cosmetic`, or leave `{name}:` out");
            self.problems.warn("SM4124", At { file: self.file, span: *span, path: &path }, message, hint);
        }
    }

    fn uses(&mut self, step: &StepDraft) {
        let before = step.name.as_ref().map(|(name, _)| self.ancestors(name)).unwrap_or_default();
        for used in &step.uses {
            if self.problems.is_full() {
                return;
            }
            let parts: Vec<&str> = used.name.split('.').collect();
            match parts.as_slice() {
                ["inputs"] | ["task"] | ["now"] => self.use_of_now(used, step),
                ["inputs", name, ..] => self.use_of_input(used, name),
                ["steps", rest @ ..] => self.use_of_step(used, rest, step, &before),
                ["task", "id" | "name", ..] => {}
                ["task", other, ..] => {
                    let message = format!("a task has no `{}`", cut(other));
                    self.error("SM4111", used.span, &used.path, message, "use task.id or task.name");
                }
                [root, ..] if used.item && step.bind.as_deref() == Some(*root) => {}
                [root, ..] => self.unknown_root(used, root, step),
                [] => {}
            }
        }
    }

    /// Items are looked up again in their list, so the list and its keys must not change with the clock.
    fn use_of_now(&mut self, used: &Use, step: &StepDraft) {
        let each = format!("{}.each", step.path);
        if used.name == "now" && used.path.starts_with(&each) {
            let message = "the list of an `each` and its keys must not depend on `now`".to_owned();
            self.error("SM4115", used.span, &used.path, message, "take the time from an input");
        }
    }

    fn unknown_root(&mut self, used: &Use, root: &str, step: &StepDraft) {
        let item = step.bind.as_deref().filter(|_| used.item);
        let known: Vec<&str> = ROOTS.into_iter().chain(item).collect();
        let hint = match step.bind.as_deref() {
            Some(bind) if bind == root => "the list is read before there is an item".to_owned(),
            Some(_) | None => did_you_mean(root, known.iter().copied()),
        };
        self.error("SM4111", used.span, &used.path, format!("there is no name `{}`", cut(root)), hint);
    }

    fn use_of_input(&mut self, used: &Use, name: &str) {
        if self.draft.input_names.contains(name) {
            return;
        }
        let names = self.draft.input_names.iter().map(String::as_str);
        let hint = match self.draft.input_names.is_empty() {
            true => format!("add `inputs: {{ {}: {{ type: string }} }}`", cut(name)),
            false => did_you_mean(name, names),
        };
        self.error("SM4111", used.span, &used.path, format!("the plan has no input `{}`", cut(name)), hint);
    }

    fn use_of_step(&mut self, used: &Use, rest: &[&str], step: &StepDraft, before: &BTreeSet<StepName>) {
        let Some((name, field)) = self.split(rest) else {
            let Some(text) = rest.first() else {
                let message = "an expression cannot read all steps at once".to_owned();
                return self.error("SM4111", used.span, &used.path, message, "write steps.NAME.output");
            };
            let names: Vec<String> = self.order.needs.keys().map(ToString::to_string).collect();
            let hint = did_you_mean(text, names.iter().map(String::as_str));
            return self.error(
                "SM4111",
                used.span,
                &used.path,
                format!("there is no step `{}`", cut(text)),
                hint,
            );
        };
        let own = step.name.as_ref().is_some_and(|(n, _)| *n == name);
        if own {
            let message = format!("step `{name}` reads itself");
            self.error("SM4112", used.span, &used.path, message, "read inputs or an earlier step");
        } else if !before.contains(&name) {
            let message = format!("step `{name}` is not settled before this one");
            self.error("SM4112", used.span, &used.path, message, format!("add `{name}` to `needs`"));
        } else {
            self.step_field(used, &name, field);
        }
    }

    /// The longest known step name that a path begins with; names may have dots.
    fn split<'n>(&self, rest: &[&'n str]) -> Option<(StepName, Option<&'n str>)> {
        let candidates = (1..=rest.len()).rev().map(|n| (rest[..n].join("."), rest.get(n).copied()));
        let mut known = candidates.filter_map(|(text, field)| Some((self.known_step(&text)?, field)));
        known.next()
    }

    fn step_field(&mut self, used: &Use, name: &StepName, field: Option<&str>) {
        match field {
            Some("output" | "state") => {}
            Some("items") if self.each.contains(name) => {}
            Some("items") => {
                let message = format!("step `{name}` has no items, because it has no `each`");
                self.error("SM4111", used.span, &used.path, message, format!("use steps.{name}.output"));
            }
            Some(_) | None => {
                let message = format!("of step `{name}` its output, its state or its items can be read");
                self.error("SM4111", used.span, &used.path, message, format!("write steps.{name}.output"));
            }
        }
    }

    fn ancestors(&self, of: &StepName) -> BTreeSet<StepName> {
        let mut found: BTreeSet<StepName> = BTreeSet::new();
        let mut open: Vec<&StepName> = vec![of];
        while let Some(at) = open.pop() {
            for need in self.order.needs.get(at).into_iter().flatten() {
                if found.insert(need.clone()) {
                    open.push(need);
                }
            }
        }
        found
    }

    fn unused_tools(&mut self) {
        let used: BTreeSet<&str> =
            self.draft.steps.iter().filter_map(|s| Some(s.act.as_ref()?.0.as_str())).collect();
        for (name, span) in self.draft.tools.declared.iter().filter(|(name, _)| !used.contains(name.as_str()))
        {
            let path = crate::yaml::join("tools", name);
            let at = At { file: self.file, span: *span, path: &path };
            self.problems.warn("SM4118", at, format!("no step calls the tool `{}`", cut(name)), "remove it");
        }
    }
}

/// The steps that a step's expressions read, and whether their items are read.
pub(super) fn reads(step: &StepDraft, order: &Order) -> BTreeMap<StepName, bool> {
    let mut reads = BTreeMap::new();
    for used in &step.uses {
        let Some(rest) = used.name.strip_prefix("steps.") else { continue };
        for (name, _) in order.needs.iter().filter(|(name, _)| is_below(rest, name.as_str())) {
            let items = rest[name.as_str().len()..].starts_with(".items");
            *reads.entry(name.clone()).or_insert(false) |= items;
        }
    }
    reads
}

fn is_below(path: &str, name: &str) -> bool {
    path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
