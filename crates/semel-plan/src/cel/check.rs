//! Static checks of one expression: depth, nesting, functions, free names; and the one rewriting.
//!
//! Invariant: an expression that passes can be walked and evaluated without deep recursion, calls only functions that
//! exist, and gives the same list every time: a map has no order, so `map` and `filter` are made to refuse one.

use cel::{
    IdedExpr,
    common::ast::{CallExpr, EntryExpr, Expr, LiteralValue, operators},
};
use semel_kernel::limit;
use std::collections::BTreeSet;

/// Comprehensions inside comprehensions.
pub(super) const NESTING: usize = 2;

/// The function that [`super::Program`] puts around what `map` and `filter` read.
pub(super) const ORDERED: &str = "@ordered";

/// The accumulator that the macros of the parser use.
pub(super) const RESULT: &str = "@result";

const FUNCTIONS: [&str; 11] =
    ["size", "contains", "startsWith", "endsWith", "int", "uint", "double", "string", "bool", "type", "dyn"];
const TYPES: [&str; 10] =
    ["bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type"];

const COMPARISONS: [&str; 6] = [
    operators::EQUALS,
    operators::NOT_EQUALS,
    operators::LESS,
    operators::LESS_EQUALS,
    operators::GREATER,
    operators::GREATER_EQUALS,
];

/// What is wrong, and at which node.
pub(super) struct Fault {
    pub(super) node: u64,
    pub(super) message: String,
}

/// What an expression does with names, for those who warn of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Habits {
    /// Names that are measured or looked through, as if they were lists: `size(body)`, `body.exists(…)`.
    pub(crate) walked: BTreeSet<String>,
    /// Names whose type is asked for.
    pub(crate) typed: BTreeSet<String>,
    /// Names that are compared with a literal text.
    pub(crate) against_text: BTreeSet<String>,
}

/// Collects the free names of an expression while it checks it.
#[derive(Default)]
pub(super) struct Check {
    /// Dotted paths, such as `steps.charge.output`.
    pub(super) names: BTreeSet<String>,
    pub(super) habits: Habits,
    bound: Vec<String>,
    nesting: usize,
}

impl Check {
    /// Checks the node and all below it, and makes every list order safe.
    pub(super) fn node(&mut self, node: &mut IdedExpr, depth: usize) -> Result<(), Fault> {
        if depth > limit::CEL_DEPTH {
            return fault(node, format!("nested deeper than {}", limit::CEL_DEPTH));
        }
        if let Some(path) = path_of(&node.expr) {
            self.name(&path);
            return Ok(());
        }
        let id = node.id;
        match &mut node.expr {
            Expr::Unspecified => fault(node, "nothing stands here"),
            Expr::Ident(_) | Expr::Literal(_) => Ok(()),
            Expr::Struct(_) => fault(node, "there are no message types"),
            Expr::Select(select) => self.node(&mut select.operand, depth + 1),
            Expr::List(list) => self.all(&mut list.elements, depth + 1),
            Expr::Map(map) => {
                let entries = map.entries.iter_mut().map(|e| &mut e.expr);
                entries.into_iter().try_for_each(|entry| self.entry(entry, id, depth + 1))
            }
            Expr::Call(call) => self.call(call, id, depth),
            Expr::Comprehension(_) => self.comprehension(node, depth),
        }
    }

    fn all(&mut self, nodes: &mut [IdedExpr], depth: usize) -> Result<(), Fault> {
        nodes.iter_mut().try_for_each(|node| self.node(node, depth))
    }

    fn entry(&mut self, entry: &mut EntryExpr, id: u64, depth: usize) -> Result<(), Fault> {
        match entry {
            EntryExpr::MapEntry(entry) => {
                self.node(&mut entry.key, depth)?;
                self.node(&mut entry.value, depth)
            }
            EntryExpr::StructField(_) => {
                Err(Fault { node: id, message: "there are no message types".to_owned() })
            }
        }
    }

    fn call(&mut self, call: &mut CallExpr, id: u64, depth: usize) -> Result<(), Fault> {
        let name = call.func_name.as_str();
        let operator = !name.starts_with(|c: char| c.is_ascii_alphabetic());
        if !operator && !FUNCTIONS.contains(&name) {
            let known = FUNCTIONS.join(", ");
            let message = format!(
                "there is no function `{name}`; there are {known}, and the macros has, all, exists, exists_one, map, filter"
            );
            return Err(Fault { node: id, message });
        }
        self.note(call);
        if let Some(target) = &mut call.target {
            self.node(target, depth + 1)?;
        }
        self.all(&mut call.args, depth + 1)
    }

    fn comprehension(&mut self, node: &mut IdedExpr, depth: usize) -> Result<(), Fault> {
        let id = node.id;
        let Expr::Comprehension(c) = &mut node.expr else { return Ok(()) };
        self.node(&mut c.iter_range, depth + 1)?;
        self.habits.walked.extend(dotted(&c.iter_range));
        if self.nesting == NESTING {
            let message = format!("all, exists, map and filter are nested deeper than {NESTING}");
            return Err(Fault { node: id, message });
        }
        if matches!(c.accu_init.expr, Expr::List(_)) {
            order(&mut c.iter_range);
        }
        self.nesting += 1;
        self.bound.push(c.iter_var.clone());
        let walked = [&mut c.accu_init, &mut c.loop_cond, &mut c.loop_step, &mut c.result]
            .into_iter()
            .try_for_each(|part| self.node(part, depth + 1));
        self.bound.pop();
        self.nesting -= 1;
        walked
    }

    fn note(&mut self, call: &CallExpr) {
        let operands: Vec<&IdedExpr> = call.target.iter().map(AsRef::as_ref).chain(&call.args).collect();
        let names = operands.iter().filter_map(|operand| dotted(operand));
        match call.func_name.as_str() {
            "size" => self.habits.walked.extend(names),
            "type" => self.habits.typed.extend(names),
            operator if COMPARISONS.contains(&operator) && operands.iter().any(|o| is_text(o)) => {
                self.habits.against_text.extend(names);
            }
            _ => {}
        }
    }

    fn name(&mut self, path: &[&str]) {
        let Some(root) = path.first() else { return };
        let bound = self.bound.iter().any(|b| b == root) || *root == RESULT;
        let is_type = path.len() == 1 && TYPES.contains(root);
        if !bound && !is_type {
            self.names.insert(path.join("."));
        }
    }
}

/// The name that a node is, as a dotted path.
fn dotted(node: &IdedExpr) -> Option<String> {
    path_of(&node.expr).map(|path| path.join("."))
}

fn fault<T>(node: &IdedExpr, message: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { node: node.id, message: message.into() })
}

/// Puts [`ORDERED`] around the range of a comprehension that builds a list.
fn order(range: &mut IdedExpr) {
    let inner = std::mem::take(range);
    let id = inner.id;
    let call = CallExpr { func_name: ORDERED.to_owned(), target: None, args: vec![inner] };
    *range = IdedExpr { id, expr: Expr::Call(call) };
}

/// The segments of a name: `a.b`, `a["b"]` and, for `has(a.b)`, the same.
pub(super) fn path_of(expr: &Expr) -> Option<Vec<&str>> {
    let mut path = Vec::new();
    let mut at = expr;
    loop {
        match at {
            Expr::Ident(name) => path.push(name.as_str()),
            Expr::Select(select) => path.push(select.field.as_str()),
            Expr::Call(call) if call.func_name == operators::INDEX => {
                path.push(literal_text(&call.args.get(1)?.expr)?);
            }
            Expr::Unspecified
            | Expr::Call(_)
            | Expr::Comprehension(_)
            | Expr::List(_)
            | Expr::Literal(_)
            | Expr::Map(_)
            | Expr::Struct(_) => return None,
        }
        at = match at {
            Expr::Select(select) => &select.operand.expr,
            Expr::Call(call) => &call.args.first()?.expr,
            Expr::Unspecified
            | Expr::Ident(_)
            | Expr::Comprehension(_)
            | Expr::List(_)
            | Expr::Literal(_)
            | Expr::Map(_)
            | Expr::Struct(_) => break,
        };
    }
    path.reverse();
    Some(path)
}

fn is_text(node: &IdedExpr) -> bool {
    literal_text(&node.expr).is_some()
}

fn literal_text(expr: &Expr) -> Option<&str> {
    if let Expr::Literal(LiteralValue::String(text)) = expr { Some(text.inner()) } else { None }
}
