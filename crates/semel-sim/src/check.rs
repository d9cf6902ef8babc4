//! The rules that every run is held to, one file each. They look at the store and at the targets, never at what an
//! engine says of itself.

mod chain;
mod generation;
mod intent;
mod live;
mod lost;
mod mirror;
mod once;
mod truth;

use crate::control::Control;
use mirror::Mirror;
use semel_kernel::{
    id::{OperationId, TaskId},
    json::Json,
    operation::Operation,
    outcome::Stored,
};
use std::collections::{BTreeMap, BTreeSet};

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// One intent has at most one effect.
    Once,
    /// COMMITTED: there is an effect. FAILED, SKIPPED, PLANNED at the end: there is none.
    Truth,
    /// What was acknowledged is there.
    Lost,
    /// Only the present owner writes as owner; tokens grow.
    Generation,
    /// STARTED is durable before the first byte, which leaves in time; a key is used inside its window.
    Intent,
    /// All requests of an operation carry the same key and bytes.
    SameBytes,
    /// The stored rows are the fold of the events, and so is the checkpoint.
    Fold,
    /// The laws of the kernel.
    Law,
    /// A history only grows.
    Chain,
    /// Without faults everything comes to an end.
    Live,
    /// Nothing panics, and no verb waits in the middle.
    Sound,
}

impl Check {
    /// Its name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Truth => "truth",
            Self::Lost => "lost",
            Self::Generation => "generation",
            Self::Intent => "intent",
            Self::SameBytes => "same-bytes",
            Self::Fold => "fold",
            Self::Law => "law",
            Self::Chain => "chain",
            Self::Live => "live",
            Self::Sound => "sound",
        }
    }
}

/// A rule was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub check: Check,
    /// How.
    pub what: String,
    /// When, in true time.
    pub at: i64,
}

/// What the checks know of a run.
pub struct Checks {
    /// The first rule that was broken.
    pub violation: Option<Violation>,
    control: Option<Control>,
    mirrors: BTreeMap<TaskId, Mirror>,
    acknowledged: BTreeSet<u32>,
    requests: BTreeMap<OperationId, (String, String)>,
    first_use: BTreeMap<String, i64>,
}

impl Checks {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(control: Option<Control>) -> Self {
        Self {
            violation: None,
            control,
            mirrors: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            requests: BTreeMap::new(),
            first_use: BTreeMap::new(),
        }
    }

    /// Records the first violation, unless the control makes this check look away.
    fn broken(&mut self, at: i64, check: Check, what: String) {
        let blind = self.control.is_some_and(|c| c.blinds().contains(&check));
        if self.violation.is_none() && !blind {
            self.violation = Some(Violation { check, what, at });
        }
    }
}

/// Where and what an operation acts on, as the target knows it.
#[must_use]
pub fn place_of(op: &Operation) -> (String, String) {
    let what = match &op.planned.arguments {
        Stored::Inline(arguments) => arguments.get("what").and_then(Json::as_str).unwrap_or_default(),
        Stored::Artifact(_) => "",
    };
    (op.planned.tool.to_string(), what.to_owned())
}
