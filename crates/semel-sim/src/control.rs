//! Negative controls: engines that are known to be bad, made by breaking one safeguard at the seam between the machine
//! and the world. A harness that does not catch them proves nothing.

use crate::check::Check;

/// One safeguard, broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Control {
    /// A time-out is taken for *not sent*, and the step is tried again.
    RetryOnTimeout,
    /// Only committed steps are kept; after a crash the step in flight is run again.
    CheckpointAndResume,
    /// Every attempt has a key of its own.
    KeyPerAttempt,
    /// *Absent* counts at once, however late the target shows an effect.
    ProbeWithoutSettle,
    /// A look-up is dated by its answer, not by its question.
    ProbeJudgedAtAnswer,
    /// A refusal of a later attempt is taken for a refusal of all.
    RefusalTakenForAll,
    /// The store lets any owner write, whatever its generation.
    NoGenerationCheck,
    /// A worker that was stopped sends however late it is.
    NoSendBy,
    /// The request leaves while its STARTED is still on its way to the disk.
    StartedAfterSend,
    /// Evidence is written without looking at the version.
    UnversionedEvidence,
    /// A power cut loses turns that were acknowledged (`synchronous=NORMAL`).
    PowerCutNormal,
}

impl Control {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::RetryOnTimeout,
        Self::CheckpointAndResume,
        Self::KeyPerAttempt,
        Self::ProbeWithoutSettle,
        Self::ProbeJudgedAtAnswer,
        Self::RefusalTakenForAll,
        Self::NoGenerationCheck,
        Self::NoSendBy,
        Self::StartedAfterSend,
        Self::UnversionedEvidence,
        Self::PowerCutNormal,
    ];

    /// Its name on the command line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::RetryOnTimeout => "retry-on-timeout",
            Self::CheckpointAndResume => "checkpoint-and-resume",
            Self::KeyPerAttempt => "key-per-attempt",
            Self::ProbeWithoutSettle => "probe-without-settle",
            Self::ProbeJudgedAtAnswer => "probe-judged-at-answer",
            Self::RefusalTakenForAll => "refusal-taken-for-all",
            Self::NoGenerationCheck => "no-generation-check",
            Self::NoSendBy => "no-send-by",
            Self::StartedAfterSend => "started-after-send",
            Self::UnversionedEvidence => "unversioned-evidence",
            Self::PowerCutNormal => "power-cut-normal",
        }
    }

    /// The control of that name.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.word() == word)
    }

    /// Checks that would only restate the broken rule; they look away, so that the harm itself must show.
    #[must_use]
    pub const fn blinds(self) -> &'static [Check] {
        match self {
            Self::KeyPerAttempt => &[Check::SameBytes],
            Self::NoSendBy | Self::StartedAfterSend => &[Check::Intent],
            Self::CheckpointAndResume => &[Check::Intent, Check::Chain, Check::Generation, Check::Lost],
            Self::RetryOnTimeout
            | Self::NoGenerationCheck
            | Self::ProbeWithoutSettle
            | Self::ProbeJudgedAtAnswer
            | Self::RefusalTakenForAll
            | Self::UnversionedEvidence
            | Self::PowerCutNormal => &[],
        }
    }
}
