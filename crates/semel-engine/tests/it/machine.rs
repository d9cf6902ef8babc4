//! The machine of one task, completion by completion, on the in-memory store.

use semel_engine::machine::{Accounts, Body, Completion, Io, Machine, Moment};
use semel_kernel::{
    decide::Submission,
    event::Event,
    hash::Hash,
    id::{ClientId, SessionId, TaskId, Tenant, TurnId},
    input::Input,
    json::Json,
    outcome::{ArtifactRef, Outcome, Stored},
    time::{Generation, Millis, Now},
};
use semel_plan::plan::PlanDoc;
use semel_ports::{Answer, Created, Report, Store as _, Transport, mem::MemStore};
use std::{path::Path, sync::Arc};

const PLAN: &str = r#"
semel: 1
name: one
inputs: { text: { type: string } }
tools:
  act: { effect: blind, key: [to], http: { method: POST, url: "http://127.0.0.1:9/x", body: json } }
steps:
  - { step: act, act: act, with: { to: you, text: "${{ inputs.text }}" } }
"#;

fn moment(n: u32) -> Moment {
    let now = Now::steady(Millis(1_000_000 + i64::from(n)));
    Moment { now, draw: n, turn: TurnId::parse(&format!("turn{n}")).unwrap(), lease_left_ms: 10_000 }
}

fn session() -> SessionId {
    SessionId::parse("ses_a").unwrap()
}

fn created(inputs: Stored) -> (Machine, Vec<Io>) {
    let plan = PlanDoc::read_text("plan.yaml", PLAN, Path::new(".")).unwrap();
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
    Machine::create(submission, (Arc::new(plan), Accounts::new()), session(), Hash::of(b"digest"), &moment(1))
        .unwrap()
}

/// Makes the first turn durable and says what the machine then wants.
async fn durable(machine: &mut Machine, io: Vec<Io>) -> Vec<Io> {
    let store = MemStore::new(1_000_000);
    store.start_session(&session(), 60_000).await.unwrap();
    let creation = io.into_iter().find_map(|io| match io {
        Io::Create(creation) => Some(*creation),
        _ => None,
    });
    let answer = store.create(creation.unwrap()).await.unwrap();
    assert!(matches!(answer, Created::New(_)));
    machine.on(&moment(2), Completion::Created(Ok(answer)))
}

fn inputs() -> Stored {
    Stored::Inline(Json::obj([("text", Json::str("hello"))]))
}

/// The call was under way when another owner took the task: its answer is evidence, however late it comes.
#[tokio::test]
async fn what_a_fenced_owner_hears_late_is_filed() {
    let (mut machine, io) = created(inputs());
    let io = durable(&mut machine, io).await;
    let permit = io.into_iter().find_map(|io| match io {
        Io::Send(permit) => Some(permit),
        _ => None,
    });
    let (permit, task) = (permit.unwrap(), machine.task().unwrap().clone());
    assert!(matches!(machine.on(&moment(3), Completion::Nudged)[..], [Io::Reload]));
    let taken = semel_kernel::task::Task { generation: Generation { epoch: 1, counter: 2 }, ..task };
    let io = machine.on(&moment(4), Completion::Loaded(Box::new(taken)));
    assert!(matches!(io[..], [Io::Stop]), "{io:?}");
    let answer = Answer { status: 201, body: b"{\"id\":1}".to_vec(), ..Answer::default() };
    let report = Report::new(Transport::Answered(answer), 10, 0);
    let op = permit.op().clone();
    let io = machine.on(&moment(5), Completion::Answered { op, attempt: permit.attempt(), report });
    let [Io::File(facts)] = &io[..] else { panic!("the answer is lost: {io:?}") };
    assert!(matches!(&facts[..], [Input::Answered { outcome: Outcome::Applied { .. }, .. }]), "{facts:?}");
}

/// Nothing is evaluated, and nothing sent, without a body that the history refers to; a person is asked.
#[tokio::test]
async fn a_missing_body_is_never_taken_for_null() {
    let lost = ArtifactRef { hash: Hash::of(b"lost"), bytes: 9_000 };
    let (mut machine, io) = created(Stored::Artifact(lost));
    let io = durable(&mut machine, io).await;
    assert!(matches!(io[..], [Io::Fetch(_), ..]), "{io:?}");
    let hash = Hash::of(b"lost");
    let again = machine.on(&moment(3), Completion::Fetched { hash, body: Body::NotNow });
    assert!(matches!(again[..], [Io::Fetch(_), ..]), "asked again: {again:?}");
    let io = machine.on(&moment(4), Completion::Fetched { hash, body: Body::Missing });
    let [Io::Commit(turn)] = &io[..] else { panic!("{io:?}") };
    assert!(turn.events.iter().any(|e| matches!(e, Event::ReviewOpened { .. })), "{:?}", turn.events);
    assert!(!turn.events.iter().any(|e| matches!(e, Event::StepPlanned { .. } | Event::StepStarted { .. })));
}
