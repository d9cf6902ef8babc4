//! What an evaluation can cost at most, worked out from the sizes of its inputs before it runs.
//!
//! Invariant: the estimate is an upper bound. Sizes of names are measured, everything else adds up, and a
//! comprehension multiplies; so an expression that would take long or fill the memory is refused, never begun. The
//! `cel` crate itself has no budget.

use super::check::{ORDERED, RESULT, path_of};
use cel::{
    IdedExpr,
    common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, operators},
};
use semel_kernel::json::Json;

/// Rounds of all comprehensions together.
pub(super) const LOOPS: u64 = 100_000;
/// Bytes that are made, copied or compared.
pub(super) const WORK: u64 = 256 << 20;
/// Bytes that a value takes beside its content.
const NODE: u64 = 32;

/// Upper bounds for one node.
#[derive(Clone, Copy, Default)]
pub(super) struct Cost {
    /// Bytes of its value.
    bytes: u64,
    /// Items of the largest list or map anywhere in its value.
    items: u64,
    /// Rounds of the comprehensions in it, and items looked through by `in`.
    pub(super) loops: u64,
    /// Bytes made, copied or compared by it.
    pub(super) work: u64,
}

impl Cost {
    fn value(bytes: u64, items: u64) -> Cost {
        Cost { bytes, items, loops: 0, work: 0 }
    }

    fn and(self, other: Cost) -> Cost {
        Cost {
            bytes: self.bytes.saturating_add(other.bytes),
            items: self.items.saturating_add(other.items),
            loops: self.loops.saturating_add(other.loops),
            work: self.work.saturating_add(other.work),
        }
    }

    /// The same effort for a value that is a number or a truth value.
    fn yielding_scalar(self) -> Cost {
        Cost { bytes: NODE, items: 0, ..self }
    }

    fn working(self, bytes: u64) -> Cost {
        Cost { work: self.work.saturating_add(bytes), ..self }
    }
}

/// The inputs, and the names bound by comprehensions around the node.
pub(super) struct Scope<'a> {
    vars: &'a [(&'a str, &'a Json)],
    bound: Vec<(&'a str, Cost)>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(vars: &'a [(&'a str, &'a Json)]) -> Scope<'a> {
        Scope { vars, bound: Vec::new() }
    }

    /// The cost of a node under these inputs.
    pub(super) fn cost(&mut self, node: &'a IdedExpr) -> Cost {
        if let Some(path) = path_of(&node.expr) {
            return self.named(&path);
        }
        match &node.expr {
            Expr::Unspecified | Expr::Ident(_) | Expr::Struct(_) => Cost::default(),
            Expr::Literal(literal) => Cost::value(literal_bytes(literal), 0),
            Expr::Select(select) => self.cost(&select.operand),
            Expr::List(list) => self.built(list.elements.iter(), list.elements.len()),
            Expr::Map(map) => {
                let parts = map.entries.iter().flat_map(|entry| match &entry.expr {
                    EntryExpr::MapEntry(e) => [&e.key, &e.value],
                    EntryExpr::StructField(f) => [&f.value, &f.value],
                });
                self.built(parts, map.entries.len())
            }
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(c) => self.comprehension(c),
        }
    }

    fn named(&self, path: &[&str]) -> Cost {
        let Some((root, rest)) = path.split_first() else { return Cost::default() };
        if let Some((_, cost)) = self.bound.iter().rev().find(|(name, _)| name == root) {
            return *cost;
        }
        let var = self.vars.iter().find(|(name, _)| name == root).map(|(_, json)| *json);
        var.and_then(|json| json.at(rest)).map_or(Cost::value(NODE, 0), measured)
    }

    fn sum(&mut self, nodes: impl Iterator<Item = &'a IdedExpr>) -> Cost {
        nodes.fold(Cost::default(), |sum, node| sum.and(self.cost(node)))
    }

    fn built(&mut self, parts: impl Iterator<Item = &'a IdedExpr>, count: usize) -> Cost {
        let own = NODE * (count as u64 + 1);
        let sum = self.sum(parts);
        let items = sum.items.max(count as u64);
        let made = Cost { items, bytes: sum.bytes.saturating_add(own), ..sum };
        made.working(made.bytes)
    }

    /// A call reads its arguments once; none makes more than it reads, a few bytes apart.
    fn call(&mut self, call: &'a CallExpr) -> Cost {
        let parts = self.sum(call.target.iter().map(AsRef::as_ref).chain(call.args.iter()));
        let read = parts.working(parts.bytes.saturating_add(NODE));
        match call.func_name.as_str() {
            ORDERED => parts,
            operators::IN => {
                let looked = call.args.get(1).map_or(0, |range| self.cost(range).items);
                Cost { loops: read.loops.saturating_add(looked), ..read }.yielding_scalar()
            }
            operators::ADD | operators::INDEX | operators::CONDITIONAL | "string" | "dyn" => {
                Cost { bytes: read.bytes.saturating_add(NODE), ..read }
            }
            _ => read.yielding_scalar(),
        }
    }

    /// One round costs `fixed`, plus what the bound item adds: the step is measured for an item of no size and for one
    /// of a single byte, and the difference is charged for the bytes of the whole range.
    fn comprehension(&mut self, c: &'a ComprehensionExpr) -> Cost {
        let range = self.cost(&c.iter_range);
        let rounds = range.items;
        let fixed = self.round(c, Cost::value(0, range.items));
        let one = self.round(c, Cost::value(1, range.items));
        let over = |fixed: u64, one: u64| {
            let shared = one.saturating_sub(fixed).saturating_mul(range.bytes);
            rounds.saturating_mul(fixed.saturating_add(NODE)).saturating_add(shared)
        };
        let loops = range.loops.saturating_add(rounds.saturating_mul(1 + fixed.loops));
        let work = range.work.saturating_add(range.bytes).saturating_add(over(fixed.work, one.work));
        if matches!(c.accu_init.expr, Expr::List(_)) {
            let bytes = over(fixed.bytes, one.bytes);
            let items = rounds.max(fixed.items).max(range.items);
            return Cost { bytes, items, loops, work: work.saturating_add(bytes) };
        }
        Cost { bytes: NODE, items: 0, loops, work }
    }

    fn round(&mut self, c: &'a ComprehensionExpr, item: Cost) -> Cost {
        self.bound.push((RESULT, Cost::default()));
        self.bound.push((&c.iter_var, item));
        let cost = self.cost(&c.loop_step).and(self.cost(&c.loop_cond));
        self.bound.truncate(self.bound.len().saturating_sub(2));
        cost
    }
}

fn literal_bytes(literal: &LiteralValue) -> u64 {
    NODE + match literal {
        LiteralValue::String(text) => text.inner().len() as u64,
        LiteralValue::Bytes(bytes) => bytes.inner().len() as u64,
        LiteralValue::Boolean(_)
        | LiteralValue::Double(_)
        | LiteralValue::Int(_)
        | LiteralValue::Null
        | LiteralValue::UInt(_) => 0,
    }
}

fn measured(json: &Json) -> Cost {
    match json {
        Json::Null | Json::Bool(_) | Json::Num(_) => Cost::value(NODE, 0),
        Json::Str(text) => Cost::value(NODE + text.len() as u64, 0),
        Json::Arr(items) => gathered(items.iter().map(measured), items.len()),
        Json::Obj(members) => {
            let parts = members.iter().map(|(name, value)| {
                let value = measured(value);
                Cost::value(value.bytes + NODE + name.len() as u64, value.items)
            });
            gathered(parts, members.len())
        }
    }
}

fn gathered(parts: impl Iterator<Item = Cost>, count: usize) -> Cost {
    let start = Cost::value(NODE, count as u64);
    parts.fold(start, |all, part| Cost::value(all.bytes + part.bytes, all.items.max(part.items)))
}
