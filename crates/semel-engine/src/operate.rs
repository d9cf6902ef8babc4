//! What operators do: each is a turn on the common path, compare-and-swap and all.

use crate::{
    command::{Command, Refused, Reply},
    engine::{Engine, Inner, Progress},
    machine::Asking,
    names::{Heard, Names},
    submit::{Request, Submitted, refused},
};
use semel_kernel::{
    decide::Draft,
    id::{ClientId, OperationId, TaskId, Tenant},
    input::{Ctx, Input},
    json::Json,
    oblige,
    outcome::Stored,
    task::Task,
    time::Millis,
};
use semel_plan::plan::PlanDoc;
use semel_ports::{Authority, CommitError, Due, StoreError, Turn};
use std::sync::Arc;

impl Engine {
    /// Carries out a command. A refusal is a reply.
    pub async fn execute(&self, command: Command) -> Reply {
        match self.carry_out(command).await {
            Ok(reply) => reply,
            Err(refused) => Reply::Refused(refused),
        }
    }

    async fn carry_out(&self, command: Command) -> Result<Reply, Refused> {
        let (task, input) = match command {
            Command::Ping => {
                let (pid, session) = (std::process::id(), self.session().to_string());
                return Ok(Reply::Pong { pid, session, trouble: self.inner.trouble() });
            }
            Command::Submit { document, inputs, tenant, client_id, new_intent } => {
                return self.submit_document(&document, &inputs, &tenant, client_id, new_intent).await;
            }
            Command::Probe { task, op } => {
                let input = self.inner.ask_now(&task, &op).await?;
                (task, input)
            }
            Command::Cancel { task, actor, reason } => (task, Input::Cancel { actor, reason }),
            Command::Pause { task, actor, reason } => (task, Input::Pause { actor, reason }),
            Command::Resume { task, actor } => (task, Input::Resume { actor }),
            Command::Decide { task, review, decision, actor, reason, page } => {
                (task, Input::Decide { review, decision, actor, reason, page })
            }
            Command::Settle { task, op, decision, actor, reason } => {
                (task, Input::Settle { op, decision, actor, reason })
            }
        };
        let after = self.inner.amend(&task, input).await?;
        Ok(Reply::Done { task, version: after.version, phase: oblige::phase(&after) })
    }

    async fn submit_document(
        &self,
        document: &Json,
        inputs: &Json,
        tenant: &str,
        client_id: Option<String>,
        new_intent: bool,
    ) -> Result<Reply, Refused> {
        let broken = |problems: Vec<semel_plan::problem::Problem>| {
            let first = problems.first().map_or_else(|| "unreadable".to_owned(), |p| p.message.clone());
            Refused::new("SM4000", first, "run `semel plan lint`")
        };
        let plan = PlanDoc::from_document(document).map_err(broken)?;
        let inputs = plan.inputs(inputs).map_err(broken)?;
        let client_id = client_id.map(|id| ClientId::parse(&id)).transpose()?;
        let tenant = Tenant::parse(tenant)?;
        let request = Request { plan: Arc::new(plan), inputs, tenant, client_id, new_intent };
        Ok(match self.submit(request).await? {
            Submitted::Created(task) => Reply::Created { task },
            Submitted::Attached(task) => {
                let found = self.inner.task(&task).await?;
                Reply::Attached { task, phase: oblige::phase(&found) }
            }
        })
    }

    /// Brings every open task of an adopted store under its new epoch; returns how many there were.
    ///
    /// # Errors
    /// [`Refused`] when a task cannot be loaded or written.
    pub async fn adopt(
        &self,
        tasks: &[TaskId],
        epoch: u32,
        copied_at: Millis,
        actor: &str,
    ) -> Result<u32, Refused> {
        let mut adopted = 0;
        for task in tasks {
            let before = self.inner.task(task).await?;
            if before.end.is_none() && before.generation.epoch < epoch {
                let actor = actor.to_owned();
                self.inner.amend(task, Input::Adopt { epoch, copied_at, actor }).await?;
                adopted += 1;
            }
        }
        Ok(adopted)
    }
}

impl Inner {
    pub(crate) async fn task(&self, id: &TaskId) -> Result<Task, StoreError> {
        self.store.load(id).await?.into_task()
    }

    /// One turn by somebody who is not the owner. Decided again whenever the task has moved on meanwhile, so nothing
    /// is decided from an old picture.
    pub(crate) async fn amend(&self, id: &TaskId, mut input: Input) -> Result<Task, Refused> {
        let mut artifacts = Vec::new();
        crate::machine::shrink(&mut input, &mut artifacts);
        loop {
            let now = self.store.now();
            let mut draft = Draft::on(self.task(id).await?);
            draft.take(input.clone(), Ctx { now, draw: u32::MAX })?;
            if draft.is_empty() {
                return Ok(draft.finish().0);
            }
            let (mut turn, after) = Turn::close(draft, self.turn_id()?, Authority::Anyone, now.at, Due::Wake);
            turn.artifacts.clone_from(&artifacts);
            let progress = Progress::of(&turn);
            match self.store.commit(turn).await {
                Ok(_) => {
                    self.tell(progress);
                    self.nudge(id);
                    return Ok(after);
                }
                Err(CommitError::Conflict { .. }) => {}
                Err(error) => return Err(refused(error)),
            }
        }
    }

    /// Asks the target at an operator's word; the finding is recorded like any other.
    async fn ask_now(&self, task: &TaskId, op: &OperationId) -> Result<Input, Refused> {
        let found = self.task(task).await?;
        let plan = self.catalog.plan(self.store.as_ref(), found.plan.hash).await;
        let plan = plan.map_err(|e| Refused::new("SM2009", e.to_string(), "run `semel db verify`"))?;
        let operation = found.operations.get(op);
        let operation = operation.ok_or_else(|| {
            Refused::new("SM1001", format!("there is no operation `{op}`"), "see `semel op list`")
        })?;
        let contract = plan.contracts.get(&operation.planned.tool).filter(|c| c.terms.probe.is_some());
        let contract = contract.ok_or_else(|| {
            let tool = &operation.planned.tool;
            Refused::new("SM1010", format!("`{tool}` has no probe"), "settle it by `semel op settle`")
        })?;
        let args = match &operation.planned.arguments {
            Stored::Inline(args) => args.clone(),
            Stored::Artifact(at) => {
                let text = String::from_utf8_lossy(&self.store.artifact(at.hash).await?).into_owned();
                Json::parse(&text).unwrap_or(Json::Null)
            }
        };
        if let Some(account) = self.accounts(&plan).remove(&operation.planned.tool) {
            let account =
                account.map_err(|why| Refused::new("SM4407", why, "make the account's label readable"))?;
            self.amend(task, Input::AccountSeen { op: op.clone(), account }).await?;
        }
        let names = Names::of(&found, operation, args);
        let question = names
            .question(contract, Asking::Probe)
            .map_err(|r| Refused::new(r.code, r.cause, "mend the contract's probe"))?;
        let asked_at = self.store.now().at;
        let report = self.connector.ask(question).await;
        let first = match names.probed(contract, operation, asked_at, &report) {
            Heard::Fact(fact) => return Ok(fact),
            Heard::Half(first) => first,
        };
        let second = names
            .question(contract, Asking::Confirm)
            .map_err(|r| Refused::new(r.code, r.cause, "mend the contract's `probe.confirm`"))?;
        let report = self.connector.ask(second).await;
        Ok(names.confirmed(contract, operation, first, &report))
    }
}
