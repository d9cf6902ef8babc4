//! Copies and restored backups: held until somebody says that the original will never run again.
//!
//! Invariant: a held store creates, commits and claims nothing. After [`Adopt`] only turns that record the adoption
//! pass, one for each task that has not ended; the store is free when the last of them is durable. A crash on the way
//! leaves it held, and adopting goes on where it stopped.

use crate::{
    error::Stop,
    sql::{
        meta::{self, Adoption, Head, Meta},
        task,
    },
    writer::batch::{Kind, Tx, Work},
};
use semel_kernel::{event::Event, id::TaskId, task::Restored, time::Millis};
use semel_ports::{StoreError, StoreInfo, Turn};

/// What an adoption has to be followed by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdoptReport {
    /// The new epoch; it leads every generation from here on.
    pub epoch: u32,
    /// Tasks that have not ended: each needs a turn with `SnapshotAdopted` before anything is claimed.
    pub tasks: Vec<TaskId>,
    /// When the copy was made, as far as is known: the store time of the last durable batch in it.
    pub copied_at: Millis,
}

/// Whether the store may act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It may.
    Free,
    /// It is a copy or was restored.
    Held {
        /// Why it is taken for one.
        why: String,
        /// The count of opens that its mark tells; the next count is above it.
        opens: i64,
    },
    /// It was adopted; some tasks' turns are still to be written.
    Adopting,
}

/// What the writer knows of the store; changed in a transaction, taken over when that is durable.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    pub(crate) meta: Meta,
    pub(crate) head: Head,
    pub(crate) stage: Stage,
}

impl Desk {
    pub(crate) fn info(&self) -> StoreInfo {
        let held = match &self.stage {
            Stage::Free => None,
            Stage::Held { why, .. } => Some(why.clone()),
            Stage::Adopting => Some("its adoption is not finished".to_owned()),
        };
        let adopted = self.meta.adopted;
        StoreInfo { epoch: self.meta.epoch, instance: self.meta.instance.clone(), held, adopted }
    }

    /// Nothing is created or claimed in a held store.
    pub(crate) fn free(&self) -> Result<(), StoreError> {
        match self.info().held {
            Some(why) => Err(StoreError::NotAdopted(why)),
            None => Ok(()),
        }
    }

    /// No turn is written in a held store, but those that adopt.
    pub(crate) fn admits(&self, turn: &Turn) -> Result<(), StoreError> {
        let adopts = turn.events.iter().any(|e| matches!(e, Event::SnapshotAdopted { .. }));
        if self.stage == Stage::Adopting && adopts { Ok(()) } else { self.free() }
    }
}

/// Notes that a task's adoption is written, and frees the store after the last.
pub(crate) fn note(tx: &mut Tx<'_, '_>, turn: &Turn) -> Result<(), Stop> {
    if tx.desk.stage != Stage::Adopting {
        return Ok(());
    }
    tx.sql.run("DELETE FROM adopting WHERE task = ?1", [turn.task.as_str()])?;
    if meta::adopting(tx.sql.conn)?.is_empty() {
        tx.desk.stage = Stage::Free;
    }
    Ok(())
}

/// Puts a held store under a new epoch.
pub(crate) struct Adopt {
    pub(crate) actor: String,
}

impl Work for Adopt {
    type Applied = AdoptReport;
    type Answer = AdoptReport;

    fn kind(&self) -> Kind {
        Kind::Other
    }

    fn apply(&mut self, tx: &mut Tx<'_, '_>) -> Result<AdoptReport, Stop> {
        if let Stage::Held { opens, .. } = tx.desk.stage {
            self.begin(tx, opens)?;
        }
        let conn = tx.sql.conn;
        let tasks = if tx.desk.stage == Stage::Adopting { meta::adopting(conn)? } else { Vec::new() };
        let copied_at = meta::last_adoption(conn)?.map_or(Millis(tx.desk.head.at), |a| a.times.copied_at);
        Ok(AdoptReport { epoch: tx.desk.meta.epoch, tasks, copied_at })
    }

    fn finish(self, applied: AdoptReport) -> AdoptReport {
        applied
    }
}

impl Adopt {
    fn begin(&self, tx: &mut Tx<'_, '_>, opens: i64) -> Result<(), Stop> {
        let conn = tx.sql.conn;
        let epoch = tx.desk.meta.epoch.saturating_add(1);
        let times = Restored { copied_at: Millis(tx.desk.head.at), adopted_at: tx.now };
        let adoption = Adoption { epoch, times };
        meta::put_epoch(conn, epoch)?;
        meta::add_adoption(conn, &adoption, &self.actor)?;
        task::strand_all(conn, tx.now)?;
        task::adopt_all(conn, epoch)?;
        let open_count = tx.desk.meta.open_count.max(opens).saturating_add(1);
        meta::put_open_count(conn, open_count)?;
        tx.desk.meta.epoch = epoch;
        tx.desk.meta.adopted = Some(times);
        tx.desk.meta.open_count = open_count;
        tx.desk.stage = if meta::adopting(conn)?.is_empty() { Stage::Free } else { Stage::Adopting };
        Ok(())
    }
}
