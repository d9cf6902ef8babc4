//! The real store with faults that a test switches on, and engines inside this process: leases that end, commits that fail.

use async_trait::async_trait;
use semel_connectors::{EnvFileSecrets, HttpConnector, HttpOptions};
use semel_engine::{
    engine::{Engine, Options},
    submit::{Request, Submitted},
};
use semel_kernel::{
    event::{Event, Recorded},
    hash::Hash,
    id::{ClientId, SessionId, TaskId, Tenant, TurnId},
    json::Json,
    oblige,
    outcome::ArtifactRef,
    task::{Phase, Task},
    time::{Generation, Millis, Now},
};
use semel_plan::plan::PlanDoc;
use semel_ports::{
    Claim, CommitError, Created, Creation, Entropy, Loaded, OperationFilter, OperationRow, Page, Receipt,
    ReviewFilter, ReviewRow, Store, StoreError, StoreInfo, TaskFilter, TaskRow, Turn,
};
use semel_store_sqlite::{Options as StoreOptions, SqliteStore};
use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::task::JoinHandle;

/// What happens to one commit.
#[derive(Clone, Debug)]
pub(crate) enum Fate {
    /// It is refused, and nothing was changed.
    Refused(StoreError),
    /// It is durable, and its answer is lost.
    AnswerLost,
    /// It is as it should be.
    Kept,
}

type Rule = Box<dyn Fn(&Turn) -> Fate + Send + Sync>;

/// The real store behind switches.
pub(crate) struct Faulty {
    inner: SqliteStore,
    /// The fates of the next commits and creations, in order; then `rule` decides.
    pub(crate) script: Mutex<VecDeque<Fate>>,
    /// Decides the fate of every other commit.
    pub(crate) rule: Mutex<Option<Rule>>,
    /// Every write is refused.
    pub(crate) closed: AtomicBool,
    /// Nothing is read back.
    pub(crate) blind: AtomicBool,
    /// Commits and creations that were refused.
    pub(crate) refused: AtomicUsize,
    /// So many releases are refused, as by a busy store.
    pub(crate) keeps: AtomicUsize,
    /// Renewals that went through.
    pub(crate) renewed: AtomicUsize,
    /// Renewals by this session fail.
    pub(crate) deaf: Mutex<Option<SessionId>>,
}

impl Faulty {
    fn fate(&self, turn: &Turn) -> Fate {
        let fate = if self.closed.load(Ordering::SeqCst) {
            Fate::Refused(StoreError::ReadOnly("switched off by the test".into()))
        } else if let Some(fate) = self.script.lock().unwrap().pop_front() {
            fate
        } else {
            self.rule.lock().unwrap().as_ref().map_or(Fate::Kept, |rule| rule(turn))
        };
        if !matches!(fate, Fate::Kept) {
            self.refused.fetch_add(1, Ordering::SeqCst);
        }
        fate
    }

    fn open(&self) -> Result<(), StoreError> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(StoreError::ReadOnly("switched off by the test".into()));
        }
        Ok(())
    }

    /// From now on the fate of every commit is decided so.
    pub(crate) fn rule(&self, rule: impl Fn(&Turn) -> Fate + Send + Sync + 'static) {
        *self.rule.lock().unwrap() = Some(Box::new(rule));
    }
}

fn lost() -> CommitError {
    StoreError::CommitUnknown("the answer was lost by the test".into()).into()
}

#[async_trait]
impl Store for Faulty {
    fn now(&self) -> Now {
        self.inner.now()
    }

    fn info(&self) -> StoreInfo {
        self.inner.info()
    }

    async fn start_session(&self, session: &SessionId, lease_ms: i64) -> Result<(), StoreError> {
        self.inner.start_session(session, lease_ms).await
    }

    async fn renew_session(&self, session: &SessionId, lease_ms: i64) -> Result<bool, StoreError> {
        self.open()?;
        if self.deaf.lock().unwrap().as_ref() == Some(session) {
            return Err(StoreError::Busy("this session is not renewed".into()));
        }
        let renewed = self.inner.renew_session(session, lease_ms).await?;
        self.renewed.fetch_add(usize::from(renewed), Ordering::SeqCst);
        Ok(renewed)
    }

    async fn end_session(&self, session: &SessionId) -> Result<(), StoreError> {
        self.inner.end_session(session).await
    }

    async fn create(&self, creation: Creation) -> Result<Created, CommitError> {
        match self.fate(&creation.turn) {
            Fate::Refused(e) => Err(e.into()),
            Fate::AnswerLost => self.inner.create(creation).await.and(Err(lost())),
            Fate::Kept => self.inner.create(creation).await,
        }
    }

    async fn commit(&self, turn: Turn) -> Result<Receipt, CommitError> {
        match self.fate(&turn) {
            Fate::Refused(e) => Err(e.into()),
            Fate::AnswerLost => self.inner.commit(turn).await.and(Err(lost())),
            Fate::Kept => self.inner.commit(turn).await,
        }
    }

    async fn find_turn(&self, task: &TaskId, turn: &TurnId) -> Result<bool, StoreError> {
        self.inner.find_turn(task, turn).await
    }

    async fn read_back(&self, turn: &Turn) -> Result<Option<Receipt>, StoreError> {
        if self.blind.load(Ordering::SeqCst) {
            return Err(StoreError::Closed("the test lets nobody look".into()));
        }
        self.inner.read_back(turn).await
    }

    async fn claim(&self, session: &SessionId, limit: u32) -> Result<Vec<Claim>, StoreError> {
        self.open()?;
        self.inner.claim(session, limit).await
    }

    async fn claim_task(&self, session: &SessionId, task: &TaskId) -> Result<Option<Claim>, StoreError> {
        self.open()?;
        self.inner.claim_task(session, task).await
    }

    async fn release(
        &self,
        task: &TaskId,
        generation: Generation,
        version: u64,
        due: Option<Millis>,
    ) -> Result<bool, StoreError> {
        self.open()?;
        if self.keeps.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok() {
            return Err(StoreError::Busy("the test lets nobody give anything back".into()));
        }
        self.inner.release(task, generation, version, due).await
    }

    async fn next_due(&self) -> Result<Option<Millis>, StoreError> {
        self.inner.next_due().await
    }

    async fn load(&self, task: &TaskId) -> Result<Loaded, StoreError> {
        self.inner.load(task).await
    }

    async fn history(&self, task: &TaskId, after: u64) -> Result<Vec<Recorded>, StoreError> {
        self.inner.history(task, after).await
    }

    async fn find_client(
        &self,
        tenant: &Tenant,
        client: &ClientId,
    ) -> Result<Option<(TaskId, Hash)>, StoreError> {
        self.inner.find_client(tenant, client).await
    }

    async fn put_artifact(&self, bytes: Vec<u8>) -> Result<ArtifactRef, StoreError> {
        self.open()?;
        self.inner.put_artifact(bytes).await
    }

    async fn artifact(&self, hash: Hash) -> Result<Vec<u8>, StoreError> {
        self.inner.artifact(hash).await
    }

    async fn tasks(&self, filter: &TaskFilter, page: Page) -> Result<Vec<TaskRow>, StoreError> {
        self.inner.tasks(filter, page).await
    }

    async fn operations(
        &self,
        filter: &OperationFilter,
        page: Page,
    ) -> Result<Vec<OperationRow>, StoreError> {
        self.inner.operations(filter, page).await
    }

    async fn count_operations(&self, filter: &OperationFilter, most: u32) -> Result<u32, StoreError> {
        self.inner.count_operations(filter, most).await
    }

    async fn reviews(&self, filter: &ReviewFilter, page: Page) -> Result<Vec<ReviewRow>, StoreError> {
        self.inner.reviews(filter, page).await
    }
}

/// Random enough for ids, and repeatable.
struct Counter(AtomicU64);

impl Entropy for Counter {
    fn bits(&self) -> u128 {
        let n = u128::from(self.0.fetch_add(1, Ordering::SeqCst));
        n.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C834) ^ (n << 64)
    }
}

/// A store in a folder, and the chance that all its engines draw from.
pub(crate) struct Inside {
    pub(crate) store: Arc<Faulty>,
    entropy: Arc<Counter>,
    pub(crate) dir: tempfile::TempDir,
}

/// One engine at work.
pub(crate) struct Working {
    pub(crate) engine: Engine,
    running: JoinHandle<Result<(), StoreError>>,
}

impl Working {
    pub(crate) async fn stop(self) {
        self.engine.drain();
        self.running.await.unwrap().unwrap();
    }
}

pub(crate) const SHORT: Options = Options { slots: 256, lease_ms: 900, renew_ms: 200, margin_ms: 100 };

impl Inside {
    pub(crate) fn new() -> Self {
        Self::with(StoreOptions::default())
    }

    pub(crate) fn with(options: StoreOptions) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let inner = SqliteStore::open(&dir.path().join("semel.db"), options).unwrap();
        let store = Faulty {
            inner,
            script: Mutex::default(),
            rule: Mutex::default(),
            closed: AtomicBool::new(false),
            blind: AtomicBool::new(false),
            refused: AtomicUsize::new(0),
            keeps: AtomicUsize::new(0),
            renewed: AtomicUsize::new(0),
            deaf: Mutex::default(),
        };
        Self { store: Arc::new(store), entropy: Arc::new(Counter(AtomicU64::new(1))), dir }
    }

    /// The commit after the first `kept` ones meets this fate.
    pub(crate) fn script(&self, kept: usize, fate: Fate) {
        let mut script = VecDeque::from(vec![Fate::Kept; kept]);
        script.push_back(fate);
        *self.store.script.lock().unwrap() = script;
    }

    async fn engine(&self, options: Options) -> Engine {
        let http = HttpConnector::new(
            Arc::new(EnvFileSecrets::new(Box::new(|_: &str| None))),
            HttpOptions::default(),
        );
        Engine::start(self.store.clone(), Arc::new(http), self.entropy.clone(), options).await.unwrap()
    }

    pub(crate) async fn work(&self, options: Options) -> Working {
        let engine = self.engine(options).await;
        let running = tokio::spawn({
            let engine = engine.clone();
            async move { engine.run().await }
        });
        Working { engine, running }
    }

    pub(crate) async fn task(&self, id: &TaskId) -> Task {
        self.store.load(id).await.unwrap().into_task().unwrap()
    }

    pub(crate) async fn events(&self, id: &TaskId) -> Vec<Event> {
        self.store.history(id, 0).await.unwrap().into_iter().map(|r| r.event).collect()
    }

    /// Waits until the task is as `enough` says.
    pub(crate) async fn until(&self, id: &TaskId, enough: impl Fn(&Task) -> bool) -> Task {
        let wait = async {
            loop {
                let task = self.task(id).await;
                if enough(&task) {
                    return task;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        match tokio::time::timeout(Duration::from_secs(40), wait).await {
            Ok(task) => task,
            Err(_) => panic!("it stays as it is: {:#?}", self.events(id).await),
        }
    }

    pub(crate) async fn until_phase(&self, id: &TaskId, phase: Phase) -> Task {
        self.until(id, |task| oblige::phase(task) == phase).await
    }
}

/// Waits until something is true.
pub(crate) async fn until(what: &str, truth: impl Fn() -> bool) {
    let wait = async {
        while !truth() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(
        tokio::time::timeout(Duration::from_secs(40), wait).await.is_ok(),
        "this never came true: {what}"
    );
}

pub(crate) fn plan(text: &str) -> Arc<PlanDoc> {
    Arc::new(PlanDoc::read_text("plan.yaml", text, Path::new(".")).unwrap_or_else(|p| panic!("{p:#?}")))
}

pub(crate) fn request(plan: &Arc<PlanDoc>, id: &str) -> Request {
    Request {
        inputs: Json::Obj(BTreeMap::new()),
        plan: Arc::clone(plan),
        tenant: Tenant::parse("default").unwrap(),
        client_id: Some(ClientId::parse(id).unwrap()),
        new_intent: false,
    }
}

pub(crate) async fn submit(engine: &Engine, text: &str, id: &str) -> TaskId {
    let (Submitted::Created(task) | Submitted::Attached(task)) =
        engine.submit(request(&plan(text), id)).await.unwrap();
    task
}
