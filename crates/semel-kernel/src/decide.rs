//! Decisions: an input becomes events, or is refused and nothing changes.
//!
//! A [`Draft`] is a turn in the making: every event is folded the moment it is recorded, so the next rule sees it.
//! A draft is air until a store has made it durable; only then does it release a call.
//!
//! Invariant: a refused input leaves the draft as it was. Each verb has its file.

mod answer;
mod begin;
mod claim;
mod evidence;
mod operate;
mod plan;
mod probe;
mod review;
mod scope;
mod submit;
mod tick;

pub use plan::differing;
pub use submit::{Submission, submit};

pub(crate) use plan::item_kind;

use crate::{
    event::Event,
    fold::fold,
    id::{OperationId, StepName},
    input::{Ctx, Input},
    operation::Operation,
    reject::Reject,
    step::Step,
    task::Task,
    terms::Terms,
    time::Now,
};
use alloc::{format, vec::Vec};

/// A turn in the making.
#[derive(Clone, Debug)]
pub struct Draft {
    task: Task,
    base: u64,
    events: Vec<Event>,
    /// The moment for which everything was looked at.
    looked_at: Option<Now>,
    /// How many of the events were there when something was last looked at.
    looked: usize,
}

impl Draft {
    /// Starts a turn on a task as it is stored.
    #[must_use]
    pub const fn on(task: Task) -> Self {
        let base = task.version;
        Self { task, base, events: Vec::new(), looked_at: None, looked: 0 }
    }

    /// The task with all events of this turn folded in.
    #[must_use]
    pub const fn task(&self) -> &Task {
        &self.task
    }

    /// The version that the store must still have.
    #[must_use]
    pub const fn base(&self) -> u64 {
        self.base
    }

    /// Whether there is anything to store.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The task and the events, to be stored.
    #[must_use]
    pub fn finish(self) -> (Task, Vec<Event>) {
        (self.task, self.events)
    }

    /// Events so far.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Takes an input and then draws all consequences that follow without the outside world.
    ///
    /// # Errors
    /// [`Reject`] when the input is refused; the draft is unchanged then.
    pub fn take(&mut self, input: Input, ctx: Ctx) -> Result<(), Reject> {
        match input {
            Input::Claimed { session, generation } => self.claimed(session, generation, ctx)?,
            Input::Tick => {}
            Input::Resolved { step, resolution } => self.resolved(&step, resolution, ctx)?,
            Input::AttachSettled { step, settlement } => self.attach_settled(&step, settlement, ctx)?,
            Input::Prechecked { op, finding, look, shown } => {
                self.prechecked(&op, finding, look, shown, ctx)?;
            }
            Input::AccountSeen { op, account } => self.account_seen(&op, account, ctx)?,
            Input::Begin { op, request, lease_left_ms, next_key } => {
                self.begin(&op, request, lease_left_ms, next_key, ctx)?;
            }
            Input::Answered { op, attempt, outcome, shown, late_ms, cost } => {
                self.answered(&op, attempt, outcome, shown, (late_ms, cost), ctx)?;
            }
            Input::Probed { op, asked_at, finding, confirm, shown } => {
                self.probed(&op, asked_at, (finding, confirm), shown, ctx)?
            }
            Input::Evidence { op, source, attempt, outcome, shown } => {
                self.evidence(&op, source, attempt, outcome, shown, ctx)?;
            }
            Input::Settle { op, decision, actor, reason } => {
                self.settle(&op, decision, actor, reason, ctx)?
            }
            Input::Decide { review, decision, actor, reason, page } => {
                self.decide_review(&review, decision, actor, reason, page, ctx)?;
            }
            Input::CannotWrite { op, code, cause, fields } => {
                self.cannot_write(&op, code, cause, fields, ctx)?;
            }
            Input::NeedPerson { cause } => self.need_person(cause, ctx)?,
            Input::Cancel { actor, reason } => self.cancel(actor, reason, ctx)?,
            Input::Pause { actor, reason } => self.pause(actor, reason, ctx)?,
            Input::Resume { actor } => self.resume(actor, ctx)?,
            Input::Adopt { epoch, copied_at, actor } => self.adopt(epoch, copied_at, actor, ctx)?,
        }
        self.consequences(ctx)
    }

    /// Folds an event and keeps it. A refusal here is a fault of the kernel, reported as corruption and never hidden.
    fn record(&mut self, event: Event, ctx: Ctx) -> Result<(), Reject> {
        fold(&mut self.task, &event, ctx.now.at).map_err(|e| Reject::Corrupt(format!("{e}")))?;
        self.events.push(event);
        Ok(())
    }

    fn step(&self, name: &StepName) -> Result<&Step, Reject> {
        self.task.steps.get(name).ok_or_else(|| Reject::NoStep(name.clone()))
    }

    fn operation(&self, id: &OperationId) -> Result<&Operation, Reject> {
        self.task.operations.get(id).ok_or_else(|| Reject::NoOperation(id.clone()))
    }

    fn terms_of(&self, id: &OperationId) -> Result<&Terms, Reject> {
        let op = self.operation(id)?;
        self.task
            .terms(&op.planned)
            .ok_or_else(|| Reject::Corrupt(format!("no terms for `{}`", op.planned.tool)))
    }

    fn not_ended(&self) -> Result<(), Reject> {
        self.task.end.as_ref().map_or(Ok(()), |end| Err(Reject::Ended(end.phase.word())))
    }
}

/// Decides one input on a copy of a task; for tests, dry runs and the simulator.
///
/// # Errors
/// [`Reject`] when the input is refused.
pub fn decide(task: &Task, input: Input, ctx: Ctx) -> Result<Vec<Event>, Reject> {
    let mut draft = Draft::on(task.clone());
    draft.take(input, ctx)?;
    Ok(draft.finish().1)
}
