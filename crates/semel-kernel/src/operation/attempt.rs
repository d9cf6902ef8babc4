//! One physical request, and what is known of it.
//!
//! Invariant: an attempt is judged singly; what that means for the operation is judged over all of them.

use crate::{
    event::Why,
    json::Json,
    outcome::{RefusalKind, UnknownCause},
    time::{Generation, Millis},
};
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// State of one attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum AttemptState {
    /// Recorded; its owner may be sending or waiting.
    Open,
    /// Proven applied.
    Applied,
    /// Proven not applied.
    NotApplied {
        /// It may pass later.
        retryable: bool,
        /// Any byte was handed to a connection.
        sent: bool,
    },
    /// The target works on it.
    Pending {
        /// What to ask with; `null` if the target gave nothing.
        #[serde(default = "nothing", skip_serializing_if = "Json::is_null")]
        handle: Json,
    },
    /// Nothing is known.
    Unknown {
        /// Why.
        cause: UnknownCause,
    },
}

/// One physical request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// From 1; 0 is the one that the original of a restored store may have made.
    pub n: u32,
    /// Why it was made.
    pub why: Why,
    /// Token of its owner.
    pub generation: Generation,
    /// When STARTED was recorded.
    pub started_at: Millis,
    /// The first byte leaves before this moment, or never.
    pub send_by: Millis,
    /// Milliseconds that it may take after `send_by`.
    pub timeout_ms: i64,
    /// Its key.
    pub key: String,
    /// What is known of it.
    pub state: AttemptState,
    /// When that became known.
    pub ended_at: Option<Millis>,
    /// What the answer said, in a few words.
    pub note: String,
    /// Its first byte left so many milliseconds after `send_by`: the process was paused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub late_ms: i64,
    /// What its answer said that it cost, in the contract's own unit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost: i64,
    /// The target's own answer, not a look-up or a person, proves that it did nothing.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub refused: bool,
    /// Which of the four it is, where the target's state is what refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<RefusalKind>,
}

const fn nothing() -> Json {
    Json::Null
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(n: &i64) -> bool {
    *n == 0
}

impl Attempt {
    /// The moment after which nothing of this attempt is under way on our side.
    #[must_use]
    pub const fn dead_at(&self) -> Millis {
        self.send_by.plus(self.timeout_ms).plus(self.late_ms)
    }

    /// Its request may have reached the target and is not proven effect-free.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        !matches!(self.state, AttemptState::NotApplied { .. } | AttemptState::Applied)
    }

    /// Bytes of it may have left.
    #[must_use]
    pub const fn may_have_left(&self) -> bool {
        !matches!(self.state, AttemptState::NotApplied { sent: false, .. })
    }
}
