//! Legal turns: a tiny plan of two blind steps, and what may happen to it next.
//!
//! Invariant: every event comes out of the kernel's own decisions, so a store is never shown a history that could not
//! be.

use semel_kernel::{
    decide::{Draft, Submission, submit},
    event::PlannedOperation,
    hash::Hash,
    id::{ClientId, Intent, OperationId, SessionId, StepName, TaskId, Tenant, ToolName},
    input::{Ctx, Input, Resolution},
    json::Json,
    limit,
    oblige::{Obligation, obligations},
    outcome::{Outcome, Source, Stored, UnknownCause},
    plan::{Budget, Plan, PlanStep, StepKind},
    review::Decision,
    task::Task,
    terms::Terms,
    time::{Generation, Now},
};

/// The tenant of every order, unless a check says otherwise.
pub(super) const ACME: &str = "acme";

/// What is created.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) task: TaskId,
    pub(super) tenant: Tenant,
    pub(super) client: ClientId,
    pub(super) name: String,
    pub(super) inputs: Json,
    /// Milliseconds that an attempt may take.
    pub(super) timeout_ms: i64,
}

impl Order {
    /// The n-th order of the tenant `acme`.
    pub(super) fn nth(n: u32) -> Self {
        Self {
            task: TaskId::parse(&format!("tsk_{n:04}")).unwrap(),
            tenant: Tenant::parse(ACME).unwrap(),
            client: ClientId::parse(&format!("order-{n}")).unwrap(),
            name: "two-mails".to_owned(),
            inputs: Json::obj([("n", Json::from(n))]),
            timeout_ms: limit::TIMEOUT_MS,
        }
    }

    /// Digest of plan and inputs, as a caller would make it.
    pub(super) fn digest(&self) -> Hash {
        Hash::of_parts(&[self.name.as_bytes(), self.inputs.canonical().as_bytes()])
    }

    /// The first turn in the making.
    pub(super) fn submit(&self, epoch: u32, now: Now) -> Draft {
        let submission = Submission {
            task: self.task.clone(),
            tenant: self.tenant.clone(),
            client_id: self.client.clone(),
            plan: plan(&self.name, self.timeout_ms),
            inputs: Stored::Inline(self.inputs.clone()),
            epoch,
            shared_epoch: 0,
            restored: None,
        };
        submit(submission, ctx(now)).unwrap()
    }
}

pub(super) fn ctx(now: Now) -> Ctx {
    Ctx { now, draw: 0 }
}

fn plan(name: &str, timeout_ms: i64) -> Plan {
    let tool = ToolName::parse("mail.send").unwrap();
    let step = |name: &str, needs: &[&str]| PlanStep {
        name: StepName::parse(name).unwrap(),
        needs: needs.iter().map(|n| StepName::parse(n).unwrap()).collect(),
        kind: StepKind::Act(tool.clone()),
    };
    Plan {
        name: name.to_owned(),
        hash: Hash::of(name.as_bytes()),
        steps: vec![step("first", &[]), step("second", &["first"])],
        tools: [(tool.clone(), Terms { timeout_ms, ..Terms::new(tool, Hash::of(b"contract")) })].into(),
        budget: Budget::default(),
        pins: [].into(),
    }
}

/// How an attempt comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Applied,
    Refused,
    Busy,
    Lost,
}

impl Fate {
    fn outcome(self) -> Outcome {
        let refusal = |retryable| Outcome::NotApplied {
            retryable,
            sent: true,
            cause: "the target said no".to_owned(),
            retry_after_ms: None,
            refusal: None,
        };
        match self {
            Self::Applied => applied("sent"),
            Self::Refused => refusal(false),
            Self::Busy => refusal(true),
            Self::Lost => Outcome::unknown(UnknownCause::Timeout),
        }
    }
}

fn applied(text: &str) -> Outcome {
    Outcome::Applied { result: Stored::Inline(Json::str(text)), replayed: false, truncated: false }
}

/// What the owner does next about a task; time alone passes when nothing else is owed.
fn owed(task: &Task, now: Now, fate: Fate) -> Input {
    let first = obligations(task, now).into_iter().find_map(|owed| match owed {
        Obligation::Resolve(step) => {
            let operation = planned(task, &step);
            Some(Input::Resolved { step, resolution: Resolution::Act { operation } })
        }
        Obligation::Begin { op, .. } => Some(begin(task, op)),
        Obligation::Answer(op) => Some(answer(task, op, fate)),
        Obligation::Precheck(_)
        | Obligation::Probe(_)
        | Obligation::Watch { .. }
        | Obligation::WaitUntil(_)
        | Obligation::Person => None,
    });
    first.unwrap_or(Input::Tick)
}

fn planned(task: &Task, step: &StepName) -> PlannedOperation {
    let target = format!("{}@example_com", step.as_str());
    let intent = Intent { target: &target, version: "1", intent: 1 };
    let id = OperationId::build(&task.id, step, &intent).unwrap();
    PlannedOperation {
        tool: ToolName::parse("mail.send").unwrap(),
        key: semel_kernel::hash::operation_key(task.tenant.as_str(), id.as_str(), 0),
        request_hash: Hash::of(id.as_str().as_bytes()),
        id,
        target,
        version: "1".to_owned(),
        intent: 1,
        key_epoch: 0,
        fields: [].into(),
        arguments: Stored::Inline(Json::Null),
    }
}

fn begin(task: &Task, op: OperationId) -> Input {
    let first = task.operations.get(&op).is_some_and(|o| o.request.is_none());
    let request = first.then(|| Stored::Inline(Json::str("the frozen request")));
    Input::Begin { op, request, lease_left_ms: 5_000, next_key: "next".to_owned() }
}

fn answer(task: &Task, op: OperationId, fate: Fate) -> Input {
    let attempt = task.operations.get(&op).map_or(0, semel_kernel::operation::Operation::made);
    Input::Answered { op, attempt, outcome: fate.outcome(), shown: Json::Null, late_ms: 0, cost: 0 }
}

/// The turn of an owner that takes a task up and comes no further.
pub(super) fn take_up(task: Task, (session, generation): (&SessionId, Generation), now: Now) -> Draft {
    let mut draft = Draft::on(task);
    draft.take(Input::Claimed { session: session.clone(), generation }, ctx(now)).unwrap();
    draft
}

/// The owner's next turn in the making; it records the owner first where that is new. `None` when nothing changes.
pub(super) fn work(task: Task, owner: (&SessionId, Generation), now: Now, fate: Fate) -> Option<Draft> {
    let mut draft = Draft::on(task);
    let (session, generation) = (owner.0.clone(), owner.1);
    if generation > draft.task().generation {
        draft.take(Input::Claimed { session, generation }, ctx(now)).ok()?;
    }
    let input = owed(draft.task(), now, fate);
    draft.take(input, ctx(now)).ok()?;
    (!draft.is_empty()).then_some(draft)
}

/// What somebody who is not the owner may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Pause,
    Resume,
    Cancel,
    Receipt,
    LateNo,
    Settle,
    WriteOff,
}

impl Word {
    pub(super) const ALL: [Self; 7] =
        [Self::Pause, Self::Resume, Self::Cancel, Self::Receipt, Self::LateNo, Self::Settle, Self::WriteOff];
}

/// That turn in the making; `None` when it changes nothing or is refused.
pub(super) fn say(task: Task, word: Word, now: Now) -> Option<Draft> {
    let input = said(&task, word)?;
    let mut draft = Draft::on(task);
    draft.take(input, ctx(now)).ok()?;
    (!draft.is_empty()).then_some(draft)
}

fn said(task: &Task, word: Word) -> Option<Input> {
    let (actor, reason) = ("ann".to_owned(), "as asked".to_owned());
    let sent = task.operations.values().rfind(|o| o.made() > 0);
    match word {
        Word::Pause => Some(Input::Pause { actor, reason }),
        Word::Resume => Some(Input::Resume { actor }),
        Word::Cancel => Some(Input::Cancel { actor, reason }),
        Word::Receipt => sent.map(|o| evidence(o.planned.id.clone(), None, applied("receipt"))),
        Word::LateNo => sent.map(|o| evidence(o.planned.id.clone(), Some(o.made()), Fate::Busy.outcome())),
        Word::Settle => {
            let happened = Decision::ItHappened { reference: "m-1".to_owned(), result: Json::Null };
            decide(task, happened, actor, reason)
        }
        Word::WriteOff => decide(task, Decision::WriteOff, actor, reason),
    }
}

fn evidence(op: OperationId, attempt: Option<u32>, outcome: Outcome) -> Input {
    Input::Evidence { op, source: Source::Receipt, attempt, outcome, shown: Json::Null }
}

fn decide(task: &Task, decision: Decision, actor: String, reason: String) -> Option<Input> {
    let review = task.open_reviews().next()?.id.clone();
    Some(Input::Decide { review, decision, actor, reason, page: None })
}
