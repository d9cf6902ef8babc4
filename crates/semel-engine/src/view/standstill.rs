//! A task that is taken up again and again, or held for long, and does not move.
//!
//! A claim writes no event, and being taken up is no progress: the store counts the claims, the history has the rest.

use super::{act::count, clock::when, why};
use semel_kernel::{
    event::{Recorded, is_progress},
    id::{SessionId, StepName},
    limit, oblige,
    task::{Phase, Task},
    time::{Millis, Now},
};
use serde::Serialize;
use std::fmt;

/// Claims since the last progress from which on people are told; the first may be at work right now.
const CLAIMS: u32 = 2;

/// What there is to say of a task that does not move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Standstill {
    /// The last progress, in store time.
    pub since: Millis,
    /// How often it was taken up since.
    pub claims: u32,
    /// Claims without progress after which a person is asked.
    pub limit: u32,
    /// The number of the event that it was.
    pub event: u64,
    /// The step that is expected to move next.
    pub step: Option<StepName>,
    /// Who has it in hand.
    pub owner: Option<SessionId>,
    #[serde(skip)]
    now: Now,
}

/// What is said of the task when it does not move. `claims` and `owner` are those of its row.
#[must_use]
pub fn standstill(
    task: &Task,
    history: &[Recorded],
    (claims, owner): (u32, Option<SessionId>),
    now: Now,
) -> Option<Standstill> {
    let phase = oblige::phase(task);
    if phase.is_end() || phase == Phase::NeedsReview || task.paused.is_some() {
        return None;
    }
    let last = history.iter().rev().find(|r| is_progress(std::slice::from_ref(&r.event)));
    let (since, event) = last.map_or((task.created_at, 1), |r| (r.at, r.seq));
    let held = owner.is_some() && now.at.since(since) > limit::PROGRESS_MS;
    let step = why::lead(task, phase).map(|step| step.name.clone());
    let limit = limit::CLAIMS_WITHOUT_PROGRESS;
    (claims >= CLAIMS || held).then_some(Standstill { since, event, claims, limit, step, owner, now })
}

impl fmt::Display for Standstill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "No progress since {} (event {})", when(self.since, self.now), self.event)?;
        if self.claims > 0 {
            let times = count(usize::try_from(self.claims).unwrap_or(usize::MAX), "time");
            write!(f, "; taken up {times} since, and after {} a person is asked", self.limit)?;
        }
        if let Some(step) = &self.step {
            write!(f, "; step `{step}` should move next")?;
        }
        match &self.owner {
            Some(owner) => write!(f, "; {owner} has it in hand."),
            None => f.write_str("; nobody has it in hand."),
        }
    }
}
