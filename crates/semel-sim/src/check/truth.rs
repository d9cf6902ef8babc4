//! Truth: COMMITTED means that the effect is there; PLANNED, FAILED and SKIPPED at the end mean that it is not.

use super::{Check, Checks, place_of};
use crate::world::World;
use semel_kernel::{
    event::{Event, Proof, Recorded},
    id::TaskId,
    step::StepState,
};
use semel_ports::mem::MemStore;

impl Checks {
    /// Called after each event that was folded.
    pub(super) fn says_truth(&mut self, now: i64, id: &TaskId, recorded: &Recorded, world: &World) {
        let Event::StepCommitted { step, proof, .. } = &recorded.event else { return };
        let own =
            matches!(proof, Proof::Answer { .. } | Proof::Probe | Proof::Evidence | Proof::Person { .. });
        let Some(task) = self.task(id).filter(|_| own) else { return };
        let Some(op) = task.steps.get(step).and_then(|s| task.operation_of(s)) else { return };
        let place = place_of(op);
        let there = match place.0.as_str() {
            "read" => true,
            "sets" => world.was(&place, "ours"),
            _ => !world.effects(&place).is_empty(),
        };
        if !there {
            let what = format!("{step} of {id} is COMMITTED by {proof:?}, and {place:?} has no effect");
            self.broken(now, Check::Truth, what);
        }
    }

    /// All rules that can be told at the end only.
    pub fn at_the_end(&mut self, world: &World, store: &MemStore) {
        let now = i64::MAX;
        self.folds_from_the_start(now, store);
        for id in self.tasks() {
            self.prefix_is_there(now, store, &id);
            self.nothing_is_denied(now, &id, world);
        }
        self.all_is_there(now, store);
    }

    /// What is said not to have happened has not happened.
    fn nothing_is_denied(&mut self, now: i64, id: &TaskId, world: &World) {
        let Some(task) = self.task(id) else { return };
        let mut denied = Vec::new();
        for step in task.steps.values().filter(|s| !s.written_off) {
            let Some(op) = task.operation_of(step) else { continue };
            let place = place_of(op);
            let says_no = matches!(step.state, StepState::Planned | StepState::Failed | StepState::Skipped);
            let counts = !matches!(place.0.as_str(), "sets" | "read");
            if says_no && counts && !world.effects(&place).is_empty() {
                denied.push(format!(
                    "{} of {id} is {}, and {place:?} happened",
                    step.name,
                    step.state.word()
                ));
            }
        }
        for what in denied {
            self.broken(now, Check::Truth, what);
        }
    }
}
