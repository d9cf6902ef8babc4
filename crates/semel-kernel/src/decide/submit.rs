//! Submit: a task is accepted. Its id, its plan and its inputs are fixed here, before the first step.

use super::Draft;
use crate::{
    event::Event,
    fold::create,
    id::{ClientId, TaskId, Tenant},
    input::Ctx,
    outcome::Stored,
    plan::Plan,
    reject::Reject,
    task::Restored,
};
use alloc::{format, vec};

/// What is submitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// The id, made or derived outside and stored before the first step.
    pub task: TaskId,
    /// Whose it is.
    pub tenant: Tenant,
    /// What the submitter calls it.
    pub client_id: ClientId,
    /// Names, order, terms, pins.
    pub plan: Plan,
    /// The inputs.
    pub inputs: Stored,
    /// Epoch of the store.
    pub epoch: u32,
    /// Epoch of a tenant-scoped operation; 0 for other tasks.
    pub shared_epoch: u32,
    /// The restore that the store has been through: the original may have run this very task.
    pub restored: Option<Restored>,
}

/// Accepts a submission.
///
/// # Errors
/// [`Reject::Limit`] when the plan breaks its invariant.
pub fn submit(submission: Submission, ctx: Ctx) -> Result<Draft, Reject> {
    submission.plan.check().map_err(|e| Reject::Limit(format!("{e}")))?;
    let Submission { task, tenant, client_id, plan, inputs, epoch, shared_epoch, restored } = submission;
    let event = Event::TaskCreated { task, tenant, client_id, plan, inputs, epoch, shared_epoch, restored };
    let task = create(&event, ctx.now.at).map_err(|e| Reject::Corrupt(format!("{e}")))?;
    Ok(Draft { base: 0, events: vec![event], ..Draft::on(task) })
}
