//! What is different between two plans, by step, tool and field.
//!
//! Invariant: two plans without a change have the same hash, and two plans of different hashes have a change. Steps are
//! compared by name, so that a step that was put in between does not change all that follow.

use crate::{plan::PlanDoc, yaml::join};
use semel_kernel::json::Json;
use std::collections::BTreeSet;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where: `steps.charge.with.amount`, `tools.pay.key_window`, `limits.deadline`.
    pub path: String,
    /// What stood there; `None` when it is new.
    pub old: Option<Json>,
    /// What stands there now; `None` when it is gone.
    pub new: Option<Json>,
}

/// The differences from `a` to `b`, sorted by path.
#[must_use]
pub fn diff(a: &PlanDoc, b: &PlanDoc) -> Vec<Change> {
    let mut changes = Vec::new();
    compare(&by_name(&a.document), &by_name(&b.document), "", &mut changes);
    let (a, b) = (order(a), order(b));
    if a != b {
        // With steps gone or new this follows from them; alone it would be an invisible change.
        let (kept_a, kept_b) = (kept(&a, &b), kept(&b, &a));
        if kept_a != kept_b {
            let names =
                |order: Vec<&String>| Some(Json::Arr(order.into_iter().map(|n| Json::str(n)).collect()));
            changes.push(Change { path: "order".to_owned(), old: names(kept_a), new: names(kept_b) });
        }
    }
    changes.sort_by(|x, y| x.path.cmp(&y.path));
    changes
}

fn order(plan: &PlanDoc) -> Vec<String> {
    plan.kernel.steps.iter().map(|s| s.name.to_string()).collect()
}

fn kept<'a>(of: &'a [String], other: &[String]) -> Vec<&'a String> {
    of.iter().filter(|name| other.contains(name)).collect()
}

/// The document with its steps under their names.
fn by_name(document: &Json) -> Json {
    let mut members = document.as_obj().cloned().unwrap_or_default();
    let steps = members.get("steps").and_then(Json::as_arr).unwrap_or_default();
    let named = steps.iter().filter_map(|step| {
        let mut step = step.as_obj()?.clone();
        let name = step.remove("step")?;
        Some((name.as_str()?.to_owned(), Json::Obj(step)))
    });
    let named = Json::obj(named.collect::<Vec<_>>());
    members.insert("steps".to_owned(), named);
    Json::Obj(members)
}

fn compare(old: &Json, new: &Json, path: &str, changes: &mut Vec<Change>) {
    if old == new {
        return;
    }
    let (Json::Obj(a), Json::Obj(b)) = (old, new) else {
        let (old, new) = (Some(old.clone()), Some(new.clone()));
        changes.push(Change { path: path.to_owned(), old, new });
        return;
    };
    for name in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
        let path = join(path, name);
        match (a.get(name), b.get(name)) {
            (Some(old), Some(new)) => compare(old, new, &path, changes),
            (old, new) => changes.push(Change { path, old: old.cloned(), new: new.cloned() }),
        }
    }
}
