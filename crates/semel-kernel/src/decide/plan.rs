//! Plan: a step's expressions were evaluated, so id, key and hash are fixed. Equal calls fold into one operation; a
//! call that is equal in target but not in hash to an unsettled one is refused before anything is sent.

use super::Draft;
use crate::{
    event::{Event, PlannedOperation, Proof},
    id::{OperationId, StepName},
    input::{Ctx, Resolution, Settlement},
    limit,
    operation::{Judgement, Operation},
    outcome::Stored,
    plan::StepKind,
    reject::Reject,
    terms::Effect,
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::String,
    vec::Vec,
};

/// What an earlier call of this task is to a new one.
enum Twin {
    None,
    Equal(OperationId),
    Conflict { with: OperationId, fields: Vec<String> },
}

impl Draft {
    pub(super) fn resolved(
        &mut self,
        step: &StepName,
        resolution: Resolution,
        ctx: Ctx,
    ) -> Result<(), Reject> {
        let found = self.step(step)?;
        if !found.is_unresolved() {
            return Err(Reject::Illegal(format!("step `{step}` was resolved before")));
        }
        self.not_ended()?;
        if self.task.is_stopped() {
            return Err(Reject::Illegal("the task starts nothing new now".into()));
        }
        if !self.task.is_ready(found) {
            return Err(Reject::Illegal(format!("step `{step}` waits for others")));
        }
        let step = step.clone();
        match resolution {
            Resolution::Skip { cause } => self.record(Event::StepSkipped { step, cause }, ctx),
            Resolution::Act { operation } => self.plan_operation(step, operation, ctx),
            Resolution::Attach { to, epoch } => self.record(Event::StepAttached { step, to, epoch }, ctx),
            Resolution::Each { items, list } => self.expand(step, items, list, ctx),
            Resolution::Sleep { until } => self.record(Event::TimerSet { step, at: until }, ctx),
            Resolution::Refuse { code, cause, fields } => {
                self.record(Event::StepFailed { step, code, cause, fields, refusal: None }, ctx)
            }
        }
    }

    fn expand(&mut self, step: StepName, items: Vec<StepName>, list: Stored, ctx: Ctx) -> Result<(), Reject> {
        let is_each = matches!(self.step(&step)?.kind, StepKind::Each { .. });
        if !is_each {
            return Err(Reject::Illegal(format!("step `{step}` has no items")));
        }
        let mut seen = BTreeSet::new();
        let twice = items.iter().find(|n| !seen.insert(*n) || self.task.steps.contains_key(*n));
        if let Some(name) = twice {
            return Err(Reject::Illegal(format!("two steps would be called `{name}`")));
        }
        if items.len() > limit::EACH_ITEMS {
            let (n, max) = (items.len(), limit::EACH_ITEMS);
            return Err(Reject::Limit(format!("step `{step}` has {n} items, at most {max} are allowed")));
        }
        self.record(Event::StepExpanded { step, items, list }, ctx)
    }

    fn plan_operation(
        &mut self,
        step: StepName,
        operation: PlannedOperation,
        ctx: Ctx,
    ) -> Result<(), Reject> {
        if !self.task.plan.tools.contains_key(&operation.tool) {
            return Err(Reject::Illegal(format!("the plan carries no tool `{}`", operation.tool)));
        }
        match self.twin(&operation) {
            Twin::None => self.record(Event::StepPlanned { step, operation, same_as: None }, ctx),
            Twin::Equal(id) => self.record(Event::StepPlanned { step, operation, same_as: Some(id) }, ctx),
            Twin::Conflict { with, fields } => {
                let named = fields.join(", ");
                let status = self.operation(&with)?.status().word();
                let cause = format!("`{with}` is {status} and differs in: {named}; nothing was sent");
                self.record(
                    Event::StepFailed { step, code: "SM1006".into(), cause, fields, refusal: None },
                    ctx,
                )
            }
        }
    }

    /// Reads change nothing, so two equal reads are two reads.
    fn twin(&self, new: &PlannedOperation) -> Twin {
        let reads = self.task.plan.tools.get(&new.tool).is_some_and(|t| t.effect == Effect::None);
        let same = |o: &&Operation| {
            let p = &o.planned;
            p.tool == new.tool && p.target == new.target && p.version == new.version && p.intent == new.intent
        };
        // The same id stands for the same request for ever, whatever became of it.
        let namesake = self.task.operations.get(&new.id);
        let Some(twin) = namesake.or_else(|| self.task.on_target(&new.target).filter(|_| !reads).find(same))
        else {
            return Twin::None;
        };
        if twin.planned.request_hash == new.request_hash {
            return Twin::Equal(twin.planned.id.clone());
        }
        let settled = matches!(twin.judge(), Judgement::Applied | Judgement::NotApplied { .. });
        if settled && namesake.is_none() {
            return Twin::None;
        }
        Twin::Conflict { with: twin.planned.id.clone(), fields: differing(&twin.planned.fields, &new.fields) }
    }

    pub(super) fn attach_settled(
        &mut self,
        step: &StepName,
        settlement: Settlement,
        ctx: Ctx,
    ) -> Result<(), Reject> {
        self.not_ended()?;
        let found = self.step(step)?;
        if found.attached.is_none() || found.is_settled() {
            return Err(Reject::Illegal(format!("step `{step}` does not wait for another task")));
        }
        let step = step.clone();
        match settlement {
            Settlement::Applied { output, of, at } => {
                let proof = Proof::Replay { of, at };
                self.record(Event::StepCommitted { step, proof, authorship: None, output }, ctx)
            }
            Settlement::Failed { code, cause } => {
                self.record(Event::StepFailed { step, code, cause, fields: Vec::new(), refusal: None }, ctx)
            }
            Settlement::WrittenOff => {
                let by = "the shared operation, which was written off".into();
                self.record(Event::StepWrittenOff { step, by }, ctx)
            }
        }
    }
}

/// Names of the material fields in which two requests differ.
#[must_use]
pub fn differing<V: PartialEq>(a: &BTreeMap<String, V>, b: &BTreeMap<String, V>) -> Vec<String> {
    let mut names: Vec<String> = a.keys().chain(b.keys()).cloned().collect();
    names.sort();
    names.dedup();
    names.retain(|n| a.get(n) != b.get(n));
    names
}

/// Whether an item of this kind acts like a step of its own.
pub(crate) fn item_kind(kind: &StepKind) -> Option<StepKind> {
    match kind {
        StepKind::Each { tool, .. } => Some(StepKind::Act(tool.clone())),
        StepKind::Act(_) | StepKind::Sleep => None,
    }
}
