//! Fills a store, so that commands can be timed among many tasks:
//! `cargo bench -p semel-store-sqlite --bench fill -- STORE TASKS OPEN`.
//!
//! Each task has five steps and an operation for each that was planned. The last OPEN tasks stand in their fourth
//! step: in flight, or, every hundredth, unknown and in review; the others are completed.
//!
//! Invariant: every event comes out of the kernel's own decisions, so that what is measured is a store as it could be.

use semel_kernel::{
    decide::{Submission, submit},
    event::PlannedOperation,
    hash::{self, Hash},
    id::{ClientId, Intent, OperationId, SessionId, StepName, TaskId, Tenant, ToolName, TurnId},
    input::{Ctx, Input, Resolution},
    json::Json,
    oblige::{Obligation, obligations},
    outcome::{Outcome, Stored, UnknownCause},
    plan::{Budget, Plan, PlanStep, StepKind},
    task::Task,
    terms::Terms,
    time::{Generation, Now},
};
use semel_ports::{Authority, Created, Creation, Due, Store, Turn};
use semel_store_sqlite::{Options, SqliteStore};
use std::{error::Error, path::Path, sync::Arc, time::Instant};
use tokio::task::JoinSet;

type Outcomes<T> = Result<T, Box<dyn Error + Send + Sync>>;

const STEPS: [&str; 5] = ["report", "triage", "notify", "repair", "close"];
const TOOL: &str = "create_ticket";
const TENANT: &str = "default";
/// Creations under way at once, so that they share their commits.
const LANES: usize = 64;
const LEASE_MS: i64 = 3_600_000;

/// How far a task has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Completed,
    InFlight,
    Unknown,
}

/// What was asked for.
#[derive(Clone, Copy, Debug)]
struct Order {
    tasks: usize,
    open: usize,
}

impl Order {
    const fn fate(self, n: usize) -> Fate {
        match (n < self.tasks.saturating_sub(self.open), n % 100) {
            (true, _) => Fate::Completed,
            (false, 0) => Fate::Unknown,
            (false, _) => Fate::InFlight,
        }
    }
}

#[tokio::main]
async fn main() -> Outcomes<()> {
    // Cargo adds `--bench` to what was given.
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let [path, tasks, open] = args.as_slice() else {
        tell("usage: fill STORE TASKS OPEN; nothing was done");
        return Ok(());
    };
    let order = Order { tasks: tasks.parse()?, open: open.parse()? };
    let begun = Instant::now();
    let store = Arc::new(SqliteStore::open(Path::new(path), Options::default())?);
    let session = SessionId::parse("ses_bench")?;
    store.start_session(&session, LEASE_MS).await?;
    let mut lanes = JoinSet::new();
    for lane in 0..LANES {
        lanes.spawn(fill(Arc::clone(&store), session.clone(), order, lane));
    }
    for filled in lanes.join_all().await {
        filled?;
    }
    tell(&format!("{} tasks, {} of them open, in {:.1?}", order.tasks, order.open, begun.elapsed()));
    Ok(())
}

#[expect(clippy::print_stderr, reason = "a measurement talks to a person")]
fn tell(text: &str) {
    eprintln!("{text}");
}

async fn fill(store: Arc<SqliteStore>, session: SessionId, order: Order, lane: usize) -> Outcomes<()> {
    for n in (lane..order.tasks).step_by(LANES) {
        let creation = creation(&store, &session, n, order.fate(n))?;
        match store.create(creation).await? {
            Created::New(_) => {}
            Created::Exists { task, .. } => return Err(format!("{task} is there already").into()),
        }
    }
    Ok(())
}

/// The n-th task, its whole life in one turn.
fn creation(store: &SqliteStore, session: &SessionId, n: usize, fate: Fate) -> Outcomes<Creation> {
    let (now, epoch) = (store.now(), store.info().epoch);
    let generation = Generation { epoch, counter: 1 };
    let mut draft = submit(submission(n, epoch)?, ctx(now))?;
    draft.take(Input::Claimed { session: session.clone(), generation }, ctx(now))?;
    while let Some(input) = next(draft.task(), now, fate)? {
        draft.take(input, ctx(now))?;
    }
    let ended = draft.task().end.is_some();
    let due = if ended { Due::Park(None) } else { Due::Held };
    let turn = TurnId::parse(&format!("trn_{n}"))?;
    let (mut turn, _) = Turn::close(draft, turn, Authority::Owner(generation), now.at, due);
    turn.owner = Some(session.clone());
    Ok(Creation { turn, digest: Hash::of(&n.to_le_bytes()) })
}

const fn ctx(now: Now) -> Ctx {
    Ctx { now, draw: 0 }
}

fn submission(n: usize, epoch: u32) -> Outcomes<Submission> {
    Ok(Submission {
        task: TaskId::parse(&format!("tsk_{n:026}"))?,
        tenant: Tenant::parse(TENANT)?,
        client_id: ClientId::parse(&format!("many:{n}"))?,
        plan: plan()?,
        inputs: Stored::Inline(Json::obj([
            ("desk", Json::str("http://127.0.0.1:7070")),
            ("incident", Json::str(&incident(n))),
        ])),
        epoch,
        shared_epoch: 0,
        restored: None,
    })
}

fn incident(n: usize) -> String {
    format!("inc-{n:06}")
}

fn plan() -> Outcomes<Plan> {
    let tool = ToolName::parse(TOOL)?;
    let mut steps: Vec<PlanStep> = Vec::new();
    for name in STEPS {
        let needs = steps.last().map(|s| s.name.clone()).into_iter().collect();
        steps.push(PlanStep { name: StepName::parse(name)?, needs, kind: StepKind::Act(tool.clone()) });
    }
    Ok(Plan {
        name: "many".into(),
        hash: Hash::of(b"many"),
        steps,
        tools: [(tool.clone(), Terms::new(tool, Hash::of(b"contract")))].into(),
        budget: Budget::default(),
        pins: [].into(),
    })
}

/// What comes next in the life of a task; `None` when it is to stand as it is.
fn next(task: &Task, now: Now, fate: Fate) -> Outcomes<Option<Input>> {
    let last = task.operations.len() == 4 && fate != Fate::Completed;
    Ok(match obligations(task, now).into_iter().next() {
        Some(Obligation::Resolve(step)) => {
            let operation = planned(task, &step)?;
            Some(Input::Resolved { step, resolution: Resolution::Act { operation } })
        }
        Some(Obligation::Begin { op, .. }) => Some(begin(op)),
        Some(Obligation::Answer(_)) if last && fate == Fate::InFlight => None,
        Some(Obligation::Answer(op)) => Some(answered(op, last)),
        Some(
            Obligation::Precheck(_)
            | Obligation::Probe(_)
            | Obligation::Watch { .. }
            | Obligation::WaitUntil(_)
            | Obligation::Person,
        )
        | None => None,
    })
}

fn planned(task: &Task, step: &StepName) -> Outcomes<PlannedOperation> {
    let Stored::Inline(Json::Obj(inputs)) = &task.inputs else { return Err("no inputs".into()) };
    let Some(Json::Str(incident)) = inputs.get("incident") else { return Err("no incident".into()) };
    let target = format!("{incident},{step}");
    let id = OperationId::build(&task.id, step, &Intent { target: &target, version: "1", intent: 1 })?;
    Ok(PlannedOperation {
        tool: ToolName::parse(TOOL)?,
        key: hash::operation_key(TENANT, id.as_str(), 0),
        request_hash: Hash::of(id.as_str().as_bytes()),
        id,
        version: "1".into(),
        intent: 1,
        key_epoch: 0,
        fields: [].into(),
        arguments: Stored::Inline(Json::obj([
            ("desk", Json::str("http://127.0.0.1:7070")),
            ("incident", Json::str(incident)),
            ("part", Json::str(step.as_str())),
            ("title", Json::str("after T-100000")),
        ])),
        target,
    })
}

/// The frozen request has the size of a real one.
fn begin(op: OperationId) -> Input {
    let request = Stored::Inline(Json::str(&"a request of about that many bytes. ".repeat(11)));
    Input::Begin { op, request: Some(request), lease_left_ms: LEASE_MS, next_key: "next".into() }
}

fn answered(op: OperationId, lost: bool) -> Input {
    let body = Json::obj([
        ("id", Json::str("T-100000")),
        ("incident", Json::str("inc-000000")),
        ("ref", Json::Null),
        ("title", Json::str("after T-100000")),
    ]);
    let outcome = if lost {
        Outcome::unknown(UnknownCause::Timeout)
    } else {
        Outcome::Applied { result: Stored::Inline(body.clone()), replayed: false, truncated: false }
    };
    let shown = Json::obj([("status", Json::from(201_u32)), ("body", body)]);
    Input::Answered { op, attempt: 1, outcome, shown, late_ms: 0, cost: 0 }
}
