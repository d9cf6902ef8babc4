//! What befalls whole machines: a power cut and a new boot, with a wall clock that may have been thrown; and the bad
//! engine that forgets what was in flight.

use crate::{control::Control, sim::Sim, verb::at_once};
use semel_kernel::{
    event::{Event, Recorded},
    fold,
    id::{StepName, TaskId},
    step::StepState,
    time::Millis,
};
use semel_ports::{Page, Store as _, TaskFilter, projection};
use std::collections::BTreeSet;

/// Milliseconds by which clocks may differ without being noticed.
const CLOCK_ERROR_MS: i64 = 2_000;

impl Sim {
    /// The power goes: all processes die, and the store's clock goes on from the wall clock of the next boot.
    pub(crate) fn reboot(&mut self) {
        if self.healed_at.is_some() {
            return;
        }
        self.cover.mark("fault: power cut");
        self.note(|| "power cut".to_owned());
        let last = self.store_now().at;
        let lives: Vec<u64> = self.lives.keys().copied().collect();
        for life in lives {
            self.kill(life);
        }
        if self.control == Some(Control::PowerCutNormal)
            && let Some(kept) = &self.kept
        {
            self.store.restore(kept);
        }
        self.clock_after_boot(last);
        let tasks = at_once(self.store.tasks(&TaskFilter::default(), Page { skip: 0, limit: 1_000 }));
        for row in tasks.unwrap_or_default() {
            self.checks.after_power_cut(self.now, &self.store, &row.id);
        }
    }

    /// What `semel-store-sqlite` makes of a wall clock under a new boot id: time never goes back, waits begin anew, and
    /// windows are void when the wall clock went back.
    fn clock_after_boot(&mut self, last: Millis) {
        let error = match self.chance.crash.between(0, 2) {
            0 => 0,
            1 => self.chance.crash.between(60_000, 30 * 86_400_000),
            _ => -self.chance.crash.between(60_000, 30 * 86_400_000),
        };
        self.cover.mark(match error {
            0 => "clock: right after the boot",
            1.. => "clock: thrown forward",
            _ => "clock: thrown back",
        });
        let wall = Millis(1_700_000_000_000 + self.now + error);
        let at = wall.max(last);
        self.clock.offset_ms = at.0 - self.now;
        self.clock.steady_since = at;
        if last.since(wall) > CLOCK_ERROR_MS {
            self.clock.void_before = at;
        }
        self.store.set_now(self.store_now());
    }

    /// Under the control that keeps committed steps only, nothing is remembered of what was in flight.
    pub(crate) fn forget_what_was_in_flight(&mut self) {
        if self.control != Some(Control::CheckpointAndResume) {
            return;
        }
        let tasks = at_once(self.store.tasks(&TaskFilter::default(), Page { skip: 0, limit: 1_000 }));
        for row in tasks.unwrap_or_default().into_iter().filter(|r| !r.phase.is_end()) {
            self.forget_in(&row.id);
        }
    }

    fn forget_in(&mut self, task: &TaskId) {
        let Some(mirror) = self.checks.task(task) else { return };
        let open = |s: StepState| matches!(s, StepState::Planned | StepState::Started | StepState::Unknown);
        let steps: BTreeSet<StepName> =
            mirror.steps.values().filter(|s| open(s.state)).map(|s| s.name.clone()).collect();
        let Ok(history) = at_once(self.store.history(task, 0)) else { return };
        let kept: Vec<Recorded> =
            history.into_iter().filter(|r| !is_about(&r.event, &steps, mirror)).collect();
        let kept: Vec<Recorded> = (1..).zip(kept).map(|(seq, r)| Recorded { seq, ..r }).collect();
        if let Ok(folded) = fold::fold_all(kept.iter().map(|r| (&r.event, r.at))) {
            self.store.replace(task, kept, projection::of(&folded, 0));
            self.checks.forget(&self.store, task);
        }
    }
}

/// What such an engine would not have kept.
fn is_about(event: &Event, steps: &BTreeSet<StepName>, task: &semel_kernel::task::Task) -> bool {
    let of_op = |op| task.operations.get(op).is_some_and(|o| steps.contains(&o.step));
    match event {
        Event::StepStarted { step, .. } => steps.contains(step),
        Event::AttemptAnswered { op, .. }
        | Event::AttemptUnknown { op, .. }
        | Event::AttemptPending { op, .. }
        | Event::SentLate { op, .. }
        | Event::ProbeAnswered { op, .. }
        | Event::EvidenceAdded { op, .. }
        | Event::RetryScheduled { op, .. }
        | Event::PrecheckAnswered { op, .. } => of_op(op),
        Event::ReviewOpened { .. }
        | Event::ReviewDecided { .. }
        | Event::RecoveryStarted { .. }
        | Event::RecoveryFinished { .. } => true,
        _ => false,
    }
}
