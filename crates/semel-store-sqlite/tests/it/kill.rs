//! Real processes: this binary runs itself as the owner, which is killed in the middle of its work, or may not write
//! any further.

use crate::support::{self, Home, session};
use semel_ports::{Artifact, CommitError, Page, Store, StoreError, TaskFilter};
use semel_store_sqlite::{Options, SqliteStore, set_crash_hook, verify};
use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};
use tokio::task::JoinSet;

const STORE: &str = "SEMEL_TEST_STORE";
const POINT: &str = "SEMEL_TEST_POINT";

fn start(path: &Path, point: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::owner_that_is_killed", "--ignored", "--nocapture"])
        .env(STORE, path)
        .env(POINT, point)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Lines that the owner wrote after each acknowledgement: `ack task turn`.
fn acks(child: &mut Child) -> impl Iterator<Item = (String, String)> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.map_while(Result::ok).filter_map(|line| {
        let mut words = line.split(' ');
        let found = words.by_ref().any(|w| w.ends_with("ack"));
        found.then(|| Some((words.next()?.to_owned(), words.next()?.to_owned())))?
    })
}

#[expect(clippy::disallowed_methods, reason = "it is how a test tells its child what to do")]
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Not a test: the process that is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the body of a child process"]
async fn owner_that_is_killed() {
    let Some(path) = told(STORE) else { return };
    if told(POINT).is_some_and(|p| !p.is_empty()) {
        set_crash_hook(die_at_the_third);
    }
    let store = SqliteStore::open(Path::new(&path), Options::default()).unwrap();
    assert_eq!(store.info().held, None, "a store that died is no copy");
    let page = Page { skip: 0, limit: 100_000 };
    let made = store.tasks(&TaskFilter::default(), page).await.unwrap().len();
    let me = session("me");
    store.start_session(&me, 60_000).await.unwrap();
    for n in made.. {
        let task = support::create(&store, n).await.unwrap();
        say(&task, "-");
        store.claim(&me, 4).await.unwrap();
        let receipt = support::tell(&store, &task).await.unwrap();
        say(&task, receipt.turn());
    }
}

fn say(task: &impl std::fmt::Display, turn: &(impl std::fmt::Display + ?Sized)) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "ack {task} {turn}").unwrap();
    out.flush().unwrap();
}

fn die_at_the_third(point: &'static str) {
    static HITS: AtomicU32 = AtomicU32::new(0);
    if told(POINT).as_deref() == Some(point) && HITS.fetch_add(1, Ordering::SeqCst) == 2 {
        std::process::abort();
    }
}

async fn check(home: &Home, acked: &[(String, String)]) {
    let store = SqliteStore::open(&home.path, Options::default()).unwrap();
    assert_eq!(store.info().held, None, "a store that died is no copy");
    for (task, turn) in acked {
        let task = semel_kernel::id::TaskId::parse(task).unwrap();
        store.load(&task).await.unwrap().into_task().unwrap();
        if let Ok(turn) = semel_kernel::id::TurnId::parse(turn)
            && turn.as_str() != "-"
        {
            assert!(store.find_turn(&task, &turn).await.unwrap(), "{task} {turn}");
        }
    }
    let report = verify::db(&home.path, &mut |_| {}).unwrap();
    assert_eq!(report.problems, []);
}

#[tokio::test]
async fn a_killed_owner_loses_nothing_that_it_acknowledged() {
    let home = Home::new();
    let mut acked = Vec::new();
    for kill_after in [0, 1, 7, 40, 200] {
        let mut child = start(&home.path, "");
        let mut lines = acks(&mut child);
        acked.extend(lines.by_ref().take(kill_after));
        child.kill().unwrap();
        child.wait().unwrap();
        acked.extend(lines);
        check(&home, &acked).await;
    }
    assert!(acked.len() >= 248);
}

#[tokio::test]
async fn a_death_at_every_named_point_loses_nothing() {
    for point in semel_store_sqlite::POINTS {
        let home = Home::new();
        let mut child = start(&home.path, point);
        let acked: Vec<_> = acks(&mut child).collect();
        assert!(!child.wait().unwrap().success(), "{point} was met");
        assert!(acked.len() >= 4, "{point}: {acked:?}");
        check(&home, &acked).await;
        // What was durable at `after_commit` and not acknowledged is there; before it, it is not.
        let store = SqliteStore::open(&home.path, Options::default()).unwrap();
        let tasks = store.tasks(&TaskFilter::default(), Page { skip: 0, limit: 99 }).await.unwrap();
        let submitted = acked.iter().filter(|(_, turn)| turn == "-").count();
        let more = usize::from(point == "submit.after_commit");
        assert_eq!(tasks.len(), submitted + more, "{point}");
    }
}

/// Not a test: the process that may not write beyond a size; the writes of SQLite really fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the body of a child process"]
async fn owner_that_cannot_write() {
    let Some(path) = told(STORE) else { return };
    let store = Arc::new(SqliteStore::open(Path::new(&path), Options::default()).unwrap());
    for round in 0..200 {
        let mut waiting = JoinSet::new();
        for n in 0..8 {
            let (store, n) = (Arc::clone(&store), round * 8 + n);
            waiting.spawn(async move {
                let mut creation = support::creation(&store, n);
                creation.turn.artifacts.push(Artifact::of(n.to_le_bytes().repeat(500)));
                (n, store.create(creation).await)
            });
        }
        for (n, answer) in waiting.join_all().await {
            match answer {
                Ok(_) => say(&support::task_id(n), "-"),
                Err(CommitError::Store(error)) => say(&support::task_id(n), error.code()),
                Err(other) => panic!("{other}"),
            }
        }
    }
}

#[tokio::test]
async fn writes_that_fail_lose_nothing_that_was_acknowledged() {
    for blocks in [400, 700, 1_500] {
        let home = Home::new();
        drop(SqliteStore::open(&home.path, Options::default()).unwrap());
        let me = std::env::current_exe().unwrap();
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .arg(me)
            .args(["--exact", "kill::owner_that_cannot_write", "--ignored", "--nocapture"])
            .env(STORE, &home.path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let told: Vec<_> = acks(&mut child).collect();
        child.wait().unwrap();
        let (acked, refused): (Vec<_>, Vec<_>) = told.into_iter().partition(|(_, said)| said == "-");
        assert!(!acked.is_empty() && !refused.is_empty(), "{} {}", acked.len(), refused.len());
        check(&home, &acked).await;
        let store = SqliteStore::open(&home.path, Options::default()).unwrap();
        let unknown = StoreError::CommitUnknown(String::new());
        for (task, _) in refused.iter().filter(|(_, code)| code != unknown.code()) {
            let task = semel_kernel::id::TaskId::parse(task).unwrap();
            assert!(store.load(&task).await.is_err(), "{task} was refused");
        }
    }
}
