//! `semel plan lint`: everything that is wrong at once, with line and column.

use crate::{
    fail::Exit,
    ui::{self, Ui},
};
use semel_plan::{
    plan::PlanDoc,
    problem::{Problem, Severity},
};
use std::path::Path;

pub(super) fn run(path: &Path, ui: Ui) -> Exit {
    match PlanDoc::read(path) {
        Ok(plan) => told(&plan.warnings, &format!("plan {} {}", plan.kernel.name, plan.kernel.hash), ui),
        Err(problems) => told(&problems, "", ui),
    }
}

/// Prints what was found; the exit is `usage` only when something stands in the way.
pub(crate) fn told(problems: &[Problem], sound: &str, ui: Ui) -> Exit {
    let errors = problems.iter().filter(|p| p.severity == Severity::Error).count();
    let warnings = problems.len().saturating_sub(errors);
    let rows: Vec<_> = problems.iter().map(ui::problem_json).collect();
    let json = serde_json::json!({"v": 1, "errors": errors, "warnings": warnings, "problems": rows});
    ui.show(&json, || {
        let mut lines: Vec<String> = problems.iter().map(ui::problem_text).collect();
        let what = if errors == 0 { sound } else { "as it stands, it is refused" };
        lines.push(format!("{}, {}: {what}", counted(errors, "error"), counted(warnings, "warning")));
        lines.join("\n")
    });
    if errors == 0 { Exit::Done } else { Exit::Usage }
}

fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}
