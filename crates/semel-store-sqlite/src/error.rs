//! What an error of SQLite means for the callers of a store.
//!
//! Invariant: an error that leaves durability open is never mapped to one that says *nothing was changed*; that
//! decision is the writer's, this table only names causes.

use rusqlite::{Error, ErrorCode, ffi};
use semel_ports::{CommitError, StoreError};

/// What the writer does after an error inside a transaction that still exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The fault of this one request: it is refused, the others of the batch are tried again.
    Own,
    /// It passes by itself: everything is rolled back, and the callers come again.
    Passes,
    /// The file or the disk cannot be trusted: close, and reopen only when that is safe.
    Broken,
}

/// Why a piece of work stops.
#[derive(Debug)]
pub(crate) enum Stop {
    /// An answer: refused before anything was written.
    Refused(CommitError),
    /// SQLite failed; the transaction is rolled back.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<CommitError> for Stop {
    fn from(error: CommitError) -> Self {
        Self::Refused(error)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Refused(CommitError::Store(error))
    }
}

fn code(error: &Error) -> Option<ErrorCode> {
    match error {
        Error::SqliteFailure(cause, _) => Some(cause.code),
        Error::SqlInputError { error, .. } => Some(error.code),
        _ => None,
    }
}

/// The class of an error.
pub(crate) fn class(error: &Error) -> Class {
    match code(error) {
        None | Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig | ErrorCode::TypeMismatch) => {
            Class::Own
        }
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::CannotOpen
            | ErrorCode::OutOfMemory,
        ) => Class::Passes,
        Some(_) => Class::Broken,
    }
}

/// A hook of ours has turned the COMMIT down; that is no fault of the data.
fn vetoed(error: &Error) -> bool {
    matches!(error, Error::SqliteFailure(cause, _) if cause.extended_code == ffi::SQLITE_CONSTRAINT_COMMITHOOK)
}

/// The error as a store says it.
pub(crate) fn of(error: &Error) -> StoreError {
    let text = error.to_string();
    if vetoed(error) {
        return StoreError::Busy(text);
    }
    match code(error) {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::OutOfMemory) => {
            StoreError::Busy(text)
        }
        Some(ErrorCode::DiskFull) => StoreError::Full(text),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            StoreError::ReadOnly(text)
        }
        Some(ErrorCode::TooBig) => StoreError::Limit(text),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::ConstraintViolation)
        | None => StoreError::Corrupt(text),
        Some(_) => StoreError::Closed(text),
    }
}

/// Says a failure of SQLite as a store does.
pub(crate) trait OrStore<T> {
    /// The value, or what the store says.
    fn or_store(self) -> Result<T, StoreError>;
}

impl<T> OrStore<T> for rusqlite::Result<T> {
    fn or_store(self) -> Result<T, StoreError> {
        self.map_err(|error| of(&error))
    }
}

/// The error of a file operation as a store says it: `what` was being done.
pub(crate) fn of_io(what: &str, error: &std::io::Error) -> StoreError {
    use std::io::ErrorKind;
    let text = format!("{what}: {error}");
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::Full(text),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly(text),
        _ => StoreError::Unusable(text),
    }
}
