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
    /// Operations that are unknown among those waited for.
    pub(crate) unknown: usize,
    /// What to say of them.
    pub(crate) lines: Vec<String>,
}

/// Who holds a task up, when nothing of it can move before a person has answered for another task.
pub(crate) async fn held_by(store: &dyn Store, task: &Task) -> Result<Option<Held>, Fail> {
    if oblige::phase(task) != Phase::Waiting {
        return Ok(None);
    }
    let unknown = task.unknown_operations().next().is_some();
    let exit = if unknown { Exit::Unknown } else { Exit::Person };
    let mut held = Held { exit, unknown: 0, lines: Vec::new() };
    for step in task.steps_in_order().filter(|step| !step.is_settled()) {
        match hold(task, step) {
            Hold::Others => {}
            Hold::Task(other) if held.add(step, other, store).await? => {}
            Hold::Task(_) | Hold::Nothing => return Ok(None),
        }
    }
    Ok((!held.lines.is_empty()).then_some(held))
}

/// What a step that is not settled waits for.
enum Hold<'a> {
    /// A person, or steps that are looked at themselves.
    Others,
    /// The operation of another task.
    Task(&'a TaskId),
    /// Nothing that anybody has to do: it goes on by itself.
    Nothing,
}

fn hold<'a>(task: &Task, step: &'a Step) -> Hold<'a> {
    if let Some((other, _)) = &step.attached {
        return Hold::Task(other);
    }
    let waits = step.is_unresolved() && !task.is_ready(step);
    if waits || step.review.is_some() || step.items.is_some() || step.same_as.is_some() {
        return Hold::Others;
    }
    Hold::Nothing
}

impl Held {
    /// `false` when the other task goes on by itself.
    async fn add(&mut self, step: &Step, other: &TaskId, store: &dyn Store) -> Result<bool, Fail> {
        let other = load(store, other).await?;
        if oblige::phase(&other) != Phase::NeedsReview {
            return Ok(false);
        }
        self.unknown = self.unknown.saturating_add(other.unknown_operations().count());
        if self.unknown > 0 {
            self.exit = Exit::Unknown;
        }
        self.lines.push(format!("  `{}` waits for {}, which only a person can settle", step.name, other.id));
        let next = other.open_reviews().map(|review| format!("  next: semel review show {}", review.id));
        self.lines.extend(next);
        Ok(true)
    }
}
