//! Submit: create a task if absent, or attach to the one with the same client id.
//!
//! Invariant: the id is stored before the first step; the same client id with another plan or other inputs is refused
//! and the difference is named.

use crate::{
    command::Refused,
    drive::{self, Answered},
    engine::{Engine, Inner},
    machine::Machine,
};
use semel_kernel::{
    decide::{Submission, submit},
    event::PlannedOperation,
    hash::Hash,
    id::{ClientId, StepName, TaskId, Tenant},
    input::{Ctx, Input, Resolution},
    json::Json,
    limit,
    outcome::Stored,
    task::{Restored, Task},
};
use semel_plan::plan::PlanDoc;
use semel_ports::{Artifact, Authority, CommitError, Created, Creation, Due, Turn};
use std::sync::Arc;

/// What is submitted.
#[derive(Clone)]
pub struct Request {
    /// The plan.
    pub plan: Arc<PlanDoc>,
    /// Inputs, already checked by the plan.
    pub inputs: Json,
    /// Whose task it is.
    pub tenant: Tenant,
    /// What the submitter calls it; derived from name and inputs when absent.
    pub client_id: Option<ClientId>,
    /// Mean it again, on purpose.
    pub new_intent: bool,
}

/// What a submission led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// A new task.
    Created(TaskId),
    /// The task of an earlier submission.
    Attached(TaskId),
}

/// Resolves the first step of a task that is being created.
pub(crate) type First = fn(&PlanDoc, &Task, &Json) -> Result<Option<(StepName, PlannedOperation)>, Refused>;

/// A task to be created.
#[derive(Clone)]
pub(crate) struct New {
    pub(crate) task: TaskId,
    pub(crate) tenant: Tenant,
    pub(crate) client: ClientId,
    pub(crate) plan: Arc<PlanDoc>,
    pub(crate) inputs: Json,
    pub(crate) digest: Hash,
    pub(crate) shared_epoch: u32,
}

impl Engine {
    /// Submits a task. It is owned by this engine from its first turn on if a slot is free.
    ///
    /// # Errors
    /// [`Refused`] with SM1006 when the client id stands for another plan or other inputs.
    pub async fn submit(&self, request: Request) -> Result<Submitted, Refused> {
        let digest = digest(&request.plan, &request.inputs);
        self.inner.keep_plan(&request.plan).await?;
        let base = client_id(&request)?;
        for n in 1_u32.. {
            let client = nth(&base, n)?;
            let new = self.inner.new_task(&request, client.clone(), digest)?;
            match self.inner.create(new).await? {
                (task, None) => return Ok(Submitted::Created(task)),
                (_, Some(_)) if request.new_intent => {}
                (task, Some(found)) if found == digest => return Ok(Submitted::Attached(task)),
                (task, Some(_)) => return Err(self.inner.conflict(&request, &client, task).await),
            }
        }
        Err(Refused::new("SM1008", "no intent number is left", "use another client id"))
    }
}

/// Digest of what a client id stands for.
fn digest(plan: &PlanDoc, inputs: &Json) -> Hash {
    Hash::of_parts(&[plan.kernel.hash.as_bytes(), inputs.canonical().as_bytes()])
}

/// `name:hash(inputs)`, unless the submitter chose one.
fn client_id(request: &Request) -> Result<ClientId, Refused> {
    if let Some(id) = &request.client_id {
        return Ok(id.clone());
    }
    let inputs = Hash::of(request.inputs.canonical().as_bytes());
    let digits = semel_kernel::hash::base32_lower(inputs.as_bytes().get(..10).unwrap_or_default());
    let name = semel_kernel::percent::encode(&request.plan.kernel.name);
    Ok(ClientId::parse(&format!("{name}:{digits}"))?)
}

fn nth(base: &ClientId, n: u32) -> Result<ClientId, Refused> {
    if n == 1 { Ok(base.clone()) } else { Ok(ClientId::parse(&format!("{base}#{n}"))?) }
}

impl Inner {
    /// The plan's document is an artifact before any task names its hash.
    async fn keep_plan(&self, plan: &Arc<PlanDoc>) -> Result<(), Refused> {
        if !self.catalog.has(plan.kernel.hash) {
            let document = plan.document.canonical().into_bytes();
            drive::patient(self, || async { Ok(self.store.put_artifact(document.clone()).await?) })
                .await
                .map_err(refused)?;
            self.catalog.keep(plan);
        }
        Ok(())
    }

    fn new_task(&self, request: &Request, client: ClientId, digest: Hash) -> Result<New, Refused> {
        Ok(New {
            task: TaskId::of_client(&request.tenant, &client)?,
            tenant: request.tenant.clone(),
            client,
            plan: Arc::clone(&request.plan),
            inputs: request.inputs.clone(),
            digest,
            shared_epoch: 0,
        })
    }

    /// Creates a task, owned if a slot is free; returns the digest of the one that was there.
    async fn create(self: &Arc<Self>, new: New) -> Result<(TaskId, Option<Hash>), Refused> {
        let slot = if self.is_draining() { None } else { Arc::clone(&self.slots).try_acquire_owned().ok() };
        let Some(slot) = slot else {
            let task = new.task.clone();
            let created = self.create_unowned(new, |_, _, _| Ok(None)).await?;
            self.ring();
            return Ok(match created {
                Created::New(_) => (task, None),
                Created::Exists { task, digest } => (task, Some(digest)),
            });
        };
        let (task, plan, digest) = (new.task.clone(), Arc::clone(&new.plan), new.digest);
        let moment = self.moment()?;
        let submission = self.submission(new);
        let accounts = self.accounts(&plan);
        let (machine, io) = Machine::create(submission, (plan, accounts), self.session(), digest, &moment)?;
        let (hand, nudges) = self.enter(&task);
        let (tell, told) = tokio::sync::oneshot::channel();
        let inner = Arc::clone(self);
        let id = task.clone();
        tokio::spawn(async move {
            if let Err(e) = drive::pump(&inner, &id, machine, io, nudges, Some(tell)).await {
                tracing::error!(task = %id, code = e.code(), "{e}; next: {}", e.next());
            }
            drop((hand, slot));
            inner.ring();
        });
        match told.await {
            Ok(Ok(Answered::New)) => Ok((task, None)),
            Ok(Ok(Answered::Exists { task, digest })) => Ok((task, Some(digest))),
            Ok(Err(e)) => Err(refused(e)),
            Err(_) => {
                Err(Refused::new("SM2004", "the store closed while the task was created", "submit it again"))
            }
        }
    }

    /// For a while after a restore the original may have run the very task that is submitted now.
    fn in_doubt(&self) -> Option<Restored> {
        let now = self.store.now().at;
        self.store.info().adopted.filter(|a| now.since(a.adopted_at) < limit::RESTORED_DOUBT_MS)
    }

    fn submission(&self, new: New) -> Submission {
        Submission {
            task: new.task,
            tenant: new.tenant,
            client_id: new.client,
            plan: new.plan.kernel.clone(),
            inputs: Stored::Inline(new.inputs),
            epoch: self.store.info().epoch,
            shared_epoch: new.shared_epoch,
            restored: self.in_doubt(),
        }
    }

    /// Creates a task that nobody owns yet; it is due at once. `first` may resolve its first step already.
    pub(crate) async fn create_unowned(&self, new: New, first: First) -> Result<Created, Refused> {
        self.keep_plan(&new.plan).await?;
        let (digest, plan, inputs) = (new.digest, Arc::clone(&new.plan), new.inputs.clone());
        let now = self.store.now();
        let mut submission = self.submission(new);
        let mut artifacts: Vec<Artifact> = Vec::new();
        crate::machine::shrink_inputs(&mut submission.inputs, &mut artifacts);
        let ctx = Ctx { now, draw: 0 };
        let mut draft = submit(submission, ctx)?;
        if let Some((step, operation)) = first(&plan, draft.task(), &inputs)? {
            draft.take(Input::Resolved { step, resolution: Resolution::Act { operation } }, ctx)?;
        }
        let (mut turn, _) =
            Turn::close(draft, self.turn_id()?, Authority::Anyone, now.at, Due::Park(Some(now.at)));
        turn.artifacts = artifacts;
        self.store.create(Creation { turn, digest }).await.map_err(refused)
    }

    /// Names what differs: the places of a changed plan, and inputs.
    async fn differing(&self, task: &Task, request: &Request) -> Vec<String> {
        let (old, new) = (task.plan.hash, request.plan.kernel.hash);
        let mut fields = match self.catalog.plan(self.store.as_ref(), old).await {
            _ if old == new => Vec::new(),
            Ok(plan) => changed(&plan, &request.plan),
            Err(_) => vec!["plan".to_owned()],
        };
        if old != new {
            fields.insert(0, format!("plan {} against {}", old.short(), new.short()));
        }
        fields.extend(differing(task, request));
        fields
    }

    /// Says what differs between a submission and the task that has its client id.
    async fn conflict(&self, request: &Request, client: &ClientId, task: TaskId) -> Refused {
        let fields = match self.task(&task).await {
            Ok(found) => self.differing(&found, request).await,
            Err(e) => return e.into(),
        };
        let named = fields.join(", ");
        let mut refused = Refused::new(
            "SM1006",
            format!("`{client}` stands for task {task}, which differs in: {named}; nothing was sent"),
            "use another --id, or --new-intent to mean it again on purpose",
        );
        refused.fields = fields;
        refused.task = Some(task);
        refused
    }
}

/// Places of a changed plan that are named; more are counted.
const NAMED: usize = 5;

fn changed(old: &PlanDoc, new: &PlanDoc) -> Vec<String> {
    let changes = semel_plan::diff::diff(old, new);
    let mut places: Vec<String> = changes.iter().take(NAMED).map(|c| format!("plan: {}", c.path)).collect();
    if changes.len() > NAMED {
        places.push(format!("plan: {} more", changes.len() - NAMED));
    }
    places
}

fn differing(task: &Task, request: &Request) -> Vec<String> {
    let mut fields = Vec::new();
    if let (Stored::Inline(Json::Obj(old)), Json::Obj(new)) = (&task.inputs, &request.inputs) {
        let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
        names.sort();
        names.dedup();
        fields
            .extend(names.into_iter().filter(|n| old.get(*n) != new.get(*n)).map(|n| format!("inputs.{n}")));
    }
    fields
}

pub(crate) fn refused(error: CommitError) -> Refused {
    match error {
        CommitError::Store(e) => e.into(),
        other => Refused::new("SM1005", other.to_string(), "try again"),
    }
}
