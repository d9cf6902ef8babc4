//! Errors of stores. Few variants, each a branch somebody takes; the rest is text.

use semel_kernel::{id::TaskId, time::Generation};

/// The store cannot do what was asked. Nothing was changed, unless the variant says that it is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another writer holds it; try again after a pause.
    #[error("the store is busy: {0}")]
    Busy(String),
    /// No space, or a quota.
    #[error("the store is full: {0}")]
    Full(String),
    /// It cannot be written: permissions, a read-only file system.
    #[error("the store is read-only: {0}")]
    ReadOnly(String),
    /// It closed itself after a failed sync or commit, and reopens only when that is safe.
    #[error("the store has closed itself: {0}")]
    Closed(String),
    /// Whether the commit is durable is not known.
    #[error("whether the commit is durable is not known: {0}")]
    CommitUnknown(String),
    /// A restored or copied store; nothing is sent until it is adopted.
    #[error("the store is a copy or was restored: {0}")]
    NotAdopted(String),
    /// Another process owns it.
    #[error("another process owns the store: {0}")]
    Owned(String),
    /// Its contents break a rule.
    #[error("the store is corrupt: {0}")]
    Corrupt(String),
    /// Its form is newer than this program, or its settings are wrong.
    #[error("the store cannot be used: {0}")]
    Unusable(String),
    /// There is no such task.
    #[error("there is no task `{0}`")]
    NoTask(TaskId),
    /// There is no such artifact.
    #[error("there is no artifact `{0}`")]
    NoArtifact(String),
    /// A limit is hit.
    #[error("{0}")]
    Limit(String),
}

impl StoreError {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Busy(_) => "SM2001",
            Self::Full(_) => "SM2002",
            Self::ReadOnly(_) => "SM2003",
            Self::Closed(_) => "SM2004",
            Self::CommitUnknown(_) => "SM2005",
            Self::NotAdopted(_) => "SM2006",
            Self::Owned(_) => "SM2007",
            Self::Corrupt(_) => "SM9002",
            Self::Unusable(_) => "SM2008",
            Self::NoTask(_) => "SM1001",
            Self::NoArtifact(_) => "SM2009",
            Self::Limit(_) => "SM1008",
        }
    }

    /// What to do next.
    #[must_use]
    pub const fn next(&self) -> &'static str {
        match self {
            Self::Busy(_) => "nothing was changed; it is tried again by itself",
            Self::Full(_) => "free some space where the store lies; work goes on by itself",
            Self::ReadOnly(_) => "make the store's file and folder writable; work goes on by itself",
            Self::Closed(_) => "check the disk, then start again; nothing that was acknowledged is lost",
            Self::CommitUnknown(_) => "start again; the turn is looked up before anything else happens",
            Self::NotAdopted(_) => "run `semel db adopt` if the original will never run again",
            Self::Owned(_) => "use the running process, or stop it",
            Self::Corrupt(_) => "run `semel db verify`; restore a backup if it fails",
            Self::Unusable(_) => "use the version of semel that wrote it, or see `semel doctor`",
            Self::NoTask(_) => "see `semel task list`",
            Self::NoArtifact(_) => "run `semel db verify`",
            Self::Limit(_) => "make it smaller, or keep the body elsewhere and pass a reference",
        }
    }

    /// The same call may go through later without anybody's help.
    #[must_use]
    pub const fn passes(&self) -> bool {
        matches!(self, Self::Busy(_) | Self::Full(_) | Self::ReadOnly(_))
    }
}

/// A turn was not committed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// The task has moved on; load the tail and decide again.
    #[error("the task is at version {actual} now")]
    Conflict {
        /// Its present version.
        actual: u64,
    },
    /// Another owner holds the task; this one changes nothing any more.
    #[error("the task is owned under generation {current} now")]
    Fenced {
        /// The present generation.
        current: Generation,
    },
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}
