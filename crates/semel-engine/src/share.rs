//! Tenant-scoped operations: a task of its own, created if absent by whoever needs it first (DESIGN section 3).
//!
//! Invariant: the database decides the race; two attachers can never have two operation tasks of one epoch.

use crate::engine::Inner;
use semel_kernel::{
    id::{ClientId, Intent, TaskId},
    input::Settlement,
    operation::Operation,
    step::{Step, StepState},
    task::{Phase, Task},
};
use semel_plan::resolve::SharedCall;
use semel_ports::{Created, StoreError};
use std::sync::Arc;

type Refusal = (String, Vec<String>);

/// The operation's task and its epoch. The epoch grows when the previous one settled more than `within` ago.
pub(crate) async fn find_or_create(
    inner: &Arc<Inner>,
    waiter: &TaskId,
    call: &SharedCall,
) -> Result<(TaskId, u32), Refusal> {
    let broken = |e: String| (e, Vec::new());
    let owner = load(inner, waiter).await.map_err(|e| broken(e.to_string()))?;
    let plan =
        inner.catalog.plan(inner.store.as_ref(), owner.plan.hash).await.map_err(|e| broken(e.to_string()))?;
    let intent = Intent { target: &call.target, version: &call.version, intent: call.intent };
    for epoch in 1.. {
        let id = TaskId::of_shared(&owner.tenant, &call.tool, &intent, epoch)
            .map_err(|e| broken(e.to_string()))?;
        match load(inner, &id).await {
            Ok(found) if is_over(&found, inner, call.within_ms) => continue,
            Ok(found) => return agree(&found, call).map(|()| (id, epoch)),
            Err(StoreError::NoTask(_)) => {}
            Err(e) => return Err(broken(e.to_string())),
        }
        let shared = plan.shared(call).map_err(|r| (r.cause, r.fields))?;
        let client = ClientId::parse(id.as_str()).map_err(|e| broken(e.to_string()))?;
        let new = crate::submit::New {
            task: id.clone(),
            tenant: owner.tenant.clone(),
            client,
            plan: Arc::new(shared),
            inputs: semel_kernel::json::Json::Obj(std::collections::BTreeMap::new()),
            digest: call.request_hash,
            shared_epoch: epoch,
        };
        match inner.create_unowned(new).await.map_err(|r| broken(r.message))? {
            Created::New(_) => {
                inner.ring();
                return Ok((id, epoch));
            }
            // Somebody was faster: look at what they made.
            Created::Exists { .. } => {
                let found = load(inner, &id).await.map_err(|e| broken(e.to_string()))?;
                return agree(&found, call).map(|()| (id, epoch));
            }
        }
    }
    Err(broken("no epoch is left".into()))
}

/// Settled, and so long ago that the same intent is a new operation.
fn is_over(task: &Task, inner: &Inner, within_ms: i64) -> bool {
    let now = inner.store.now().at;
    task.end.as_ref().is_some_and(|end| now.since(end.at) > within_ms)
}

/// Same intent, same request; otherwise refused before anything is sent, the differing fields named.
fn agree(task: &Task, call: &SharedCall) -> Result<(), Refusal> {
    let Some(op) = task.operations.values().next() else { return Ok(()) };
    if op.planned.request_hash == call.request_hash {
        return Ok(());
    }
    let mut names: Vec<String> = op.planned.fields.keys().chain(call.fields.keys()).cloned().collect();
    names.sort();
    names.dedup();
    names.retain(|n| op.planned.fields.get(n) != call.fields.get(n));
    let cause = format!(
        "`{}` was meant before with another {}; nothing was sent (recorded {}, now {})",
        op.planned.id,
        names.join(", "),
        op.planned.request_hash.short(),
        call.request_hash.short()
    );
    Err((cause, names))
}

async fn load(inner: &Inner, task: &TaskId) -> Result<Task, StoreError> {
    inner.store.load(task).await?.into_task()
}

/// How a tenant-scoped operation came out; `None` while it is open.
pub(crate) async fn settlement(inner: &Inner, task: &TaskId) -> Option<Settlement> {
    let task = load(inner, task).await.ok()?;
    let step: &Step = task.steps_in_order().next()?;
    if step.written_off {
        return Some(Settlement::WrittenOff);
    }
    let failed =
        |code: &str, cause: &str| Some(Settlement::Failed { code: code.into(), cause: cause.into() });
    match step.state {
        StepState::Committed | StepState::Compensated => {
            let op: Option<&Operation> = task.operation_of(step);
            let of = op.map_or_else(|| task.id.to_string(), |o| o.planned.id.to_string());
            Some(Settlement::Applied { output: step.output.clone()?, of, at: step.changed_at })
        }
        StepState::Failed => failed(&step.code, &step.cause),
        StepState::Skipped => failed("SM1009", "the shared operation was skipped"),
        StepState::Planned | StepState::Started | StepState::Unknown => {
            let cancelled = task.end.as_ref().is_some_and(|e| e.phase == Phase::Cancelled);
            if cancelled {
                failed("SM1009", "the shared operation was cancelled before it was sent")
            } else {
                None
            }
        }
    }
}
