//! Limits: what is too large is refused before anything is written, and the refusal says by how much.
//!
//! * An event may have [`limit::EVENT_BYTES`] bytes as JSON, not one more.
//! * A turn with one event too large is refused as a whole; so is a creation.

use super::{
    Factory,
    bench::{ALL, Bench},
    story::{Order, Word},
};
use crate::{
    error::{CommitError, StoreError},
    store::{Created, Store, TaskFilter},
    turn::{Artifact, Due, Turn},
};
use semel_kernel::{event::Event, id::TaskId, json::Json, limit};

/// A pause whose event has that many bytes as JSON.
pub(super) fn pause_of(turn: &mut Turn, bytes: usize) {
    let event = |reason| Event::Paused { actor: "ann".to_owned(), reason };
    let frame = serde_json::to_string(&event(String::new())).unwrap().len();
    turn.events = vec![event("x".repeat(bytes - frame))];
}

async fn sized<S: Store + 'static>(bench: &Bench<S>, task: &TaskId, bytes: usize) -> Turn {
    let mut turn = bench.say(task, Word::Pause).await;
    pause_of(&mut turn, bytes);
    turn
}

fn check_refusal(refusal: &CommitError, bytes: usize) {
    let CommitError::Store(StoreError::Limit(text)) = refusal else {
        panic!("a limit was due, not {refusal:?}");
    };
    assert!(text.contains(&limit::EVENT_BYTES.to_string()), "`{text}` does not name the limit");
    assert!(text.contains(&bytes.to_string()), "`{text}` does not say by how much");
}

/// The limit itself is allowed.
pub async fn event_at_the_limit_is_kept<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let turn = sized(&bench, &task, limit::EVENT_BYTES).await;
    bench.store.commit(turn.clone()).await.unwrap();
    assert_eq!(bench.history(&task).await.last().map(|r| &r.event), turn.events.first());
}

/// One byte more is refused, together with everything else of the turn.
pub async fn event_over_the_limit_leaves_nothing<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let before = bench.picture(&task).await;
    let bytes = limit::EVENT_BYTES + 1;
    let mut turn = sized(&bench, &task, bytes).await;
    let small = bench.say(&task, Word::Cancel).await.events;
    turn.events.splice(0..0, small);
    let body = Artifact::of(b"beside a large event".to_vec());
    turn.artifacts.push(body.clone());
    check_refusal(&bench.store.commit(turn).await.unwrap_err(), bytes);
    assert_eq!(bench.picture(&task).await, before);
    assert!(bench.store.artifact(body.hash).await.is_err());
}

/// Inputs that are too large make no task, and leave the ids free.
pub async fn creation_over_the_limit_leaves_nothing<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let large = Order { inputs: Json::str(&"x".repeat(limit::EVENT_BYTES)), ..Order::nth(1) };
    let creation = bench.creation(&large, Due::Wake);
    let bytes = serde_json::to_string(&creation.turn.events[0]).unwrap().len();
    check_refusal(&bench.store.create(creation).await.unwrap_err(), bytes);
    assert_eq!(bench.store.tasks(&TaskFilter::default(), ALL).await.unwrap(), []);
    let creation = bench.creation(&Order::nth(1), Due::Wake);
    assert!(matches!(bench.store.create(creation).await, Ok(Created::New(_))));
}
