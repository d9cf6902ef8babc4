//! The step machine. Its table is the first thing here, and the whole of it.
//!
//! | from | Plan | Start | Lose | Absent | Commit | Fail | Skip | Compensate |
//! |---|---|---|---|---|---|---|---|---|
//! | PLANNED | PLANNED | STARTED | UNKNOWN¹ | PLANNED | COMMITTED² | FAILED | SKIPPED | – |
//! | STARTED | – | STARTED | UNKNOWN | PLANNED | COMMITTED | FAILED³ | – | – |
//! | UNKNOWN | – | STARTED | UNKNOWN | PLANNED | COMMITTED | FAILED³ | – | – |
//! | COMMITTED | – | – | – | – | – | – | – | COMPENSATED |
//! | FAILED, SKIPPED, COMPENSATED | – | – | – | – | – | – | – | – |
//!
//! ¹ in a restored store, where the original may have sent it ² timers, items, replays ³ only when every attempt is
//! proven not applied; the operation's judgement guards it, and [`crate::law`] checks it again.

use crate::{
    event::{Authorship, Proof},
    id::{OperationId, ReviewId, StepName, TaskId},
    outcome::{RefusalKind, Stored},
    plan::StepKind,
    time::Millis,
};
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// State of a step: the seeds' own, plus SKIPPED.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum StepState {
    /// Decided, or still to be decided; nothing of it is under way.
    Planned,
    /// An attempt may have left, or the target works on it.
    Started,
    /// The effect is proven.
    Committed,
    /// Proven not to have happened; it will not be tried again.
    Failed,
    /// Nothing is proven either way.
    Unknown,
    /// Undone by another effect.
    Compensated,
    /// Its `if` was false.
    Skipped,
}

/// What moves a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Id, key and hash are fixed.
    Plan,
    /// An attempt is recorded.
    Start,
    /// An attempt ended without proof.
    Lose,
    /// Every attempt is proven not applied; it may be begun again.
    Absent,
    /// The effect is proven.
    Commit,
    /// It will not be tried again.
    Fail,
    /// Its `if` was false, or a person skips what is proven not sent.
    Skip,
    /// Its undo is proven.
    Compensate,
}

impl StepState {
    /// All states, in the table's order.
    pub const ALL: [Self; 7] = [
        Self::Planned,
        Self::Started,
        Self::Committed,
        Self::Failed,
        Self::Unknown,
        Self::Compensated,
        Self::Skipped,
    ];

    /// The word shown everywhere.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Planned => "PLANNED",
            Self::Started => "STARTED",
            Self::Committed => "COMMITTED",
            Self::Failed => "FAILED",
            Self::Unknown => "UNKNOWN",
            Self::Compensated => "COMPENSATED",
            Self::Skipped => "SKIPPED",
        }
    }

    /// Dependants may go on.
    #[must_use]
    pub const fn is_done(self) -> bool {
        matches!(self, Self::Committed | Self::Skipped | Self::Compensated)
    }
}

impl Move {
    /// All moves, in the table's order.
    pub const ALL: [Self; 8] = [
        Self::Plan,
        Self::Start,
        Self::Lose,
        Self::Absent,
        Self::Commit,
        Self::Fail,
        Self::Skip,
        Self::Compensate,
    ];
}

/// The table. `None` is an illegal move.
#[must_use]
pub const fn next(from: StepState, by: Move) -> Option<StepState> {
    use StepState as S;
    match (from, by) {
        (S::Planned, Move::Plan) => Some(S::Planned),
        (S::Planned, Move::Skip) => Some(S::Skipped),
        (S::Planned | S::Started | S::Unknown, Move::Start) => Some(S::Started),
        (S::Planned | S::Started | S::Unknown, Move::Lose) => Some(S::Unknown),
        (S::Planned | S::Started | S::Unknown, Move::Absent) => Some(S::Planned),
        (S::Planned | S::Started | S::Unknown, Move::Commit) => Some(S::Committed),
        (S::Planned | S::Started | S::Unknown, Move::Fail) => Some(S::Failed),
        (S::Committed, Move::Compensate) => Some(S::Compensated),
        (S::Started | S::Unknown, Move::Plan | Move::Skip | Move::Compensate)
        | (S::Planned, Move::Compensate)
        | (
            S::Committed,
            Move::Plan | Move::Start | Move::Lose | Move::Absent | Move::Commit | Move::Fail | Move::Skip,
        )
        | (S::Failed | S::Skipped | S::Compensated, _) => None,
    }
}

/// A step of a running task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its name.
    pub name: StepName,
    /// What it does.
    pub kind: StepKind,
    /// Steps that are settled before it.
    pub needs: Vec<StepName>,
    /// For an item: the `each` step it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_of: Option<StepName>,
    /// Its state.
    pub state: StepState,
    /// Its own operation, once planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
    /// An equal call whose answer it gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<OperationId>,
    /// The task of the tenant-scoped operation it waits for, and its epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<(TaskId, u32)>,
    /// For `each`: its items, once expanded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<StepName>>,
    /// For `sleep`: when it fires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer: Option<Millis>,
    /// What dependants see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Stored>,
    /// How it was committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// For natural effects: whose doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorship: Option<Authorship>,
    /// For FAILED: the stable code. For SKIPPED: empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// For FAILED and SKIPPED: why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// For a conflict: the differing fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// For FAILED by the target's state: which of the four it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<RefusalKind>,
    /// The open review about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewId>,
    /// A person, or the contract's owner, has given up knowing.
    #[serde(default)]
    pub written_off: bool,
    /// When its state last changed.
    pub changed_at: Millis,
    /// Sequence number of the last event that touched it; the page version of a review.
    pub touched: u64,
}

impl Step {
    /// A step that is not resolved yet.
    #[must_use]
    pub fn new(name: StepName, kind: StepKind, needs: Vec<StepName>, at: Millis) -> Self {
        Self {
            name,
            kind,
            needs,
            item_of: None,
            state: StepState::Planned,
            operation: None,
            same_as: None,
            attached: None,
            items: None,
            timer: None,
            output: None,
            proof: None,
            authorship: None,
            code: String::new(),
            cause: String::new(),
            fields: Vec::new(),
            refusal: None,
            review: None,
            written_off: false,
            changed_at: at,
            touched: 0,
        }
    }

    /// Nothing will change it any more, except evidence.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        self.written_off || self.state.is_done() || matches!(self.state, StepState::Failed)
    }

    /// Dependants may go on.
    #[must_use]
    pub const fn releases(&self) -> bool {
        self.written_off || self.state.is_done()
    }

    /// Its effect is undone, or a person has given up knowing: another version may take its place.
    #[must_use]
    pub const fn is_left_behind(&self) -> bool {
        self.written_off || matches!(self.state, StepState::Compensated)
    }

    /// Nothing was decided about it yet.
    #[must_use]
    pub const fn is_unresolved(&self) -> bool {
        matches!(self.state, StepState::Planned)
            && self.operation.is_none()
            && self.same_as.is_none()
            && self.attached.is_none()
            && self.items.is_none()
            && self.timer.is_none()
    }
}
