//! The store that cannot be written, the lease that ends, the owner that is not alone: inside one process, against a desk
//! of the test's own and the real connector.

use crate::{
    desk::{Answer, Desk, Gate},
    inside::{Fate, Inside, SHORT, submit, until},
    plans::{BLIND, KEYED, QUERYABLE, chain},
};
use semel_engine::{
    command::{Command, Reply},
    engine::{Engine, Options},
    ids,
    trouble::Trouble,
};
use semel_kernel::{
    decide::Draft,
    event::Event,
    input::{Ctx, Input},
    oblige,
    operation::Judgement,
    review::ReviewCause,
    step::StepState,
    task::{Phase, Task},
};
use semel_ports::{Authority, CommitError, Due, Store as _, StoreError, Turn};
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

fn created() -> Answer {
    Answer::Json(201, "{\"id\":\"T-1\"}".to_owned())
}

fn at(plan: &str, desk: &Desk) -> String {
    plan.replace("{SINK}", &desk.address)
}

/// A desk that keeps its callers waiting.
fn gated() -> (Gate, Desk) {
    let gate = Gate::default();
    let held = gate.clone();
    let desk = Desk::open(move |_| {
        held.pass();
        created()
    });
    (gate, desk)
}

fn keys(desk: &Desk) -> BTreeSet<String> {
    desk.requests().iter().filter_map(|r| r.header("idempotency-key").map(str::to_owned)).collect()
}

/// The store refuses every write from the moment the request has left; another task becomes due meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn s01_charged_while_the_balance_cannot_be_written() {
    let inside = Inside::new();
    let desk = Desk::open({
        let (store, first) = (Arc::clone(&inside.store), AtomicBool::new(true));
        move |_| {
            store.closed.fetch_or(first.swap(false, Ordering::SeqCst), Ordering::SeqCst);
            created()
        }
    });
    let working = inside.work(Options::default()).await;
    let later = KEYED.replace("steps:\n", "steps:\n  - { step: pause, sleep: 500ms }\n");
    let other = submit(&working.engine, &at(&later, &desk), "b").await;
    let task = submit(&working.engine, &at(&chain(&["one", "two"]), &desk), "a").await;
    until("the record is refused again and again", || inside.store.refused.load(Ordering::SeqCst) >= 6).await;
    assert_eq!(desk.posts(), 1, "nothing is sent while nothing can be written");
    assert_eq!(
        inside.task(&task).await.steps.values().filter(|s| s.state == StepState::Committed).count(),
        0
    );
    inside.store.closed.store(false, Ordering::SeqCst);
    inside.until_phase(&task, Phase::Completed).await;
    inside.until_phase(&other, Phase::Completed).await;
    assert_eq!((desk.posts(), keys(&desk).len()), (3, 3), "one request and one key for each step");
    working.stop().await;
}

/// *No space* when STARTED is to be recorded: nothing leaves until there is space.
#[tokio::test(flavor = "multi_thread")]
async fn s57_no_space_for_started_sends_nothing() {
    let inside = Inside::new();
    let desk = Desk::open(|_| created());
    let full = Arc::new(AtomicBool::new(true));
    inside.store.rule({
        let full = Arc::clone(&full);
        move |_| {
            if full.load(Ordering::SeqCst) {
                Fate::Refused(StoreError::Full("no space".into()))
            } else {
                Fate::Kept
            }
        }
    });
    let working = inside.work(Options::default()).await;
    let submitting = tokio::spawn({
        let (engine, plan) = (working.engine.clone(), at(KEYED, &desk));
        async move { submit(&engine, &plan, "a").await }
    });
    until("it was refused", || inside.store.refused.load(Ordering::SeqCst) >= 4).await;
    assert_eq!(desk.requests().len(), 0);
    full.store(false, Ordering::SeqCst);
    let task = submitting.await.unwrap();
    inside.until_phase(&task, Phase::Completed).await;
    assert_eq!(desk.posts(), 1);
    working.stop().await;
}

/// *No space* when the answer is to be recorded: the answer is kept in hand, the effect is not repeated, the next one waits.
#[tokio::test(flavor = "multi_thread")]
async fn s57_no_space_for_the_result_repeats_nothing() {
    let inside = Inside::new();
    let desk = Desk::open(|_| created());
    let full = Arc::new(AtomicBool::new(true));
    inside.store.rule({
        let full = Arc::clone(&full);
        move |turn| match answers(turn) && full.load(Ordering::SeqCst) {
            true => Fate::Refused(StoreError::Full("no space".into())),
            false => Fate::Kept,
        }
    });
    let working = inside.work(Options::default()).await;
    let task = submit(&working.engine, &at(&chain(&["one", "two"]), &desk), "a").await;
    until("the result was refused", || inside.store.refused.load(Ordering::SeqCst) >= 4).await;
    assert_eq!(desk.posts(), 1);
    full.store(false, Ordering::SeqCst);
    inside.until_phase(&task, Phase::Completed).await;
    assert_eq!(desk.posts(), 2);
    working.stop().await;
}

fn answers(turn: &Turn) -> bool {
    turn.events.iter().any(|e| matches!(e, Event::AttemptAnswered { .. }))
}

/// *Busy* when the answer is to be recorded, several times: the commit alone is repeated.
#[tokio::test(flavor = "multi_thread")]
async fn s58_a_busy_store_repeats_the_commit_and_not_the_effect() {
    let inside = Inside::new();
    let desk = Desk::open(|_| created());
    let left = AtomicUsize::new(5);
    inside.store.rule(move |turn| {
        let refuse = answers(turn)
            && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        if refuse { Fate::Refused(StoreError::Busy("locked".into())) } else { Fate::Kept }
    });
    let working = inside.work(Options::default()).await;
    let task = submit(&working.engine, &at(KEYED, &desk), "a").await;
    inside.until_phase(&task, Phase::Completed).await;
    assert_eq!((desk.posts(), inside.store.refused.load(Ordering::SeqCst)), (1, 5));
    working.stop().await;
}

/// The connection breaks before each commit in turn, the creation first: it is tried again, and nothing needs a restart.
#[tokio::test(flavor = "multi_thread")]
async fn s55_each_commit_in_turn_is_not_made_at_first() {
    for nth in 0..=3 {
        let inside = Inside::new();
        let desk = Desk::open(|_| created());
        inside.script(nth, Fate::Refused(StoreError::Busy("the connection broke".into())));
        let working = inside.work(SHORT).await;
        let task = submit(&working.engine, &at(&chain(&["one", "two", "three"]), &desk), "a").await;
        inside.until_phase(&task, Phase::Completed).await;
        assert_eq!((desk.posts(), keys(&desk).len()), (3, 3), "commit {nth}");
        working.stop().await;
    }
}

/// Each commit in turn is made, the creation first, and its answer is lost: it is read back, and the same life goes on.
/// What was recorded as STARTED is sent after all, so that not even a blind step needs a person.
#[tokio::test(flavor = "multi_thread")]
async fn s55_a_turn_whose_answer_is_lost_is_read_back() {
    for (plan, commits, posts) in [(chain(&["one", "two", "three"]), 3, 3), (BLIND.to_owned(), 1, 1)] {
        for nth in 0..=commits {
            let inside = Inside::new();
            let desk = Desk::open(|_| created());
            inside.script(nth, Fate::AnswerLost);
            let working = inside.work(SHORT).await;
            let task = submit(&working.engine, &at(&plan, &desk), "a").await;
            let done = inside.until_phase(&task, Phase::Completed).await;
            assert_eq!(inside.store.refused.load(Ordering::SeqCst), 1, "commit {nth}");
            assert_eq!(desk.posts(), posts, "commit {nth}");
            assert_eq!(done.session, Some(working.engine.session()), "commit {nth}: no new life");
            let attempts = done.operations.values().map(|op| op.attempts.len());
            assert_eq!(attempts.max(), Some(1), "commit {nth}: nothing was begun again");
            assert!(done.reviews.is_empty(), "commit {nth}: {:?}", done.reviews);
            working.stop().await;
        }
    }
}

/// Each commit in turn is made, its answer is lost, and the store cannot be looked at: the next life reads what is there
/// and goes on.
#[tokio::test(flavor = "multi_thread")]
async fn s55_the_answer_of_each_commit_in_turn_is_lost() {
    for nth in 1..=3 {
        let inside = Inside::new();
        let desk = Desk::open(|_| created());
        inside.script(nth, Fate::AnswerLost);
        inside.store.blind.store(true, Ordering::SeqCst);
        let first = inside.work(SHORT).await;
        let task = submit(&first.engine, &at(&chain(&["one", "two", "three"]), &desk), "a").await;
        until("an answer was lost", || inside.store.refused.load(Ordering::SeqCst) == 1).await;
        first.stop().await;
        let second = inside.work(SHORT).await;
        inside.until_phase(&task, Phase::Completed).await;
        assert_eq!(
            (desk.posts(), keys(&desk).len()),
            (3, 3),
            "commit {nth}: what was not sent is sent, and nothing twice"
        );
        second.stop().await;
    }
}

/// The store is away for a while, with tasks that wait; when it is back, work goes on by itself.
#[tokio::test(flavor = "multi_thread")]
async fn s56_work_goes_on_by_itself_when_the_store_is_back() {
    let inside = Inside::new();
    let desk = Desk::open(|_| created());
    let working = inside.work(Options::default()).await;
    let steps = "steps:\n  - { step: pause, sleep: 300ms }\n";
    let plan = at(&KEYED.replace("steps:\n", steps), &desk);
    let mut tasks = Vec::new();
    for n in 0..10 {
        tasks.push(submit(&working.engine, &plan, &n.to_string()).await);
    }
    for task in &tasks {
        inside.until_phase(task, Phase::Waiting).await;
    }
    inside.store.closed.store(true, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(desk.posts(), 0);
    let trouble = trouble(&working.engine).await.expect("the owner says that it is degraded");
    assert!(trouble.code == "SM2003" && trouble.since < trouble.last, "{trouble:?}");
    inside.store.closed.store(false, Ordering::SeqCst);
    for task in &tasks {
        inside.until_phase(task, Phase::Completed).await;
    }
    assert_eq!((desk.posts(), keys(&desk).len()), (10, 10));
    assert_eq!(self::trouble(&working.engine).await, None, "and that it is over");
    working.stop().await;
}

async fn trouble(engine: &Engine) -> Option<Trouble> {
    match engine.execute(Command::Ping).await {
        Reply::Pong { trouble, .. } => trouble,
        other => panic!("{other:?}"),
    }
}

/// A step and a timer both outlast the lease; two owners look; nobody takes anything from the other.
#[tokio::test(flavor = "multi_thread")]
async fn s07_longer_than_the_lease_under_two_owners() {
    let inside = Inside::new();
    let (gate, desk) = gated();
    let (a, b) = (inside.work(SHORT).await, inside.work(SHORT).await);
    let slow = at(&KEYED.replace("timeout: 700ms", "timeout: 20s"), &desk);
    let long = submit(&a.engine, &slow, "long").await;
    let later =
        submit(&a.engine, &slow.replace("steps:\n", "steps:\n  - { step: pause, sleep: 2500ms }\n"), "later")
            .await;
    until("both leases were renewed for far longer than they last", || {
        inside.store.renewed.load(Ordering::SeqCst) >= 24
    })
    .await;
    gate.open();
    let long_task = inside.until_phase(&long, Phase::Completed).await;
    let waiting = inside.task(&later).await;
    assert_ne!(oblige::phase(&waiting), Phase::NeedsReview);
    inside.until_phase(&later, Phase::Completed).await;
    assert_eq!(long_task.generation.counter, 1, "the lease was renewed, the owner did not change");
    assert_eq!((desk.posts(), keys(&desk).len()), (2, 2));
    a.stop().await;
    b.stop().await;
}

const BLIND_CHAT: &str = r#"
semel: 1
name: chat
tools:
  send:
    effect: blind
    key: [to]
    timeout: 10s
    http: { method: POST, url: "{SINK}/messages", body: json }
steps:
  - { step: send, act: send, with: { to: room, text: hello } }
"#;

/// The first owner's lease is not renewed while its message is under way: the second asks a person, and sends nothing. What
/// the first hears late settles it.
#[tokio::test(flavor = "multi_thread")]
async fn s08_s52_the_late_answer_of_a_fenced_owner_is_evidence() {
    late_answer("{\"id\":\"T-1\"}").await;
}

/// As any other answer, it may be larger than an event.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_answer_that_comes_late_is_evidence_too() {
    late_answer(&format!("{{\"id\":\"{}\"}}", "x".repeat(400 << 10))).await;
}

async fn late_answer(body: &str) {
    let inside = Inside::new();
    let gate = Gate::default();
    let (held, body) = (gate.clone(), body.to_owned());
    let desk = Desk::open(move |_| {
        held.pass();
        Answer::Json(201, body.clone())
    });
    let a = inside.work(SHORT).await;
    *inside.store.deaf.lock().unwrap() = Some(a.engine.session());
    let task = submit(&a.engine, &at(BLIND_CHAT, &desk), "a").await;
    until("the message is under way", || desk.posts() == 1).await;
    let b = inside.work(SHORT).await;
    let held = inside.until_phase(&task, Phase::NeedsReview).await;
    assert_eq!(held.reviews[0].cause, ReviewCause::Blind);
    assert_eq!(first(&held), Judgement::Unknown, "unknown is not failed");
    gate.open();
    let end = inside.until_phase(&task, Phase::Completed).await;
    assert_eq!(first(&end), Judgement::Applied);
    let events = inside.events(&task).await;
    assert!(events.iter().any(|e| matches!(e, Event::EvidenceAdded { .. })), "{events:#?}");
    assert_eq!(desk.posts(), 1);
    a.stop().await;
    b.stop().await;
}

/// Whoever has nothing to do gives the task back, also when the store is busy just then; else a living session would keep
/// it and not work on it.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_given_back_to_a_busy_store() {
    let inside = Inside::new();
    let (gate, desk) = gated();
    let working = inside.work(Options::default()).await;
    let shared = KEYED.replace("effect: keyed", "effect: keyed\n    scope: tenant\n    within: 1h");
    let shared = at(&shared.replace("timeout: 700ms", "timeout: 20s"), &desk);
    inside.store.keeps.store(3, Ordering::SeqCst);
    let task = submit(&working.engine, &shared, "a").await;
    until("the request is under way", || desk.posts() == 1).await;
    until("three releases were refused", || inside.store.keeps.load(Ordering::SeqCst) == 0).await;
    gate.open();
    inside.until_phase(&task, Phase::Completed).await;
    assert_eq!(desk.posts(), 1);
    working.stop().await;
}

/// A turn that can never be written: its answer is lost to this owner, and the task goes to the next one, which settles it.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_refused_for_good_leaves_no_task_behind() {
    let inside = Inside::new();
    let desk = Desk::open(|_| created());
    let first = AtomicBool::new(true);
    inside.store.rule(move |turn| {
        let answers = turn.events.iter().any(|e| matches!(e, Event::AttemptAnswered { .. }));
        if answers && first.swap(false, Ordering::SeqCst) {
            return Fate::Refused(StoreError::Limit("the test finds it too large".into()));
        }
        Fate::Kept
    });
    let working = inside.work(Options::default()).await;
    let task = submit(&working.engine, &at(KEYED, &desk), "a").await;
    let done = inside.until_phase(&task, Phase::Completed).await;
    assert_eq!((desk.posts(), keys(&desk).len()), (2, 1), "asked again under the same key");
    assert!(done.reviews.is_empty(), "{:?}", done.reviews);
    working.stop().await;
}

fn first(task: &Task) -> Judgement {
    task.operations.values().next().unwrap().judge()
}

/// A scan for orphans and a submit in the same instant, two hundred times: each body runs once.
#[tokio::test(flavor = "multi_thread")]
async fn s09_a_scan_never_adopts_what_was_just_submitted() {
    let inside = Inside::new();
    let desk = Desk::open(|_| created());
    let plan = at(KEYED, &desk);
    let a = inside.work(Options::default()).await;
    let mut lives = Vec::new();
    let mut tasks = Vec::new();
    for n in 0..200_u32 {
        if n % 25 == 0 {
            lives.push(inside.work(Options::default()).await);
        }
        let scans = lives.last().unwrap().engine.clone();
        let scanned = tokio::spawn(async move { scans.store().claim(&scans.session(), 64).await.unwrap() });
        tasks.push(submit(&a.engine, &plan, &n.to_string()).await);
        assert_eq!(scanned.await.unwrap(), [], "there is no orphan to be found");
    }
    for task in &tasks {
        let task = inside.until_phase(task, Phase::Completed).await;
        assert_eq!(task.generation.counter, 1);
    }
    assert_eq!((desk.posts(), keys(&desk).len()), (200, 200));
    for life in lives {
        life.stop().await;
    }
    a.stop().await;
}

/// A step in flight is handed out a second time, to its owner and to another: both are refused before anything starts.
#[tokio::test(flavor = "multi_thread")]
async fn s10_a_second_dispatch_of_what_is_in_flight_is_refused() {
    let inside = Inside::new();
    let (gate, desk) = gated();
    let (a, b) = (inside.work(Options::default()).await, inside.work(Options::default()).await);
    let task = submit(&a.engine, &at(&KEYED.replace("timeout: 700ms", "timeout: 20s"), &desk), "a").await;
    until("it is in flight", || desk.posts() == 1).await;
    for engine in [&a.engine, &b.engine] {
        assert_eq!(engine.store().claim_task(&engine.session(), &task).await.unwrap(), None);
        assert_eq!(engine.store().claim(&engine.session(), 8).await.unwrap(), []);
    }
    gate.open();
    let end = inside.until_phase(&task, Phase::Completed).await;
    assert_eq!((end.operations.values().next().unwrap().made(), desk.posts()), (1, 1));
    a.stop().await;
    b.stop().await;
}

/// Somebody read the task as it was in flight and writes after the owner has completed it: nothing is changed.
#[tokio::test(flavor = "multi_thread")]
async fn s14_what_was_decided_on_an_old_picture_changes_nothing() {
    let inside = Inside::new();
    let (gate, desk) = gated();
    let a = inside.work(Options::default()).await;
    let task = submit(&a.engine, &at(&KEYED.replace("timeout: 700ms", "timeout: 20s"), &desk), "a").await;
    until("it is in flight", || desk.posts() == 1).await;
    let now = inside.store.now();
    let mut draft = Draft::on(inside.task(&task).await);
    draft
        .take(Input::Pause { actor: "sweep".into(), reason: "it looks stuck".into() }, Ctx { now, draw: 0 })
        .unwrap();
    let (stale, _) = Turn::close(draft, ids::turn(77).unwrap(), Authority::Anyone, now.at, Due::Wake);
    gate.open();
    let end = inside.until_phase(&task, Phase::Completed).await;
    let refused = inside.store.commit(stale).await;
    assert!(matches!(refused, Err(CommitError::Conflict { actual }) if actual == end.version), "{refused:?}");
    let after = inside.task(&task).await;
    assert_eq!((after.version, oblige::phase(&after)), (end.version, Phase::Completed));
    assert_eq!(desk.posts(), 1);
    a.stop().await;
}

/// The commit of the success meets a store that is busy for a while, and others look for orphans in between and after.
#[tokio::test(flavor = "multi_thread")]
async fn s15_completed_wins_over_any_cleaning_up() {
    let inside = Inside::new();
    let desk = Desk::open(|_| created());
    let left = AtomicUsize::new(4);
    inside.store.rule(move |turn| {
        let refuse = answers(turn)
            && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        if refuse { Fate::Refused(StoreError::Busy("locked".into())) } else { Fate::Kept }
    });
    let (a, b) = (inside.work(Options::default()).await, inside.work(Options::default()).await);
    let task = submit(&a.engine, &at(QUERYABLE, &desk), "a").await;
    until("the commit was refused", || inside.store.refused.load(Ordering::SeqCst) >= 2).await;
    assert_eq!(b.engine.store().claim_task(&b.engine.session(), &task).await.unwrap(), None);
    let end = inside.until_phase(&task, Phase::Completed).await;
    assert_eq!(b.engine.store().claim_task(&b.engine.session(), &task).await.unwrap(), None);
    assert_eq!((inside.task(&task).await.version, desk.requests().len()), (end.version, 1));
    a.stop().await;
    b.stop().await;
}
