//! `semel tool`: effect contracts, and what we promise for each.

use super::plan::{self, show};
use crate::{
    fail::{Exit, Fail},
    low::Tool,
    ui::Ui,
};
use semel_plan::{
    contract::Contract,
    plan::PlanDoc,
    problem::{Problem, Problems},
    yaml,
};
use std::path::Path;

pub(crate) fn run(verb: &Tool, ui: Ui) -> Result<Exit, Fail> {
    match verb {
        Tool::List { plan } => {
            let plan = plan::read(plan)?;
            ui.warnings(&plan.warnings);
            let tools: Vec<_> = plan.kernel.tools.values().map(show::tool_json).collect();
            ui.show(&serde_json::json!({"v": 1, "tools": tools}), || show::tools(&plan));
            Ok(Exit::Done)
        }
        Tool::Lint { file } => lint(file, ui),
    }
}

fn lint(file: &Path, ui: Ui) -> Result<Exit, Fail> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|e| Fail::io(&name, &e))?;
    let mut problems = Problems::new();
    let Some(root) = yaml::parse(&name, &text, &mut problems) else {
        return Ok(plan::told(&problems.into_vec(), "", ui));
    };
    if root.get("tool").is_none() && root.get("steps").is_some() {
        return Ok(of_plan(file, ui));
    }
    let sound = match Contract::read(&root, &name, &mut problems) {
        Some(contract) => {
            contract.lint(&mut problems);
            let terms = &contract.terms;
            format!("tool {} is {} ({})", terms.tool, terms.guarantee().word(), terms.contract)
        }
        None => String::new(),
    };
    Ok(plan::told(&problems.into_vec(), &sound, ui))
}

/// A plan file was named: all of its contracts.
fn of_plan(file: &Path, ui: Ui) -> Exit {
    let (problems, sound): (Vec<Problem>, String) = match PlanDoc::read(file) {
        Ok(plan) => (plan.warnings, format!("{} tools", plan.kernel.tools.len())),
        Err(problems) => (problems, String::new()),
    };
    plan::told(&problems, &sound, ui)
}
