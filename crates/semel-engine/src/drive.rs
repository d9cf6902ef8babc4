//! The driver of one task: carries out what its machine wants, and feeds back what was done. Thin on purpose.

use crate::{
    engine::{Inner, Progress},
    hands::Nudge,
    machine::{Body, Completion, Io, Machine, to_person},
    share,
};
use semel_kernel::{
    id::TaskId,
    input::Input,
    json::Json,
    limit,
    outcome::Stored,
    review::ReviewCause,
    task::Task,
    time::{Generation, Millis},
};
use semel_ports::{
    CallPermit, Claim, CommitError, Created, Creation, HttpRequest, Receipt, Report, StoreError, Turn,
};
use std::{sync::Arc, time::Duration};
use tokio::{sync::mpsc, task::JoinSet};

/// Works on a claimed task until it ends, waits, or is lost.
pub(crate) async fn claimed(inner: &Arc<Inner>, claim: Claim, nudges: mpsc::UnboundedReceiver<Nudge>) {
    let (task, generation) = (claim.task.clone(), claim.generation);
    if let Err(error) = work(inner, claim, nudges).await {
        tracing::error!(task = %task, code = error.code(), "{error}; next: {}", error.next());
        // Nobody works on it here any more. Not at once again, since a history that cannot be read stays so.
        let later = inner.store.now().at.plus(limit::PROGRESS_MS);
        give_back(inner, &task, generation, (u64::MAX, Some(later))).await;
    }
}

/// Gives a task back. A store that is full or busy is asked again, or the task would stay with a living session that does
/// not work on it.
async fn give_back(
    inner: &Inner,
    task: &TaskId,
    generation: Generation,
    (version, due): (u64, Option<Millis>),
) {
    let release = || inner.store.release(task, generation, version, due);
    if let Err(e) = reading(inner, release).await {
        tracing::warn!(task = %task, code = e.code(), "could not give the task back: {e}");
    }
}

/// Asks the store again while it says that it may pass.
async fn reading<T, F>(inner: &Inner, mut ask: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    loop {
        match ask().await {
            Err(e) if e.passes() && !inner.is_draining() => {
                inner.refused(&e);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            other => return other,
        }
    }
}

async fn work(
    inner: &Arc<Inner>,
    claim: Claim,
    nudges: mpsc::UnboundedReceiver<Nudge>,
) -> Result<(), StoreError> {
    let task = reading(inner, || inner.task(&claim.task)).await?;
    if claim.claims > limit::CLAIMS_WITHOUT_PROGRESS {
        let cause = ReviewCause::NoProgress { claims: claim.claims };
        return give_to_person(inner, &claim, task, cause).await;
    }
    let plan = match reading(inner, || inner.plan_of(&task)).await? {
        Ok(plan) => plan,
        Err(what) => {
            return give_to_person(inner, &claim, task, ReviewCause::VersionMissing { what }).await;
        }
    };
    let accounts = inner.accounts(&plan);
    let mut machine = Machine::claimed(task, (plan, accounts), inner.session(), claim.generation);
    let io = machine.on(&inner.moment()?, Completion::Tick);
    pump(inner, &claim.task, machine, io, nudges, None).await
}

/// Asks a person and gives the task back.
async fn give_to_person(
    inner: &Arc<Inner>,
    claim: &Claim,
    task: Task,
    cause: ReviewCause,
) -> Result<(), StoreError> {
    let turn = to_person(task, inner.session(), claim.generation, cause, &inner.moment()?);
    let progress = Progress::of(&turn);
    match patient(inner, || inner.store.commit(turn.clone())).await {
        Ok(_) => inner.tell(progress),
        Err(CommitError::Store(error)) => return Err(error),
        // The task has moved on meanwhile: whoever takes it up next looks again.
        Err(error) => {
            tracing::warn!(task = %claim.task, "no review was opened: {error}");
            let now = Some(inner.store.now().at);
            give_back(inner, &claim.task, claim.generation, (0, now)).await;
        }
    }
    Ok(())
}

/// Called once, with the answer to the creation.
pub(crate) type OnCreated = tokio::sync::oneshot::Sender<Result<Answered, CommitError>>;

/// The answer to a creation, without the receipt, which the machine needs.
#[derive(Debug)]
pub(crate) enum Answered {
    New,
    Exists { task: TaskId, digest: semel_kernel::hash::Hash },
}

/// Runs a machine until it stops.
pub(crate) async fn pump(
    inner: &Arc<Inner>,
    task: &TaskId,
    mut machine: Machine,
    io: Vec<Io>,
    mut nudges: mpsc::UnboundedReceiver<Nudge>,
    mut on_created: Option<OnCreated>,
) -> Result<(), StoreError> {
    let mut running: JoinSet<Completion> = JoinSet::new();
    let mut wake = Millis::MAX;
    let mut stop = begin(inner, task, io, &mut running, &mut wake);
    while !stop || !running.is_empty() {
        let done = tokio::select! {
            Some(done) = running.join_next() => match done {
                Ok(done) => done,
                Err(e) => return Err(StoreError::Closed(format!("a call of the driver ended: {e}"))),
            },
            Some(nudge) = nudges.recv(), if !stop => match nudge {
                Nudge::Changed => Completion::Nudged,
                Nudge::Drain => Completion::Drain,
            },
            () = until(inner, wake), if !stop => {
                wake = Millis::MAX;
                Completion::Tick
            }
        };
        let done = tell_creator(done, &mut on_created);
        let io = machine.on(&inner.moment()?, done);
        stop |= begin(inner, task, io, &mut running, &mut wake);
    }
    Ok(())
}

/// The submitter is told as soon as the creation is durable, not when the task is done.
fn tell_creator(done: Completion, on_created: &mut Option<OnCreated>) -> Completion {
    if let Completion::Created(result) = &done
        && let Some(creator) = on_created.take()
    {
        let told = match result {
            Ok(Created::New(_)) => Ok(Answered::New),
            Ok(Created::Exists { task, digest }) => {
                Ok(Answered::Exists { task: task.clone(), digest: *digest })
            }
            Err(e) => Err(e.clone()),
        };
        drop(creator.send(told));
    }
    done
}

async fn until(inner: &Arc<Inner>, at: Millis) {
    if at == Millis::MAX {
        std::future::pending::<()>().await;
    }
    let pause = at.since(inner.store.now().at).max(0);
    tokio::time::sleep(Duration::from_millis(u64::try_from(pause).unwrap_or(0))).await;
}

/// Starts what the machine wants; `true` when it wants to stop.
fn begin(
    inner: &Arc<Inner>,
    task: &TaskId,
    io: Vec<Io>,
    running: &mut JoinSet<Completion>,
    wake: &mut Millis,
) -> bool {
    let mut stop = false;
    for io in io {
        let inner = Arc::clone(inner);
        let task = task.clone();
        match io {
            Io::Stop => stop = true,
            Io::WakeAt(at) => *wake = at,
            Io::Create(creation) => drop(running.spawn(create(inner, *creation))),
            Io::Commit(turn) => drop(running.spawn(commit(inner, *turn))),
            Io::Reload => drop(running.spawn(reload(inner, task))),
            Io::Send(permit) => drop(running.spawn(send(inner, permit))),
            Io::Ask { op, asking, question } => {
                running.spawn(async move {
                    let asked_at = inner.store.now().at;
                    let report = inner.connector.ask(*question).await;
                    Completion::Asked { op, asking, asked_at, report }
                });
            }
            Io::Fetch(hash) => drop(running.spawn(async move {
                let body = fetch(&inner, hash).await;
                Completion::Fetched { hash, body }
            })),
            Io::Share { step, call } => drop(running.spawn(async move {
                let result = match share::find_or_create(&inner, &task, &call).await {
                    Ok(had) => Some(Ok(had)),
                    Err(share::NotHad::Refused(refusal)) => Some(Err(refusal)),
                    Err(share::NotHad::NotNow) => None,
                };
                Completion::Shared { step, result }
            })),
            Io::Watch { step, task: other } => drop(running.spawn(async move {
                inner.wait_for(task.clone(), other.clone());
                let settlement = share::settlement(&inner, &other).await;
                if settlement.is_some() {
                    inner.wait_no_more(&task, &other);
                }
                Completion::Watched { step, settlement }
            })),
            Io::Release { generation, version, due } => drop(running.spawn(async move {
                give_back(&inner, &task, generation, (version, due)).await;
                Completion::Nudged
            })),
            Io::File(facts) => drop(running.spawn(async move {
                for fact in facts {
                    file(&inner, &task, fact).await;
                }
                Completion::Nudged
            })),
        }
    }
    stop
}

/// Late truth is kept: a store that is full or busy is waited for, as with any other turn.
async fn file(inner: &Inner, task: &TaskId, fact: Input) {
    while let Err(refused) = inner.amend(task, fact.clone()).await {
        tracing::warn!(task = %task, code = refused.code, "evidence: {}; next: {}", refused.message, refused.next);
        let passes = matches!(refused.code.as_str(), "SM2001" | "SM2002" | "SM2003");
        if !passes || inner.is_draining() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Repeats the very same turn while the store says that it may pass: full, busy, read-only. Nothing is sent meanwhile.
pub(crate) async fn patient<T, F>(inner: &Inner, mut write: impl FnMut() -> F) -> Result<T, CommitError>
where
    F: Future<Output = Result<T, CommitError>>,
{
    let mut pause_ms = 20;
    loop {
        match write().await {
            Err(CommitError::Store(e)) if e.passes() && !inner.is_draining() => {
                tracing::warn!(
                    code = e.code(),
                    "nothing is sent until the store can be written: {e}; next: {}",
                    e.next()
                );
                inner.refused(&e);
                tokio::time::sleep(Duration::from_millis(pause_ms)).await;
                pause_ms = (pause_ms * 2).min(2_000);
            }
            Ok(done) => {
                inner.written();
                return Ok(done);
            }
            other => return other,
        }
    }
}

async fn create(inner: Arc<Inner>, creation: Creation) -> Completion {
    let progress = Progress::of(&creation.turn);
    let mut result = patient(&inner, || inner.store.create(creation.clone())).await;
    if is_lost(&result) {
        result = read_back(&inner, &creation.turn).await.map_or(result, |receipt| Ok(Created::New(receipt)));
    }
    if matches!(result, Ok(Created::New(_))) {
        inner.tell(progress);
    }
    Completion::Created(result)
}

async fn commit(inner: Arc<Inner>, turn: Turn) -> Completion {
    let progress = Progress::of(&turn);
    let mut result = patient(&inner, || inner.store.commit(turn.clone())).await;
    if is_lost(&result) {
        result = read_back(&inner, &turn).await.map_or(result, Ok);
    }
    if result.is_ok() {
        inner.tell(progress);
    }
    Completion::Committed(result)
}

const fn is_lost<T>(result: &Result<T, CommitError>) -> bool {
    matches!(result, Err(CommitError::Store(StoreError::CommitUnknown(_))))
}

/// The receipt of a turn whose answer was lost, if it is durable: then its calls leave after all, and their `send_by`
/// counts from the first try.
async fn read_back(inner: &Inner, turn: &Turn) -> Option<Receipt> {
    reading(inner, || inner.store.read_back(turn)).await.unwrap_or_else(|e| {
        tracing::warn!(task = %turn.task, code = e.code(), "a turn could not be read back: {e}");
        None
    })
}

async fn reload(inner: Arc<Inner>, task: TaskId) -> Completion {
    match reading(&inner, || inner.task(&task)).await {
        Ok(task) => Completion::Loaded(Box::new(task)),
        Err(e) => Completion::Committed(Err(CommitError::Store(e))),
    }
}

/// The frozen bytes may lie in the artifact store; the permit is used up either way.
async fn send(inner: Arc<Inner>, permit: CallPermit) -> Completion {
    let (op, attempt) = (permit.op().clone(), permit.attempt());
    let request = match permit.request() {
        Stored::Inline(json) => read_request(json),
        Stored::Artifact(at) => match fetch(&inner, at.hash).await {
            Body::There(json) => read_request(&json),
            Body::Missing | Body::NotNow => {
                Err("the frozen request cannot be read from the artifact store".to_owned())
            }
        },
    };
    let report = match request {
        Ok(request) => inner.connector.send(permit, request, inner.store.now().at, inner.recall()).await,
        Err(cause) => Report::not_sent(cause),
    };
    Completion::Answered { op, attempt, report }
}

fn read_request(json: &Json) -> Result<HttpRequest, String> {
    serde_json::from_str(&json.canonical()).map_err(|e| format!("the frozen request cannot be read: {e}"))
}

/// A body by its hash. That the store cannot say is not taken for *missing*.
async fn fetch(inner: &Inner, hash: semel_kernel::hash::Hash) -> Body {
    let parsed = |bytes| Json::parse(&String::from_utf8(bytes).ok()?).ok();
    loop {
        match inner.store.artifact(hash).await {
            Ok(bytes) => return parsed(bytes).map_or(Body::Missing, Body::There),
            Err(StoreError::NoArtifact(_)) => return Body::Missing,
            Err(_) if inner.is_draining() => return Body::NotNow,
            Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
}

impl Progress {
    pub(crate) fn of(turn: &Turn) -> Self {
        Self {
            task: turn.task.clone(),
            phase: turn.projection.task.phase,
            version: turn.version(),
            at: turn.at,
            events: Arc::new(turn.events.clone()),
        }
    }
}
