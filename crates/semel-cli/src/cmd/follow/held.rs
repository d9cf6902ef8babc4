//! A task that waits for others, all of which wait for a person.
//!
//! Invariant: a task that can still move by itself is never called held.

use crate::{
    cmd::why::load,
    fail::{Exit, Fail},
};
use semel_kernel::{
    id::TaskId,
    oblige,
    step::Step,
    task::{Phase, Task},
};
use semel_ports::Store;

/// The reviews of other tasks that a task waits for.
pub(crate) struct Held {
    /// The exit code that their state stands for.
    pub(crate) exit: Exit,
    /// What to say of them.
    pub(crate) lines: Vec<String>,
}

/// Who holds a task up, when nothing of it can move before a person has answered for another task.
pub(crate) async fn held_by(store: &dyn Store, task: &Task) -> Result<Option<Held>, Fail> {
    if oblige::phase(task) != Phase::Waiting {
        return Ok(None);
    }
    let mut held = Held { exit: Exit::Person, lines: Vec::new() };
    for step in task.steps_in_order().filter(|step| !step.is_settled() && task.is_ready(step)) {
        let Some((other, _)) = &step.attached else { return Ok(None) };
        if !held.add(step, other, store).await? {
            return Ok(None);
        }
    }
    Ok((!held.lines.is_empty()).then_some(held))
}

impl Held {
    /// `false` when the other task goes on by itself.
    async fn add(&mut self, step: &Step, other: &TaskId, store: &dyn Store) -> Result<bool, Fail> {
        let other = load(store, other).await?;
        if oblige::phase(&other) != Phase::NeedsReview {
            return Ok(false);
        }
        if other.unknown_operations().next().is_some() {
            self.exit = Exit::Unknown;
        }
        self.lines.push(format!("  `{}` waits for {}, which only a person can settle", step.name, other.id));
        let next = other.open_reviews().map(|review| format!("  next: semel review show {}", review.id));
        self.lines.extend(next);
        Ok(true)
    }
}
