//! Errors for people, and the exit codes.

use crate::ui;
use semel_engine::command::Refused;
use semel_plan::problem::Problem;
use semel_ports::StoreError;
use serde::{Serialize, Serializer};
use std::process::ExitCode;

/// The exit codes of DESIGN section 17.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// Known failure.
    Failed = 1,
    /// Usage, or an invalid plan.
    Usage = 2,
    /// Waiting for a person.
    Person = 3,
    /// Not allowed.
    NotAllowed = 4,
    /// Outcome unknown.
    Unknown = 5,
    /// Conflict: key reused, stale version.
    Conflict = 6,
    /// Store unreachable or closed.
    Store = 7,
    /// Still running.
    Running = 8,
    /// Verification failed.
    Verification = 9,
    /// Interrupted; the task goes on at the next start.
    Interrupted = 130,
}

impl Exit {
    /// The number that a shell sees.
    pub(crate) const fn number(self) -> u8 {
        #[expect(clippy::as_conversions, reason = "the discriminants are the exit codes")]
        let number = self as u8;
        number
    }
}

impl Serialize for Exit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.number())
    }
}

impl From<Exit> for ExitCode {
    /// What could not be printed was not told, so such a command has not done what it was asked.
    fn from(exit: Exit) -> Self {
        let untold = exit == Exit::Done && ui::is_output_lost();
        Self::from(if untold { Exit::Usage.number() } else { exit.number() })
    }
}

/// An error: a stable code, what happened, what to do next.
#[derive(Debug)]
pub(crate) struct Fail {
    /// The exit code.
    pub(crate) exit: Exit,
    /// The stable code.
    pub(crate) code: String,
    /// What happened.
    pub(crate) message: String,
    /// What to do next.
    pub(crate) next: String,
    /// Faults in a file, with their places.
    pub(crate) problems: Vec<Problem>,
    /// For a conflict: the differing fields.
    pub(crate) fields: Box<[String]>,
}

impl Fail {
    pub(crate) fn new(exit: Exit, code: &str, message: impl Into<String>, next: impl Into<String>) -> Self {
        let (message, next) = (message.into(), next.into());
        // Errors of JSON carry their own hint, which stands in `next` already.
        let message = message.strip_suffix(&format!("; next: {next}")).unwrap_or(&message).to_owned();
        Self { exit, code: code.into(), message, next, problems: Vec::new(), fields: Box::default() }
    }

    /// Faults in a plan, a contract or inputs.
    pub(crate) fn problems(problems: Vec<Problem>) -> Self {
        let n = problems.len();
        let message = format!("{n} {} found; nothing was sent", if n == 1 { "fault" } else { "faults" });
        Self { problems, ..Self::new(Exit::Usage, "SM4000", message, "mend the places named above") }
    }

    /// The terminal, a file or a socket of ours.
    pub(crate) fn io(what: &str, error: &std::io::Error) -> Self {
        Self::new(Exit::Usage, "SM1011", format!("{what}: {error}"), "check the path and its permissions")
    }
}

impl From<Refused> for Fail {
    fn from(refused: Refused) -> Self {
        let exit = match refused.code.as_str() {
            "SM1002" | "SM1003" | "SM1006" => Exit::Conflict,
            "SM1001" | "SM1008" | "SM1010" => Exit::Usage,
            "SM1004" | "SM1005" | "SM1007" => Exit::NotAllowed,
            code if code.starts_with("SM2") => Exit::Store,
            code if code.starts_with("SM4") => Exit::Usage,
            code if code.starts_with("SM9") => Exit::Verification,
            _ => Exit::Failed,
        };
        let fields = refused.fields.into();
        Self { fields, ..Self::new(exit, &refused.code, refused.message, refused.next) }
    }
}

impl From<StoreError> for Fail {
    fn from(error: StoreError) -> Self {
        let exit = match &error {
            StoreError::NoTask(_) | StoreError::NoArtifact(_) | StoreError::Limit(_) => Exit::Usage,
            StoreError::Corrupt(_) => Exit::Verification,
            StoreError::Busy(_)
            | StoreError::Full(_)
            | StoreError::ReadOnly(_)
            | StoreError::Closed(_)
            | StoreError::CommitUnknown(_)
            | StoreError::NotAdopted(_)
            | StoreError::Owned(_)
            | StoreError::Unusable(_) => Exit::Store,
        };
        let next = match &error {
            StoreError::Unusable(why) if why.contains("not a Semel store") || why.contains("is a folder") => {
                "name the store's own file: --store FILE"
            }
            other => other.next(),
        };
        Self::new(exit, error.code(), error.to_string(), next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_said_once() {
        let fail = Fail::new(Exit::Usage, "SM1804", "no JSON; next: mend it", "mend it");
        assert_eq!((fail.message.as_str(), fail.next.as_str()), ("no JSON", "mend it"));
    }

    #[test]
    fn programs_see_the_number_of_an_exit() {
        assert_eq!(serde_json::to_string(&[Exit::Unknown, Exit::Interrupted]).expect("JSON"), "[5,130]");
    }
}
