//! Create: a task is there once, whoever asks and however often. The store decides the race.
//!
//! * Of many creations under one client id one is new; the others are told its task and its digest.
//! * Client ids belong to a tenant. Task ids belong to the store.
//! * A creation that finds its id taken leaves nothing.
//! * A creation that names an owner is owned from its first turn on, under the generation `epoch.1`.
//! * An unowned one is claimable from its due moment on.

use super::{
    Factory,
    bench::{Bench, Owner},
    story::{Fate, Order, ctx},
};
use crate::{
    error::CommitError,
    store::{Created, Creation, Store, TaskFilter},
    turn::{Artifact, Authority, Due},
};
use semel_kernel::{
    hash::Hash,
    id::{ClientId, TaskId, Tenant},
    input::Input,
    json::Json,
    time::Generation,
};
use std::sync::Arc;
use tokio::task::JoinSet;

/// What an existing task answers to a creation.
fn exists(answer: Result<Created, CommitError>) -> (TaskId, Hash) {
    match answer {
        Ok(Created::Exists { task, digest }) => (task, digest),
        other => panic!("the id was taken, yet: {other:?}"),
    }
}

/// Another submission under the same client id: its own task id, and other inputs when told so.
fn again(order: &Order, n: u32, inputs: u32) -> Order {
    Order { task: Order::nth(n).task, inputs: Json::obj([("n", Json::from(inputs))]), ..order.clone() }
}

/// Twenty creations under one client id at once: one is new, nineteen find it.
pub async fn twenty_at_once_make_one<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let mut writers = JoinSet::new();
    for n in 0..20 {
        let order = again(&Order::nth(100), n, 7);
        let (store, creation) = (Arc::clone(&bench.store), bench.creation(&order, Due::Wake));
        writers.spawn(async move { store.create(creation).await.unwrap() });
    }
    let (mut new, mut found) = (Vec::new(), Vec::new());
    for answer in writers.join_all().await {
        match answer {
            Created::New(receipt) => new.push(receipt.task().clone()),
            Created::Exists { task, .. } => found.push(task),
        }
    }
    assert_eq!((new.len(), found.len()), (1, 19));
    assert!(found.iter().all(|task| Some(task) == new.first()), "{found:?} is not {new:?}");
    assert_eq!(bench.store.tasks(&TaskFilter::default(), super::bench::ALL).await.unwrap().len(), 1);
}

/// A creation under a taken client id is told task and digest, and leaves nothing, whatever it brings.
pub async fn second_creation_leaves_nothing<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let first = Order::nth(1);
    let task = bench.create(&first).await;
    let before = bench.picture(&task).await;
    let second = again(&first, 2, 99);
    let mut creation = bench.creation(&second, Due::Wake);
    let body = Artifact::of(b"inputs of the second".to_vec());
    let hash = body.hash;
    creation.turn.artifacts.push(body);
    assert_eq!(exists(bench.store.create(creation).await), (task.clone(), first.digest()));
    assert_ne!(first.digest(), second.digest());
    assert_eq!(bench.picture(&task).await, before);
    assert!(bench.store.load(&second.task).await.is_err());
    assert!(bench.store.artifact(hash).await.is_err());
}

/// A taken task id is found under any client id; a derived id makes one task for everybody.
pub async fn task_id_is_taken_once<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let first = Order::nth(1);
    let task = bench.create(&first).await;
    let other = Order { client: ClientId::parse("somebody-else").unwrap(), ..Order::nth(1) };
    let creation = bench.creation(&other, Due::Wake);
    assert_eq!(exists(bench.store.create(creation).await), (task, first.digest()));
    assert_eq!(bench.store.find_client(&other.tenant, &other.client).await.unwrap(), None);
}

/// The same client id of another tenant is another task.
pub async fn other_tenant_is_another_client<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let ours = Order::nth(1);
    bench.create(&ours).await;
    let theirs = Order { tenant: Tenant::parse("bolt").unwrap(), ..again(&ours, 2, 1) };
    let task = bench.create(&theirs).await;
    let found = bench.store.find_client(&theirs.tenant, &theirs.client).await.unwrap();
    assert_eq!(found, Some((task, theirs.digest())));
}

/// A creation with an owner, as the submitting process makes it.
async fn owned<S: Store + 'static>(bench: &Bench<S>, order: &Order) -> (Creation, Owner) {
    let session = bench.session("submitter").await;
    let generation = Generation { epoch: bench.store.info().epoch, counter: 1 };
    let mut draft = order.submit(generation.epoch, bench.store.now());
    let claimed = Input::Claimed { session: session.clone(), generation };
    draft.take(claimed, ctx(bench.store.now())).unwrap();
    let mut turn = bench.close(draft, Authority::Owner(generation), Due::Held);
    turn.owner = Some(session.clone());
    (Creation { turn, digest: order.digest() }, (session, generation))
}

/// The submitter works on at once, and nobody else may until its lease is over.
pub async fn owned_from_its_first_turn<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let order = Order::nth(1);
    let (creation, owner) = owned(&bench, &order).await;
    assert!(matches!(bench.store.create(creation).await, Ok(Created::New(_))));
    let loaded = bench.store.load(&order.task).await.unwrap();
    assert_eq!((loaded.generation, loaded.session), (owner.1, Some(owner.0.clone())));
    let other = bench.session("other").await;
    assert_eq!(bench.claimed(&other).await, []);
    assert_eq!(bench.store.next_due().await.unwrap(), None);
    bench.step(&order.task, &owner, Fate::Applied, Due::Held).await;
    bench.store.end_session(&owner.0).await.unwrap();
    assert_eq!(bench.claimed(&other).await, [order.task]);
}

/// An unowned task is claimable from the moment that its creation names.
pub async fn unowned_is_claimable_when_due<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let later = bench.at().plus(5_000);
    let creation = bench.creation(&Order::nth(1), Due::Park(Some(later)));
    bench.store.create(creation).await.unwrap();
    let creation = bench.creation(&Order::nth(2), Due::Wake);
    bench.store.create(creation).await.unwrap();
    let session = bench.session("w").await;
    assert_eq!(bench.claimed(&session).await, [Order::nth(2).task]);
    assert_eq!(bench.store.next_due().await.unwrap(), Some(later));
    (bench.advance)(5_000);
    assert_eq!(bench.claimed(&session).await, [Order::nth(1).task]);
}

/// The look-up by client id tells task and digest, and nothing for an id nobody used.
pub async fn find_client_tells_task_and_digest<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let order = Order::nth(1);
    let task = bench.create(&order).await;
    let found = bench.store.find_client(&order.tenant, &order.client).await.unwrap();
    assert_eq!(found, Some((task, order.digest())));
    let unused = Order::nth(2);
    assert_eq!(bench.store.find_client(&unused.tenant, &unused.client).await.unwrap(), None);
}
