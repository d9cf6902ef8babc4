//! Artifacts: bodies by their content hash.
//!
//! * A body comes back byte for byte, empty and binary ones too; the same body kept twice is one.
//! * A hash that nobody kept is an error, never an empty body.
//! * A turn's bodies are there with the turn, and not at all when it is refused.

use super::{
    Factory,
    bench::Bench,
    story::{Order, Word},
};
use crate::{
    error::StoreError,
    store::Store,
    turn::{Artifact, Due},
};
use semel_kernel::hash::Hash;

/// Byte for byte, under the hash of the bytes.
pub async fn body_comes_back_by_its_hash<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let binary: Vec<u8> = (0..=255).collect();
    for body in [Vec::new(), b"text".to_vec(), binary, vec![7; 1 << 20]] {
        let kept = bench.store.put_artifact(body.clone()).await.unwrap();
        assert_eq!((kept.hash, kept.bytes), (Hash::of(&body), body.len() as u64));
        assert_eq!(bench.store.artifact(kept.hash).await.unwrap(), body);
    }
}

/// Keeping a body again is no error and changes nothing.
pub async fn same_body_is_kept_once<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let first = bench.store.put_artifact(b"body".to_vec()).await.unwrap();
    assert_eq!(bench.store.put_artifact(b"body".to_vec()).await.unwrap(), first);
    let task = bench.task(1).await;
    let mut turn = bench.say(&task, Word::Pause).await;
    turn.artifacts = vec![Artifact::of(b"body".to_vec()), Artifact::of(b"body".to_vec())];
    bench.store.commit(turn).await.unwrap();
    assert_eq!(bench.store.artifact(first.hash).await.unwrap(), b"body");
}

/// A missing body is an error.
pub async fn unknown_hash_is_refused<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let refusal = bench.store.artifact(Hash::of(b"nobody kept this")).await.unwrap_err();
    assert!(matches!(refusal, StoreError::NoArtifact(_)), "{refusal:?}");
}

/// A durable turn has its bodies.
pub async fn turn_writes_its_bodies<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let mut turn = bench.say(&task, Word::Pause).await;
    let bodies = [Artifact::of(b"one".to_vec()), Artifact::of(b"two".to_vec())];
    turn.artifacts = bodies.to_vec();
    bench.store.commit(turn).await.unwrap();
    for body in bodies {
        assert_eq!(bench.store.artifact(body.hash).await.unwrap(), body.bytes);
    }
}

/// A refused turn has none.
pub async fn refused_turn_writes_no_body<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let mut stale = bench.say(&task, Word::Pause).await;
    bench.tell(&task, Word::Cancel).await;
    let body = Artifact::of(b"of a refused turn".to_vec());
    stale.artifacts.push(body.clone());
    assert!(bench.store.commit(stale).await.is_err());
    assert!(bench.store.artifact(body.hash).await.is_err());
}

/// The plan's body is there with the task.
pub async fn creation_writes_its_bodies<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let mut creation = bench.creation(&Order::nth(1), Due::Wake);
    let plan = Artifact::of(b"steps: []".to_vec());
    creation.turn.artifacts.push(plan.clone());
    bench.store.create(creation).await.unwrap();
    assert_eq!(bench.store.artifact(plan.hash).await.unwrap(), plan.bytes);
}
