//! The effect terms of a tool: what the kernel needs to know of a contract, and nothing of how it is called.
//!
//! Invariant: terms are data, pinned by the contract's hash on every operation; the guarantee is computed from them
//! and never claimed by hand.

use crate::{hash::Hash, id::ToolName, limit};
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// What a repeated request does at the target. The default is the strictest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Changes nothing.
    None,
    /// Sets a state; setting it twice is harmless.
    Natural,
    /// The target dedupes our key for its window.
    Keyed,
    /// No key, but the target can be asked.
    Queryable,
    /// Neither.
    #[default]
    Blind,
}

/// What we promise for an operation (DESIGN section 1); stamped on it and shown everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Guarantee {
    /// In the same database transaction.
    #[serde(rename = "transactional")]
    Transactional,
    /// Key and look-up.
    #[serde(rename = "keyed+probed")]
    KeyedProbed,
    /// Key only.
    #[serde(rename = "keyed")]
    Keyed,
    /// Look-up only.
    #[serde(rename = "probed")]
    Probed,
    /// Setting it twice is harmless.
    #[serde(rename = "natural")]
    Natural,
    /// No effect at all.
    #[serde(rename = "repeatable")]
    Repeatable,
    /// Blind: at most once by ourselves, then a person is asked.
    #[serde(rename = "at-most-once")]
    AtMostOnce,
    /// Blind, and the owner accepts that a lost answer may double the effect.
    #[serde(rename = "may-duplicate")]
    MayDuplicate,
    /// Blind, and the owner accepts that a lost answer may lose the effect.
    #[serde(rename = "may-lose")]
    MayLose,
}

impl Guarantee {
    /// The word shown to people.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Transactional => "transactional",
            Self::KeyedProbed => "keyed+probed",
            Self::Keyed => "keyed",
            Self::Probed => "probed",
            Self::Natural => "natural",
            Self::Repeatable => "repeatable",
            Self::AtMostOnce => "at-most-once",
            Self::MayDuplicate => "may-duplicate",
            Self::MayLose => "may-lose",
        }
    }
}

/// What an unprovable outcome of a blind target leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnknown {
    /// Ask a person.
    #[default]
    Review,
    /// Send again; the owner accepts a duplicate.
    AcceptDuplicate,
    /// Go on; the owner accepts that it may not have happened.
    AcceptLoss,
    /// Undo. Asks a person until undo exists for the tool.
    Compensate,
}

/// What happens when the target cannot be reached at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offline {
    /// Known failure after the retries.
    #[default]
    Fail,
    /// Try on for so many milliseconds, however many attempts that takes.
    Wait(i64),
    /// Ask a person after the retries.
    Review,
}

/// Who is protected from whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The task from itself.
    #[default]
    Task,
    /// All tasks of the tenant from each other, for so many milliseconds after it settled.
    Tenant {
        /// Milliseconds after settling during which the same intent is the same operation.
        within_ms: i64,
    },
}

/// How the target is asked, and how long its answers lag behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeTerms {
    /// Read lag of the target plus the longest life of a request on the wire, in milliseconds.
    pub settle_ms: i64,
    /// First pause between two probes, in milliseconds; grows by half each time.
    pub poll_ms: i64,
    /// Longest pause between two probes, in milliseconds.
    pub poll_cap_ms: i64,
    /// Milliseconds after the first probe at which we stop asking and open a review.
    pub for_ms: i64,
    /// Probes after which we stop asking and open a review.
    pub max: u32,
}

/// When a request that is proven not applied is tried again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryTerms {
    /// Attempts in all.
    pub max: u32,
    /// First pause in milliseconds; doubles each time.
    pub wait_ms: i64,
    /// Longest pause in milliseconds.
    pub cap_ms: i64,
    /// Draw each pause at random between zero and itself.
    pub jitter: bool,
}

impl Default for RetryTerms {
    fn default() -> Self {
        Self { max: 5, wait_ms: 1_000, cap_ms: 60_000, jitter: true }
    }
}

/// What the attempts of one operation may cost together, in the contract's own unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostTerms {
    /// No further attempt is made that would cost more than this in all.
    pub max: i64,
    /// What each attempt costs, whatever comes of it.
    #[serde(default)]
    pub attempt: i64,
}

/// The effect terms of one tool, pinned by `contract`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// The tool.
    pub tool: ToolName,
    /// Hash of the whole contract; its body is an artifact.
    pub contract: Hash,
    /// What a repeated request does.
    pub effect: Effect,
    /// Milliseconds for which the target honours a key; required for `keyed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_window_ms: Option<i64>,
    /// The target replays refusals under the key, so a retry needs a new key epoch.
    #[serde(default)]
    pub refusals_stick: bool,
    /// `tool test` has graded the target's deduplication as atomic.
    #[serde(default)]
    pub dedupe_atomic: bool,
    /// How the target is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeTerms>,
    /// The target's state is checked before the first send.
    #[serde(default)]
    pub require: bool,
    /// `undo: none`.
    #[serde(default)]
    pub irreversible: bool,
    /// What an unprovable outcome leads to.
    #[serde(default)]
    pub on_unknown: OnUnknown,
    /// What an unreachable target leads to.
    #[serde(default)]
    pub offline: Offline,
    /// Milliseconds one attempt may take.
    pub timeout_ms: i64,
    /// Milliseconds after the STARTED commit within which the first byte must leave.
    pub send_within_ms: i64,
    /// Retries of what is proven not applied.
    #[serde(default)]
    pub retry: RetryTerms,
    /// What the attempts may cost together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostTerms>,
    /// Who is protected from whom.
    #[serde(default)]
    pub scope: Scope,
    /// Milliseconds by which two clocks may differ.
    pub clock_error_ms: i64,
}

impl Terms {
    /// Terms with the defaults of DESIGN section 18; the effect is `blind`.
    #[must_use]
    pub fn new(tool: ToolName, contract: Hash) -> Self {
        Self {
            tool,
            contract,
            effect: Effect::Blind,
            key_window_ms: None,
            refusals_stick: false,
            dedupe_atomic: false,
            probe: None,
            require: false,
            irreversible: false,
            on_unknown: OnUnknown::Review,
            offline: Offline::Fail,
            timeout_ms: limit::TIMEOUT_MS,
            send_within_ms: limit::SEND_WITHIN_MS,
            retry: RetryTerms::default(),
            cost: None,
            scope: Scope::Task,
            clock_error_ms: limit::CLOCK_ERROR_MS,
        }
    }

    /// What these terms let us promise.
    #[must_use]
    pub const fn guarantee(&self) -> Guarantee {
        match (self.effect, self.probe.is_some(), self.on_unknown) {
            (Effect::None, _, _) => Guarantee::Repeatable,
            (Effect::Natural, _, _) => Guarantee::Natural,
            (Effect::Keyed, true, _) => Guarantee::KeyedProbed,
            (Effect::Keyed, false, _) => Guarantee::Keyed,
            (Effect::Queryable, _, _) => Guarantee::Probed,
            (Effect::Blind, _, OnUnknown::AcceptDuplicate) => Guarantee::MayDuplicate,
            (Effect::Blind, _, OnUnknown::AcceptLoss) => Guarantee::MayLose,
            (Effect::Blind, _, OnUnknown::Review | OnUnknown::Compensate) => Guarantee::AtMostOnce,
        }
    }

    /// Read lag in milliseconds: the declared one, or the default for targets that declare none.
    #[must_use]
    pub fn settle_ms(&self) -> i64 {
        self.probe.as_ref().map_or(limit::DEFAULT_SETTLE_MS, |p| p.settle_ms)
    }

    /// Milliseconds taken off the key window: one minute or one per cent, whichever is more.
    #[must_use]
    pub fn key_margin_ms(&self) -> i64 {
        self.key_window_ms.map_or(0, |w| (w / 100).max(60_000))
    }
}

/// A short text for people: effect and guarantee.
#[must_use]
pub fn label(terms: &Terms) -> String {
    alloc::format!("{} ({})", terms.guarantee().word(), terms.tool)
}
