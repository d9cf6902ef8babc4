//! The recovery package: everything a person needs to answer a review, on one page and as data (DESIGN section 9).
//!
//! Invariant: it holds no secret. Raw answers are kept redacted and cut by whoever recorded them, requests are shown
//! with the names of their open parts, and links lose their query.

mod advice;
pub mod choices;
mod effects;
mod markdown;
mod tried;

pub use advice::Advice;
pub use choices::Choice;
pub use effects::{Absent, Confirmed, Unknown};
pub use tried::Tried;

use super::{
    Rail,
    act::reason,
    clock::utc,
    command,
    timeline::{self, Line, text::decision_words},
};
use semel_kernel::{
    event::Recorded,
    hash::Hash,
    id::{ClientId, OperationId, ReviewId, StepName, TaskId, ToolName},
    oblige,
    operation::{Operation, Status},
    outcome::Stored,
    review::{Review, ReviewCause},
    step::StepState,
    task::{Order, Phase, Task},
    terms::Guarantee,
    time::{Millis, Now},
};
use semel_ports::request::HttpRequest;
use serde::Serialize;
use std::collections::BTreeMap;

/// The file that a review carries.
#[derive(Clone, Debug, Serialize)]
pub struct Package {
    /// Version of this form.
    pub v: u32,
    /// The moment for which everything below is said.
    pub at: Millis,
    /// The question, in a sentence.
    pub question: String,
    /// The review.
    pub review: Asked,
    /// The last checkpoint: what the task is and where it stands.
    pub checkpoint: Checkpoint,
    /// What is proven of the operation in question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rail: Option<Rail>,
    /// Effects proven to be there.
    pub confirmed: Vec<Confirmed>,
    /// Effects of which nothing is proven.
    pub unknown: Vec<Unknown>,
    /// Effects proven not to be there.
    pub absent: Vec<Absent>,
    /// What was already tried about it, with raw answers.
    pub tried: Vec<Tried>,
    /// The clocks that bind the answer.
    pub clocks: Clocks,
    /// The recommended next act.
    pub advice: Advice,
    /// Every answer, whether it would be taken now, and what would follow.
    pub choices: Vec<Choice>,
    /// Further commands: to ask the target now, and to look closer.
    pub commands: Vec<String>,
    /// Ids, keys and hashes of all operations.
    pub operations: Vec<OperationEntry>,
    /// The history, a line for each event.
    pub history: Vec<Line>,
}

/// The review itself.
#[derive(Clone, Debug, Serialize)]
pub struct Asked {
    /// Its id.
    pub id: ReviewId,
    /// The step, if it is about one.
    pub step: Option<StepName>,
    /// Why a person is asked.
    pub cause: ReviewCause,
    /// The same in words.
    pub because: String,
    /// When it was opened.
    pub opened_at: Millis,
    /// The version of this page; an answer read from an older page is refused.
    pub page: u64,
    /// Who has decided it, if anybody.
    pub decided_by: Option<String>,
    /// When it was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Millis>,
    /// The answer, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_as: Option<String>,
}

/// What the task is and where it stands.
#[derive(Clone, Debug, Serialize)]
pub struct Checkpoint {
    /// Its id.
    pub task: TaskId,
    /// What the submitter calls it.
    pub client_id: ClientId,
    /// Name of its plan.
    pub plan: String,
    /// Hash of its plan.
    pub plan_hash: Hash,
    /// Number of its last event.
    pub version: u64,
    /// Its phase.
    pub phase: Phase,
    /// Its fencing token, `epoch.counter`.
    pub generation: String,
    /// Its last recorded owner.
    pub session: Option<String>,
    /// Pinned versions.
    pub pins: BTreeMap<String, String>,
    /// Steps and their states.
    pub steps: Vec<(StepName, StepState)>,
    /// Attempts made, of all operations.
    pub attempts: u32,
    /// What holds the whole task: paused or cancelled by whom, or adopted from a copy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<String>,
}

/// The clocks that bind an answer; `None` where there is none of the kind.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Clocks {
    /// The moment from which *it did not* is believed, and *absent* is proof.
    pub settled_at: Option<Millis>,
    /// When the target forgets the key, less the safety margin.
    pub key_window_ends_at: Option<Millis>,
    /// The last moment at which a further attempt under this key may be sent; `None` as well where no answer to the
    /// review leads to one.
    pub resend_until: Option<Millis>,
    /// When the earlier attempts are dead on our side.
    pub attempts_dead_at: Option<Millis>,
    /// When an approval expires; approvals are not part of this version.
    pub approval_expires_at: Option<Millis>,
    /// The task's own deadline.
    pub deadline_at: Option<Millis>,
}

/// An operation's ids, keys and hashes.
#[derive(Clone, Debug, Serialize)]
pub struct OperationEntry {
    /// Readable id.
    pub id: OperationId,
    /// The step.
    pub step: StepName,
    /// The tool.
    pub tool: ToolName,
    /// The contract's hash.
    pub contract: Option<Hash>,
    /// What is promised.
    pub guarantee: Option<Guarantee>,
    /// The step's state.
    pub state: StepState,
    /// The ledger's status.
    pub status: Status,
    /// The key of the last attempt, or the planned one.
    pub key: String,
    /// Its key epoch.
    pub key_epoch: u32,
    /// SHA-256 over identity and material fields.
    pub request_hash: Hash,
    /// Attempts made.
    pub attempts: u32,
    /// ① to ⑦.
    pub rail: String,
    /// The frozen request, open parts by their names.
    pub request: Vec<String>,
}

impl Package {
    /// The package of a review of the task, from its state and its whole history.
    #[must_use]
    pub fn of(task: &Task, review: &Review, history: &[Recorded], now: Now) -> Self {
        let op = operation_of(task, review);
        Self {
            v: 1,
            at: now.at,
            question: review.question.clone(),
            review: asked(task, review),
            checkpoint: checkpoint(task),
            rail: op.map(|op| Rail::of(task, op)),
            confirmed: effects::confirmed(task),
            unknown: effects::unknown(task),
            absent: effects::absent(task),
            tried: tried::of(history, op.map(|o| &o.planned.id)),
            clocks: clocks(task, op, &review.cause, now),
            advice: advice::of(task, review, now),
            choices: choices::choices(task, review, now),
            commands: commands(task, op),
            operations: task.operations.values().map(|op| entry(task, op)).collect(),
            history: history.iter().map(timeline::line).collect(),
        }
    }
}

/// The operation that a review asks about.
fn operation_of<'a>(task: &'a Task, review: &Review) -> Option<&'a Operation> {
    task.steps.get(review.step.as_ref()?).and_then(|s| task.operation_of(s))
}

fn commands(task: &Task, op: Option<&Operation>) -> Vec<String> {
    let mut commands = Vec::new();
    if let Some(op) = op {
        let asks = task.terms(&op.planned).is_some_and(|t| t.probe.is_some());
        commands.extend(asks.then(|| command::op("probe", &op.planned.id)));
        commands.push(command::op("show", &op.planned.id));
    }
    commands.push(command::task("timeline", &task.id));
    commands.push(command::dry_run(&task.id));
    commands
}

fn asked(task: &Task, review: &Review) -> Asked {
    Asked {
        id: review.id.clone(),
        step: review.step.clone(),
        cause: review.cause.clone(),
        because: review.cause.words(),
        opened_at: review.opened_at,
        page: task.page(review),
        decided_by: review.decided.as_ref().map(|d| d.actor.clone()),
        decided_at: review.decided.as_ref().map(|d| d.at),
        decided_as: review.decided.as_ref().map(|d| decision_words(&d.decision)),
    }
}

fn checkpoint(task: &Task) -> Checkpoint {
    Checkpoint {
        task: task.id.clone(),
        client_id: task.client_id.clone(),
        plan: task.plan.name.clone(),
        plan_hash: task.plan.hash,
        version: task.version,
        phase: oblige::phase(task),
        generation: task.generation.to_string(),
        session: task.session.as_ref().map(ToString::to_string),
        pins: task.plan.pins.clone(),
        steps: task.steps_in_order().map(|s| (s.name.clone(), s.state)).collect(),
        attempts: task.operations.values().map(Operation::made).sum(),
        held: held(task),
    }
}

fn held(task: &Task) -> Vec<String> {
    let order =
        |what: &str, o: &Order| format!("{what} by {} at {}{}", o.actor, utc(o.at), reason(&o.reason));
    let cancelling = task.cancelling.as_ref().map(|o| order("being cancelled", o));
    let paused = task.paused.as_ref().map(|o| order("paused", o));
    let restored = task.restored.map(|r| format!("adopted from a copy made at {}", utc(r.copied_at)));
    [cancelling, paused, restored].into_iter().flatten().collect()
}

/// No answer to such a review leads to a further send under the key.
const fn ends_sending(cause: &ReviewCause) -> bool {
    match cause {
        ReviewCause::KeyWindowOver
        | ReviewCause::AccountChanged
        | ReviewCause::AttemptsExhausted
        | ReviewCause::CancelledWhileUnknown => true,
        ReviewCause::Blind
        | ReviewCause::ProbesExhausted
        | ReviewCause::Contradiction
        | ReviewCause::Budget { .. }
        | ReviewCause::Offline
        | ReviewCause::NoProgress { .. }
        | ReviewCause::VersionMissing { .. }
        | ReviewCause::Compensate => false,
    }
}

fn clocks(task: &Task, op: Option<&Operation>, cause: &ReviewCause, now: Now) -> Clocks {
    let deadline_at = task.plan.budget.deadline_ms.map(|ms| task.created_at.plus(ms));
    let Some((op, terms)) = op.and_then(|op| task.terms(&op.planned).map(|t| (op, t))) else {
        return Clocks { deadline_at, ..Clocks::default() };
    };
    let window = terms.key_window_ms.map(|ms| ms - terms.key_margin_ms());
    Clocks {
        settled_at: Some(op.settled_at(terms, now)),
        key_window_ends_at: window.and_then(|ms| op.key_used_since().map(|since| since.plus(ms))),
        resend_until: op.resend_until(terms, now).filter(|_| !ends_sending(cause)),
        attempts_dead_at: op.dead_at(),
        approval_expires_at: None,
        deadline_at,
    }
}

fn entry(task: &Task, op: &Operation) -> OperationEntry {
    let terms = task.terms(&op.planned);
    let last_key = op.attempts.iter().rev().find(|a| a.n > 0).map(|a| a.key.clone());
    OperationEntry {
        id: op.planned.id.clone(),
        step: op.step.clone(),
        tool: op.planned.tool.clone(),
        contract: terms.map(|t| t.contract),
        guarantee: terms.map(semel_kernel::terms::Terms::guarantee),
        state: task.steps.get(&op.step).map_or(StepState::Planned, |s| s.state),
        status: op.status(),
        key: last_key.unwrap_or_else(|| op.planned.key.clone()),
        key_epoch: op.key_epoch,
        request_hash: op.planned.request_hash,
        attempts: op.made(),
        rail: Rail::of(task, op).strip(),
        request: op.request.as_ref().map(request_lines).unwrap_or_default(),
    }
}

/// The frozen request as it may be shown; a form that is not known is not shown, so that nothing leaks by it.
fn request_lines(stored: &Stored) -> Vec<String> {
    let json = match stored {
        Stored::Inline(json) => json,
        Stored::Artifact(body) => return vec![format!("{} bytes, kept as {}", body.bytes, body.hash)],
    };
    let Ok(request) = serde_json::from_str::<HttpRequest>(&json.canonical()) else {
        return vec!["a request of a form that is not shown here".to_owned()];
    };
    let mut lines = vec![format!("{} {}", request.method, request.url.shown())];
    lines.extend(request.headers.iter().map(|(name, value)| format!("{name}: {}", value.shown())));
    lines.extend(request.body.as_ref().map(|body| body.shown()));
    lines
}
