//! Effect contracts: what a tool does to the world, how it is called, and what its answers mean (DESIGN section 5).
//!
//! Invariant: a contract is data, pinned by the hash of its canonical document; all its expressions are compiled when
//! it is read. What stands between two readings of one document is nothing: reading is a function. This module must
//! not know what a plan or a store is.

mod call;
pub(crate) mod expr;
mod lint;
mod probe;
mod read;
mod require;
mod retry;
mod terms;
mod uses;

use crate::{
    cel::Program,
    fields::{Digest, FieldRules},
    http::{HttpSpec, KeyPlace},
    problem::{Problem, Problems, Span},
    schema::Schema,
    yaml::Node,
};
pub(crate) use call::{Names, answer_vars};
pub(crate) use require::{IfMatch, Require};
use semel_kernel::{
    event::PlannedOperation,
    id::{StepName, TaskId, Tenant},
    json::Json,
    outcome::{Finding, Look, Outcome},
    terms::Terms,
};
use semel_ports::{connector::Report, request::HttpRequest};
use std::collections::BTreeMap;

/// A contract, read and compiled.
#[derive(Clone, Debug)]
pub struct Contract {
    /// What the kernel needs of it.
    pub terms: Terms,
    /// The document, self-contained; its canonical text is what the hash pins.
    pub document: Json,
    /// Label of the credential's account, if it names one, or where it is read: `env:NAME`, `file:PATH`.
    pub account: Option<String>,
    pub(crate) fields: FieldRules,
    pub(crate) key_format: KeyFormat,
    pub(crate) key_place: Option<KeyPlace>,
    pub(crate) fence: Option<String>,
    pub(crate) http: HttpSpec,
    pub(crate) rules: AnswerRules,
    pub(crate) probe: Option<ProbeRules>,
    pub(crate) input: Option<Schema>,
    pub(crate) output: Option<Schema>,
    source: Source,
}

/// Where it was read from, for the linter.
#[derive(Clone, Debug, Default)]
struct Source {
    file: String,
    span: Span,
    spans: BTreeMap<String, Span>,
}

/// How the key is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum KeyFormat {
    /// 32 lower-case base32 characters.
    #[default]
    Base32,
    /// A UUIDv8 of the same hash.
    Uuid,
}

/// An answer that the contract declares effect-free.
#[derive(Clone, Debug)]
pub(crate) struct RefusalRule {
    pub(crate) when: Program,
    pub(crate) retryable: bool,
    pub(crate) cause: Option<String>,
}

/// What the answers of the tool mean.
#[derive(Clone, Debug, Default)]
pub(crate) struct AnswerRules {
    pub(crate) success: Option<Program>,
    pub(crate) refusals: Vec<RefusalRule>,
    pub(crate) pending: Option<Program>,
    pub(crate) handle: Option<Program>,
    pub(crate) replayed: Option<Program>,
    pub(crate) key_in_use: Option<Program>,
    pub(crate) key_reused: Option<Program>,
    pub(crate) result: Option<Program>,
    /// What an answer says that the attempt cost.
    pub(crate) cost: Option<Program>,
    /// Statuses of passing refusals that are tried again; all of them without it.
    pub(crate) retry_on: Option<Vec<u16>>,
}

/// How the target is asked, and what its answers mean.
#[derive(Clone, Debug)]
pub(crate) struct ProbeRules {
    pub(crate) http: HttpSpec,
    pub(crate) applied: Option<Program>,
    pub(crate) absent: Option<Program>,
    pub(crate) pending: Option<Program>,
    pub(crate) many: Option<Program>,
    pub(crate) result: Option<Program>,
    pub(crate) require: Option<Require>,
    pub(crate) if_match: Option<IfMatch>,
    pub(crate) confirm: Option<Confirm>,
}

/// A second, independent source, and which answers of the first it must share.
#[derive(Clone, Debug)]
pub(crate) struct Confirm {
    /// What is asked and what its answers mean.
    pub(crate) rules: Box<ProbeRules>,
    pub(crate) applied: bool,
    pub(crate) absent: bool,
}

/// One intended call.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Whose task it is.
    pub tenant: &'a Tenant,
    /// The task.
    pub task: &'a TaskId,
    /// The step.
    pub step: &'a StepName,
    /// The business version.
    pub version: &'a str,
    /// 1, or the n-th time on purpose.
    pub intent: u32,
    /// Grows only where refusals stick to the key.
    pub key_epoch: u32,
    /// The arguments.
    pub args: &'a Json,
}

/// What expressions see beside an answer.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The arguments.
    pub args: &'a Json,
    /// The operation's key.
    pub key: &'a str,
    /// The operation's id.
    pub operation: &'a str,
    /// The task's id.
    pub task: &'a str,
    /// What the target gave to ask with, if it did.
    pub handle: Option<&'a Json>,
}

/// Why a call is refused before anything is sent. It is final: the same call is refused again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Stable code, `SM44xx`.
    pub code: &'static str,
    /// What is wrong, and what to do about it.
    pub cause: String,
    /// The arguments it is about.
    pub fields: Vec<String>,
}

impl Contract {
    /// Reads a contract. All that is wrong goes to `problems`; `None` when it cannot be used.
    pub fn read(node: &Node, file: &str, problems: &mut Problems) -> Option<Contract> {
        read::contract(node, file, problems)
    }

    /// Reads a contract back from its stored document.
    ///
    /// # Errors
    /// All that is wrong with it; they have no lines.
    pub fn from_document(document: &Json) -> Result<Contract, Vec<Problem>> {
        let mut problems = Problems::new();
        match read::contract(&Node::from_json(document), "contract", &mut problems) {
            Some(contract) if !problems.has_errors() => Ok(contract),
            Some(_) | None => Err(problems.into_vec()),
        }
    }

    /// The references (`env:NAME`, `file:PATH`) of the secrets that its request and its look-up need.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        self.secret_references()
    }

    /// Where the label of the account is read when a worker takes up a task; `None` when it is written in the contract.
    #[must_use]
    pub fn account_reference(&self) -> Option<&str> {
        self.account.as_deref().filter(|a| a.starts_with("env:") || a.starts_with("file:"))
    }

    /// Warns of what the contract may not mean. Each warning says what will happen to the effect if it stays so, and
    /// what to write instead; none of them stops a plan.
    pub fn lint(&self, problems: &mut Problems) {
        lint::lint(self, problems);
    }

    /// The identity fields of a call, as texts in the contract's order.
    ///
    /// # Errors
    /// [`Refusal`] when one is absent or cannot name a target.
    pub fn identity(&self, args: &Json) -> Result<Vec<String>, Refusal> {
        call::identity(self, args)
    }

    /// Target, request hash and field digests of a call, after all checks on its arguments.
    ///
    /// # Errors
    /// [`Refusal`]: too large, against the schema, or without identity.
    pub fn digest(&self, args: &Json) -> Result<Digest, Refusal> {
        call::digest(self, args)
    }

    /// The operation that a call intends: id, key and hash, fixed from here on.
    ///
    /// # Errors
    /// [`Refusal`], as for [`Contract::digest`]; also an id that would be too long.
    pub fn operation(&self, call: &Call<'_>) -> Result<PlannedOperation, Refusal> {
        call::operation(self, call)
    }

    /// The request of a call, to be frozen at its first STARTED. `tag` is the version that the look before it told.
    ///
    /// # Errors
    /// [`Refusal`] when a template cannot be filled from these arguments, or `if_match` has no version to name.
    pub fn request(&self, call: &Call<'_>, key: &str, tag: Option<&str>) -> Result<HttpRequest, Refusal> {
        call::request(self, call, key, tag)
    }

    /// What one attempt shows, and the answer as it may be kept: redacted and cut.
    #[must_use]
    pub fn outcome(&self, report: &Report, seen: &Seen<'_>) -> (Outcome, Json) {
        crate::judge::outcome(self, report, seen)
    }

    /// What the answer to one attempt says that it cost, in the contract's own unit: rounded up, and never less than
    /// nothing. 0 where there is no answer, no rule, or the rule gives no number.
    #[must_use]
    pub fn cost(&self, report: &Report, seen: &Seen<'_>) -> i64 {
        crate::judge::cost(self, report, seen)
    }

    /// The question to the target.
    ///
    /// # Errors
    /// [`Refusal`] when the contract has no probe, or a template cannot be filled.
    pub fn question(&self, seen: &Seen<'_>) -> Result<HttpRequest, Refusal> {
        call::question(self, seen)
    }

    /// Whether such a finding of the first look-up counts only if a second source says the same.
    #[must_use]
    pub fn is_confirmed(&self, finding: &Finding) -> bool {
        let confirm = self.probe.as_ref().and_then(|probe| probe.confirm.as_ref());
        confirm.is_some_and(|confirm| match finding {
            Finding::Applied { .. } => confirm.applied,
            Finding::Absent => confirm.absent,
            Finding::Pending | Finding::Many { .. } | Finding::Unclear { .. } => false,
        })
    }

    /// The question to the second source.
    ///
    /// # Errors
    /// [`Refusal`] when the contract has none, or a template cannot be filled.
    pub fn confirming_question(&self, seen: &Seen<'_>) -> Result<HttpRequest, Refusal> {
        call::confirming_question(self, seen)
    }

    /// What the answer of the second source shows, and the answer as it may be kept.
    #[must_use]
    pub fn confirming_finding(&self, report: &Report, seen: &Seen<'_>) -> (Finding, Json) {
        crate::judge::confirming_finding(self, report, seen)
    }

    /// What one look-up shows, and the answer as it may be kept.
    #[must_use]
    pub fn finding(&self, report: &Report, seen: &Seen<'_>) -> (Finding, Json) {
        crate::judge::finding(self, report, seen)
    }

    /// What one look-up before a send shows, and what that means for the send; without a `require` it may go.
    #[must_use]
    pub fn requirement(&self, report: &Report, seen: &Seen<'_>) -> (Finding, Look, Json) {
        crate::judge::requirement(self, report, seen)
    }
}
