//! What a machine wants done, and what was done: plain data, so that a simulator can carry it out as well.

use semel_kernel::{
    hash::Hash,
    id::{OperationId, StepName, TaskId},
    input::{Input, Settlement},
    json::Json,
    task::Task,
    time::{Generation, Millis},
};
use semel_plan::{contract::Refusal, resolve::SharedCall};
use semel_ports::{CallPermit, CommitError, Created, Creation, Question, Receipt, Report, Turn};

/// Which question is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asking {
    /// The target's state before the first send.
    Precheck,
    /// Whether it happened.
    Probe,
    /// Whether it happened, of a second source that must say the same as the first.
    Confirm,
}

/// What the machine wants done.
#[derive(Debug)]
pub enum Io {
    /// Create the task.
    Create(Box<Creation>),
    /// Commit a turn.
    Commit(Box<Turn>),
    /// Load the task again: somebody else wrote to it.
    Reload,
    /// Make a physical request.
    Send(CallPermit),
    /// Ask the target.
    Ask {
        /// The operation.
        op: OperationId,
        /// Which question.
        asking: Asking,
        /// The request.
        question: Box<Question>,
    },
    /// Read a body from the artifact store.
    Fetch(Hash),
    /// Create the task of a tenant-scoped operation if it is absent, or find it.
    Share {
        /// The step that needs it.
        step: StepName,
        /// The call.
        call: Box<SharedCall>,
    },
    /// Tell when another task has settled, or after a while.
    Watch {
        /// The step that waits.
        step: StepName,
        /// The other task.
        task: TaskId,
    },
    /// Look again at that moment.
    WakeAt(Millis),
    /// Give the task back without a turn, due again then.
    Release {
        /// Under which token.
        generation: Generation,
        /// The version that the machine has seen; a task that has moved on is due at once.
        version: u64,
        /// When it is due again.
        due: Option<Millis>,
    },
    /// File facts as evidence: this owner was fenced.
    File(Vec<Input>),
    /// This owner has nothing more to do.
    Stop,
}

/// What the artifact store says of a body.
#[derive(Debug)]
pub enum Body {
    /// Here it is.
    There(Json),
    /// It is not there, or is not JSON.
    Missing,
    /// The store cannot say now.
    NotNow,
}

/// What was done.
#[derive(Debug)]
pub enum Completion {
    /// The task was created, or was there.
    Created(Result<Created, CommitError>),
    /// A turn was committed, or not.
    Committed(Result<Receipt, CommitError>),
    /// The task was loaded again.
    Loaded(Box<Task>),
    /// A physical request has ended.
    Answered {
        /// The operation.
        op: OperationId,
        /// The attempt.
        attempt: u32,
        /// What was seen.
        report: Report,
    },
    /// A question was answered.
    Asked {
        /// The operation.
        op: OperationId,
        /// Which question.
        asking: Asking,
        /// When it left, in store time.
        asked_at: Millis,
        /// What was seen.
        report: Report,
    },
    /// A body was read.
    Fetched {
        /// Its hash.
        hash: Hash,
        /// What was read.
        body: Body,
    },
    /// The tenant-scoped operation's task is known.
    Shared {
        /// The step.
        step: StepName,
        /// The task and its epoch, or the refusal; `None` when it could not be had now.
        result: Option<Result<(TaskId, u32), Refusal>>,
    },
    /// Another task was looked at.
    Watched {
        /// The step that waits.
        step: StepName,
        /// How it settled, if it has.
        settlement: Option<Settlement>,
    },
    /// Time has passed.
    Tick,
    /// Somebody else wrote to the task.
    Nudged,
    /// The process drains: begin nothing more.
    Drain,
}
