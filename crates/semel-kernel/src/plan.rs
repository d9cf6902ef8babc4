//! The plan as the kernel sees it: names, order, terms. Arguments and conditions are resolved outside and arrive as
//! inputs, which are recorded.
//!
//! Invariant: a plan in a task is acyclic, within its limits, and names only tools that it carries.

use crate::{
    hash::Hash,
    id::{StepName, ToolName},
    limit,
    terms::Terms,
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::String,
    vec::Vec,
};
use serde::{Deserialize, Serialize};

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Calls a tool.
    Act(ToolName),
    /// Waits.
    Sleep,
    /// Calls a tool for each item of a list.
    Each {
        /// The tool.
        tool: ToolName,
        /// Items in flight at once.
        parallel: u32,
    },
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    /// Its name, unique in the plan.
    pub name: StepName,
    /// Steps that are settled before it.
    pub needs: Vec<StepName>,
    /// What it does.
    pub kind: StepKind,
}

/// Budgets of a task; when one is spent, a person is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Milliseconds from creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<i64>,
    /// Attempts of all operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Operations unknown at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknowns: Option<u32>,
}

/// Names, order, terms and pins of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// Hash of the whole document; its body is an artifact.
    pub hash: Hash,
    /// In the order of the file.
    pub steps: Vec<PlanStep>,
    /// Tools by name.
    pub tools: BTreeMap<ToolName, Terms>,
    /// Budgets.
    #[serde(default)]
    pub budget: Budget,
    /// Pinned versions: model, prompt, tool schema, workflow, repository commit, index, …
    #[serde(default)]
    pub pins: BTreeMap<String, String>,
}

/// Why a plan is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPlan {
    /// Two steps share a name.
    #[error("two steps are called `{0}`")]
    Duplicate(StepName),
    /// A step needs one that is not there.
    #[error("step `{0}` needs `{1}`, which is not in the plan")]
    Missing(StepName, StepName),
    /// The needs form a circle.
    #[error("step `{0}` needs itself, through others")]
    Circle(StepName),
    /// A step calls a tool that the plan does not carry.
    #[error("step `{0}` calls `{1}`, which is not among the tools")]
    NoTool(StepName, ToolName),
    /// A limit.
    #[error("{0}")]
    Limit(String),
}

impl Plan {
    /// The step of that name.
    #[must_use]
    pub fn step(&self, name: &StepName) -> Option<&PlanStep> {
        self.steps.iter().find(|s| s.name == *name)
    }

    /// Checks the invariant of this module.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), BadPlan> {
        if self.steps.is_empty() || self.steps.len() > limit::PLAN_STEPS {
            let n = self.steps.len();
            return Err(BadPlan::Limit(format!(
                "a plan has 1 to {} steps, this one has {n}",
                limit::PLAN_STEPS
            )));
        }
        let mut seen = BTreeSet::new();
        for step in &self.steps {
            if !seen.insert(&step.name) {
                return Err(BadPlan::Duplicate(step.name.clone()));
            }
        }
        for step in &self.steps {
            self.check_step(step, &seen)?;
        }
        self.check_order()
    }

    fn check_step(&self, step: &PlanStep, names: &BTreeSet<&StepName>) -> Result<(), BadPlan> {
        if let Some(need) = step.needs.iter().find(|n| !names.contains(n)) {
            return Err(BadPlan::Missing(step.name.clone(), need.clone()));
        }
        match &step.kind {
            StepKind::Act(tool) | StepKind::Each { tool, .. } if !self.tools.contains_key(tool) => {
                Err(BadPlan::NoTool(step.name.clone(), tool.clone()))
            }
            StepKind::Act(_) | StepKind::Each { .. } | StepKind::Sleep => Ok(()),
        }
    }

    /// Removes ready steps until none is left; what remains lies on or behind a circle.
    fn check_order(&self) -> Result<(), BadPlan> {
        let mut done = BTreeSet::new();
        loop {
            let before = done.len();
            for step in &self.steps {
                if step.needs.iter().all(|n| done.contains(n)) {
                    done.insert(&step.name);
                }
            }
            if done.len() == self.steps.len() {
                return Ok(());
            }
            if done.len() == before {
                let stuck = self.steps.iter().find(|s| !done.contains(&s.name));
                return stuck.map_or(Ok(()), |s| Err(BadPlan::Circle(s.name.clone())));
            }
        }
    }
}
