//! The safeguards, each with a switch. Switched off they exist in this crate only; the kernel is never changed.

/// A rule without which something goes wrong, or so it is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Rule {
    /// A new owner waits until the lease of the old one is over.
    Lease,
    /// A turn of an older generation is refused, and its owner stops.
    Generation,
    /// A turn is refused when the task is not at the version on which it was decided.
    Version,
    /// STARTED is durable before the first byte leaves.
    DurableFirst,
    /// `send_by` is checked right before the first byte.
    SendBy,
    /// What is not heard is unknown, never *not applied*.
    SilenceIsUnknown,
    /// *Absent* counts only after the settled moment.
    Settle,
    /// An *absent* is judged by the moment at which it was asked for, not at which it was heard.
    AskedAt,
    /// A keyed resend waits until the earlier attempt is dead.
    DeadFirst,
    /// One key for the operation, not one for each attempt.
    OneKey,
    /// The key's window is bound to every send after the first.
    KeyWindow,
    /// The window is taken to be shorter than promised by a margin.
    KeyMargin,
    /// `send_by` of a resend ends in time before the window closes.
    ResendInWindow,
    /// A refusal of one attempt does not judge the others.
    JudgedByAll,
    /// What cannot be asked and has no key is not sent again in doubt.
    BlindStops,
    /// A person's *it did not* is believed only after the settled moment.
    PersonWaits,
    /// What a fenced owner hears is filed.
    LateAnswers,
    /// A natural target that can be asked is asked before its state is set again.
    LookFirst,
}

impl Rule {
    /// All of them, in the order of the page.
    pub const ALL: [Self; 18] = [
        Self::DurableFirst,
        Self::SendBy,
        Self::SilenceIsUnknown,
        Self::Settle,
        Self::AskedAt,
        Self::DeadFirst,
        Self::OneKey,
        Self::KeyWindow,
        Self::KeyMargin,
        Self::ResendInWindow,
        Self::JudgedByAll,
        Self::BlindStops,
        Self::PersonWaits,
        Self::LateAnswers,
        Self::LookFirst,
        Self::Version,
        Self::Generation,
        Self::Lease,
    ];

    /// The rule in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Lease => "a new owner waits for the end of the old lease",
            Self::Generation => "a turn of an older generation is refused",
            Self::Version => "a turn is a compare-and-swap on the version",
            Self::DurableFirst => "STARTED is durable before the first byte leaves",
            Self::SendBy => "`send_by` is checked right before the first byte",
            Self::SilenceIsUnknown => "what is not heard is unknown, never *not applied*",
            Self::Settle => "*absent* counts only after the settled moment",
            Self::AskedAt => "*absent* is judged by when it was asked, not when it was heard",
            Self::DeadFirst => "a keyed resend waits until the earlier attempt is dead",
            Self::OneKey => "one key for the operation, not one for each attempt",
            Self::KeyWindow => "the key's window binds every send after the first",
            Self::KeyMargin => "the window is taken to be shorter by a margin",
            Self::ResendInWindow => "`send_by` of a resend ends before the window closes",
            Self::JudgedByAll => "a refusal of a later attempt does not judge the first",
            Self::BlindStops => "a blind operation in doubt is never sent again",
            Self::PersonWaits => "a person's *it did not* is believed only when settled",
            Self::LateAnswers => "what a fenced owner hears is filed as evidence",
            Self::LookFirst => "a natural target is asked before it is set again",
        }
    }
}

/// The rules that are switched off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Off(u32);

impl Off {
    /// All of these are switched off.
    #[must_use]
    pub fn all(rules: &[Rule]) -> Self {
        Self(rules.iter().fold(0, |bits, rule| bits | 1 << *rule as u8))
    }

    /// Whether a rule is switched off.
    #[must_use]
    pub const fn has(self, rule: Rule) -> bool {
        self.0 & 1 << rule as u8 != 0
    }
}
