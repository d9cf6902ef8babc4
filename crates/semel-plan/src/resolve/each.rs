//! Items of an `each`: named by what they are about, never by their place.
//!
//! Invariant: two items never share a name, and an item's name leads to the item it was made from, or to a refusal.

use super::{Found, Resolved, refuse, vars::Vars};
use crate::{
    cel::Program,
    plan::{EachDoc, StepDoc},
};
use semel_kernel::{id::StepName, json::Json, limit, percent, task::Task};
use std::collections::BTreeMap;

/// The step that an item `name[key]` belongs to.
pub(super) fn parent(step: &StepName) -> Option<StepName> {
    let (name, _) = step.as_str().split_once('[')?;
    StepName::parse(name).ok()
}

/// The key that an item was named by.
pub(super) fn key_of(parent: &StepName, item: &StepName) -> Option<String> {
    let inside = item.as_str().strip_prefix(parent.as_str())?.strip_prefix('[')?.strip_suffix(']')?;
    percent::decode(inside)
}

/// Whether a condition reads the item of its step.
pub(super) fn reads_item(doc: &StepDoc, condition: &Program) -> bool {
    let Some(each) = doc.each() else { return false };
    condition.names().iter().any(|name| name.split('.').next() == Some(each.bind.as_str()))
}

/// The list and the names of its items; all of them are fixed before the first one acts.
pub(super) fn expand(step: &StepName, each: &EachDoc, vars: &[(&str, &Json)]) -> Found<Resolved> {
    let list = list(each, vars)?;
    let values = list.as_arr().unwrap_or_default();
    let most = (each.max as usize).min(limit::EACH_ITEMS);
    if values.len() > most {
        let cause = format!("the list of `{step}` has {} items, the limit is {most}", values.len());
        return Err(refuse("SM4135", cause));
    }
    let mut items = Vec::new();
    let mut first: BTreeMap<StepName, usize> = BTreeMap::new();
    for (at, value) in values.iter().enumerate() {
        let key = key(each, value, vars).map_err(|e| refuse("SM4133", format!("item {at}: `key`: {e}")))?;
        let name = step.item(&key).map_err(|e| refuse("SM4133", format!("item {at}: {e}")))?;
        if let Some(before) = first.insert(name.clone(), at) {
            let cause = format!("items {before} and {at} of `{step}` have the same key, `{name}`");
            return Err(refuse("SM4134", cause));
        }
        items.push(name);
    }
    Ok(Resolved::Each { items, list })
}

/// The item that a name was made from. Its place was recorded with the names; the key is compared, so that a list that
/// came out differently is refused and not acted on.
pub(super) fn find(
    each: &EachDoc,
    task: &Task,
    parent: &StepName,
    item: &StepName,
    vars: &Vars<'_>,
) -> Found<Json> {
    let names = task.steps.get(parent).and_then(|s| s.items.as_deref()).unwrap_or_default();
    let vars = vars.named(None);
    let list = list(each, &vars)?;
    let at = names.iter().position(|name| name == item);
    let value = at.and_then(|at| list.as_arr()?.get(at).cloned());
    let same = value.filter(|value| {
        let named = key(each, value, &vars).ok().and_then(|key| parent.item(&key).ok());
        named.as_ref() == Some(item)
    });
    same.ok_or_else(|| refuse("SM4137", format!("the list no longer has the item `{item}` at its place")))
}

fn list(each: &EachDoc, vars: &[(&str, &Json)]) -> Found<Json> {
    let list = each.list.value.resolve(vars).map_err(|e| refuse("SM4133", format!("`in`: {e}")))?;
    if list.as_arr().is_none() {
        return Err(refuse("SM4133", format!("`in` gives {}, but `each` needs a list", list.kind_name())));
    }
    Ok(list)
}

fn key(each: &EachDoc, value: &Json, vars: &[(&str, &Json)]) -> Result<String, String> {
    let mut vars = vars.to_vec();
    vars.push((&each.bind, value));
    let key = each.key.value.text(&vars, str::to_owned)?;
    if key.is_empty() { Err("its value is an empty text".to_owned()) } else { Ok(key) }
}
