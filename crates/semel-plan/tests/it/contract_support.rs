//! Contracts and answers for the tests of contracts and judgements.

use semel_kernel::{
    id::{StepName, TaskId, Tenant},
    json::Json,
    outcome::UnknownCause,
};
use semel_plan::{
    contract::{Call, Contract, Refusal, Seen},
    problem::{Problem, Problems},
    yaml,
};
use semel_ports::connector::{Answer, Report, Transport};

/// A contract, or all that is wrong with it.
pub(crate) fn read(text: &str) -> Result<Contract, Vec<Problem>> {
    let mut problems = Problems::new();
    let node = yaml::parse("pay.yaml", text, &mut problems).expect("the test's YAML is YAML");
    match Contract::read(&node, "pay.yaml", &mut problems) {
        Some(contract) if !problems.has_errors() => Ok(contract),
        _ => Err(problems.into_vec()),
    }
}

pub(crate) fn contract(text: &str) -> Contract {
    read(text).unwrap_or_else(|problems| panic!("{}", tell(&problems)))
}

pub(crate) fn tell(problems: &[Problem]) -> String {
    problems.iter().map(|p| format!("{p}\n")).collect()
}

/// A keyed POST; `more` is appended.
pub(crate) fn keyed(more: &str) -> Contract {
    contract(&format!(
        "tool: pay\neffect: keyed\nkey: [order]\nkey_window: 24h\nhttp: {{ method: POST, url: https://pay.example/v1/charges }}\n{more}"
    ))
}

pub(crate) fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

/// A call of step `charge` in one task.
pub(crate) struct Caller {
    tenant: Tenant,
    task: TaskId,
    step: StepName,
}

impl Caller {
    pub(crate) fn new() -> Caller {
        Caller {
            tenant: Tenant::parse("default").unwrap(),
            task: TaskId::parse("tsk_1").unwrap(),
            step: StepName::parse("charge").unwrap(),
        }
    }

    pub(crate) fn call<'a>(&'a self, args: &'a Json) -> Call<'a> {
        let (tenant, task, step) = (&self.tenant, &self.task, &self.step);
        Call { tenant, task, step, version: "1", intent: 1, key_epoch: 0, args }
    }
}

pub(crate) fn refused(contract: &Contract, args: &Json) -> Refusal {
    contract.operation(&Caller::new().call(args)).expect_err("the call is refused")
}

pub(crate) fn answered(status: u16, headers: &[(&str, &str)], body: &str) -> Report {
    let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let answer = Answer { status, headers, body: body.as_bytes().to_vec(), truncated: false };
    Report::new(Transport::Answered(answer), 100, 0)
}

/// A full answer with a JSON body.
pub(crate) fn answer(status: u16, body: &str) -> Report {
    answered(status, &[("Content-Type", "application/json")], body)
}

pub(crate) fn lost(cause: UnknownCause) -> Report {
    Report::new(Transport::Lost { cause, detail: "reset".to_owned() }, 100, 0)
}

pub(crate) fn not_sent() -> Report {
    Report::not_sent("refused".to_owned())
}

pub(crate) fn seen(args: &Json) -> Seen<'_> {
    Seen { args, key: "k1", operation: "tsk_1/charge/o1@1", task: "tsk_1", handle: None }
}
