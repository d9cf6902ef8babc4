//! Projections: what tables show. A function of the folded task, written in the same transaction as the events.
//!
//! Invariant: a stored row equals the row computed from `fold(events)`; a test and `semel db verify` hold it to that.
//! Coordination (session, generation, due time, claims) is not part of it.

use semel_kernel::{
    id::{ClientId, OperationId, ReviewId, StepName, TaskId, Tenant, ToolName},
    oblige,
    operation::{Operation, Status},
    review::Review,
    step::StepState,
    task::{Phase, Task},
    terms::Guarantee,
    time::Millis,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A row of the task table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRow {
    /// Its id.
    pub id: TaskId,
    /// Whose it is.
    pub tenant: Tenant,
    /// What the submitter calls it.
    pub client_id: ClientId,
    /// Name of its plan.
    pub name: String,
    /// Phase as of its last event.
    pub phase: Phase,
    /// Number of its last event.
    pub version: u64,
    /// Steps that are settled.
    pub settled: u32,
    /// Steps in all.
    pub steps: u32,
    /// Operations unknown, written-off ones apart.
    pub unknown: u32,
    /// Steps that are unknown for ever.
    pub written_off: u32,
    /// Open reviews.
    pub reviews: u32,
    /// For FAILED: the stable code.
    pub code: String,
    /// It is paused.
    pub paused: bool,
    /// It is being cancelled.
    pub cancelling: bool,
    /// When it was accepted.
    pub created_at: Millis,
    /// When its last event was recorded.
    pub updated_at: Millis,
}

/// A row of the operation table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationRow {
    /// Readable id.
    pub id: OperationId,
    /// The task.
    pub task: TaskId,
    /// The step.
    pub step: StepName,
    /// The tool.
    pub tool: ToolName,
    /// Identity fields, encoded and joined.
    pub target: String,
    /// The key sent to the target.
    pub key: String,
    /// `sha256:…` over identity and material fields.
    pub request_hash: String,
    /// The ledger's status.
    pub status: Status,
    /// The step's state.
    pub state: StepState,
    /// It is unknown for ever.
    pub written_off: bool,
    /// What is promised.
    pub guarantee: Guarantee,
    /// Attempts made.
    pub attempts: u32,
    /// When its step last changed.
    pub changed_at: Millis,
}

/// A row of the review table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewRow {
    /// Its id.
    pub id: ReviewId,
    /// The task.
    pub task: TaskId,
    /// The step, if it is about one.
    pub step: Option<StepName>,
    /// Why, in words.
    pub cause: String,
    /// The question.
    pub question: String,
    /// When it was opened.
    pub opened_at: Millis,
    /// When it was decided.
    pub decided_at: Option<Millis>,
    /// By whom.
    pub decided_by: Option<String>,
}

/// All rows that a turn writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    /// The task's row.
    pub task: TaskRow,
    /// Rows of operations that changed.
    pub operations: Vec<OperationRow>,
    /// All of the task's reviews.
    pub reviews: Vec<ReviewRow>,
}

/// The rows of a task that changed after version `base`; all of them for 0.
#[must_use]
pub fn of(task: &Task, base: u64) -> Projection {
    let touched = task.steps.values().filter(|s| s.touched > base);
    let changed: BTreeSet<&OperationId> = touched.filter_map(|s| s.operation.as_ref()).collect();
    let changed = changed.into_iter().filter_map(|id| task.operations.get(id));
    Projection {
        task: task_row(task),
        operations: changed.filter_map(|op| operation_row(task, op)).collect(),
        reviews: task.reviews.iter().map(|r| review_row(task, r)).collect(),
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn task_row(task: &Task) -> TaskRow {
    TaskRow {
        id: task.id.clone(),
        tenant: task.tenant.clone(),
        client_id: task.client_id.clone(),
        name: task.plan.name.clone(),
        phase: oblige::phase(task),
        version: task.version,
        settled: count(task.steps.values().filter(|s| s.is_settled()).count()),
        steps: count(task.steps.len()),
        unknown: count(task.unknown_operations().count()),
        written_off: count(task.written_off().len()),
        reviews: count(task.open_reviews().count()),
        code: task.end.as_ref().map(|e| e.code.clone()).unwrap_or_default(),
        paused: task.paused.is_some(),
        cancelling: task.cancelling.is_some(),
        created_at: task.created_at,
        updated_at: task.updated_at,
    }
}

fn operation_row(task: &Task, op: &Operation) -> Option<OperationRow> {
    let step = task.steps.get(&op.step)?;
    Some(OperationRow {
        id: op.planned.id.clone(),
        task: task.id.clone(),
        step: op.step.clone(),
        tool: op.planned.tool.clone(),
        target: op.planned.target.clone(),
        key: op.planned.key.clone(),
        request_hash: op.planned.request_hash.to_string(),
        status: op.status(),
        state: step.state,
        written_off: step.written_off,
        guarantee: task.terms(&op.planned)?.guarantee(),
        attempts: op.made(),
        changed_at: step.changed_at,
    })
}

fn review_row(task: &Task, review: &Review) -> ReviewRow {
    ReviewRow {
        id: review.id.clone(),
        task: task.id.clone(),
        step: review.step.clone(),
        cause: review.cause.words(),
        question: review.question.clone(),
        opened_at: review.opened_at,
        decided_at: review.decided.as_ref().map(|d| d.at),
        decided_by: review.decided.as_ref().map(|d| d.actor.clone()),
    }
}
