//! Fold and law: the checks keep their own fold of every history, and compare it with what the store shows.

use super::{Check, Checks};
use crate::{cover::Cover, verb::at_once, world::World};
use semel_kernel::{event::Recorded, fold, hash::Hash, id::TaskId, law, task::Task};
use semel_ports::{Loaded, Page, Store as _, TaskFilter, Turn, mem::MemStore, projection};

/// A task as the checks have folded it.
pub(super) struct Mirror {
    pub(super) task: Task,
    /// Digest over all events so far.
    pub(super) chain: Hash,
}

impl Checks {
    /// Takes over what is new of a task, event by event.
    pub fn sync(&mut self, now: i64, store: &MemStore, id: &TaskId, cover: &mut Cover, world: &World) {
        let from = self.version_of(id).unwrap_or(0);
        let Ok(new) = at_once(store.history(id, from)) else { return };
        for recorded in &new {
            if !self.takes(now, id, recorded, cover) {
                return;
            }
            self.says_truth(now, id, recorded, world);
        }
        self.keeps_the_laws(now, id);
        self.rows_are_the_fold(now, store, id);
    }

    /// At the end of a turn; inside one, a contradiction may stand before its review.
    fn keeps_the_laws(&mut self, now: i64, id: &TaskId) {
        let Some(mirror) = self.mirrors.get(id) else { return };
        if let Err(law) = law::check(&mirror.task) {
            let what = format!("{id} at version {}: {law}", mirror.task.version);
            self.broken(now, Check::Law, what);
        }
    }

    fn takes(&mut self, now: i64, id: &TaskId, recorded: &Recorded, cover: &mut Cover) -> bool {
        self.grows(now, id, &recorded.event);
        let folded = match self.mirrors.remove(id) {
            None => fold::fold_all([(&recorded.event, recorded.at)])
                .map(|task| Mirror { task, chain: Hash::of(b"") }),
            Some(mut mirror) => {
                let states = mirror.task.steps.iter().map(|(n, s)| (n.clone(), s.state)).collect();
                let folded = fold::fold(&mut mirror.task, &recorded.event, recorded.at);
                cover.steps(&states, &mirror.task);
                folded.map(|()| mirror)
            }
        };
        let mut mirror = match folded {
            Ok(mirror) => mirror,
            Err(e) => {
                self.broken(now, Check::Fold, format!("{id} #{} does not fold: {e}", recorded.seq));
                return false;
            }
        };
        cover.event(&mirror.task, &recorded.event);
        mirror.chain = super::chain::next(mirror.chain, recorded);
        self.mirrors.insert(id.clone(), mirror);
        true
    }

    fn rows_are_the_fold(&mut self, now: i64, store: &MemStore, id: &TaskId) {
        let filter = TaskFilter { prefix: Some(id.to_string()), ..TaskFilter::default() };
        let rows = at_once(store.tasks(&filter, Page { skip: 0, limit: 1 })).unwrap_or_default();
        let Some(mirror) = self.mirrors.get(id) else { return };
        let ours = projection::of(&mirror.task, 0).task;
        if rows.first().is_some_and(|row| *row != ours) {
            let what = format!("the row of {id} is {:?}, the fold says {ours:?}", rows.first());
            self.broken(now, Check::Fold, what);
        }
    }

    /// A task cannot be loaded: its history does not fold, or breaks a law.
    pub fn cannot_load(&mut self, now: i64, id: &TaskId, why: &str) {
        self.broken(now, Check::Fold, format!("{id} cannot be loaded: {why}"));
    }

    /// At the end the whole history is folded once more, and the checkpoint with its tail as well.
    pub(super) fn folds_from_the_start(&mut self, now: i64, store: &MemStore) {
        let ids: Vec<TaskId> = self.mirrors.keys().cloned().collect();
        for id in ids {
            let whole = at_once(store.history(&id, 0)).unwrap_or_default();
            let folded = fold::fold_all(whole.iter().map(|r| (&r.event, r.at))).ok();
            let loaded = at_once(store.load(&id)).and_then(Loaded::into_task).ok();
            let ours = self.mirrors.get(&id).map(|m| m.task.clone());
            if folded != ours || loaded != ours {
                self.broken(now, Check::Fold, format!("{id}: history, checkpoint and fold differ"));
            }
        }
    }

    /// The version that the checks have seen.
    #[must_use]
    pub fn version_of(&self, id: &TaskId) -> Option<u64> {
        self.mirrors.get(id).map(|m| m.task.version)
    }

    /// A task as the checks have folded it.
    #[must_use]
    pub fn task(&self, id: &TaskId) -> Option<&Task> {
        self.mirrors.get(id).map(|m| &m.task)
    }

    /// All tasks.
    #[must_use]
    pub fn tasks(&self) -> Vec<TaskId> {
        self.mirrors.keys().cloned().collect()
    }

    /// A task as it will be after a turn.
    #[must_use]
    pub fn as_it_will_be(&self, turn: &Turn) -> Option<Task> {
        let mut events = turn.events.iter();
        let mut task = match self.task(&turn.task) {
            Some(task) => task.clone(),
            None => fold::fold_all([(events.next()?, turn.at)]).ok()?,
        };
        for event in events {
            fold::fold(&mut task, event, turn.at).ok()?;
        }
        Some(task)
    }

    /// The store was rewritten by a control: begin anew.
    pub fn forget(&mut self, store: &MemStore, id: &TaskId) {
        let whole = at_once(store.history(id, 0)).unwrap_or_default();
        let chain = whole.iter().fold(Hash::of(b""), super::chain::next);
        if let Ok(task) = fold::fold_all(whole.iter().map(|r| (&r.event, r.at))) {
            self.mirrors.insert(id.clone(), Mirror { task, chain });
        }
    }
}
