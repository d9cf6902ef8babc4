//! Reports become facts: the contract says what was seen means (DESIGN section 4).

use super::{Asking, Body, Completion, Machine, State};
use crate::names::{Heard, Names};
use semel_kernel::{
    hash::Hash,
    id::{OperationId, StepName, TaskId},
    input::{Input, Resolution},
    json::Json,
    limit,
    operation::Operation,
    outcome::{Finding, Outcome, Stored},
    time::Millis,
};
use semel_plan::contract::{Contract, Refusal};
use semel_ports::{Artifact, Report};

impl Machine {
    /// A report is understood with the task at hand; while that is being loaded it waits.
    pub(super) fn heard(&mut self, done: Completion) {
        if matches!(self.state, State::Loading) {
            self.unheard.push(done);
            return;
        }
        match done {
            Completion::Answered { op, attempt, report } => self.answered(&op, attempt, &report),
            Completion::Asked { op, asking, asked_at, report } => self.asked(&op, asking, asked_at, &report),
            _ => {}
        }
    }

    fn answered(&mut self, op: &OperationId, attempt: u32, report: &Report) {
        let fact = self.understood(op, |contract, op, names| names.answered(contract, op, attempt, report));
        self.facts.extend(fact);
    }

    fn asked(&mut self, op: &OperationId, asking: Asking, asked_at: Millis, report: &Report) {
        let first = self.confirming.remove(op);
        let heard = self.understood(op, |contract, op, names| match (asking, first) {
            (Asking::Precheck, _) => Heard::Fact(names.prechecked(contract, op, report)),
            (Asking::Confirm, Some(first)) => Heard::Fact(names.confirmed(contract, op, first, report)),
            (Asking::Probe | Asking::Confirm, _) => names.probed(contract, op, asked_at, report),
        });
        match heard {
            Some(Heard::Fact(fact)) => self.facts.push_back(fact),
            // The obligation to ask is still there, and now the other source is asked.
            Some(Heard::Half(first)) => drop(self.confirming.insert(op.clone(), first)),
            None => {}
        }
    }

    pub(super) fn shared(&mut self, step: StepName, result: Result<(TaskId, u32), Refusal>) {
        let resolution = match result {
            Ok((to, epoch)) => Resolution::Attach { to, epoch },
            Err(Refusal { code, cause, fields }) => Resolution::Refuse { code: code.into(), cause, fields },
        };
        self.facts.push_back(Input::Resolved { step, resolution });
    }

    pub(super) fn fetched(&mut self, hash: Hash, body: Body) {
        self.fetching.remove(&hash);
        match body {
            Body::There(value) => drop(self.bodies.insert(hash, value)),
            Body::Missing => return self.body_missing(hash),
            Body::NotNow => return,
        }
        let State::Ready(task) = &self.state else { return };
        let named: Vec<_> = task.steps.values().map(|s| (s.name.clone(), s.output.clone())).collect();
        for (step, output) in named {
            self.adopt_output(&step, output.as_ref());
        }
    }

    /// What the contract says of a report. While a turn is being committed, the task as it will be is looked at: an
    /// answer can only belong to an attempt that is durable.
    fn understood<T>(
        &self,
        id: &OperationId,
        say: impl FnOnce(&Contract, &Operation, &Names) -> T,
    ) -> Option<T> {
        let task = match &self.state {
            State::Ready(task) | State::Committing { next: task, .. } | State::Fenced(task) => task,
            State::Loading | State::Stopped => return None,
        };
        let op = task.operations.get(id)?;
        let contract = self.plan.contracts.get(&op.planned.tool)?;
        let names = Names::of(task, op, self.value_of(&op.planned.arguments)?);
        Some(say(contract, op, &names))
    }

    /// A stored value, if its body is at hand.
    pub(super) fn value_of(&self, stored: &Stored) -> Option<Json> {
        match stored {
            Stored::Inline(value) => Some(value.clone()),
            Stored::Artifact(at) => self.bodies.get(&at.hash).cloned(),
        }
    }
}

/// Moves large values of a fact into artifacts; events stay small.
pub(super) fn shrink(input: &mut Input, artifacts: &mut Vec<Artifact>) -> Option<(Hash, Json)> {
    match input {
        Input::Answered { outcome: Outcome::Applied { result, .. }, .. }
        | Input::Evidence { outcome: Outcome::Applied { result, .. }, .. }
        | Input::Probed { finding: Finding::Applied { result }, .. }
        | Input::Prechecked { finding: Finding::Applied { result }, .. } => shrink_stored(result, artifacts),
        Input::Resolved { resolution: Resolution::Act { operation }, .. } => {
            shrink_stored(&mut operation.arguments, artifacts)
        }
        Input::Resolved { resolution: Resolution::Each { list, .. }, .. } => shrink_stored(list, artifacts),
        Input::Begin { request: Some(request), .. } => shrink_stored(request, artifacts),
        _ => None,
    }
}

/// A value above the inline limit becomes an artifact; returns it for the machine's own memory.
pub(super) fn shrink_stored(stored: &mut Stored, artifacts: &mut Vec<Artifact>) -> Option<(Hash, Json)> {
    let Stored::Inline(value) = stored else { return None };
    let bytes = value.canonical().into_bytes();
    if bytes.len() <= limit::INLINE_BYTES {
        return None;
    }
    let artifact = Artifact::of(bytes);
    let kept = (artifact.hash, value.clone());
    *stored = Stored::Artifact(artifact.reference());
    artifacts.push(artifact);
    Some(kept)
}
