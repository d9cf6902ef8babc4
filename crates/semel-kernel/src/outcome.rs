//! What one attempt or one probe shows (DESIGN section 4).
//!
//! Invariant: there are four outcomes and nothing maps an error to *failed* by default. A contradiction is not an
//! outcome; it stops the target and asks a person.

use crate::{hash::Hash, json::Json};
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// A body kept by content hash in the artifact store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactRef {
    /// SHA-256 of the bytes.
    pub hash: Hash,
    /// Their number.
    pub bytes: u64,
}

/// A value inside the event, or by reference when it is larger than the inline limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stored {
    /// The value itself.
    Inline(Json),
    /// Where it lies.
    Artifact(ArtifactRef),
}

/// Why nothing is known of an attempt's effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownCause {
    /// No answer within the time-out. It proves only that we heard nothing.
    Timeout,
    /// The connection broke after bytes had left.
    Lost,
    /// An answer that could not be read to its end or understood.
    Garbled,
    /// An answer that the contract does not declare: a 3xx, an undeclared 4xx, a 5xx.
    Undeclared,
    /// A 2xx that fails the contract's `success` expression.
    NotASuccess,
    /// The worker that held the attempt is gone; nothing past the intent is proven.
    OwnerGone,
    /// The deadline passed while the owner lived.
    Deadline,
    /// The body of the tool ended without saying what it did.
    Body,
    /// The store is a restored or copied one; the original may have sent it.
    Restored,
}

impl UnknownCause {
    /// The cause in words, to stand after *because*.
    #[must_use]
    pub const fn words(&self) -> &'static str {
        match self {
            Self::Timeout => "no answer came within the time-out",
            Self::Lost => "the connection broke after bytes had left",
            Self::Garbled => "the answer could not be read",
            Self::Undeclared => "the contract does not say what this answer means",
            Self::NotASuccess => "the answer fails the contract's success rule",
            Self::OwnerGone => "the worker died before it recorded an answer",
            Self::Deadline => "the attempt's deadline passed",
            Self::Body => "the tool ended without saying what it did",
            Self::Restored => "this store is a copy; the original may have sent it",
        }
    }
}

/// Which of the four it is when the target's state does not allow an act (DESIGN section 5, `require`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// It was done before.
    Duplicate,
    /// The version that the act was meant for is not the present one.
    Stale,
    /// Somebody else has changed the object.
    Changed,
    /// The object's own state machine does not allow it.
    Illegal,
}

impl RefusalKind {
    /// The kind in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::Stale => "stale version",
            Self::Changed => "changed by others",
            Self::Illegal => "illegal in this state",
        }
    }

    /// The stable code of a step that ended by it; a stale version is a conflict.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Stale => "SM3008",
            Self::Duplicate | Self::Changed | Self::Illegal => "SM3006",
        }
    }
}

/// What one attempt shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// The effect is there.
    Applied {
        /// What the target answered.
        result: Stored,
        /// The target said that this is the answer of an earlier request.
        #[serde(default)]
        replayed: bool,
        /// The body was cut at the response limit.
        #[serde(default)]
        truncated: bool,
    },
    /// The effect is proven absent for this attempt.
    NotApplied {
        /// It may pass later.
        retryable: bool,
        /// Whether any byte of the request was handed to a connection.
        sent: bool,
        /// What the target or the network said.
        cause: String,
        /// Milliseconds that the target asked us to wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<i64>,
        /// Which of the four it is, where the target's state is what refuses.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refusal: Option<RefusalKind>,
    },
    /// The target works on it, on this request or an earlier one.
    Pending {
        /// What to ask with, if the target gave something.
        handle: Json,
        /// What it said.
        cause: String,
    },
    /// Nothing is known.
    Unknown {
        /// Why.
        cause: UnknownCause,
    },
    /// The answer contradicts what is recorded, such as *key was used with other parameters*.
    Contradiction {
        /// What it said.
        cause: String,
    },
}

impl Outcome {
    /// Not sent: zero request bytes were handed to the connection, whatever the error is called.
    #[must_use]
    pub fn not_sent(cause: impl Into<String>) -> Self {
        let (cause, retry_after_ms, refusal) = (cause.into(), None, None);
        Self::NotApplied { retryable: true, sent: false, cause, retry_after_ms, refusal }
    }

    /// Unknown, because of `cause`.
    #[must_use]
    pub const fn unknown(cause: UnknownCause) -> Self {
        Self::Unknown { cause }
    }
}

/// What one look-up at the target shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "found")]
pub enum Finding {
    /// Found once, with our key or reference.
    Applied {
        /// What the look-up returned.
        result: Stored,
    },
    /// Not found. Counts only when asked after the settled moment.
    Absent,
    /// In progress.
    Pending,
    /// Found more than once, or sources disagree.
    Many {
        /// What was seen.
        cause: String,
    },
    /// No expression of the contract matches, or the look-up itself failed. Never decays into *absent*.
    Unclear {
        /// What was seen.
        cause: String,
    },
}

impl Finding {
    /// What two independent sources show together. A disagreement is a contradiction only where *absent* would be
    /// proof; before the settled moment one of them may lag behind. Neither *applied* nor *absent* outlives a second
    /// source that does not say the same.
    #[must_use]
    pub fn confirmed_by(self, second: &Self, settled: bool) -> Self {
        match (&self, second) {
            (Self::Applied { .. }, Self::Applied { .. }) | (Self::Absent, Self::Absent) => self,
            (Self::Applied { .. }, Self::Absent) => disagree("found", "absent", settled),
            (Self::Absent, Self::Applied { .. }) => disagree("absent", "found", settled),
            (Self::Applied { .. } | Self::Absent, Self::Pending) => Self::Pending,
            (Self::Applied { .. } | Self::Absent, Self::Many { .. }) => second.clone(),
            (Self::Applied { .. } | Self::Absent, Self::Unclear { cause }) => {
                Self::Unclear { cause: alloc::format!("the confirming look-up is unclear: {cause}") }
            }
            (Self::Pending | Self::Many { .. } | Self::Unclear { .. }, _) => self,
        }
    }
}

fn disagree(first: &str, second: &str, settled: bool) -> Finding {
    let cause = alloc::format!("two sources disagree: the look-up says {first}, the confirming one {second}");
    if settled { Finding::Many { cause } } else { Finding::Unclear { cause } }
}

/// What a look at the target's state before a send says, beside what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Whether `require` holds.
    pub holds: bool,
    /// Whether the target answered at all; silence says nothing about its state.
    pub answered: bool,
    /// Which of the four it is, where `require` does not hold.
    pub refusal: Option<RefusalKind>,
    /// The version that the request names as If-Match.
    pub tag: Option<String>,
}

impl Look {
    /// The target answered, and `require` holds or does not.
    #[must_use]
    pub const fn answered(holds: bool) -> Self {
        Self { holds, answered: true, refusal: None, tag: None }
    }
}

/// Who says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The answer of an attempt of a fenced or finished owner, read late.
    LateAnswer,
    /// An authenticated receipt.
    Receipt,
    /// A person, by name.
    Person(String),
}
