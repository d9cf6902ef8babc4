//! Why the kernel refuses an input. Few variants, each a branch; the codes are stable and have a page in `docs/errors`.

use crate::{
    id::{OperationId, ReviewId, StepName},
    review::Decision,
    time::Millis,
};
use alloc::string::String;

/// A refusal; nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reject {
    /// There is no such step.
    #[error("there is no step `{0}` in this task")]
    NoStep(StepName),
    /// There is no such operation.
    #[error("there is no operation `{0}` in this task")]
    NoOperation(OperationId),
    /// There is no such review.
    #[error("there is no review `{0}` in this task")]
    NoReview(ReviewId),
    /// The review was decided before.
    #[error("review `{review}` was decided before, by {by} at {at}")]
    Decided {
        /// Which.
        review: ReviewId,
        /// By whom.
        by: String,
        /// When.
        at: Millis,
        /// With what, which stands.
        decision: Decision,
    },
    /// The task has moved on since the page was read.
    #[error("the task has moved on: the answer was read from page {read}, the present one is {current}")]
    StalePage {
        /// The page that was read.
        read: u64,
        /// The present page.
        current: u64,
    },
    /// *It did not* is not believed yet.
    #[error("`it did not` is not believed before {until}: an earlier request may still be on its way")]
    NotSettled {
        /// The settled moment.
        until: Millis,
    },
    /// Not possible in this state.
    #[error("{0}")]
    Illegal(String),
    /// The task has ended.
    #[error("the task has ended: {0}")]
    Ended(&'static str),
    /// A text is not an id, or a limit is hit.
    #[error("{0}")]
    Limit(String),
    /// The history does not fold; the task is not touched any more.
    #[error("the history is corrupt: {0}")]
    Corrupt(String),
}

impl Reject {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoStep(_) | Self::NoOperation(_) | Self::NoReview(_) => "SM1001",
            Self::Decided { .. } => "SM1002",
            Self::StalePage { .. } => "SM1003",
            Self::NotSettled { .. } => "SM1004",
            Self::Illegal(_) => "SM1005",
            Self::Ended(_) => "SM1007",
            Self::Limit(_) => "SM1008",
            Self::Corrupt(_) => "SM9001",
        }
    }
}
