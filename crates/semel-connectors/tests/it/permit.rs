//! A real permit: minted from the receipt of a real (in-memory) store.

use semel_kernel::{
    event::{Event, PlannedOperation, Why},
    fold,
    hash::Hash,
    id::{ClientId, OperationId, SessionId, StepName, TaskId, Tenant, ToolName, TurnId},
    json::Json,
    outcome::Stored,
    plan::{Budget, Plan, PlanStep, StepKind},
    terms::Terms,
    time::{Generation, Millis},
};
use semel_ports::{
    CallPermit, Store,
    mem::MemStore,
    projection,
    store::{Created, Creation},
    turn::{Authority, Due, Turn},
};
use std::collections::BTreeMap;

/// Store time of every call.
pub(crate) const NOW: i64 = 1_700_000_000_000;
/// The operation's key.
pub(crate) const KEY: &str = "k7f2key";
/// The fencing token.
pub(crate) const FENCE: &str = "1.1";

const GENERATION: Generation = Generation { epoch: 1, counter: 1 };

fn plan(tool: &ToolName) -> Plan {
    let step = PlanStep {
        name: StepName::parse("pay").unwrap(),
        needs: Vec::new(),
        kind: StepKind::Act(tool.clone()),
    };
    Plan {
        name: "p".into(),
        hash: Hash::of(b"p"),
        steps: vec![step],
        tools: BTreeMap::from([(tool.clone(), Terms::new(tool.clone(), Hash::of(b"c")))]),
        budget: Budget::default(),
        pins: BTreeMap::new(),
    }
}

fn operation(tool: &ToolName) -> PlannedOperation {
    PlannedOperation {
        id: OperationId::parse("tsk_1/pay/-@1").unwrap(),
        tool: tool.clone(),
        target: String::new(),
        version: "1".into(),
        intent: 1,
        key: KEY.into(),
        key_epoch: 1,
        request_hash: Hash::of(b"r"),
        fields: BTreeMap::new(),
        arguments: Stored::Inline(Json::Null),
    }
}

fn events(send_by: Millis, timeout_ms: i64) -> Vec<Event> {
    let tool = ToolName::parse("pay").unwrap();
    let (step, planned) = (StepName::parse("pay").unwrap(), operation(&tool));
    let created = Event::TaskCreated {
        task: TaskId::parse("tsk_1").unwrap(),
        tenant: Tenant::parse("t").unwrap(),
        client_id: ClientId::parse("c").unwrap(),
        plan: plan(&tool),
        inputs: Stored::Inline(Json::Null),
        epoch: 1,
        shared_epoch: 0,
        restored: None,
    };
    let started = Event::StepStarted {
        step: step.clone(),
        op: planned.id.clone(),
        attempt: 1,
        why: Why::First,
        generation: GENERATION,
        send_by,
        timeout_ms,
        key_epoch: 1,
        key: KEY.into(),
        request: Some(Stored::Inline(Json::Null)),
    };
    let leased = Event::LeaseAcquired { session: SessionId::parse("s").unwrap(), generation: GENERATION };
    vec![created, leased, Event::StepPlanned { step, operation: planned, same_as: None }, started]
}

/// A permit whose `send_by` lies `send_ms` after [`NOW`].
pub(crate) async fn permit(send_ms: i64, timeout_ms: i64) -> CallPermit {
    let at = Millis(NOW);
    let events = events(at.plus(send_ms), timeout_ms);
    let task = fold::fold_all(events.iter().map(|event| (event, at))).unwrap();
    let turn = Turn {
        task: task.id.clone(),
        turn: TurnId::parse("t1").unwrap(),
        base: 0,
        authority: Authority::Owner(GENERATION),
        at,
        events,
        projection: projection::of(&task, 0),
        due: Due::Held,
        progress: true,
        busy_until: at,
        checkpoint: None,
        artifacts: Vec::new(),
        owner: Some(SessionId::parse("s").unwrap()),
    };
    let creation = Creation { turn, digest: Hash::of(b"d") };
    match MemStore::new(NOW).create(creation).await.unwrap() {
        Created::New(receipt) => receipt.permits(&task).remove(0),
        Created::Exists { .. } => unreachable!("the store was empty"),
    }
}
