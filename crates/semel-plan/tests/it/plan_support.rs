//! What the tests of plans share: fixtures, a task to resolve in, and problems as text.

use semel_kernel::{
    id::{ClientId, StepName, TaskId, Tenant},
    json::Json,
    outcome::Stored,
    plan::StepKind,
    step::{Step, StepState},
    task::Task,
    time::{Generation, Millis},
};
use semel_plan::{plan::PlanDoc, problem::Problem};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

pub(crate) const NOW: Millis = Millis(1_700_000_000_000);

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/plans")
}

/// A fixture, under the name by which it is shown in problems.
pub(crate) fn fixture(name: &str) -> Result<PlanDoc, Vec<Problem>> {
    let path = folder().join(name);
    let text = std::fs::read_to_string(&path).expect("the fixture is there");
    PlanDoc::read_text(name, &text, path.parent().expect("it lies in a folder"))
}

pub(crate) fn read(text: &str) -> Result<PlanDoc, Vec<Problem>> {
    PlanDoc::read_text("plan.yaml", text, &folder())
}

pub(crate) fn sound(text: &str) -> PlanDoc {
    read(text).unwrap_or_else(|problems| panic!("{}", show(&problems)))
}

pub(crate) fn refused(text: &str) -> String {
    show(&read(text).expect_err("this plan must be refused"))
}

/// Problems as people see them; how the expression parser words its complaint is its own business.
pub(crate) fn show(problems: &[Problem]) -> String {
    let worded = |p: &Problem| {
        let message = p.message.split_once("cannot be read: ").filter(|_| p.code == "SM4110");
        message.map_or_else(|| p.message.clone(), |(what, _)| format!("{what}cannot be read: …"))
    };
    let shown = |p: &Problem| Problem { message: worded(p), ..p.clone() }.to_string();
    problems.iter().map(shown).collect::<Vec<_>>().join("\n")
}

pub(crate) fn name(text: &str) -> StepName {
    StepName::parse(text).expect("a step name")
}

/// A task in which nothing has happened yet.
pub(crate) fn task(plan: &PlanDoc) -> Task {
    let steps = plan
        .kernel
        .steps
        .iter()
        .map(|s| (s.name.clone(), Step::new(s.name.clone(), s.kind.clone(), s.needs.clone(), NOW)));
    Task {
        id: TaskId::parse("tsk_1").expect("an id"),
        tenant: Tenant::parse("acme").expect("a tenant"),
        client_id: ClientId::parse("client").expect("a client id"),
        plan: plan.kernel.clone(),
        inputs: Stored::Inline(Json::Null),
        shared_epoch: 0,
        version: 1,
        created_at: NOW,
        updated_at: NOW,
        generation: Generation::default(),
        session: None,
        order: plan.kernel.steps.iter().map(|s| s.name.clone()).collect(),
        steps: steps.collect(),
        operations: BTreeMap::new(),
        targets: BTreeMap::new(),
        reviews: Vec::new(),
        recovery: None,
        restored: None,
        paused: None,
        cancelling: None,
        forgiven: Vec::new(),
        end: None,
    }
}

/// The items of an `each`, as the kernel adds them when it folds the expansion.
pub(crate) fn expand(task: &mut Task, parent: &str, items: &[StepName]) {
    let parent = name(parent);
    let found = task.steps.get_mut(&parent).expect("the step is there");
    found.items = Some(items.to_vec());
    let StepKind::Each { tool, .. } = found.kind.clone() else { panic!("no each") };
    for item in items {
        let mut step = Step::new(item.clone(), StepKind::Act(tool.clone()), Vec::new(), NOW);
        step.item_of = Some(parent.clone());
        task.steps.insert(item.clone(), step);
    }
}

pub(crate) fn settle(task: &mut Task, step: &str, state: StepState) {
    task.steps.get_mut(&name(step)).expect("the step is there").state = state;
}

pub(crate) fn json(text: &str) -> Json {
    Json::parse(text).expect("JSON")
}
