//! Plans: a file or a stored document, read, checked, and turned into what the kernel runs.
//!
//! Invariant: a [`PlanDoc`] that exists passed every check; its document is self-contained and reads back to an equal
//! plan, and its hash does not depend on comments, key order or spelling. A plan never changes after it was read.

mod check;
mod document;
mod each;
mod inputs;
mod read;
mod slot;
mod step;

use crate::{
    contract::{Contract, Refusal},
    problem::{At, Problem, Problems, Severity, Span},
    resolve::SharedCall,
    yaml::{self, Node},
};
pub(crate) use each::EachDoc;
use inputs::Inputs;
use read::{Draft, Origin};
use semel_kernel::{
    hash::Hash,
    id::{StepName, ToolName},
    json::Json,
    plan::{Plan, PlanStep, StepKind},
};
use std::{collections::BTreeMap, fmt, path::Path};
pub(crate) use step::{StepDoc, Work};

/// The name that a document of the store has in problems.
const STORED: &str = "(stored plan)";

/// A plan that passed every check.
#[derive(Clone)]
pub struct PlanDoc {
    /// What the kernel runs: names, order, terms, pins.
    pub kernel: Plan,
    /// The whole plan, canonical and self-contained; its hash is `kernel.hash`.
    pub document: Json,
    /// The contracts of its tools.
    pub contracts: BTreeMap<ToolName, Contract>,
    /// What somebody should know, though the plan is accepted.
    pub warnings: Vec<Problem>,
    pub(crate) inputs: Inputs,
    pub(crate) steps: BTreeMap<StepName, StepDoc>,
    /// The one step is a tenant-scoped operation itself, and not a call for one.
    pub(crate) shared: bool,
}

/// Two plans are equal when their documents are.
impl PartialEq for PlanDoc {
    fn eq(&self, other: &Self) -> bool {
        self.kernel == other.kernel && self.document == other.document
    }
}

impl fmt::Debug for PlanDoc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanDoc").field("name", &self.kernel.name).field("hash", &self.kernel.hash).finish()
    }
}

impl PlanDoc {
    /// Reads a plan file; contracts that it names lie relative to it.
    ///
    /// # Errors
    /// Everything that is wrong with the plan and its contracts, in the order of the files.
    pub fn read(path: &Path) -> Result<PlanDoc, Vec<Problem>> {
        let file = path.to_string_lossy();
        let text = read::load(path).map_err(|cause| {
            let mut problems = Problems::new();
            let at = At { file: &file, span: Span::NONE, path: "" };
            let message = format!("the plan cannot be read: {cause}");
            problems.error("SM4001", at, message, "name a YAML file that can be read");
            problems.into_vec()
        })?;
        Self::read_text(&file, &text, path.parent().unwrap_or(Path::new("")))
    }

    /// Reads the text of a plan file, called `file` in problems; contracts that it names lie relative to `dir`.
    ///
    /// # Errors
    /// Everything that is wrong with the plan and its contracts, in the order of the files.
    pub fn read_text(file: &str, text: &str, dir: &Path) -> Result<PlanDoc, Vec<Problem>> {
        let mut problems = Problems::new();
        match yaml::parse(file, text, &mut problems) {
            Some(root) => Self::of(&root, file, &Origin::File(dir), problems),
            None => Err(problems.into_vec()),
        }
    }

    /// Reads a document of the store back: the plan it was, without a file.
    ///
    /// # Errors
    /// Everything that is wrong; a document that this program has written is sound.
    pub fn from_document(document: &Json) -> Result<PlanDoc, Vec<Problem>> {
        Self::of(&Node::from_json(document), STORED, &Origin::Store, Problems::new())
    }

    fn of(
        root: &Node,
        file: &str,
        origin: &Origin<'_>,
        mut problems: Problems,
    ) -> Result<PlanDoc, Vec<Problem>> {
        let plan = read::read(root, file, origin, &mut problems).and_then(|draft| {
            let order = check::check(&draft, file, &mut problems);
            if matches!(origin, Origin::File(_)) {
                draft.tools.contracts.values().for_each(|c| c.lint(&mut problems));
            }
            if problems.has_errors() { None } else { build(draft, order, file, &mut problems) }
        });
        match plan {
            Some(plan) if !problems.has_errors() => Ok(PlanDoc { warnings: problems.into_vec(), ..plan }),
            Some(_) | None => Err(problems.into_vec()),
        }
    }

    /// The inputs of a task: what is given, checked against the declarations, and the defaults of what is not.
    ///
    /// # Errors
    /// Everything that is wrong: unknown names, missing values, wrong types, undeclared values.
    pub fn inputs(&self, given: &Json) -> Result<Json, Vec<Problem>> {
        self.inputs.check(given)
    }

    /// The plan of a tenant-scoped operation, a task of its own: one step, named like the tool, with these arguments
    /// as they are.
    ///
    /// # Errors
    /// [`Refusal`] when this plan does not carry the tool.
    pub fn shared(&self, shared: &SharedCall) -> Result<PlanDoc, Refusal> {
        let Some(contract) = self.contracts.get(&shared.tool) else {
            let cause = format!("the plan carries no tool `{}`", shared.tool);
            return Err(Refusal { code: "SM4107", cause, fields: Vec::new() });
        };
        // The arguments stand in a default, because a default is never read as an expression.
        let args = Json::obj([("type", Json::str("object")), ("default", shared.args.clone())]);
        let step = Json::obj([
            ("step", Json::str(shared.tool.as_str())),
            ("needs", Json::Arr(Vec::new())),
            ("act", Json::str(shared.tool.as_str())),
            ("with", Json::str("${{ inputs.args }}")),
            ("version", Json::Str(escaped(&shared.version))),
            ("intent", Json::from(shared.intent)),
        ]);
        let document = Json::obj([
            ("semel", Json::from(1_u32)),
            ("name", Json::str(shared.tool.as_str())),
            ("inputs", Json::obj([("args", args)])),
            ("tools", Json::obj([(shared.tool.as_str(), contract.document.clone())])),
            ("shared", Json::Bool(true)),
            ("steps", Json::Arr(vec![step])),
        ]);
        Self::from_document(&document).map_err(|problems| {
            let first = problems.into_iter().find(|p| p.severity == Severity::Error);
            let (code, cause) = first.map_or(("SM4119", String::new()), |p| (p.code, p.message));
            Refusal { code, cause, fields: Vec::new() }
        })
    }
}

/// A text that reads back as itself, even when it holds `${{`.
fn escaped(text: &str) -> String {
    if text.contains("${{") { format!("${{{{ {} }}}}", Json::str(text).canonical()) } else { text.to_owned() }
}

fn build(mut draft: Draft, mut order: check::Order, file: &str, problems: &mut Problems) -> Option<PlanDoc> {
    let mut docs = Vec::new();
    for step in &mut draft.steps {
        let reads = check::reads(step, &order);
        let doc = step.doc.take()?;
        let needs = order.needs.remove(&doc.name).unwrap_or_default();
        order.needs.insert(doc.name.clone(), needs.clone());
        docs.push((StepDoc { reads, ..doc }, needs));
    }
    let listed: Vec<(&StepDoc, Vec<StepName>)> = docs.iter().map(|(d, n)| (d, n.clone())).collect();
    let document = document::write(&draft, &listed);
    let kernel = Plan {
        name: draft.name,
        hash: Hash::of(document.canonical().as_bytes()),
        steps: docs.iter().map(|(doc, needs)| plan_step(doc, needs)).collect(),
        tools: draft.tools.contracts.iter().map(|(name, c)| (name.clone(), c.terms.clone())).collect(),
        budget: draft.budget,
        pins: draft.pins,
    };
    if let Err(bad) = kernel.check() {
        let at = At { file, span: Span::NONE, path: "" };
        problems.error("SM4119", at, bad.to_string(), "please report this: it should have been told before");
    }
    let steps = docs.into_iter().map(|(doc, _)| (doc.name.clone(), doc)).collect();
    let (contracts, inputs, shared) = (draft.tools.contracts, draft.inputs, draft.shared);
    Some(PlanDoc { kernel, document, contracts, warnings: Vec::new(), inputs, steps, shared })
}

fn plan_step(doc: &StepDoc, needs: &[StepName]) -> PlanStep {
    let kind = match &doc.work {
        Work::Sleep(_) => StepKind::Sleep,
        Work::Act { tool, each: None } => StepKind::Act(tool.clone()),
        Work::Act { tool, each: Some(each) } => {
            StepKind::Each { tool: tool.clone(), parallel: each.parallel }
        }
    };
    PlanStep { name: doc.name.clone(), needs: needs.to_vec(), kind }
}
