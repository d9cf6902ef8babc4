//! Everything that reaches the kernel from outside.
//!
//! Invariant: an input carries facts and resolved values; the kernel asks nobody.

use crate::{
    event::PlannedOperation,
    id::{OperationId, ReviewId, SessionId, StepName, TaskId},
    json::Json,
    outcome::{Finding, Look, Outcome, Source, Stored},
    review::{Decision, ReviewCause},
    time::{Generation, Millis, Now},
};
use alloc::{string::String, vec::Vec};

/// Time and chance, as arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ctx {
    /// The present.
    pub now: Now,
    /// A random number, for jitter; recorded only through its effect.
    pub draw: u32,
}

/// What a step turned out to be, once its expressions were evaluated.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolution {
    /// Its `if` was false.
    Skip {
        /// The condition, for people.
        cause: String,
    },
    /// It acts.
    Act {
        /// Id, key, hash, arguments.
        operation: PlannedOperation,
    },
    /// It acts through a tenant-scoped operation, a task of its own.
    Attach {
        /// The operation's task.
        to: TaskId,
        /// Its epoch.
        epoch: u32,
    },
    /// It acts once for each item.
    Each {
        /// Names of the items, in order.
        items: Vec<StepName>,
        /// The list.
        list: Stored,
    },
    /// It waits.
    Sleep {
        /// Until then.
        until: Millis,
    },
    /// Its expressions or arguments are refused; nothing is sent.
    Refuse {
        /// Stable code.
        code: String,
        /// What happened.
        cause: String,
        /// For a conflict: the differing fields.
        fields: Vec<String>,
    },
}

/// How a tenant-scoped operation came out, for those who wait for it.
#[derive(Clone, Debug, PartialEq)]
pub enum Settlement {
    /// It is applied.
    Applied {
        /// Its result.
        output: Stored,
        /// Its operation id.
        of: String,
        /// When it settled.
        at: Millis,
    },
    /// It is known not to have happened.
    Failed {
        /// Stable code.
        code: String,
        /// What happened.
        cause: String,
    },
    /// It was written off.
    WrittenOff,
}

/// An input.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A session took the task.
    Claimed {
        /// Who.
        session: SessionId,
        /// The new fencing token.
        generation: Generation,
    },
    /// Time has passed, or something changed: draw the consequences.
    Tick,
    /// A step's expressions were evaluated.
    Resolved {
        /// The step.
        step: StepName,
        /// What it turned out to be.
        resolution: Resolution,
    },
    /// A tenant-scoped operation that a step waits for has settled.
    AttachSettled {
        /// The step.
        step: StepName,
        /// How.
        settlement: Settlement,
    },
    /// The target's state was looked at before the first send.
    Prechecked {
        /// The operation.
        op: OperationId,
        /// What was found.
        finding: Finding,
        /// What that means for the send.
        look: Look,
        /// The raw answer, redacted and cut.
        shown: Json,
    },
    /// The next request, or look-up, would leave under this account.
    AccountSeen {
        /// The operation.
        op: OperationId,
        /// The label of the credential's account.
        account: String,
    },
    /// The next attempt is to be recorded.
    Begin {
        /// The operation.
        op: OperationId,
        /// The frozen request; at the first attempt.
        request: Option<Stored>,
        /// Milliseconds the owner's lease has left, less its margin.
        lease_left_ms: i64,
        /// The key of a grown key epoch, where refusals stick.
        next_key: String,
    },
    /// The request of an operation cannot even be written down; nothing of it can leave.
    CannotWrite {
        /// The operation.
        op: OperationId,
        /// Stable code.
        code: String,
        /// What stands in the way.
        cause: String,
        /// The arguments it is about.
        fields: Vec<String>,
    },
    /// An attempt ended.
    Answered {
        /// The operation.
        op: OperationId,
        /// The attempt.
        attempt: u32,
        /// What it shows.
        outcome: Outcome,
        /// The raw answer, redacted and cut.
        shown: Json,
        /// The first byte left so many milliseconds after `send_by`.
        late_ms: i64,
        /// What the answer says that it cost, in the contract's own unit.
        cost: i64,
    },
    /// The target was asked.
    Probed {
        /// The operation.
        op: OperationId,
        /// When the question left.
        asked_at: Millis,
        /// What it found.
        finding: Finding,
        /// What the confirming look-up found, where the contract asks for one.
        confirm: Option<Finding>,
        /// The raw answer, redacted and cut.
        shown: Json,
    },
    /// A fact from elsewhere.
    Evidence {
        /// The operation.
        op: OperationId,
        /// Who says so.
        source: Source,
        /// The attempt it speaks of.
        attempt: Option<u32>,
        /// What it says.
        outcome: Outcome,
        /// The raw fact, redacted and cut.
        shown: Json,
    },
    /// A person settles an operation without a review.
    Settle {
        /// The operation.
        op: OperationId,
        /// *It happened* or *it did not*.
        decision: Decision,
        /// Who.
        actor: String,
        /// Why.
        reason: String,
    },
    /// A person answers a review.
    Decide {
        /// The review.
        review: ReviewId,
        /// The fact or the order.
        decision: Decision,
        /// Who.
        actor: String,
        /// Why.
        reason: String,
        /// The version of the page it was read from; `None` only where no page was shown.
        page: Option<u64>,
    },
    /// The shell needs a person: a version is missing, or the task makes no progress.
    NeedPerson {
        /// Why.
        cause: ReviewCause,
    },
    /// Cancel.
    Cancel {
        /// Who.
        actor: String,
        /// Why.
        reason: String,
    },
    /// Pause.
    Pause {
        /// Who.
        actor: String,
        /// Why.
        reason: String,
    },
    /// Resume.
    Resume {
        /// Who.
        actor: String,
    },
    /// The store was adopted under a new epoch.
    Adopt {
        /// The new epoch.
        epoch: u32,
        /// When the copy was made, as far as is known.
        copied_at: Millis,
        /// Who.
        actor: String,
    },
}
