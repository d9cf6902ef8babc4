//! Reviews: what only a person can settle (DESIGN section 9).
//!
//! Invariant: a review is opened with a cause and answered with a fact or an order; a fact is evidence, an order never
//! turns *unknown* into *failed*.

use crate::{
    id::{ReviewId, StepName},
    json::Json,
    time::Millis,
};
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// Why a person is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "cause")]
pub enum ReviewCause {
    /// The target offers neither key nor look-up.
    Blind,
    /// The key's window is over, so a resend is no longer safe.
    KeyWindowOver,
    /// The probes ran out, or gave nothing clear.
    ProbesExhausted,
    /// Attempts ran out while the outcome is unknown.
    AttemptsExhausted,
    /// Sources contradict each other.
    Contradiction,
    /// A resend is due, but the task is cancelling.
    CancelledWhileUnknown,
    /// The credential belongs to another account than at the first request.
    AccountChanged,
    /// A budget is spent: which one.
    Budget {
        /// Its name.
        which: String,
    },
    /// The target stayed unreachable and the contract asks for a person.
    Offline,
    /// The task keeps ending its workers.
    NoProgress {
        /// Claims without a committed turn.
        claims: u32,
    },
    /// A pinned version is not available.
    VersionMissing {
        /// Which.
        what: String,
    },
    /// The owner of the contract wants an undo, which needs a person.
    Compensate,
}

impl ReviewCause {
    /// What is asked is whether to try on, not what has happened: proof of that does not answer it.
    #[must_use]
    pub const fn is_about_going_on(&self) -> bool {
        matches!(self, Self::Offline | Self::Budget { .. })
    }

    /// The cause in words.
    #[must_use]
    pub fn words(&self) -> String {
        let fixed = match self {
            Self::Blind => "the target offers neither a key nor a look-up",
            Self::KeyWindowOver => "the key's window is over, so sending again could double the effect",
            Self::AccountChanged => {
                "its account has changed, so the target does not know the first request there"
            }
            Self::ProbesExhausted => "the look-ups ran out without a clear answer",
            Self::AttemptsExhausted => "the attempts ran out while the outcome is unknown",
            Self::Contradiction => "sources contradict each other",
            Self::CancelledWhileUnknown => "the task is being cancelled while the outcome is unknown",
            Self::Offline => "the target cannot be reached",
            Self::Compensate => "the contract asks for an undo, which a person starts",
            Self::Budget { which } => return alloc::format!("the budget `{which}` is spent"),
            Self::NoProgress { claims } => {
                return alloc::format!("the task was taken up {claims} times without progress");
            }
            Self::VersionMissing { what } => return alloc::format!("version not available: {what}"),
        };
        fixed.into()
    }
}

/// What a person answers: a fact or an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "decision")]
pub enum Decision {
    /// *It happened*, with an external id or other evidence.
    ItHappened {
        /// The target's own id or reference.
        reference: String,
        /// The result, for dependants.
        result: Json,
    },
    /// *It did not.* Refused until settled and fenced.
    ItDidNot,
    /// Ask the target again.
    AskAgain,
    /// Nothing before that moment.
    WaitUntil {
        /// The moment.
        at: Millis,
    },
    /// Go on without the step; only for what is proven not applied or never sent.
    Skip,
    /// It stays unknown for ever and leaves the open set.
    WriteOff,
    /// Nothing new starts; the task ends when nothing is open.
    Abort,
    /// Go on as before: the budget, the version or the worker was mended.
    GoOn,
}

/// A review of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Review {
    /// Its id.
    pub id: ReviewId,
    /// When it was opened.
    pub opened_at: Millis,
    /// Why.
    pub cause: ReviewCause,
    /// The step, if it is about one.
    pub step: Option<StepName>,
    /// The question, in a sentence.
    pub question: String,
    /// How and when it was answered, and by whom.
    pub decided: Option<Decided>,
}

/// The answer of a review.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    /// The fact or the order.
    pub decision: Decision,
    /// Who.
    pub actor: String,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Millis,
}
