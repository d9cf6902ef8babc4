//! Commands: the verbs of operators and submitters, the same in-process, through the door and without an owner.

use crate::{
    trouble::Trouble,
    view::{clock::utc, timeline::text::decision_words},
};
use semel_kernel::{
    id::{OperationId, ReviewId, TaskId},
    json::Json,
    reject::Reject,
    review::Decision,
    task::Phase,
};
use serde::{Deserialize, Serialize};

/// A command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Who owns the store?
    Ping,
    /// Submit a task, or attach to the one with the same client id.
    Submit {
        /// The plan's self-contained document.
        document: Json,
        /// Checked inputs.
        inputs: Json,
        /// Whose task it is.
        tenant: String,
        /// What the submitter calls it; derived from name and inputs when absent.
        client_id: Option<String>,
        /// Mean it again, on purpose.
        new_intent: bool,
    },
    /// Cancel a task.
    Cancel {
        /// The task.
        task: TaskId,
        /// Who.
        actor: String,
        /// Why.
        reason: String,
    },
    /// Pause a task.
    Pause {
        /// The task.
        task: TaskId,
        /// Who.
        actor: String,
        /// Why.
        reason: String,
    },
    /// Resume a task.
    Resume {
        /// The task.
        task: TaskId,
        /// Who.
        actor: String,
    },
    /// Answer a review.
    Decide {
        /// The task.
        task: TaskId,
        /// The review.
        review: ReviewId,
        /// The fact or the order.
        decision: Decision,
        /// Who.
        actor: String,
        /// Why.
        reason: String,
        /// The version of the page it was read from.
        page: Option<u64>,
    },
    /// Settle an operation by a fact.
    Settle {
        /// The task.
        task: TaskId,
        /// The operation.
        op: OperationId,
        /// *It happened* or *it did not*.
        decision: Decision,
        /// Who.
        actor: String,
        /// Why.
        reason: String,
    },
    /// Ask the target now.
    Probe {
        /// The task.
        task: TaskId,
        /// The operation.
        op: OperationId,
    },
}

/// The answer to a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// The owner lives.
    Pong {
        /// Its process id.
        pid: u32,
        /// Its session.
        session: String,
        /// What keeps it from writing now.
        #[serde(default)]
        trouble: Option<Trouble>,
    },
    /// The task was created.
    Created {
        /// Its id.
        task: TaskId,
    },
    /// The task was there.
    Attached {
        /// Its id.
        task: TaskId,
        /// Its phase.
        phase: Phase,
    },
    /// Done; the task as it is now.
    Done {
        /// The task.
        task: TaskId,
        /// Its version.
        version: u64,
        /// Its phase.
        phase: Phase,
    },
    /// Refused; nothing was changed.
    Refused(Refused),
}

/// A refusal: a stable code, what happened, what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// The stable code.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub next: String,
    /// For a conflict: the differing fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// For a conflict: the task that stands in the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
}

impl Refused {
    /// A refusal.
    #[must_use]
    pub fn new(code: &str, message: impl Into<String>, next: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), next: next.into(), fields: Vec::new(), task: None }
    }
}

impl From<semel_ports::StoreError> for Refused {
    fn from(error: semel_ports::StoreError) -> Self {
        Self::new(error.code(), error.to_string(), error.next())
    }
}

impl From<Reject> for Refused {
    fn from(reject: Reject) -> Self {
        let next = format!("`semel explain {}` says what to do", reject.code());
        Self::new(reject.code(), words(&reject), next)
    }
}

/// Moments in words: the kernel has no calendar.
fn words(reject: &Reject) -> String {
    match reject {
        Reject::Decided { review, by, at, decision } => format!(
            "review `{review}` was decided before: {by} answered `{}` at {}",
            decision_words(decision),
            utc(*at)
        ),
        Reject::NotSettled { until } => format!(
            "`it did not` is not believed before {}: an earlier request may still be on its way",
            utc(*until)
        ),
        Reject::NoStep(_)
        | Reject::NoOperation(_)
        | Reject::NoReview(_)
        | Reject::StalePage { .. }
        | Reject::Illegal(_)
        | Reject::Ended(_)
        | Reject::Limit(_)
        | Reject::Corrupt(_) => reject.to_string(),
    }
}

impl From<semel_kernel::id::BadId> for Refused {
    fn from(bad: semel_kernel::id::BadId) -> Self {
        Self::new("SM1008", bad.to_string(), "choose another id")
    }
}
