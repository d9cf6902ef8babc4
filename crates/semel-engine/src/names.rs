//! What a contract's expressions see of an operation, in one place for the machine and for operators.

use crate::machine::Asking;
use semel_kernel::{
    input::Input,
    json::Json,
    operation::Operation,
    outcome::{Finding, Stored},
    task::Task,
    time::Millis,
};
use semel_plan::contract::{Contract, Refusal, Seen};
use semel_ports::{Question, Report};

/// What an answer to a look-up comes to.
pub(crate) enum Heard {
    /// All that there is to know.
    Fact(Input),
    /// A second source is asked before it counts.
    Half(First),
}

/// What the first of two sources said.
pub(crate) struct First {
    asked_at: Millis,
    finding: Finding,
    shown: Json,
}

/// Arguments, current key, ids and the target's handle.
pub(crate) struct Names {
    args: Json,
    key: String,
    operation: String,
    task: String,
    fence: String,
    handle: Option<Json>,
}

impl Names {
    pub(crate) fn of(task: &Task, op: &Operation, args: Json) -> Self {
        Self {
            args,
            key: op.key().to_owned(),
            operation: op.planned.id.to_string(),
            task: task.id.to_string(),
            fence: task.generation.to_string(),
            handle: op.handle().cloned(),
        }
    }

    pub(crate) fn seen(&self) -> Seen<'_> {
        let handle = self.handle.as_ref();
        Seen { args: &self.args, key: &self.key, operation: &self.operation, task: &self.task, handle }
    }

    /// The question that the contract's probe asks, or its confirming one, under the key of the last attempt.
    pub(crate) fn question(&self, contract: &Contract, asking: Asking) -> Result<Question, Refusal> {
        let request = match asking {
            Asking::Precheck | Asking::Probe => contract.question(&self.seen())?,
            Asking::Confirm => contract.confirming_question(&self.seen())?,
        };
        let (key, fence) = (self.key.clone(), self.fence.clone());
        Ok(Question { request, key, fence, timeout_ms: contract.terms.timeout_ms })
    }

    /// What the answer to the probe says: a fact, or half of one where a second source must say the same.
    pub(crate) fn probed(
        &self,
        contract: &Contract,
        op: &Operation,
        asked_at: Millis,
        report: &Report,
    ) -> Heard {
        let (finding, shown) = contract.finding(report, &self.seen());
        if contract.is_confirmed(&finding) {
            return Heard::Half(First { asked_at, finding, shown });
        }
        Heard::Fact(Input::Probed { op: op.planned.id.clone(), asked_at, finding, confirm: None, shown })
    }

    /// What both sources say. The moment is that of the first question, so *absent* is proof only if both were asked
    /// late enough.
    pub(crate) fn confirmed(
        &self,
        contract: &Contract,
        op: &Operation,
        first: First,
        report: &Report,
    ) -> Input {
        let (mut confirm, shown) = contract.confirming_finding(report, &self.seen());
        // What dependants see is the first source's; of the second only its word is kept.
        if let Finding::Applied { result } = &mut confirm {
            *result = Stored::Inline(Json::Null);
        }
        let First { asked_at, finding, shown: before } = first;
        let shown = Json::obj([("first", before), ("confirm", shown)]);
        Input::Probed { op: op.planned.id.clone(), asked_at, finding, confirm: Some(confirm), shown }
    }

    /// What the answer to the look before a send says.
    pub(crate) fn prechecked(&self, contract: &Contract, op: &Operation, report: &Report) -> Input {
        let (finding, look, shown) = contract.requirement(report, &self.seen());
        Input::Prechecked { op: op.planned.id.clone(), finding, look, shown }
    }

    /// What the answer to an attempt says.
    pub(crate) fn answered(
        &self,
        contract: &Contract,
        op: &Operation,
        attempt: u32,
        report: &Report,
    ) -> Input {
        let (outcome, shown) = contract.outcome(report, &self.seen());
        let (op, late_ms) = (op.planned.id.clone(), report.late_ms);
        let cost = contract.cost(report, &self.seen());
        Input::Answered { op, attempt, outcome, shown, late_ms, cost }
    }
}
