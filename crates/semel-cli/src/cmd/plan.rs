//! `semel plan`: plan files, looked at without a store.
//!
//! Invariant: nothing here sends or stores anything.

mod lint;
pub(crate) mod show;

pub(crate) use lint::told;

use crate::{
    fail::{Exit, Fail},
    low::Plan,
    ui::Ui,
};
use semel_kernel::json::Json;
use semel_plan::{
    diff::{Change, diff},
    graph,
    plan::PlanDoc,
};
use std::path::Path;

pub(crate) fn run(verb: &Plan, ui: Ui) -> Result<Exit, Fail> {
    match verb {
        Plan::Lint { plan } => Ok(lint::run(plan, ui)),
        Plan::Show { plan } => show::run(&read(plan)?, ui),
        Plan::Diff { old, new } => compare(&read(old)?, &read(new)?, ui),
        Plan::Hash { plan } => {
            let hash = read(plan)?.kernel.hash;
            ui.show(&serde_json::json!({"v": 1, "hash": hash}), || hash.to_string());
            Ok(Exit::Done)
        }
        Plan::Graph { plan, format } => picture(&read(plan)?, format, ui),
        Plan::Schema { kind } => schema(kind, ui),
    }
}

/// A plan without faults.
pub(crate) fn read(path: &Path) -> Result<PlanDoc, Fail> {
    PlanDoc::read(path).map_err(Fail::problems)
}

fn picture(plan: &PlanDoc, format: &str, ui: Ui) -> Result<Exit, Fail> {
    let text = match format {
        "text" => graph::text(&plan.kernel),
        "mermaid" => graph::mermaid(&plan.kernel),
        "dot" => graph::dot(&plan.kernel),
        other => return Err(usage(format!("`{other}` is not a format"), "use text, mermaid or dot")),
    };
    let text = text.trim_end();
    ui.show(&serde_json::json!({"v": 1, "format": format, "graph": text}), || text.to_owned());
    Ok(Exit::Done)
}

fn compare(old: &PlanDoc, new: &PlanDoc, ui: Ui) -> Result<Exit, Fail> {
    let changes = diff(old, new);
    let rows: Vec<serde_json::Value> = changes.iter().map(change_json).collect();
    let json = serde_json::json!({
        "v": 1, "old": old.kernel.hash, "new": new.kernel.hash, "changes": rows,
    });
    ui.show(&json, || changes_text(&changes));
    Ok(Exit::Done)
}

fn change_json(change: &Change) -> serde_json::Value {
    serde_json::json!({"path": change.path, "old": change.old, "new": change.new})
}

fn changes_text(changes: &[Change]) -> String {
    if changes.is_empty() {
        return "no difference: both have the same hash".to_owned();
    }
    let lines = changes.iter().flat_map(|c| {
        let old = c.old.as_ref().map(|v| format!("- {}: {}", c.path, short(v)));
        let new = c.new.as_ref().map(|v| format!("+ {}: {}", c.path, short(v)));
        old.into_iter().chain(new)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Characters of a value that a line shows.
const SHOWN: usize = 200;

fn short(value: &Json) -> String {
    crate::ui::table::cut(&value.canonical(), SHOWN)
}

/// The schemas that editors complete and check plan and contract files by.
pub(crate) const SCHEMAS: [(&str, &str); 2] =
    [("plan", semel_plan::PLAN_SCHEMA), ("contract", semel_plan::CONTRACT_SCHEMA)];

fn schema(kind: &str, ui: Ui) -> Result<Exit, Fail> {
    let found = SCHEMAS.iter().find(|(name, _)| *name == kind);
    let (_, text) =
        found.ok_or_else(|| usage(format!("there is no schema `{kind}`"), "use plan or contract"))?;
    ui.data(text.trim_end());
    Ok(Exit::Done)
}

fn usage(message: String, next: &str) -> Fail {
    Fail::new(Exit::Usage, "SM1012", message, next)
}
