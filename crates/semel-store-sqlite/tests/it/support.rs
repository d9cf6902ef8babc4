//! A store in a folder of its own, under clocks that a test moves, and tasks with a history.

use semel_kernel::{
    decide::{Draft, Submission, submit},
    event::PlannedOperation,
    hash::Hash,
    id::{ClientId, Intent, OperationId, SessionId, StepName, TaskId, Tenant, ToolName, TurnId},
    input::{Ctx, Input, Resolution},
    json::Json,
    outcome::Stored,
    plan::{Budget, Plan, PlanStep, StepKind},
    task::Task,
    terms::Terms,
    time::{Generation, Now},
};
use semel_ports::{Authority, CommitError, Created, Creation, Due, Receipt, Store, StoreError, Turn};
use semel_store_sqlite::{Options, SqliteStore, TimeSource};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};
use tempfile::TempDir;

/// Clocks that stand still until they are moved.
pub(crate) struct FakeTime {
    wall: AtomicI64,
    boot: AtomicI64,
    boot_id: Mutex<String>,
}

impl FakeTime {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            wall: AtomicI64::new(1_800_000_000_000),
            boot: AtomicI64::new(60_000),
            boot_id: Mutex::new("boot-1".into()),
        })
    }

    pub(crate) fn advance(&self, ms: i64) {
        self.wall.fetch_add(ms, Ordering::SeqCst);
        self.boot.fetch_add(ms, Ordering::SeqCst);
    }

    /// Somebody sets the wall clock.
    pub(crate) fn set_wall(&self, ms: i64) {
        self.wall.fetch_add(ms, Ordering::SeqCst);
    }

    /// The machine starts again, `ms` after it went down by its wall clock.
    pub(crate) fn reboot(&self, ms: i64) {
        self.wall.fetch_add(ms, Ordering::SeqCst);
        self.boot.store(1_000, Ordering::SeqCst);
        self.boot_id.lock().unwrap().push('x');
    }
}

impl TimeSource for FakeTime {
    fn wall_ms(&self) -> i64 {
        self.wall.load(Ordering::SeqCst)
    }
    fn boottime_ms(&self) -> i64 {
        self.boot.load(Ordering::SeqCst)
    }
    fn boot_id(&self) -> String {
        self.boot_id.lock().unwrap().clone()
    }
}

/// A folder with a store in it.
pub(crate) struct Home {
    pub(crate) dir: TempDir,
    pub(crate) path: PathBuf,
    pub(crate) time: Arc<FakeTime>,
    pub(crate) options: Options,
}

impl Home {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("semel.db");
        Self { dir, path, time: FakeTime::new(), options: Options::default() }
    }

    pub(crate) fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(suffix);
        name.into()
    }

    pub(crate) fn try_open(&self) -> Result<SqliteStore, StoreError> {
        SqliteStore::open_with_clock(&self.path, self.options.clone(), self.time.clone())
    }

    pub(crate) fn open(&self) -> SqliteStore {
        self.try_open().unwrap()
    }

    /// The same store elsewhere, under the same clocks.
    pub(crate) fn at(&self, path: &Path) -> SqliteStore {
        SqliteStore::open_with_clock(path, self.options.clone(), self.time.clone()).unwrap()
    }
}

static NEXT: AtomicU64 = AtomicU64::new(1);

/// Another turn id every time, in every process.
pub(crate) fn turn_id() -> TurnId {
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    TurnId::parse(&format!("trn_{}_{n}", std::process::id())).unwrap()
}

pub(crate) fn session(name: &str) -> SessionId {
    SessionId::parse(name).unwrap()
}

pub(crate) fn task_id(n: usize) -> TaskId {
    TaskId::parse(&format!("tsk_{n:05}")).unwrap()
}

fn plan() -> Plan {
    let tool = ToolName::parse("mail.send").unwrap();
    let step = |name: &str| PlanStep {
        name: StepName::parse(name).unwrap(),
        needs: Vec::new(),
        kind: StepKind::Act(tool.clone()),
    };
    Plan {
        name: "mails".into(),
        hash: Hash::of(b"mails"),
        steps: vec![step("first"), step("second")],
        tools: [(tool.clone(), Terms::new(tool.clone(), Hash::of(b"contract")))].into(),
        budget: Budget::default(),
        pins: [].into(),
    }
}

pub(crate) fn ctx(now: Now) -> Ctx {
    Ctx { now, draw: 0 }
}

/// The creation of the n-th task, claimable at once.
pub(crate) fn creation(store: &SqliteStore, n: usize) -> Creation {
    let submission = Submission {
        task: task_id(n),
        tenant: Tenant::parse("acme").unwrap(),
        client_id: ClientId::parse(&format!("order-{n}")).unwrap(),
        plan: plan(),
        inputs: Stored::Inline(Json::Null),
        epoch: store.info().epoch,
        shared_epoch: 0,
        restored: None,
    };
    let now = store.now();
    let draft = submit(submission, ctx(now)).unwrap();
    let (turn, _) = Turn::close(draft, turn_id(), Authority::Anyone, now.at, Due::Wake);
    Creation { turn, digest: Hash::of(b"digest") }
}

pub(crate) async fn create(store: &SqliteStore, n: usize) -> Result<TaskId, CommitError> {
    match store.create(creation(store, n)).await? {
        Created::New(receipt) => Ok(receipt.task().clone()),
        Created::Exists { task, .. } => panic!("{task} is there already"),
    }
}

pub(crate) async fn load(store: &SqliteStore, task: &TaskId) -> Task {
    store.load(task).await.unwrap().into_task().unwrap()
}

pub(crate) fn pause_or_resume(task: Task, now: Now) -> Draft {
    let input = match &task.paused {
        None => Input::Pause { actor: "ann".into(), reason: "a, \"reason\"\nof two lines".into() },
        Some(_) => Input::Resume { actor: "ann".into() },
    };
    let mut draft = Draft::on(task);
    draft.take(input, ctx(now)).unwrap();
    draft
}

/// An operator's turn: pauses the task, or lets it go on.
pub(crate) async fn operator_turn(store: &SqliteStore, task: &TaskId) -> Turn {
    let now = store.now();
    let draft = pause_or_resume(load(store, task).await, now);
    Turn::close(draft, turn_id(), Authority::Anyone, now.at, Due::Wake).0
}

pub(crate) async fn tell(store: &SqliteStore, task: &TaskId) -> Result<Receipt, CommitError> {
    store.commit(operator_turn(store, task).await).await
}

/// An owner's turn: the claim is recorded, and the first step is planned and begun.
pub(crate) async fn begin(store: &SqliteStore, owner: (&SessionId, Generation), task: &TaskId) -> Turn {
    let (now, task) = (store.now(), load(store, task).await);
    let step = StepName::parse("first").unwrap();
    let operation = planned(&task, &step);
    let op = operation.id.clone();
    let mut draft = Draft::on(task);
    let (session, generation) = (owner.0.clone(), owner.1);
    draft.take(Input::Claimed { session, generation }, ctx(now)).unwrap();
    draft.take(Input::Resolved { step, resolution: Resolution::Act { operation } }, ctx(now)).unwrap();
    let request = Some(Stored::Inline(Json::str("the frozen request")));
    draft
        .take(Input::Begin { op, request, lease_left_ms: 5_000, next_key: "next".into() }, ctx(now))
        .unwrap();
    let (mut turn, task) = Turn::close(draft, turn_id(), Authority::Owner(generation), now.at, Due::Held);
    turn.checkpoint = Some(Box::new(task));
    turn
}

fn planned(task: &Task, step: &StepName) -> PlannedOperation {
    let intent = Intent { target: "ann@example_com", version: "1", intent: 1 };
    let id = OperationId::build(&task.id, step, &intent).unwrap();
    PlannedOperation {
        tool: ToolName::parse("mail.send").unwrap(),
        key: semel_kernel::hash::operation_key("acme", id.as_str(), 0),
        request_hash: Hash::of(id.as_str().as_bytes()),
        id,
        target: "ann@example_com".into(),
        version: "1".into(),
        intent: 1,
        key_epoch: 0,
        fields: [].into(),
        arguments: Stored::Inline(Json::Null),
    }
}
