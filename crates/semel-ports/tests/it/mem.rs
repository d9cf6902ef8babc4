//! What the in-memory store offers to tests alone: ordered failures, lost answers, a held store, another epoch.

use semel_kernel::{
    decide::{Submission, submit},
    hash::Hash,
    id::{ClientId, SessionId, StepName, TaskId, Tenant, TurnId},
    input::{Ctx, Input},
    json::Json,
    outcome::Stored,
    plan::{Budget, Plan, PlanStep, StepKind},
    time::{Generation, Millis, Now},
};
use semel_ports::{Authority, CommitError, Created, Creation, Due, Store, StoreError, Turn, mem::MemStore};

const START: i64 = 1_000;

fn ctx() -> Ctx {
    Ctx { now: Now::steady(Millis(START)), draw: 0 }
}

fn task() -> TaskId {
    TaskId::parse("tsk_1").unwrap()
}

fn creation() -> Creation {
    let step = PlanStep { name: StepName::parse("wait").unwrap(), needs: vec![], kind: StepKind::Sleep };
    let plan = Plan {
        name: "nap".to_owned(),
        hash: Hash::of(b"nap"),
        steps: vec![step],
        tools: [].into(),
        budget: Budget::default(),
        pins: [].into(),
    };
    let submission = Submission {
        task: task(),
        tenant: Tenant::parse("acme").unwrap(),
        client_id: ClientId::parse("nap-1").unwrap(),
        plan,
        inputs: Stored::Inline(Json::Null),
        epoch: 1,
        shared_epoch: 0,
        restored: None,
    };
    let turn = TurnId::parse("t1").unwrap();
    let draft = submit(submission, ctx()).unwrap();
    let (turn, _) = Turn::close(draft, turn, Authority::Anyone, Millis(START), Due::Wake);
    Creation { turn, digest: Hash::of(b"nap-1") }
}

async fn pause(store: &MemStore, authority: Authority) -> Turn {
    let loaded = store.load(&task()).await.unwrap().into_task().unwrap();
    let mut draft = semel_kernel::decide::Draft::on(loaded);
    let input = Input::Pause { actor: "ann".to_owned(), reason: "lunch".to_owned() };
    draft.take(input, ctx()).unwrap();
    Turn::close(draft, TurnId::parse("t2").unwrap(), authority, Millis(START), Due::Wake).0
}

async fn session(store: &MemStore) -> SessionId {
    let session = SessionId::parse("w").unwrap();
    store.start_session(&session, 15_000).await.unwrap();
    session
}

#[tokio::test]
async fn ordered_failure_comes_once_and_changes_nothing() {
    let store = MemStore::new(START);
    store.fail_next(StoreError::Full("no space left".to_owned()));
    let refusal = store.create(creation()).await.unwrap_err();
    assert_eq!(refusal, CommitError::Store(StoreError::Full("no space left".to_owned())));
    assert_eq!(store.load(&task()).await.unwrap_err(), StoreError::NoTask(task()));
    assert!(matches!(store.create(creation()).await, Ok(Created::New(_))));
}

#[tokio::test]
async fn lost_answer_is_found_by_its_turn() {
    let store = MemStore::new(START);
    store.create(creation()).await.unwrap();
    let turn = pause(&store, Authority::Anyone).await;
    let id = turn.turn.clone();
    store.lose_next_answer();
    let refusal = store.commit(turn).await.unwrap_err();
    assert!(matches!(refusal, CommitError::Store(StoreError::CommitUnknown(_))), "{refusal:?}");
    assert!(store.find_turn(&task(), &id).await.unwrap());
    assert_eq!(store.history(&task(), 0).await.unwrap().len(), 2);
}

#[tokio::test]
async fn held_store_gives_no_task_and_takes_no_turn_of_an_owner() {
    let store = MemStore::new(START);
    store.create(creation()).await.unwrap();
    let session = session(&store).await;
    let owner = store.claim_task(&session, &task()).await.unwrap().unwrap().generation;
    store.set_held(Some("restored from a backup".to_owned()));
    let held = StoreError::NotAdopted("restored from a backup".to_owned());
    assert_eq!(store.info().held.as_deref(), Some("restored from a backup"));
    assert_eq!(store.claim(&session, 1).await.unwrap_err(), held);
    assert_eq!(store.claim_task(&session, &task()).await.unwrap_err(), held);
    let turn = pause(&store, Authority::Owner(owner)).await;
    assert_eq!(store.commit(turn).await.unwrap_err(), CommitError::Store(held));
    store.commit(pause(&store, Authority::Anyone).await).await.unwrap();
    store.set_held(None);
    store.end_session(&session).await.unwrap();
    assert_eq!(store.claim(&session, 1).await.unwrap(), []);
}

#[tokio::test]
async fn new_epoch_leads_every_later_generation() {
    let store = MemStore::new(START);
    store.create(creation()).await.unwrap();
    let session = session(&store).await;
    let old = store.claim_task(&session, &task()).await.unwrap().unwrap().generation;
    assert!(store.release(&task(), old, u64::MAX, Some(Millis(START))).await.unwrap());
    store.set_epoch(2);
    let new = store.claim(&session, 1).await.unwrap();
    assert_eq!(new.first().map(|c| c.generation), Some(Generation { epoch: 2, counter: 2 }));
    assert!(new.first().is_some_and(|c| c.generation > old));
}

#[test]
fn clock_stands_still_until_it_is_moved() {
    let store = MemStore::new(START);
    assert_eq!(store.now(), Now::steady(Millis(START)));
    let twin = store.clone();
    twin.advance(5);
    assert_eq!(store.now().at, Millis(START + 5));
    let jumped = Now { at: Millis(9), steady_since: Millis(9), windows_void_before: Millis(9) };
    store.set_now(jumped);
    assert_eq!(store.now(), jumped);
}
