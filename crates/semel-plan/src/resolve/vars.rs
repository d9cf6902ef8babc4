//! The names that the expressions of one step see, with their recorded values.
//!
//! Invariant: only what the step's expressions read is gathered, so an item among a thousand costs no more than a step.

use super::{View, each};
use crate::plan::{PlanDoc, StepDoc};
use semel_kernel::{id::StepName, json::Json, step::StepState};
use std::borrow::Cow;

/// Values by name.
pub(super) struct Vars<'a> {
    inputs: Cow<'a, Json>,
    steps: Json,
    task: Json,
    now: Json,
}

impl<'a> Vars<'a> {
    pub(super) fn of(plan: &PlanDoc, doc: &StepDoc, view: &View<'a>) -> Self {
        let steps = doc.reads.iter().map(|(name, items)| (name.as_str(), step(view, name, *items)));
        let task = [("id", view.task.id.as_str()), ("name", view.task.plan.name.as_str())];
        Self {
            inputs: plan.inputs.filled(view.inputs),
            steps: Json::obj(steps),
            task: Json::obj(task.map(|(name, text)| (name, Json::str(text)))),
            now: Json::int(view.now.0).unwrap_or(Json::Null),
        }
    }

    /// All names, and the item's if there is one.
    pub(super) fn named<'v>(&'v self, item: Option<(&'v str, &'v Json)>) -> Vec<(&'v str, &'v Json)> {
        let own =
            [("inputs", &*self.inputs), ("steps", &self.steps), ("task", &self.task), ("now", &self.now)];
        own.into_iter().chain(item).collect()
    }
}

/// A skipped step, and one that was written off, has a state and no output.
fn step(view: &View<'_>, name: &StepName, items: bool) -> Json {
    let output = view.outputs.get(name).cloned().unwrap_or(Json::Null);
    let found = view.task.steps.get(name);
    let state = found.map_or(StepState::Planned, |s| s.state);
    let mut members = vec![("output", output), ("state", Json::str(state.word()))];
    if items {
        let names = found.and_then(|s| s.items.as_deref()).unwrap_or_default();
        let outputs = names.iter().filter_map(|n| {
            Some((each::key_of(name, n)?, view.outputs.get(n).cloned().unwrap_or(Json::Null)))
        });
        members.push(("items", Json::obj(outputs)));
    }
    Json::obj(members)
}
