//! One owner: a lock file beside the database, held for the life of the store.
//!
//! Invariant: whoever holds the lock is the only writer, and its predecessor is dead: the kernel gives the lock back
//! when a process ends, however it ends. What is written inside is for messages only.

use crate::error::of_io;
use semel_kernel::id::SessionId;
use semel_ports::StoreError;
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// The lock, held.
#[derive(Debug)]
pub(crate) struct Owner {
    file: Mutex<File>,
}

/// `X.lock` beside `X`.
pub(crate) fn path_of(database: &Path) -> PathBuf {
    beside(database, ".lock")
}

/// The path with a suffix after its whole name.
pub(crate) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

impl Owner {
    /// Takes the lock.
    ///
    /// # Errors
    /// [`StoreError::Owned`] with the holder's pid when it is taken.
    pub(crate) fn take(database: &Path) -> Result<Self, StoreError> {
        let path = path_of(database);
        loop {
            let mut file = open(&path).map_err(|e| of_io("the lock file cannot be opened", &e))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(StoreError::Owned(holder(&mut file))),
                Err(TryLockError::Error(e)) => return Err(of_io("the lock cannot be taken", &e)),
            }
            if is_same(&file, &path) {
                let owner = Self { file: Mutex::new(file) };
                owner.write(None).map_err(|e| of_io("the lock file cannot be written", &e))?;
                return Ok(owner);
            }
        }
    }

    /// Writes the session beside the pid, for those who are refused.
    pub(crate) fn note(&self, session: &SessionId) {
        if let Err(error) = self.write(Some(session)) {
            tracing::warn!(%error, "the lock file cannot be written");
        }
    }

    fn write(&self, session: Option<&SessionId>) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        match session {
            Some(session) => writeln!(file, "pid {}, session {session}", std::process::id()),
            None => writeln!(file, "pid {}", std::process::id()),
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.read_to_string(&mut text);
    match (read, text.trim()) {
        (Ok(_), told) if !told.is_empty() => told.to_owned(),
        _ => "its pid is not known".to_owned(),
    }
}

/// A lock on a file that was removed meanwhile locks nothing.
fn is_same(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(named)) => held.dev() == named.dev() && held.ino() == named.ino(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_taker_learns_who_holds_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("s.db");
        let first = Owner::take(&path).expect("it is free");
        first.note(&SessionId::parse("ses_1").expect("an id"));
        let error = Owner::take(&path).expect_err("it is taken");
        let told = format!("pid {}, session ses_1", std::process::id());
        assert_eq!(error, StoreError::Owned(told));
        drop(first);
        Owner::take(&path).expect("it is free again");
    }
}
