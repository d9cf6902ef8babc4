//! `semel run`: submit a plan with inputs, or attach to the run that has them, and follow it to its end.

use super::{
    follow::{self, Watched},
    inputs,
};
use crate::{
    config::Config,
    fail::{Exit, Fail},
    low,
    system::variable,
    ui::Ui,
    wire,
};
use semel_connectors::EnvFileSecrets;
use semel_engine::{
    command::{Command, Reply},
    submit::{Request, Submitted},
};
use semel_kernel::{
    id::{ClientId, TaskId, Tenant},
    json::Json,
    terms::Scope,
};
use semel_plan::plan::PlanDoc;
use semel_ports::{Loaded, Secrets as _, Store};
use std::{sync::Arc, time::Duration};

pub(crate) async fn run(config: &Config, args: &low::Run, ui: Ui) -> Result<Exit, Fail> {
    let plan = Arc::new(PlanDoc::read(&args.plan).map_err(Fail::problems)?);
    ui.warnings(&plan.warnings);
    let inputs = inputs::checked(args, &plan)?;
    let timeout = args.timeout.as_deref().map(duration).transpose()?;
    let owned = if args.detach { None } else { wire::own_unless_owned(config).await? };
    let Some(mut owner) = owned else {
        return by_owner(config, args, &plan, inputs, timeout, ui).await;
    };
    check_secrets(&plan)?;
    owner.open_door();
    let progress = owner.engine.progress();
    let request = request(config, args, plan, inputs)?;
    let watched = owner.beside(async {
        let submitted = owner.engine.submit(request).await?;
        let task = announce(owner.engine.store().as_ref(), &submitted, ui).await?;
        follow::live(&owner, progress, &task, timeout, ui).await
    });
    let watched = watched.await?;
    follow::report(owner.engine.store().as_ref(), watched, ui).await
}

/// Says whether the run is new. *Again, on purpose* is offered only where the earlier run is settled: over an outcome
/// that is open it would double the effect.
async fn announce(store: &dyn Store, submitted: &Submitted, ui: Ui) -> Result<TaskId, Fail> {
    let task = match submitted {
        Submitted::Created(task) => {
            ui.say(&format!("{task} created"));
            return Ok(task.clone());
        }
        Submitted::Attached(task) => task,
    };
    ui.say(&format!("{task} is this very run: the same plan and inputs. ATTACHED; nothing new was started."));
    let found = store.load(task).await.and_then(Loaded::into_task)?;
    let settled =
        found.end.is_some() && found.written_off().is_empty() && found.open_reviews().next().is_none();
    let shared = found.plan.tools.values().any(|t| matches!(t.scope, Scope::Tenant { .. }));
    if settled && shared {
        ui.say(
            "  to mean it a second time, on purpose: raise `intent` in the step, its tool protects all runs",
        );
    } else if settled {
        ui.say("  to mean it a second time, on purpose: --new-intent");
    } else {
        ui.say(&format!("  what it waits for: semel why {task}"));
    }
    Ok(task.clone())
}

/// Every secret that the plan's tools name is there, before a task exists that would need it.
fn check_secrets(plan: &PlanDoc) -> Result<(), Fail> {
    let secrets = EnvFileSecrets::new(Box::new(variable));
    let references = plan.contracts.values().flat_map(semel_plan::contract::Contract::secrets);
    let missing: Vec<String> =
        references.filter_map(|r| secrets.resolve(&r).err()).map(|e| e.to_string()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let next = "set it for this process, and run the same command again; nothing was started";
    Err(Fail::new(Exit::Usage, "SM3103", missing.join("; "), next))
}

fn request(config: &Config, args: &low::Run, plan: Arc<PlanDoc>, inputs: Json) -> Result<Request, Fail> {
    let usage =
        |e: semel_kernel::id::BadId| Fail::new(Exit::Usage, "SM1008", e.to_string(), "choose another id");
    let client_id = args.id.as_deref().map(ClientId::parse).transpose().map_err(usage)?;
    let tenant = Tenant::parse(&config.tenant).map_err(usage)?;
    Ok(Request { plan, inputs, tenant, client_id, new_intent: args.new_intent })
}

/// Another process owns the store: it is asked to submit, and we read along.
async fn by_owner(
    config: &Config,
    args: &low::Run,
    plan: &PlanDoc,
    inputs: Json,
    timeout: Option<Duration>,
    ui: Ui,
) -> Result<Exit, Fail> {
    let command = Command::Submit {
        document: plan.document.clone(),
        inputs,
        tenant: config.tenant.clone(),
        client_id: args.id.clone(),
        new_intent: args.new_intent,
    };
    let submitted = match wire::submit(config, command).await? {
        Reply::Created { task } => Submitted::Created(task),
        Reply::Attached { task, .. } => Submitted::Attached(task),
        other => {
            return Err(Fail::new(
                Exit::Store,
                "SM2011",
                format!("unexpected answer {other:?}"),
                "use one version",
            ));
        }
    };
    let store = wire::read(config).await?;
    let task = announce(store.as_ref(), &submitted, ui).await?;
    if args.detach {
        ui.show(&serde_json::json!({"v": 1, "task": task}), || task.to_string());
        return Ok(Exit::Done);
    }
    let following = follow::polled(store.as_ref(), &task, timeout, ui);
    let watched: Watched = wire::in_its_place(config, following).await?;
    follow::report(store.as_ref(), watched, ui).await
}

fn usage(message: String) -> Fail {
    Fail::new(Exit::Usage, "SM1012", message, "see `semel run --help`")
}

pub(crate) fn duration(text: &str) -> Result<Duration, Fail> {
    let ms = semel_plan::duration::parse(text).map_err(|e| usage(format!("`{text}`: {e}")))?;
    Ok(Duration::from_millis(u64::try_from(ms).unwrap_or(0)))
}
