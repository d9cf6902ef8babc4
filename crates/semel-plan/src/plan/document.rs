//! The canonical document of a plan: self-contained, with every default written out, and itself a plan file.
//!
//! Invariant: reading the document gives the document again; comments, key order and spelling are gone from it, so its
//! hash is the plan's identity.

use super::{
    read::Draft,
    step::{StepDoc, Work},
};
use crate::duration;
use semel_kernel::{
    id::StepName,
    json::{Json, Num},
};
use std::collections::BTreeMap;

/// Writes the document; of an empty part nothing is written.
pub(super) fn write(draft: &Draft, steps: &[(&StepDoc, Vec<StepName>)]) -> Json {
    let mut members = Members::default();
    members.set("semel", Json::from(1_u32));
    members.set("name", Json::str(&draft.name));
    members.fill("inputs", draft.inputs.document());
    members.fill("limits", limits(draft));
    members.fill("pins", Json::obj(draft.pins.iter().map(|(k, v)| (k.as_str(), Json::str(v)))));
    let tools = draft.tools.contracts.iter().map(|(name, c)| (name.as_str(), c.document.clone()));
    members.fill("tools", Json::obj(tools));
    if draft.shared {
        members.set("shared", Json::Bool(true));
    }
    members.set("steps", Json::Arr(steps.iter().map(|(doc, needs)| step(doc, needs)).collect()));
    Json::Obj(members.0)
}

#[derive(Default)]
struct Members(BTreeMap<String, Json>);

impl Members {
    fn set(&mut self, name: &str, value: Json) {
        self.0.insert(name.to_owned(), value);
    }

    fn fill(&mut self, name: &str, value: Json) {
        if value.as_obj().is_none_or(|members| !members.is_empty()) {
            self.set(name, value);
        }
    }
}

fn limits(draft: &Draft) -> Json {
    let budget = &draft.budget;
    let mut members = Members::default();
    if let Some(ms) = budget.deadline_ms {
        members.set("deadline", Json::Str(duration::text(ms)));
    }
    for (name, value) in [("attempts", budget.attempts), ("unknowns", budget.unknowns)] {
        if let Some(value) = value {
            members.set(name, Json::Num(Num::from(value)));
        }
    }
    Json::Obj(members.0)
}

fn step(doc: &StepDoc, needs: &[StepName]) -> Json {
    let mut members = Members::default();
    members.set("step", Json::str(doc.name.as_str()));
    members.set("needs", Json::Arr(needs.iter().map(|n| Json::str(n.as_str())).collect()));
    if let Some(condition) = &doc.condition {
        members.set("if", Json::str(condition.source().trim()));
    }
    match &doc.work {
        Work::Sleep(written) => members.set("sleep", written.json.clone()),
        Work::Act { tool, each } => {
            members.set("act", Json::str(tool.as_str()));
            members.set("with", doc.with.json.clone());
            members.set("version", doc.version.json.clone());
            members.set("intent", Json::from(doc.intent));
            if let Some(each) = each {
                let list = [
                    ("in", each.list.json.clone()),
                    ("as", Json::str(&each.bind)),
                    ("key", each.key.json.clone()),
                    ("max", Json::from(each.max)),
                    ("parallel", Json::from(each.parallel)),
                ];
                members.set("each", Json::obj(list));
            }
        }
    }
    Json::Obj(members.0)
}
