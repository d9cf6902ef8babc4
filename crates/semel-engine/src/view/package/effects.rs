//! Effects of a task by what is proven of them: there, open, not there.

use crate::view::act::{clean, proof_words};
use semel_kernel::{
    id::{OperationId, StepName},
    json::Json,
    operation::{Judgement, Operation},
    outcome::{RefusalKind, Stored},
    step::StepState,
    task::Task,
    terms::Effect,
    time::Millis,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// Nesting up to which a result is searched for the target's own ids.
const DEPTH: u32 = 4;
/// Ids that are named at most.
const IDS: usize = 16;

/// An effect that is proven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Confirmed {
    /// The operation.
    pub operation: OperationId,
    /// The step.
    pub step: StepName,
    /// How it is proven.
    pub proof: String,
    /// When it was proven.
    pub at: Millis,
    /// The target's own ids, by the path at which its answer gave them.
    pub external_ids: BTreeMap<String, String>,
}

/// An effect of which nothing is proven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unknown {
    /// The operation.
    pub operation: OperationId,
    /// The step.
    pub step: StepName,
    /// Since when its step is as it is.
    pub since: Millis,
    /// Why nothing is proven, for each attempt without proof.
    pub because: Vec<String>,
    /// A person has given up knowing.
    pub written_off: bool,
}

/// An effect that is proven not to be there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Absent {
    /// The operation.
    pub operation: OperationId,
    /// The step.
    pub step: StepName,
    /// How we know.
    pub because: String,
    /// Which of the four it is, where the target's state does not allow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<RefusalKind>,
}

/// Operations that change something at a target.
fn effects(task: &Task) -> impl Iterator<Item = &Operation> {
    let acts = |op: &&Operation| task.terms(&op.planned).is_some_and(|t| t.effect != Effect::None);
    task.operations.values().filter(acts)
}

pub(super) fn confirmed(task: &Task) -> Vec<Confirmed> {
    let one = |op: &Operation| {
        let applied = op.applied.as_ref()?;
        Some(Confirmed {
            operation: op.planned.id.clone(),
            step: op.step.clone(),
            proof: proof_words(&applied.proof),
            at: applied.at,
            external_ids: external_ids(&applied.result),
        })
    };
    effects(task).filter_map(one).collect()
}

pub(super) fn unknown(task: &Task) -> Vec<Unknown> {
    let open = |op: &&Operation| {
        matches!(
            op.judge(),
            Judgement::InFlight | Judgement::Pending | Judgement::Unknown | Judgement::Contradiction
        )
    };
    effects(task).filter(open).map(|op| doubt(task, op)).collect()
}

fn doubt(task: &Task, op: &Operation) -> Unknown {
    let step = task.steps.get(&op.step);
    let contradiction =
        op.contradiction.iter().map(|c| format!("sources contradict each other: {}", clean(c)));
    let note = |note: &str| if note.is_empty() { "no answer yet".to_owned() } else { clean(note) };
    let attempts = op.attempts.iter().filter(|a| a.is_open());
    let attempts = attempts.map(|a| format!("attempt {}: {}", a.n, note(&a.note)));
    Unknown {
        operation: op.planned.id.clone(),
        step: op.step.clone(),
        since: step.map_or(op.planned_at, |s| s.changed_at),
        because: contradiction.chain(attempts).collect(),
        written_off: step.is_some_and(|s| s.written_off),
    }
}

pub(super) fn absent(task: &Task) -> Vec<Absent> {
    let one = |op: &Operation| {
        let because = match op.judge() {
            Judgement::Unsent => unsent(task, op),
            Judgement::NotApplied { .. } => refusals(op),
            Judgement::InFlight
            | Judgement::Applied
            | Judgement::Pending
            | Judgement::Unknown
            | Judgement::Contradiction => return None,
        };
        let refusal = task.steps.get(&op.step).and_then(|s| s.refusal);
        Some(Absent { operation: op.planned.id.clone(), step: op.step.clone(), because, refusal })
    };
    let skipped = |op: &&Operation| task.steps.get(&op.step).is_none_or(|s| s.state != StepState::Committed);
    effects(task).filter(skipped).filter_map(one).collect()
}

fn unsent(task: &Task, op: &Operation) -> String {
    let refused = task.steps.get(&op.step).filter(|s| s.refusal.is_some());
    let refused = refused.map_or_else(String::new, |s| format!(" ({})", clean(&s.cause)));
    format!("no attempt is recorded, and nothing leaves unrecorded{refused}")
}

fn refusals(op: &Operation) -> String {
    let one = |a: &semel_kernel::operation::Attempt| format!("attempt {}: {}", a.n, clean(&a.note));
    op.attempts.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// The target's own ids in a result: members called `id`, `…_id`, `reference` or `href`.
fn external_ids(result: &Stored) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    if let Stored::Inline(json) = result {
        collect("", json, DEPTH, &mut found);
    }
    found
}

fn collect(path: &str, json: &Json, depth: u32, found: &mut BTreeMap<String, String>) {
    let Some(members) = json.as_obj().filter(|_| depth > 0) else { return };
    for (name, value) in members {
        let place = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let is_id = name == "id" || name.ends_with("_id") || name == "reference" || name == "href";
        if let Some(text) = scalar(name, value).filter(|_| is_id && found.len() < IDS) {
            found.insert(place, text);
        } else {
            collect(&place, value, depth - 1, found);
        }
    }
}

/// A link loses its query, where targets like to put access tokens.
fn scalar(name: &str, value: &Json) -> Option<String> {
    match value {
        Json::Str(text) if name == "href" => text.split(['?', '#']).next().map(ToOwned::to_owned),
        Json::Str(text) => Some(text.clone()),
        Json::Num(_) => Some(value.canonical()),
        Json::Null | Json::Bool(_) | Json::Arr(_) | Json::Obj(_) => None,
    }
}
