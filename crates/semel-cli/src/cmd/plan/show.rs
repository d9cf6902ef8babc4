//! `semel plan show`: steps, tools and what we promise for each, before anything runs.

use crate::{
    fail::{Exit, Fail},
    ui::{Ui, table::table},
};
use semel_kernel::{
    plan::{PlanStep, StepKind},
    terms::Terms,
};
use semel_plan::{duration, plan::PlanDoc};

pub(super) fn run(plan: &PlanDoc, ui: Ui) -> Result<Exit, Fail> {
    ui.warnings(&plan.warnings);
    ui.show(&json(plan), || text(plan));
    Ok(Exit::Done)
}

fn json(plan: &PlanDoc) -> serde_json::Value {
    let steps: Vec<_> = plan.kernel.steps.iter().map(|s| step_json(plan, s)).collect();
    let tools: Vec<_> = plan.kernel.tools.values().map(tool_json).collect();
    serde_json::json!({
        "v": 1,
        "name": plan.kernel.name,
        "hash": plan.kernel.hash,
        "steps": steps,
        "tools": tools,
        "pins": plan.kernel.pins,
        "limits": plan.kernel.budget,
    })
}

fn step_json(plan: &PlanDoc, step: &PlanStep) -> serde_json::Value {
    let (kind, tool) = what(step);
    let guarantee = terms(plan, step).map(|t| t.guarantee().word());
    serde_json::json!({
        "step": step.name, "kind": kind, "tool": tool, "needs": step.needs, "guarantee": guarantee,
    })
}

/// What we promise of a tool, for programs.
pub(crate) fn tool_json(terms: &Terms) -> serde_json::Value {
    serde_json::json!({
        "tool": terms.tool,
        "effect": terms.effect,
        "guarantee": terms.guarantee().word(),
        "contract": terms.contract,
        "key_window_ms": terms.key_window_ms,
        "probe": terms.probe.is_some(),
        "irreversible": terms.irreversible,
        "on_unknown": terms.on_unknown,
        "timeout_ms": terms.timeout_ms,
        "attempts": terms.retry.max,
    })
}

fn text(plan: &PlanDoc) -> String {
    let steps = table(
        ["STEP", "DOES", "NEEDS", "GUARANTEE"],
        plan.kernel.steps.iter().map(|step| {
            let (kind, tool) = what(step);
            let needs: Vec<&str> = step.needs.iter().map(semel_kernel::id::StepName::as_str).collect();
            let needs = if needs.is_empty() { "-".to_owned() } else { needs.join(", ") };
            let does = format!("{kind} {}", tool.unwrap_or_default());
            [step.name.to_string(), does.trim_end().to_owned(), needs, promise(plan, step).to_owned()]
        }),
    );
    let pins = plan.kernel.pins.iter().map(|(name, version)| format!("\npin {name} = {version}"));
    let pins: String = pins.collect();
    format!("{} {}\n\n{steps}\n\n{}{pins}", plan.kernel.name, plan.kernel.hash, tools(plan))
}

/// The tools of a plan, and what we promise for each.
pub(crate) fn tools(plan: &PlanDoc) -> String {
    table(
        ["TOOL", "GUARANTEE", "KEY WINDOW", "PROBE", "ON UNKNOWN", "ATTEMPTS", "TIMEOUT"],
        plan.kernel.tools.values().map(|t| {
            let probe = t.probe.as_ref().map_or_else(|| "no".to_owned(), |p| settle(p.settle_ms));
            [
                t.tool.to_string(),
                t.guarantee().word().to_owned(),
                t.key_window_ms.map_or_else(|| "-".to_owned(), duration::text),
                probe,
                unknown(t),
                format!("{}", t.retry.max),
                duration::text(t.timeout_ms),
            ]
        }),
    )
}

fn settle(ms: i64) -> String {
    format!("settles in {}", duration::text(ms))
}

/// What a lost answer leads to, in a word.
fn unknown(terms: &Terms) -> String {
    use semel_kernel::terms::{Effect, OnUnknown};
    match (terms.effect, terms.on_unknown) {
        (Effect::None | Effect::Natural, _) => "again",
        (Effect::Keyed, _) if terms.probe.is_none() => "same key again",
        (Effect::Keyed | Effect::Queryable, _) => "asks the target",
        (Effect::Blind, OnUnknown::Review | OnUnknown::Compensate) => "asks a person",
        (Effect::Blind, OnUnknown::AcceptDuplicate) => "again, may double",
        (Effect::Blind, OnUnknown::AcceptLoss) => "goes on, may be lost",
    }
    .to_owned()
}

fn what(step: &PlanStep) -> (&'static str, Option<&str>) {
    match &step.kind {
        StepKind::Act(tool) => ("act", Some(tool.as_str())),
        StepKind::Each { tool, .. } => ("each", Some(tool.as_str())),
        StepKind::Sleep => ("sleep", None),
    }
}

fn terms<'a>(plan: &'a PlanDoc, step: &PlanStep) -> Option<&'a Terms> {
    match &step.kind {
        StepKind::Act(tool) | StepKind::Each { tool, .. } => plan.kernel.tools.get(tool),
        StepKind::Sleep => None,
    }
}

fn promise(plan: &PlanDoc, step: &PlanStep) -> &'static str {
    terms(plan, step).map_or("-", |t| t.guarantee().word())
}
