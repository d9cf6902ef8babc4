//! Events: the truth (DESIGN section 8). Everything shown is a fold of these.
//!
//! Invariant: an event says what became known, with all that is needed to fold it; folding needs nothing else. The
//! forms here are the stored forms of version [`SCHEMA`]; an older stored form is upcast as JSON before it is read
//! (ADR 3), so a variant or field is added, never renamed.

use crate::{
    hash::Hash,
    id::{ClientId, OperationId, ReviewId, SessionId, StepName, TaskId, Tenant, ToolName},
    json::Json,
    outcome::{ArtifactRef, Finding, Outcome, RefusalKind, Source, Stored},
    plan::Plan,
    review::{Decision, ReviewCause},
    task::Restored,
    time::{Generation, Millis},
};
use alloc::{collections::BTreeMap, string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// Version of the stored event and checkpoint forms.
pub const SCHEMA: u32 = 1;

/// One operation as it was planned; never re-derived later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedOperation {
    /// Readable id.
    pub id: OperationId,
    /// The tool.
    pub tool: ToolName,
    /// Identity fields, joined.
    pub target: String,
    /// Business version.
    pub version: String,
    /// 1, or the n-th time on purpose.
    pub intent: u32,
    /// The key sent to the target.
    pub key: String,
    /// Grows only where refusals stick to the key.
    pub key_epoch: u32,
    /// SHA-256 over identity and material fields.
    pub request_hash: Hash,
    /// Short digest of each material field, to name the differing ones later.
    pub fields: BTreeMap<String, String>,
    /// The arguments.
    pub arguments: Stored,
}

/// How a step came to be committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum Proof {
    /// The answer of an attempt.
    Answer {
        /// Its number.
        attempt: u32,
    },
    /// A look-up at the target.
    Probe,
    /// An authenticated receipt or an answer that came late.
    Evidence,
    /// A person said so.
    Person {
        /// Who.
        actor: String,
    },
    /// The operation of another step or task: its answer, marked as a replay.
    Replay {
        /// Whose.
        of: String,
        /// When that was settled.
        at: Millis,
    },
    /// A timer fired.
    Timer,
    /// All items of an `each` are settled.
    Items,
}

/// For natural effects: whether the state that holds is proven to be our doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Authorship {
    /// Our own request was answered.
    Ours,
    /// The state holds; who set it is not proven. Never undone automatically.
    Unproven,
}

/// Why an attempt is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Nothing was sent before.
    First,
    /// All earlier attempts are proven not applied.
    Retry,
    /// The target dedupes: same request, same key.
    SameKey,
    /// Setting it twice is harmless, or it changes nothing.
    Harmless,
    /// The owner of the contract accepts a duplicate.
    AcceptedDuplicate,
}

pub(crate) const fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_true(flag: &bool) -> bool {
    *flag
}

/// What happened. Past tense; the names are DESIGN's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Event {
    /// The task was accepted.
    TaskCreated {
        /// Its id.
        task: TaskId,
        /// Whose it is.
        tenant: Tenant,
        /// What the submitter calls it.
        client_id: ClientId,
        /// The plan: names, order, terms, pins.
        plan: Plan,
        /// The inputs.
        inputs: Stored,
        /// Epoch of the store.
        epoch: u32,
        /// Epoch of a tenant-scoped operation; 0 for other tasks.
        #[serde(default)]
        shared_epoch: u32,
        /// The restore that the store has been through: the original may have run this very task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restored: Option<Restored>,
    },
    /// A session owns the task from here; gaps in the counter are legal.
    LeaseAcquired {
        /// Who.
        session: SessionId,
        /// Under which fencing token.
        generation: Generation,
    },
    /// Open attempts of an older generation were found.
    RecoveryStarted {
        /// The new owner's token.
        generation: Generation,
        /// Steps found STARTED or UNKNOWN.
        open: Vec<StepName>,
    },
    /// Each of them is settled, or in review.
    RecoveryFinished {
        /// Steps that were settled.
        settled: Vec<StepName>,
        /// Steps that wait for a person.
        in_review: Vec<StepName>,
    },
    /// `each` has read its list.
    StepExpanded {
        /// The step.
        step: StepName,
        /// Names of its items, in order.
        items: Vec<StepName>,
        /// The list.
        list: Stored,
    },
    /// The step is going to act; id, key and hash are fixed from here.
    StepPlanned {
        /// The step.
        step: StepName,
        /// Its operation.
        operation: PlannedOperation,
        /// An equal call of this task, whose answer this step gets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        same_as: Option<OperationId>,
    },
    /// The step waits for a tenant-scoped operation, a task of its own.
    StepAttached {
        /// The step.
        step: StepName,
        /// The operation's task.
        to: TaskId,
        /// Its epoch.
        epoch: u32,
    },
    /// Its `if` was false; nothing was ever intended.
    StepSkipped {
        /// The step.
        step: StepName,
        /// Why, for people.
        cause: String,
    },
    /// The target's state was looked at before the first send.
    PrecheckAnswered {
        /// The operation.
        op: OperationId,
        /// What was found.
        finding: Finding,
        /// Whether `require` holds.
        holds: bool,
        /// Whether the target answered at all; silence says nothing about its state.
        #[serde(default = "yes", skip_serializing_if = "is_true")]
        answered: bool,
        /// Which of the four it is, where `require` does not hold.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refusal: Option<RefusalKind>,
        /// The version that the request will name as If-Match.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tag: Option<String>,
        /// The raw answer, redacted and cut.
        shown: Json,
    },
    /// The account under which the next request, or look-up, leaves: the first one pins it, another one means that the
    /// target no longer knows our key.
    AccountSeen {
        /// The operation.
        op: OperationId,
        /// The label of the credential's account.
        account: String,
    },
    /// An attempt may leave. Durable before its first byte.
    StepStarted {
        /// The step.
        step: StepName,
        /// The operation.
        op: OperationId,
        /// Attempt number, from 1, never used again.
        attempt: u32,
        /// Why this attempt is made.
        why: Why,
        /// Token of the owner.
        generation: Generation,
        /// The first byte leaves before this moment, or never.
        send_by: Millis,
        /// Milliseconds that the attempt may take after `send_by`.
        timeout_ms: i64,
        /// Key epoch of this attempt.
        key_epoch: u32,
        /// The key of this attempt.
        key: String,
        /// The frozen request; at the first attempt only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<Stored>,
    },
    /// An attempt was answered.
    AttemptAnswered {
        /// The operation.
        op: OperationId,
        /// The attempt.
        attempt: u32,
        /// Applied, not applied, or a contradiction.
        outcome: Outcome,
        /// The raw answer, redacted and cut.
        shown: Json,
    },
    /// An attempt ended without proof. Not a failure.
    AttemptUnknown {
        /// The operation.
        op: OperationId,
        /// The attempt.
        attempt: u32,
        /// Unknown, with its cause.
        outcome: Outcome,
        /// The raw answer, redacted and cut.
        shown: Json,
    },
    /// The target works on it.
    AttemptPending {
        /// The operation.
        op: OperationId,
        /// The attempt.
        attempt: u32,
        /// Pending, with its handle.
        outcome: Outcome,
        /// The raw answer, redacted and cut.
        shown: Json,
    },
    /// The first byte left after `send_by`: the process was paused.
    SentLate {
        /// The operation.
        op: OperationId,
        /// The attempt.
        attempt: u32,
        /// Milliseconds of lateness; the attempt is dead so much later.
        late_ms: i64,
    },
    /// The answer of an attempt says what it cost.
    CostCounted {
        /// The operation.
        op: OperationId,
        /// The attempt.
        attempt: u32,
        /// In the contract's own unit, beside what each attempt costs anyway.
        cost: i64,
    },
    /// The target was asked.
    ProbeAnswered {
        /// The operation.
        op: OperationId,
        /// When the question left.
        asked_at: Millis,
        /// What it found; with a confirming look-up, what both together show.
        finding: Finding,
        /// What the confirming look-up found.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        confirm: Option<Finding>,
        /// Asked after the settled moment with older generations fenced, so that *absent* is proof.
        settled: bool,
        /// The raw answer, redacted and cut.
        shown: Json,
    },
    /// A fact from elsewhere: a late answer, a receipt, a person.
    EvidenceAdded {
        /// The operation.
        op: OperationId,
        /// Who says so.
        source: Source,
        /// The attempt it speaks of, if it does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<u32>,
        /// What it says.
        outcome: Outcome,
        /// The raw fact, redacted and cut.
        shown: Json,
        /// It contradicts the record: a suspected duplicate, or a settled step that was not.
        contradicts: bool,
    },
    /// A body went to the artifact store.
    ArtifactCreated {
        /// Where.
        artifact: ArtifactRef,
    },
    /// The effect is proven.
    StepCommitted {
        /// The step.
        step: StepName,
        /// How.
        proof: Proof,
        /// For natural effects: whose doing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        authorship: Option<Authorship>,
        /// What dependants see.
        output: Stored,
    },
    /// The step is known not to have happened, and will not be tried again.
    StepFailed {
        /// The step.
        step: StepName,
        /// Stable code.
        code: String,
        /// What happened.
        cause: String,
        /// For a conflict: the differing fields.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        fields: Vec<String>,
        /// Which of the four it is, where the target's state does not allow it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refusal: Option<RefusalKind>,
    },
    /// It stays unknown for ever: a person said so, or the contract's owner accepts the loss.
    StepWrittenOff {
        /// The step.
        step: StepName,
        /// Who.
        by: String,
    },
    /// The next attempt waits.
    RetryScheduled {
        /// The operation.
        op: OperationId,
        /// Until when.
        at: Millis,
        /// Why.
        cause: String,
    },
    /// A timer was set for a `sleep` step.
    TimerSet {
        /// The step.
        step: StepName,
        /// When it fires.
        at: Millis,
    },
    /// It fired; the step is committed by it.
    TimerFired {
        /// The step.
        step: StepName,
    },
    /// Only a person can go on.
    ReviewOpened {
        /// Its id.
        review: ReviewId,
        /// Why.
        cause: ReviewCause,
        /// The step, if it is about one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<StepName>,
        /// The question, in a sentence.
        question: String,
    },
    /// A person answered.
    ReviewDecided {
        /// Its id.
        review: ReviewId,
        /// The fact or the order.
        decision: Decision,
        /// Who.
        actor: String,
        /// Why.
        reason: String,
    },
    /// Nothing new starts; what is in flight is settled.
    CancelRequested {
        /// Who.
        actor: String,
        /// Why.
        reason: String,
    },
    /// Nothing new starts until it is resumed.
    Paused {
        /// Who.
        actor: String,
        /// Why.
        reason: String,
    },
    /// The pause, or a hold after a restore, is over.
    Resumed {
        /// Who.
        actor: String,
    },
    /// A restored or copied store was adopted under a new epoch; open operations may have been sent by the original.
    SnapshotAdopted {
        /// The new epoch.
        epoch: u32,
        /// When the copy was made, as far as is known.
        copied_at: Millis,
        /// Who adopted it.
        actor: String,
    },
    /// All steps are settled; none failed.
    TaskCompleted {
        /// Steps written off: unknown for ever.
        written_off: Vec<StepName>,
    },
    /// At least one step is known to have failed, and nothing is open.
    TaskFailed {
        /// The first failed step.
        step: StepName,
        /// Its code.
        code: String,
        /// Steps written off: unknown for ever.
        written_off: Vec<StepName>,
    },
    /// Cancelled; what was in flight is settled.
    TaskCancelled {
        /// Steps written off: unknown for ever.
        written_off: Vec<StepName>,
    },
}

/// An event with its place in the history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// 1, 2, 3 … in its task.
    pub seq: u64,
    /// Store time of the turn.
    pub at: Millis,
    /// What happened.
    pub event: Event,
}

/// Whether a turn moves a task on, beyond being taken up by a new owner: claims without that are counted, and end in a
/// review instead of a crash loop.
#[must_use]
pub fn is_progress(events: &[Event]) -> bool {
    let owner_gone = Outcome::unknown(crate::outcome::UnknownCause::OwnerGone);
    !events.iter().all(|event| match event {
        Event::LeaseAcquired { .. } | Event::RecoveryStarted { .. } | Event::RecoveryFinished { .. } => true,
        Event::AttemptUnknown { outcome, .. } => *outcome == owner_gone,
        _ => false,
    })
}
