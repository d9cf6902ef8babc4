//! Reports become facts: the contract says what was seen means (DESIGN section 4).

use super::{Asking, Completion, Machine, State};
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
use semel_plan::contract::{Contract, Seen};
use semel_ports::{Artifact, Report, Transport};

/// The names that a contract's expressions see.
pub(super) struct Names {
    args: Json,
    key: String,
    operation: String,
    task: String,
}

impl Names {
    pub(super) fn seen(&self) -> Seen<'_> {
        Seen { args: &self.args, key: &self.key, operation: &self.operation, task: &self.task, handle: None }
    }
}

impl Machine {
    /// A report is understood with the task at hand; while that is being loaded it waits.
    pub(super) fn heard(&mut self, done: Completion) {
        if matches!(self.state, State::Loading) {
            self.unheard.push(done);
            return;
        }
        match done {
            Completion::Answered { op, attempt, report } => self.answered(op, attempt, &report),
            Completion::Asked { op, asking, asked_at, report } => self.asked(op, asking, asked_at, &report),
            _ => {}
        }
    }

    fn answered(&mut self, op: OperationId, attempt: u32, report: &Report) {
        let Some((contract, names)) = self.contract_of(&op) else { return };
        let (outcome, shown) = contract.outcome(report, &names.seen());
        let late_ms = report.late_ms;
        self.facts.push_back(Input::Answered { op, attempt, outcome, shown, late_ms });
    }

    fn asked(&mut self, op: OperationId, asking: Asking, asked_at: Millis, report: &Report) {
        let Some((contract, names)) = self.contract_of(&op) else { return };
        let fact = match asking {
            Asking::Precheck => {
                let (finding, holds, shown) = contract.requirement(report, &names.seen());
                let answered = matches!(&report.transport, Transport::Answered(a) if a.status < 500);
                Input::Prechecked { op, finding, holds, answered, shown }
            }
            Asking::Probe => {
                let (finding, shown) = contract.finding(report, &names.seen());
                Input::Probed { op, asked_at, finding, shown }
            }
        };
        self.facts.push_back(fact);
    }

    pub(super) fn shared(&mut self, step: StepName, result: Result<(TaskId, u32), (String, Vec<String>)>) {
        let resolution = match result {
            Ok((to, epoch)) => Resolution::Attach { to, epoch },
            Err((cause, fields)) => Resolution::Refuse { code: "SM1006".into(), cause, fields },
        };
        self.facts.push_back(Input::Resolved { step, resolution });
    }

    pub(super) fn fetched(&mut self, hash: Hash, value: Option<Json>) {
        self.fetching.remove(&hash);
        self.bodies.insert(hash, value.unwrap_or(Json::Null));
        let State::Ready(task) = &self.state else { return };
        let named: Vec<_> = task.steps.values().map(|s| (s.name.clone(), s.output.clone())).collect();
        for (step, output) in named {
            self.adopt_output(&step, output.as_ref());
        }
    }

    /// The contract of an operation and what its expressions see. While a turn is being committed, the task as it
    /// will be is looked at: an answer can only belong to an attempt that is durable.
    pub(super) fn contract_of(&self, id: &OperationId) -> Option<(&Contract, Names)> {
        let task = match &self.state {
            State::Ready(task) | State::Committing { next: task, .. } => task,
            State::Loading | State::Stopped => return None,
        };
        let op = task.operations.get(id)?;
        self.contract_for(op, task.id.as_str())
    }

    pub(super) fn contract_for(&self, op: &Operation, task: &str) -> Option<(&Contract, Names)> {
        let contract = self.plan.contracts.get(&op.planned.tool)?;
        let key = op.attempts.last().map_or_else(|| op.planned.key.clone(), |a| a.key.clone());
        let args = self.value_of(&op.planned.arguments);
        let operation = op.planned.id.to_string();
        Some((contract, Names { args, key, operation, task: task.to_owned() }))
    }

    pub(super) fn value_of(&self, stored: &Stored) -> Json {
        match stored {
            Stored::Inline(value) => value.clone(),
            Stored::Artifact(at) => self.bodies.get(&at.hash).cloned().unwrap_or(Json::Null),
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
