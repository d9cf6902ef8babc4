//! Compare-and-swap: a turn is written on the version that it was decided on, by whoever may.
//!
//! * A turn on another version is a conflict that tells the present one; the version is checked before the generation.
//! * An owner whose generation is not the present one is fenced, and told the present one.
//! * Evidence is exempt from the generation check, never from the version check.
//! * A refused turn leaves nothing: no event, no row, no owner, no due moment, no artifact.
//! * Of many turns on one version one is written. A turn that is sent again is a conflict and is there once.

use super::{
    Factory,
    bench::{Bench, Owner, conflict, fenced},
    story::{Fate, Word},
};
use crate::{
    error::CommitError,
    store::Store,
    turn::{Artifact, Authority, Due, Turn},
};
use semel_kernel::{id::TaskId, time::Millis};
use std::sync::Arc;
use tokio::task::JoinSet;

/// A worker that was fenced, and the one that took over.
async fn takeover<S: Store + 'static>(bench: &Bench<S>, task: &TaskId) -> (Owner, Owner) {
    let old = bench.own(&bench.session("old").await, task).await;
    bench.step(task, &old, Fate::Applied, Due::Held).await;
    (bench.advance)(super::bench::LEASE_MS);
    let new = bench.own(&bench.session("new").await, task).await;
    (old, new)
}

/// Commits a turn that must be refused, and checks that nothing of it is there.
async fn refused<S: Store + 'static>(bench: &Bench<S>, mut turn: Turn) -> CommitError {
    let body = Artifact::of(b"a body that must not be kept".to_vec());
    let (task, id, hash) = (turn.task.clone(), turn.turn.clone(), body.hash);
    turn.artifacts.push(body);
    turn.due = Due::Park(Some(Millis(1)));
    let before = bench.picture(&task).await;
    let refusal = bench.store.commit(turn).await.unwrap_err();
    assert_eq!(bench.picture(&task).await, before, "a refused turn has changed something");
    assert!(bench.store.artifact(hash).await.is_err(), "a refused turn has left a body");
    assert!(!bench.store.find_turn(&task, &id).await.unwrap(), "a refused turn is found");
    refusal
}

/// A turn on an older version is refused as a whole.
pub async fn stale_version_leaves_nothing<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let owner = bench.own(&bench.session("w").await, &task).await;
    let stale = bench.work(&task, &owner, Fate::Applied, Due::Held).await;
    bench.tell(&task, Word::Cancel).await;
    let actual = bench.load(&task).await.version;
    assert_eq!(refused(&bench, stale).await, CommitError::Conflict { actual });
}

/// A turn of an owner whose task was taken by another is refused as a whole.
pub async fn fenced_owner_leaves_nothing<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let (old, new) = takeover(&bench, &task).await;
    let late = bench.work(&task, &old, Fate::Applied, Due::Held).await;
    assert_eq!(refused(&bench, late).await, CommitError::Fenced { current: new.1 });
    bench.step(&task, &new, Fate::Applied, Due::Held).await;
}

/// A writer that is behind *and* fenced learns of the version first, so that it reads on.
pub async fn version_is_checked_before_generation<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let (old, new) = takeover(&bench, &task).await;
    let late = bench.work(&task, &old, Fate::Applied, Due::Held).await;
    bench.step(&task, &new, Fate::Applied, Due::Held).await;
    assert_eq!(conflict(bench.store.commit(late).await), bench.load(&task).await.version);
}

/// What a fenced worker heard is evidence: on the present version it is kept, and its owner keeps the task.
pub async fn evidence_of_a_fenced_worker_is_accepted<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let (old, new) = takeover(&bench, &task).await;
    let late = bench.work(&task, &old, Fate::Applied, Due::Held).await;
    assert_eq!(fenced(bench.store.commit(late).await), new.1);
    bench.step(&task, &new, Fate::Applied, Due::Held).await;
    bench.tell(&task, Word::Receipt).await;
    let loaded = bench.store.load(&task).await.unwrap();
    assert_eq!((loaded.generation, loaded.session), (new.1, Some(new.0)));
    bench.verify(&task).await;
}

/// Evidence that was decided on an older version is refused, and decided again.
pub async fn stale_evidence_is_refused<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let stale = bench.say(&task, Word::Cancel).await;
    bench.tell(&task, Word::Pause).await;
    let actual = bench.load(&task).await.version;
    assert_eq!(refused(&bench, stale).await, CommitError::Conflict { actual });
    bench.tell(&task, Word::Cancel).await;
}

/// Twenty turns on one version at the same time: one is written, nineteen are told the new version.
pub async fn twenty_turns_on_one_version_one_wins<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let mut turns = Vec::new();
    for _ in 0..20 {
        turns.push(bench.say(&task, Word::Pause).await);
    }
    let mut writers = JoinSet::new();
    for turn in turns {
        let store = Arc::clone(&bench.store);
        writers.spawn(async move { store.commit(turn).await });
    }
    let answers = writers.join_all().await;
    assert_eq!(answers.iter().filter(|a| a.is_ok()).count(), 1);
    let told = |a: &&Result<_, CommitError>| matches!(a, Err(CommitError::Conflict { actual: 2 }));
    assert_eq!(answers.iter().filter(told).count(), 19);
    assert_eq!(bench.history(&task).await.len(), 2);
}

/// The same turn sent again, after a lost answer, is a conflict: it is there once.
pub async fn repeated_turn_is_a_conflict<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let turn = bench.say(&task, Word::Pause).await;
    bench.store.commit(turn.clone()).await.unwrap();
    let before = bench.picture(&task).await;
    assert_eq!(conflict(bench.store.commit(turn.clone()).await), 2);
    assert_eq!(bench.picture(&task).await, before);
    assert!(bench.store.find_turn(&task, &turn.turn).await.unwrap());
}

/// A turn touches its own task alone.
pub async fn tasks_do_not_touch_each_other<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let (one, other) = (bench.task(1).await, bench.task(2).await);
    let owner = bench.own(&bench.session("w").await, &other).await;
    let before = (bench.history(&other).await, bench.rows(&other).await);
    bench.lose(&one).await;
    assert_eq!((bench.history(&other).await, bench.rows(&other).await), before);
    let mut crossed = bench.work(&other, &owner, Fate::Applied, Due::Held).await;
    let foreign = bench.store.load(&one).await.unwrap().generation.next();
    crossed.authority = Authority::Owner(foreign);
    assert_eq!(fenced(bench.store.commit(crossed).await), owner.1);
}
