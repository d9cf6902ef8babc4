//! The order of a plan as a picture: for terminals, for Mermaid, for Graphviz.
//!
//! Invariant: a picture shows every step and every need, and no name can break out of it.

use semel_kernel::{
    id::StepName,
    plan::{Plan, PlanStep, StepKind},
};
use std::collections::BTreeMap;

/// Layers for terminals: the steps of a layer can go on at the same time, after the layers above.
#[must_use]
pub fn text(plan: &Plan) -> String {
    let layers = layers(plan);
    let width = plan.steps.iter().map(|s| s.name.as_str().len()).max().unwrap_or(0);
    let depth = layers.values().max().map_or(0, |last| last + 1);
    let mut out = String::new();
    for layer in 0..depth {
        if layer > 0 {
            out.push_str("  |\n");
        }
        for step in plan.steps.iter().filter(|s| layers.get(&s.name) == Some(&layer)) {
            let line =
                format!("[{}] {:width$}  {}{}", layer + 1, step.name.as_str(), label(step), after(step));
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    out
}

fn after(step: &PlanStep) -> String {
    let needs: Vec<&str> = step.needs.iter().map(StepName::as_str).collect();
    if needs.is_empty() { String::new() } else { format!("  after {}", needs.join(", ")) }
}

fn label(step: &PlanStep) -> String {
    match &step.kind {
        StepKind::Act(tool) => format!("act {tool}"),
        StepKind::Sleep => "sleep".to_owned(),
        StepKind::Each { tool, parallel } => format!("each {tool}, {parallel} at once"),
    }
}

/// The layer of each step: one below the lowest step it needs. A step of a circle, which no checked plan has, is left
/// in the first layer.
fn layers(plan: &Plan) -> BTreeMap<&StepName, usize> {
    let mut layers: BTreeMap<&StepName, usize> = plan.steps.iter().map(|s| (&s.name, 0)).collect();
    for _ in 0..plan.steps.len() {
        let mut changed = false;
        for step in &plan.steps {
            let below = step.needs.iter().filter_map(|n| layers.get(n)).max().map_or(0, |last| last + 1);
            let below = below.min(plan.steps.len());
            changed |= layers.insert(&step.name, below) != Some(below);
        }
        if !changed {
            break;
        }
    }
    layers
}

/// A Mermaid flow chart.
#[must_use]
pub fn mermaid(plan: &Plan) -> String {
    let mut out = String::from("flowchart TD\n");
    let ids: BTreeMap<&StepName, usize> = plan.steps.iter().enumerate().map(|(i, s)| (&s.name, i)).collect();
    for (i, step) in plan.steps.iter().enumerate() {
        let (open, close) = match step.kind {
            StepKind::Act(_) => ("[", "]"),
            StepKind::Sleep => ("([", "])"),
            StepKind::Each { .. } => ("[[", "]]"),
        };
        out.push_str(&format!("  s{i}{open}\"{}<br/>{}\"{close}\n", step.name, label(step)));
    }
    for (from, to) in edges(plan, &ids) {
        out.push_str(&format!("  s{from} --> s{to}\n"));
    }
    out
}

/// A Graphviz graph.
#[must_use]
pub fn dot(plan: &Plan) -> String {
    let mut out = format!("digraph \"{}\" {{\n  rankdir=TB;\n", quoted(&plan.name));
    let ids: BTreeMap<&StepName, usize> = plan.steps.iter().enumerate().map(|(i, s)| (&s.name, i)).collect();
    for (i, step) in plan.steps.iter().enumerate() {
        let shape = match step.kind {
            StepKind::Act(_) => "box",
            StepKind::Sleep => "ellipse",
            StepKind::Each { .. } => "box3d",
        };
        let (name, label) = (quoted(step.name.as_str()), quoted(&label(step)));
        out.push_str(&format!("  s{i} [shape={shape}, label=\"{name}\\n{label}\"];\n"));
    }
    for (from, to) in edges(plan, &ids) {
        out.push_str(&format!("  s{from} -> s{to};\n"));
    }
    out.push_str("}\n");
    out
}

fn edges(plan: &Plan, ids: &BTreeMap<&StepName, usize>) -> Vec<(usize, usize)> {
    let of = |(to, step): (usize, &PlanStep)| -> Vec<(usize, usize)> {
        step.needs.iter().filter_map(|need| Some((*ids.get(need)?, to))).collect()
    };
    plan.steps.iter().enumerate().flat_map(of).collect()
}

/// Names of steps and tools hold nothing to escape; the name of a plan that was made by code might.
fn quoted(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .flat_map(|c| matches!(c, '"' | '\\').then_some('\\').into_iter().chain([c]))
        .collect()
}
