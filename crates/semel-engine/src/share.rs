//! Tenant-scoped operations: a task of its own, created if absent by whoever needs it first (DESIGN section 3).
//!
//! A *slot* is one (tool, target, intent, epoch) of a tenant; it holds one version at a time. The slot is the client id
//! of the operation's task, so the database decides the race, between versions too.
//!
//! Invariant: the same intent with another request is refused before anything is sent; another version starts only
//! when the one before is proven not applied, written off, or settled longer than `within` ago.

use crate::{
    command::Refused,
    engine::{Engine, Inner},
    submit::New,
};
use semel_kernel::{
    decide::differing,
    event::PlannedOperation,
    hash::{Hash, base32_lower},
    id::{ClientId, Intent, StepName, TaskId, Tenant},
    input::Settlement,
    json::Json,
    operation::Operation,
    step::{Step, StepState},
    task::{Phase, Task},
};
use semel_plan::{
    contract::Refusal,
    plan::PlanDoc,
    resolve::{Resolved, SharedCall, View},
};
use semel_ports::{Created, StoreError};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// Why a slot is not had.
pub(crate) enum NotHad {
    /// For certain: another request, another version, a limit.
    Refused(Refusal),
    /// The store cannot say now, and the process is leaving. The next owner asks again.
    NotNow,
}

impl From<Refusal> for NotHad {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

fn conflict(cause: String, fields: Vec<String>) -> Refusal {
    Refusal { code: "SM1006", cause, fields }
}

fn limit(error: impl std::fmt::Display) -> Refusal {
    Refusal { code: "SM1008", cause: error.to_string(), fields: Vec::new() }
}

/// What stands in a slot, for a call that wants it.
enum Slot {
    /// The same intent: attach.
    Attach,
    /// Settled too long ago, or proven not to have happened under another version: the next epoch is free.
    Next,
}

impl Engine {
    /// The task of a tenant-scoped operation and its epoch, found or created; `None` when the store cannot say now.
    /// One verb of a driver, for those that drive machines by themselves.
    pub async fn share(&self, waiter: &TaskId, call: &SharedCall) -> Option<Result<(TaskId, u32), Refusal>> {
        match find_or_create(&self.inner, waiter, call).await {
            Ok(had) => Some(Ok(had)),
            Err(NotHad::Refused(refusal)) => Some(Err(refusal)),
            Err(NotHad::NotNow) => None,
        }
    }

    /// How a tenant-scoped operation came out; `None` while it is open.
    pub async fn settlement(&self, task: &TaskId) -> Option<Settlement> {
        settlement(&self.inner, task).await
    }
}

/// The operation's task and its epoch.
pub(crate) async fn find_or_create(
    inner: &Arc<Inner>,
    waiter: &TaskId,
    call: &SharedCall,
) -> Result<(TaskId, u32), NotHad> {
    let owner = load(inner, waiter).await?;
    for epoch in 1.. {
        let slot = slot(call, epoch)?;
        loop {
            let Some((task, digest)) = find(inner, &owner.tenant, &slot).await? else {
                match create(inner, &owner, call, &slot, epoch).await? {
                    Some(task) => return Ok((task, epoch)),
                    // Somebody was faster: look at what they made.
                    None => continue,
                }
            };
            match look(inner, &task, digest, call).await? {
                Slot::Attach => return Ok((task, epoch)),
                Slot::Next => break,
            }
        }
    }
    Err(limit("no epoch is left").into())
}

/// The client id of a slot: the same for all versions.
fn slot(call: &SharedCall, epoch: u32) -> Result<ClientId, Refusal> {
    let (intent, epoch_text) = (call.intent.to_string(), epoch.to_string());
    let parts = [call.tool.as_str(), &call.target, &intent, &epoch_text].map(str::as_bytes);
    let digest = Hash::of_parts(&parts);
    let digits = base32_lower(digest.as_bytes().get(..20).unwrap_or_default());
    let mark = if epoch > 1 { format!("~{epoch}") } else { String::new() };
    ClientId::parse(&format!("shared:{}:{digits}{mark}", call.tool)).map_err(limit)
}

async fn look(inner: &Inner, task: &TaskId, digest: Hash, call: &SharedCall) -> Result<Slot, NotHad> {
    let found = load(inner, task).await?;
    let now = inner.store.now().at;
    let over = found.end.as_ref().is_some_and(|end| now.since(end.at) > call.within_ms);
    let op = found.operations.values().next();
    let same_version = op.is_none_or(|o| o.planned.version == call.version);
    match (over, same_version) {
        (true, _) => Ok(Slot::Next),
        (false, true) if digest == call.request_hash => Ok(Slot::Attach),
        (false, true) => Err(other_request(op, call).into()),
        (false, false) => Ok(superseded(&found, op, call)?),
    }
}

/// Same intent, other request: refused, the differing fields named.
fn other_request(op: Option<&Operation>, call: &SharedCall) -> Refusal {
    let Some(op) = op else {
        return conflict("the same intent was meant with another request".into(), Vec::new());
    };
    let fields = differing(&op.planned.fields, &call.fields);
    let cause = format!(
        "`{}` was meant before with another {}; nothing was sent (recorded {}, now {})",
        op.planned.id,
        fields.join(", "),
        op.planned.request_hash.short(),
        call.request_hash.short()
    );
    conflict(cause, fields)
}

/// Another version supersedes only what is proven not applied or was written off.
fn superseded(task: &Task, op: Option<&Operation>, call: &SharedCall) -> Result<Slot, Refusal> {
    let Some(step) = task.steps_in_order().next() else { return Ok(Slot::Next) };
    let cancelled = task.end.as_ref().is_some_and(|e| e.phase == Phase::Cancelled);
    if step.written_off || cancelled || matches!(step.state, StepState::Failed | StepState::Compensated) {
        return Ok(Slot::Next);
    }
    let (id, version) = op.map_or(("it", "?"), |o| (o.planned.id.as_str(), o.planned.version.as_str()));
    let state = step.state.word();
    let cause = format!(
        "version {version} of this intent (`{id}`) is {state}; version {} may start only when that is proven not \
         applied, undone or written off",
        call.version
    );
    Err(conflict(cause, vec!["version".to_owned()]))
}

/// Creates the operation's task with its operation planned, so that whoever comes next can compare; `None` when the
/// slot was taken meanwhile.
async fn create(
    inner: &Arc<Inner>,
    owner: &Task,
    call: &SharedCall,
    slot: &ClientId,
    epoch: u32,
) -> Result<Option<TaskId>, NotHad> {
    let plan = plan_of(inner, owner).await?;
    let shared = Arc::new(plan.shared(call)?);
    let intent = Intent { target: &call.target, version: &call.version, intent: call.intent };
    let task = TaskId::of_shared(&owner.tenant, &call.tool, &intent, epoch).map_err(limit)?;
    let new = New {
        task: task.clone(),
        tenant: owner.tenant.clone(),
        client: slot.clone(),
        inputs: shared
            .inputs(&Json::Obj(BTreeMap::new()))
            .map_err(|p| limit(p.first().map_or_else(|| "unreadable".to_owned(), |p| p.message.clone())))?,
        plan: shared,
        digest: call.request_hash,
        shared_epoch: epoch,
    };
    loop {
        match inner.create_unowned(new.clone(), planned_first).await {
            Ok(Created::New(_)) => {
                inner.ring();
                return Ok(Some(task));
            }
            Ok(Created::Exists { .. }) => return Ok(None),
            Err(refused) if !refused.code.starts_with("SM2") => {
                return Err(Refusal { code: "SM1008", cause: refused.message, fields: refused.fields }.into());
            }
            // The store could not say. The slot decides, whether or not this creation is durable.
            Err(refused) => {
                tracing::warn!(code = refused.code, "{}; next: {}", refused.message, refused.next);
                if inner.is_draining() {
                    return Err(NotHad::NotNow);
                }
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

async fn plan_of(inner: &Inner, owner: &Task) -> Result<Arc<PlanDoc>, NotHad> {
    Ok(patiently(inner, || inner.plan_of(owner)).await?.map_err(limit)?)
}

/// The one step of an operation's task, resolved at its creation.
fn planned_first(
    plan: &PlanDoc,
    task: &Task,
    inputs: &Json,
) -> Result<Option<(StepName, PlannedOperation)>, Refused> {
    let Some(step) = task.steps_in_order().next() else { return Ok(None) };
    let outputs = BTreeMap::new();
    match plan.resolve(&View { task, inputs, outputs: &outputs, now: task.created_at }, &step.name) {
        Resolved::Act { operation } => Ok(Some((step.name.clone(), operation))),
        Resolved::Refuse(refusal) => {
            Err(Refused::new(refusal.code, refusal.cause, "correct the arguments of the step"))
        }
        Resolved::Skip { .. } | Resolved::Shared(_) | Resolved::Each { .. } | Resolved::Sleep { .. } => {
            Ok(None)
        }
    }
}

async fn find(inner: &Inner, tenant: &Tenant, slot: &ClientId) -> Result<Option<(TaskId, Hash)>, NotHad> {
    patiently(inner, || inner.store.find_client(tenant, slot)).await
}

async fn load(inner: &Inner, task: &TaskId) -> Result<Task, NotHad> {
    patiently(inner, || inner.task(task)).await
}

/// The pause before a store that could not answer is asked again.
const AGAIN: Duration = Duration::from_millis(200);

/// A step does not fail for what the store cannot say now; only what it says for certain is an answer.
async fn patiently<T, F>(inner: &Inner, mut read: impl FnMut() -> F) -> Result<T, NotHad>
where
    F: Future<Output = Result<T, StoreError>>,
{
    loop {
        match read().await {
            Ok(value) => return Ok(value),
            Err(e @ (StoreError::NoTask(_) | StoreError::Corrupt(_) | StoreError::Limit(_))) => {
                return Err(Refusal { code: e.code(), cause: e.to_string(), fields: Vec::new() }.into());
            }
            Err(_) if inner.is_draining() => return Err(NotHad::NotNow),
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
}

/// How a tenant-scoped operation came out; `None` while it is open.
pub(crate) async fn settlement(inner: &Inner, task: &TaskId) -> Option<Settlement> {
    let task = inner.task(task).await.ok()?;
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
