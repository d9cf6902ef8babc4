//! Names of things. Each is a checked newtype: it parses or it fails, it never converts silently.
//!
//! Invariant: an id that exists is within its limit and its alphabet, so it can stand in a path, a log line and a
//! database key as it is.

use crate::{hash::Hash, limit, percent};
use alloc::{borrow::ToOwned, format, string::String, vec::Vec};
use core::fmt;
use serde::{Deserialize, Serialize};

/// Why a text is not an id: the kind of id, and the rule it breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {kind}: {rule}")]
pub struct BadId {
    /// The kind of id that was expected.
    pub kind: &'static str,
    /// The text, cut to 80 characters.
    pub text: String,
    /// The rule that it breaks.
    pub rule: &'static str,
}

fn bad(kind: &'static str, text: &str, rule: &'static str) -> BadId {
    BadId { kind, text: text.chars().take(80).collect(), rule }
}

fn word(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-'
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $max:expr, $rule:literal, $allowed:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Reads an id.
            ///
            /// # Errors
            /// [`BadId`] when the text is empty, too long or outside the alphabet.
            pub fn parse(text: &str) -> Result<Self, BadId> {
                let allowed: fn(char) -> bool = $allowed;
                let fits = !text.is_empty() && text.len() <= $max && text.chars().all(allowed);
                if fits { Ok(Self(text.to_owned())) } else { Err(bad($kind, text, $rule)) }
            }

            /// The text of the id.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;
            fn try_from(text: String) -> Result<Self, BadId> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
    };
}

id!(/// One run of a plan. Time-ordered (`tsk_…`) or derived (`opt_…` for a tenant-scoped operation).
    TaskId, "task id", 64, "1 to 64 of a-z 0-9 _ -", word);
id!(/// A named place in a task; an item of `each` is `name[target]`.
    StepName, "step name", 256, "1 to 256 of a-z 0-9 _ - and, for items, [percent-encoded]",
    |c| word(c) || matches!(c, '[' | ']' | '%' | '.') || c.is_ascii_uppercase());
id!(/// A tool, as a plan names it.
    ToolName, "tool name", 64, "1 to 64 of a-z 0-9 _ - .", |c| word(c) || c == '.');
id!(/// Whose task it is; keys of two tenants never meet.
    Tenant, "tenant", 64, "1 to 64 of a-z 0-9 _ -", word);
id!(/// What the submitter calls its request; the same id is the same task.
    ClientId, "client id", 256, "1 to 256 printable ASCII characters", |c| c.is_ascii_graphic());
id!(/// One life of one worker process; random at every start.
    SessionId, "session id", 64, "1 to 64 of a-z 0-9 _ -", word);
id!(/// One atomic append; random, so that a lost commit answer can be looked up.
    TurnId, "turn id", 64, "1 to 64 of a-z 0-9 _ -", word);
id!(/// Something only a person can settle.
    ReviewId, "review id", 96, "1 to 96 of a-z 0-9 _ -", word);
id!(/// Readable: `task/step/target@version`, components percent-encoded. The ledger's row.
    OperationId, "operation id", limit::OPERATION_ID_BYTES, "1 to 512 printable ASCII characters",
    |c| c.is_ascii_graphic());

/// What names one business intent inside a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent<'a> {
    /// The identity fields of the contract, encoded and joined by [`target_of`]; empty when it has none.
    pub target: &'a str,
    /// The business version; a new one supersedes the old.
    pub version: &'a str,
    /// 1, or the n-th time *again, on purpose*.
    pub intent: u32,
}

/// Joins identity fields into a target, each encoded before the comma joins them, so that two lists never collide and
/// no list is taken for the `-` of *no key fields*.
#[must_use]
pub fn target_of(fields: &[String]) -> String {
    let encoded: Vec<String> = fields.iter().map(|f| percent::encode(f)).collect();
    let joined = encoded.join(",");
    if joined == "-" { "%2D".to_owned() } else { joined }
}

impl OperationId {
    /// `task/step/target@version`, with `#n` when it is meant again on purpose. No key fields: target `-`.
    ///
    /// # Errors
    /// [`BadId`] when the id would be longer than 512 bytes.
    pub fn build(task: &TaskId, step: &StepName, intent: &Intent<'_>) -> Result<Self, BadId> {
        let target = if intent.target.is_empty() { "-" } else { intent.target };
        let again = if intent.intent > 1 { format!("#{}", intent.intent) } else { String::new() };
        let version = percent::encode(intent.version);
        Self::parse(&format!("{task}/{step}/{target}@{version}{again}"))
    }
}

impl TaskId {
    /// The id of a tenant-scoped operation task, the same for everybody who needs the operation (DESIGN section 3).
    ///
    /// # Errors
    /// Never in practice; [`BadId`] keeps the one way in.
    pub fn of_shared(
        tenant: &Tenant,
        tool: &ToolName,
        intent: &Intent<'_>,
        epoch: u32,
    ) -> Result<Self, BadId> {
        let n = format!("{}", intent.intent);
        let e = format!("{epoch}");
        let parts: [&[u8]; 6] = [
            tenant.as_str().as_bytes(),
            tool.as_str().as_bytes(),
            intent.target.as_bytes(),
            intent.version.as_bytes(),
            n.as_bytes(),
            e.as_bytes(),
        ];
        let digest = crate::hash::base32_lower(&Hash::of_parts(&parts).as_bytes()[..20]);
        Self::parse(&format!("opt_{digest}"))
    }
}

impl TaskId {
    /// The id of the task that a client id stands for: derived, so that a submission that is repeated, even against a
    /// restored store, is the same task with the same operation ids and keys (DESIGN section 10).
    ///
    /// # Errors
    /// Never in practice; [`BadId`] keeps the one way in.
    pub fn of_client(tenant: &Tenant, client: &ClientId) -> Result<Self, BadId> {
        let digest = Hash::of_parts(&[tenant.as_str().as_bytes(), client.as_str().as_bytes()]);
        Self::parse(&format!("tsk_{}", crate::hash::base32_lower(&digest.as_bytes()[..15])))
    }
}

impl ReviewId {
    /// The n-th review of a task.
    ///
    /// # Errors
    /// Never in practice; [`BadId`] keeps the one way in.
    pub fn nth(task: &TaskId, n: usize) -> Result<Self, BadId> {
        let tail: String = task.as_str().chars().rev().take(10).collect::<String>().chars().rev().collect();
        Self::parse(&format!("rev_{tail}_{n}"))
    }
}

impl StepName {
    /// The name of one item of an `each` step: `name[target]`.
    ///
    /// # Errors
    /// [`BadId`] when the name would be too long.
    pub fn item(&self, key: &str) -> Result<Self, BadId> {
        Self::parse(&format!("{self}[{}]", percent::encode(key)))
    }
}
