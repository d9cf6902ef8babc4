//! A sink in this process, an engine on an in-memory store, and one task.

use semel_connectors::{EnvFileSecrets, HttpConnector, HttpOptions};
use semel_engine::{
    engine::{Engine, Options},
    submit::{Request, Submitted},
};
use semel_kernel::{
    id::Tenant,
    json::Json,
    oblige,
    operation::{Attempt, Operation},
    task::{Phase, Task},
};
use semel_plan::plan::PlanDoc;
use semel_ports::{Connector as _, Entropy, HttpRequest, Question, Store, Template, Transport};
use semel_sinks::{SinkKind, hostile};
use semel_store_sqlite::{Options as StoreOptions, SqliteStore};
use std::{
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Random enough for ids, and repeatable.
struct Counter(AtomicU64);

/// Where the next engine begins to count: two lives on one store must not share their ids.
static LIVES: AtomicU64 = AtomicU64::new(1);

impl Entropy for Counter {
    fn bits(&self) -> u128 {
        let n = u128::from(self.0.fetch_add(1, Ordering::SeqCst));
        n.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C834) ^ (n << 64)
    }
}

pub(crate) struct World {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) address: String,
}

const ANY: &str = "127.0.0.1:0";

impl World {
    pub(crate) async fn sink(kind: SinkKind) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let db = dir.path().join("sink.db");
        let (ready, address) = tokio::sync::oneshot::channel();
        tokio::spawn(async move {
            semel_sinks::serve(kind, &db, ANY.parse().unwrap(), |at| ready.send(at).unwrap()).await.unwrap();
        });
        let address = format!("http://{}", address.await.unwrap());
        Self { dir, address }
    }

    pub(crate) async fn hostile(behaviour: hostile::Behaviour) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (ready, address) = tokio::sync::oneshot::channel::<SocketAddr>();
        tokio::spawn(async move {
            let told = |at, _| ready.send(at).unwrap();
            hostile::serve_hostile(ANY.parse().unwrap(), behaviour, told).await.unwrap();
        });
        let address = format!("http://{}", address.await.unwrap());
        Self { dir, address }
    }

    pub(crate) fn nowhere(address: &str) -> Self {
        Self { dir: tempfile::tempdir().unwrap(), address: address.to_owned() }
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: Option<String>) -> Json {
        let http = HttpConnector::new(
            Arc::new(EnvFileSecrets::new(Box::new(|_: &str| None))),
            HttpOptions::default(),
        );
        let request = HttpRequest {
            method: method.to_owned(),
            url: Template::text(format!("{}{path}", self.address)),
            headers: vec![("content-type".to_owned(), Template::text("application/json"))],
            body: body.map(Template::text),
            ca_file: None,
        };
        let question = Question { request, key: String::new(), fence: String::new(), timeout_ms: 5_000 };
        match http.ask(question).await.transport {
            Transport::Answered(answer) => Json::parse(&String::from_utf8_lossy(&answer.body)).unwrap(),
            other => panic!("the sink does not answer: {other:?}"),
        }
    }

    pub(crate) async fn faults(&self, rules: &str) {
        self.call("PUT", "/_control", Some(rules.to_owned())).await;
    }

    pub(crate) async fn effects(&self) -> i64 {
        self.call("GET", "/_count", None).await.get("effects").and_then(Json::as_i64).unwrap()
    }

    /// Runs a plan until it stands still, or until `enough` says so.
    pub(crate) async fn run(&self, plan: &str, enough: fn(&Task) -> bool) -> Task {
        let text = plan.replace("{SINK}", &self.address);
        let plan =
            PlanDoc::read_text("plan.yaml", &text, Path::new(".")).unwrap_or_else(|p| panic!("{p:#?}"));
        let store = SqliteStore::open(&self.dir.path().join("semel.db"), StoreOptions::default()).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let http = HttpConnector::new(
            Arc::new(EnvFileSecrets::new(Box::new(|_: &str| None))),
            HttpOptions::default(),
        );
        let entropy = Arc::new(Counter(AtomicU64::new(LIVES.fetch_add(1 << 20, Ordering::SeqCst))));
        let engine =
            Engine::start(Arc::clone(&store), Arc::new(http), entropy, Options::default()).await.unwrap();
        let mut progress = engine.progress();
        let running = tokio::spawn({
            let engine = engine.clone();
            async move { engine.run().await }
        });
        let request = Request {
            inputs: Json::Obj(std::collections::BTreeMap::new()),
            plan: Arc::new(plan),
            tenant: Tenant::parse("default").unwrap(),
            client_id: None,
            new_intent: false,
        };
        let (Submitted::Created(id) | Submitted::Attached(id)) = engine.submit(request).await.unwrap();
        let task = loop {
            let task = store.load(&id).await.unwrap().into_task().unwrap();
            let phase = oblige::phase(&task);
            if phase.is_end() || phase == Phase::NeedsReview || enough(&task) {
                break task;
            }
            progress.recv().await.unwrap();
        };
        engine.drain();
        running.await.unwrap().unwrap();
        task
    }
}

pub(crate) fn op(task: &Task) -> &Operation {
    task.operations.values().next().unwrap()
}

pub(crate) fn first(task: &Task) -> &Attempt {
    op(task).attempts.first().unwrap()
}
