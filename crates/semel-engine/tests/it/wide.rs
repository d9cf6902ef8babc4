//! Wide and long plans, driven without a clock or a network: every step is done, each by one request.

use semel_engine::machine::{Completion, Io, Machine, Moment};
use semel_kernel::{
    decide::Submission,
    hash::Hash,
    id::{ClientId, OperationId, SessionId, TaskId, Tenant, TurnId},
    json::Json,
    outcome::Stored,
    task::Phase,
    time::{Millis, Now},
};
use semel_plan::plan::PlanDoc;
use semel_ports::{Answer, Report, Store as _, Transport, mem::MemStore};
use std::{
    collections::{BTreeMap, VecDeque},
    fmt::Write as _,
    path::Path,
    sync::Arc,
};

const TOOL: &str = r#"semel: 1
name: wide
inputs: { items: { type: array } }
tools:
  put: { effect: keyed, key: [to], key_window: 24h, send_key_as: { header: Idempotency-Key }, http: { method: POST, url: "http://127.0.0.1:9/x", body: json } }
steps:
"#;

fn independent(n: usize) -> String {
    (0..n).fold(TOOL.to_owned(), |mut plan, i| {
        writeln!(plan, "  - {{ step: s{i}, needs: [], act: put, with: {{ to: t{i} }} }}").unwrap();
        plan
    })
}

fn chain(n: usize) -> String {
    (0..n).fold(TOOL.to_owned(), |mut plan, i| {
        writeln!(plan, "  - {{ step: s{i}, act: put, with: {{ to: t{i} }} }}").unwrap();
        plan
    })
}

fn each() -> String {
    let each = "{ in: \"${{ inputs.items }}\", as: p, key: \"${{ p }}\", parallel: 16 }";
    format!("{TOOL}  - {{ step: all, each: {each}, act: put, with: {{ to: \"${{{{ p }}}}\" }} }}\n")
}

fn items(n: usize) -> Stored {
    let list = (0..n).map(|i| Json::Str(format!("item{i}")));
    Stored::Inline(Json::obj([("items", Json::Arr(list.collect()))]))
}

/// When a commit is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Commits {
    /// Before the next answer is heard: a turn for each answer.
    Fast,
    /// After everything else that is under way.
    Slow,
}

/// The world around one machine, without time and without a network.
struct Bench {
    store: MemStore,
    clock: u32,
    sent: BTreeMap<OperationId, u32>,
}

impl Bench {
    fn moment(&mut self) -> Moment {
        self.clock += 1;
        let now = Now::steady(Millis(1_000_000 + i64::from(self.clock / 100)));
        let turn = TurnId::parse(&format!("turn{}", self.clock)).unwrap();
        Moment { now, draw: self.clock, turn, lease_left_ms: 10_000 }
    }

    async fn carry_out(&mut self, io: Io) -> Option<Completion> {
        match io {
            Io::Create(creation) => Some(Completion::Created(self.store.create(*creation).await)),
            Io::Commit(turn) => Some(Completion::Committed(self.store.commit(*turn).await)),
            Io::Send(permit) => {
                let (op, attempt) = (permit.op().clone(), permit.attempt());
                *self.sent.entry(op.clone()).or_default() += 1;
                let answer = Answer { status: 201, body: b"{\"id\":1}".to_vec(), ..Answer::default() };
                Some(Completion::Answered {
                    op,
                    attempt,
                    report: Report::new(Transport::Answered(answer), 10, 0),
                })
            }
            Io::WakeAt(_) | Io::Release { .. } | Io::Stop => None,
            io => panic!("not expected here: {io:?}"),
        }
    }
}

/// Runs a plan to its end; gives how many requests each operation got.
async fn run(plan: &str, inputs: Stored, commits: Commits) -> BTreeMap<OperationId, u32> {
    let plan = PlanDoc::read_text("plan.yaml", plan, Path::new(".")).unwrap();
    let session = SessionId::parse("ses_a").unwrap();
    let submission = Submission {
        task: TaskId::parse("tsk_1").unwrap(),
        tenant: Tenant::parse("default").unwrap(),
        client_id: ClientId::parse("one").unwrap(),
        plan: plan.kernel.clone(),
        inputs,
        epoch: 1,
        shared_epoch: 0,
        restored: None,
    };
    let store = MemStore::new(1_000_000);
    store.start_session(&session, 600_000).await.unwrap();
    let mut bench = Bench { store, clock: 0, sent: BTreeMap::new() };
    let moment = bench.moment();
    let (mut machine, io) =
        Machine::create(submission, (Arc::new(plan), BTreeMap::new()), session, Hash::of(b"digest"), &moment)
            .unwrap();
    let mut queue = VecDeque::from(io);
    while let Some(io) = queue.pop_front() {
        let Some(done) = bench.carry_out(io).await else { continue };
        let moment = bench.moment();
        for io in machine.on(&moment, done) {
            match (&io, commits) {
                (Io::Commit(_), Commits::Fast) => queue.push_front(io),
                _ => queue.push_back(io),
            }
        }
    }
    let id = TaskId::parse("tsk_1").unwrap();
    let task = bench.store.load(&id).await.unwrap().into_task().unwrap();
    assert_eq!(task.end.map(|end| end.phase), Some(Phase::Completed), "{commits:?}");
    bench.sent
}

async fn each_is_sent_once(plan: &str, inputs: Stored, n: usize, commits: Commits) {
    let sent = run(plan, inputs, commits).await;
    assert_eq!(sent.len(), n, "{commits:?}");
    assert!(sent.values().all(|times| *times == 1), "{commits:?}: {sent:?}");
}

/// As wide as a plan may be.
#[tokio::test]
async fn independent_steps() {
    each_is_sent_once(&independent(512), Stored::Inline(Json::Null), 512, Commits::Slow).await;
    each_is_sent_once(&independent(100), Stored::Inline(Json::Null), 100, Commits::Fast).await;
}

#[tokio::test]
async fn a_chain() {
    for commits in [Commits::Fast, Commits::Slow] {
        each_is_sent_once(&chain(100), Stored::Inline(Json::Null), 100, commits).await;
    }
}

#[tokio::test]
async fn an_each() {
    for commits in [Commits::Fast, Commits::Slow] {
        each_is_sent_once(&each(), items(200), 200, commits).await;
    }
}
