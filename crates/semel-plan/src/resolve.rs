//! What a step turns out to be, once what it needs is settled: its expressions are evaluated under recorded values.
//!
//! Invariant: nothing here has an effect, and the same view gives the same answer. Every failure is a refusal with a
//! stable code, final and before anything is sent; a condition that cannot be evaluated is never taken for false.

mod each;
mod vars;

use crate::{
    cel::Program,
    contract::{Call, Refusal},
    duration,
    plan::{PlanDoc, StepDoc, Work},
    template::Template,
};
use semel_kernel::{
    event::PlannedOperation,
    hash::Hash,
    id::{StepName, ToolName},
    json::Json,
    task::Task,
    terms::Scope,
    time::Millis,
};
use std::collections::BTreeMap;
use vars::Vars;

/// What expressions see.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The task, for names and states.
    pub task: &'a Task,
    /// The recorded inputs.
    pub inputs: &'a Json,
    /// Outputs of the settled steps, items included.
    pub outputs: &'a BTreeMap<StepName, Json>,
    /// Store time of the turn.
    pub now: Millis,
}

/// What a step turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolved {
    /// Its `if` is false.
    Skip {
        /// The condition, for people.
        cause: String,
    },
    /// It acts.
    Act {
        /// Id, key, hash and arguments, fixed from here.
        operation: PlannedOperation,
    },
    /// It needs an operation that is shared by all tasks of the tenant.
    Shared(SharedCall),
    /// It acts once for each item.
    Each {
        /// Names of the items, in the order of the list.
        items: Vec<StepName>,
        /// The list.
        list: Json,
    },
    /// It waits.
    Sleep {
        /// Until then.
        until: Millis,
    },
    /// Its expressions or arguments are refused; nothing is sent.
    Refuse(Refusal),
}

/// A call for a tenant-scoped operation, which is a task of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedCall {
    /// The tool.
    pub tool: ToolName,
    /// Business version.
    pub version: String,
    /// 1, or the n-th time on purpose.
    pub intent: u32,
    /// The arguments, evaluated.
    pub args: Json,
    /// Identity fields, joined.
    pub target: String,
    /// Over identity and material fields.
    pub request_hash: Hash,
    /// Short digest of each material field.
    pub fields: BTreeMap<String, String>,
    /// Milliseconds after settling during which the same intent is the same operation.
    pub within_ms: i64,
}

type Found<T> = Result<T, Refusal>;

fn refuse(code: &'static str, cause: String) -> Refusal {
    Refusal { code, cause, fields: Vec::new() }
}

impl PlanDoc {
    /// Evaluates a step, or an item `step[key]` of one. A condition that does not read the item decides over the whole
    /// `each`; one that does decides over each item.
    #[must_use]
    pub fn resolve(&self, view: &View<'_>, step: &StepName) -> Resolved {
        let resolved = match (self.steps.get(step), each::parent(step)) {
            (Some(doc), _) => self.step(doc, view),
            (None, Some(parent)) => self.item(&parent, view, step),
            (None, None) => Err(refuse("SM4130", format!("the plan has no step `{step}`"))),
        };
        resolved.unwrap_or_else(Resolved::Refuse)
    }

    fn step(&self, doc: &StepDoc, view: &View<'_>) -> Found<Resolved> {
        let vars = Vars::of(self, doc, view);
        let vars = vars.named(None);
        if let Some(condition) = doc.condition.as_ref().filter(|c| !each::reads_item(doc, c))
            && !holds(condition, &vars)?
        {
            return Ok(skip(condition));
        }
        match (&doc.work, doc.each()) {
            (Work::Sleep(written), _) => sleep(&written.value, &vars, view.now),
            (Work::Act { .. }, Some(each)) => each::expand(&doc.name, each, &vars),
            (Work::Act { tool, .. }, None) => self.act(doc, tool, view, &doc.name, &vars),
        }
    }

    fn item(&self, parent: &StepName, view: &View<'_>, step: &StepName) -> Found<Resolved> {
        let unknown = || refuse("SM4130", format!("the plan has no step `{step}`"));
        let doc = self.steps.get(parent).ok_or_else(unknown)?;
        let (Work::Act { tool, .. }, Some(each)) = (&doc.work, doc.each()) else { return Err(unknown()) };
        let vars = Vars::of(self, doc, view);
        let item = each::find(each, view.task, parent, step, &vars)?;
        let vars = vars.named(Some((&each.bind, &item)));
        if let Some(condition) = doc.condition.as_ref().filter(|c| each::reads_item(doc, c))
            && !holds(condition, &vars)?
        {
            return Ok(skip(condition));
        }
        self.act(doc, tool, view, step, &vars)
    }

    fn act(
        &self,
        doc: &StepDoc,
        tool: &ToolName,
        view: &View<'_>,
        step: &StepName,
        vars: &[(&str, &Json)],
    ) -> Found<Resolved> {
        let missing = || refuse("SM4107", format!("the plan carries no tool `{tool}`"));
        let contract = self.contracts.get(tool).ok_or_else(missing)?;
        let args = doc.with.value.resolve(vars).map_err(|e| refuse("SM4132", format!("`with`: {e}")))?;
        if args.as_obj().is_none() {
            let cause = format!("`with` gives {}, but arguments are an object", args.kind_name());
            return Err(refuse("SM4132", cause));
        }
        let version = version(&doc.version.value, vars)?;
        let (task, tenant) = (&view.task.id, &view.task.tenant);
        let call =
            Call { tenant, task, step, version: &version, intent: doc.intent, key_epoch: 0, args: &args };
        let operation = contract.operation(&call)?;
        Ok(match contract.terms.scope {
            Scope::Tenant { within_ms } if !self.shared => {
                let PlannedOperation { tool, target, version, intent, request_hash, fields, .. } = operation;
                let call =
                    SharedCall { tool, version, intent, args, target, request_hash, fields, within_ms };
                Resolved::Shared(call)
            }
            Scope::Tenant { .. } | Scope::Task => Resolved::Act { operation },
        })
    }
}

fn holds(condition: &Program, vars: &[(&str, &Json)]) -> Found<bool> {
    condition.holds(vars).map_err(|e| refuse("SM4131", format!("`if: {}`: {e}", condition.source().trim())))
}

fn skip(condition: &Program) -> Resolved {
    Resolved::Skip { cause: format!("its condition is false: {}", condition.source().trim()) }
}

fn version(template: &Template, vars: &[(&str, &Json)]) -> Found<String> {
    let text = template.text(vars, str::to_owned).map_err(|e| refuse("SM4132", format!("`version`: {e}")))?;
    if text.is_empty() {
        return Err(refuse("SM4132", "`version` gives an empty text".to_owned()));
    }
    Ok(text)
}

fn sleep(template: &Template, vars: &[(&str, &Json)], now: Millis) -> Found<Resolved> {
    let text = template.text(vars, str::to_owned);
    let ms = text.and_then(|text| duration::parse(&text));
    let ms = ms.map_err(|e| refuse("SM4136", format!("`sleep`: {e}")))?;
    Ok(Resolved::Sleep { until: now.plus(ms) })
}
