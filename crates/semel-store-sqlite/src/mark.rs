//! The mark: a small file beside the database that a copy or a restored backup does not match (DESIGN section 8).
//!
//! Invariant: the database is ahead of its mark by one open at most, because a crash can fall between the two writes,
//! and a mark that is behind is mended before the next open is counted. So any other difference is somebody's copy.
//! What it cannot see: a snapshot of the whole disk, mark included, and a copy that is put back in place, byte by byte,
//! from after the last write of the mark.

use crate::{
    error::of_io,
    lock::beside,
    sql::meta::{Head, Meta},
};
use semel_ports::StoreError;
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// The mark of one store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) instance: String,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// Device numbers are compared under one boot only: some are given anew at every boot.
    pub(crate) boot_id: String,
    pub(crate) open_count: i64,
    pub(crate) turns: i64,
    pub(crate) task: String,
    pub(crate) seq: i64,
    pub(crate) turn: String,
}

/// What the comparison shows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is the store that wrote the mark.
    Same,
    /// It is another one, or an earlier state: why.
    Foreign(String),
}

/// `X.mark` beside `X`.
pub(crate) fn path_of(database: &Path) -> PathBuf {
    beside(database, ".mark")
}

impl Mark {
    /// The mark that this database should have now.
    pub(crate) fn of(database: &Path, meta: &Meta, head: &Head, boot_id: &str) -> Result<Self, StoreError> {
        let file = fs::metadata(database).map_err(|e| of_io("the database cannot be looked at", &e))?;
        Ok(Self {
            instance: meta.instance.clone(),
            device: file.dev(),
            inode: file.ino(),
            boot_id: boot_id.to_owned(),
            open_count: meta.open_count,
            turns: head.turns,
            task: head.task.clone(),
            seq: head.seq,
            turn: head.turn.clone(),
        })
    }

    /// Reads the mark of a database; `None` when there is none.
    pub(crate) fn read(database: &Path) -> Result<Option<Self>, String> {
        match fs::read_to_string(path_of(database)) {
            Ok(text) => serde_json::from_str(&text).map(Some).map_err(|e| e.to_string()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e.to_string()),
        }
    }

    /// Writes the mark, whole or not at all.
    pub(crate) fn write(&self, database: &Path) -> Result<(), StoreError> {
        let text = serde_json::to_string(self).map_err(|e| StoreError::Unusable(e.to_string()))?;
        replace(&path_of(database), text.as_bytes()).map_err(|e| of_io("the mark cannot be written", &e))
    }

    /// Compares this mark with what the database says; `holds` tells whether the database has the mark's last turn.
    pub(crate) fn compare(&self, now: &Self, holds: bool) -> Verdict {
        let moved = self.inode != now.inode || (self.boot_id == now.boot_id && self.device != now.device);
        let foreign = |why: &str| Verdict::Foreign(why.to_owned());
        if self.instance != now.instance {
            foreign("the mark beside it belongs to another store")
        } else if moved {
            foreign("it is not the file that the mark was written for: a copy, or a restored backup")
        } else if now.open_count < self.open_count || now.turns < self.turns || !holds {
            foreign("it is older than its mark: a restored backup")
        } else if now.open_count > self.open_count.saturating_add(1) {
            foreign("its mark is older than it: the mark was restored, or the file was opened elsewhere")
        } else {
            Verdict::Same
        }
    }
}

/// Makes the mark match no file, so that whatever lies beside it is held when it is opened next.
///
/// # Errors
/// The mark cannot be written.
pub(crate) fn disown(database: &Path) -> Result<(), StoreError> {
    match Mark::read(database) {
        Ok(Some(mark)) => Mark { inode: 0, ..mark }.write(database),
        // Without a readable mark it is held already.
        Ok(None) | Err(_) => Ok(()),
    }
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = beside(path, ".new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    sync_folder(path)
}

/// Makes a rename or a removal in the folder of `path` durable.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark() -> Mark {
        Mark {
            instance: "i".into(),
            device: 1,
            inode: 2,
            boot_id: "b".into(),
            open_count: 5,
            turns: 10,
            task: "t".into(),
            seq: 3,
            turn: "u".into(),
        }
    }

    fn verdict(change: impl Fn(&mut Mark)) -> Verdict {
        let mut now = mark();
        change(&mut now);
        mark().compare(&now, true)
    }

    #[test]
    fn a_crash_between_the_two_writes_is_no_copy() {
        assert_eq!(verdict(|_| {}), Verdict::Same);
        assert_eq!(verdict(|m| m.open_count = 6), Verdict::Same);
        assert_eq!(verdict(|m| m.turns = 99), Verdict::Same, "turns go on after the mark");
    }

    #[test]
    fn a_device_number_may_change_with_a_boot() {
        assert_eq!(verdict(|m| (m.device, m.boot_id) = (9, "c".into())), Verdict::Same);
    }

    #[test]
    fn everything_else_is_foreign() {
        let changes: [fn(&mut Mark); 6] = [
            |m| m.instance = "j".into(),
            |m| m.device = 9,
            |m| m.inode = 9,
            |m| m.open_count = 4,
            |m| m.open_count = 7,
            |m| m.turns = 9,
        ];
        for change in changes {
            assert!(matches!(verdict(change), Verdict::Foreign(_)));
        }
        assert!(matches!(mark().compare(&mark(), false), Verdict::Foreign(_)), "its last turn is not there");
    }
}
