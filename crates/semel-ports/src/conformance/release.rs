//! Release: an owner gives a task back without a turn.
//!
//! * The task is free from the given moment on, or until a wake when there is none.
//! * A task that has moved on past the version that its owner knew is due at once.
//! * Only the present owner releases, and only once; every other call changes nothing and says so.
//! * Neither the generation nor the count of claims goes back.

use super::{
    Factory,
    bench::{Bench, LEASE_MS},
    story::{Fate, Order, Word},
};
use crate::{store::Store, turn::Due};
use semel_kernel::time::Generation;

/// Free at the moment, not before; with no moment, only after a wake.
pub async fn gives_back_at_its_moment<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let session = bench.session("w").await;
    let owner = bench.own(&session, &task).await;
    assert!(bench.store.release(&task, owner.1, u64::MAX, Some(bench.at().plus(10))).await.unwrap());
    assert_eq!(bench.store.load(&task).await.unwrap().session, None);
    assert_eq!(bench.claimed(&session).await, []);
    (bench.advance)(10);
    assert_eq!(bench.claimed(&session).await, std::slice::from_ref(&task));
    assert!(bench.store.release(&task, owner.1.next(), u64::MAX, None).await.unwrap());
    assert_eq!(bench.store.next_due().await.unwrap(), None);
    bench.tell(&task, Word::Pause).await;
    assert_eq!(bench.claimed(&session).await, [task]);
}

/// What was written between the owner's last look and its release is not slept through.
pub async fn what_came_meanwhile_is_due_at_once<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let session = bench.session("w").await;
    let owner = bench.own(&session, &task).await;
    let seen = bench.store.load(&task).await.unwrap().tail.last().map_or(0, |r| r.seq);
    bench.tell(&task, Word::Pause).await;
    assert!(bench.store.release(&task, owner.1, seen, None).await.unwrap());
    assert_eq!(bench.claimed(&session).await, [task]);
}

/// A fenced owner cannot give away what is another's now.
pub async fn stale_generation_changes_nothing<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let old = bench.own(&bench.session("old").await, &task).await;
    (bench.advance)(LEASE_MS);
    let new = bench.own(&bench.session("new").await, &task).await;
    let before = bench.picture(&task).await;
    let never = Generation { epoch: new.1.epoch, counter: 99 };
    for generation in [old.1, never] {
        assert!(!bench.store.release(&task, generation, u64::MAX, Some(bench.at())).await.unwrap());
        assert_eq!(bench.picture(&task).await, before);
    }
    assert_eq!(bench.claimed(&bench.session("other").await).await, []);
    bench.step(&task, &new, Fate::Applied, Due::Held).await;
}

/// A release that is sent again does not move the task a second time.
pub async fn second_release_changes_nothing<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let session = bench.session("w").await;
    let owner = bench.own(&session, &task).await;
    assert!(bench.store.release(&task, owner.1, u64::MAX, Some(bench.at())).await.unwrap());
    assert!(!bench.store.release(&task, owner.1, u64::MAX, None).await.unwrap());
    assert_eq!(bench.claimed(&session).await, [task]);
}

/// A worker that takes and gives back without progress is still counted, and its old token is still old.
pub async fn keeps_the_generation_and_the_count<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let session = bench.session("w").await;
    for n in 1..=3_u32 {
        let claim = bench.store.claim_task(&session, &task).await.unwrap().unwrap();
        assert_eq!((claim.claims, claim.generation.counter), (n, u64::from(n)));
        assert!(bench.store.release(&task, claim.generation, u64::MAX, Some(bench.at())).await.unwrap());
        assert_eq!(bench.store.load(&task).await.unwrap().generation, claim.generation);
    }
}

/// Whoever finds that there is nothing to do yet, and gives the task back until later, has not failed with it.
pub async fn waiting_is_no_failure<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let session = bench.session("w").await;
    for n in 0..6_i64 {
        let claim = bench.store.claim_task(&session, &task).await.unwrap().unwrap();
        assert_eq!(claim.claims, 1);
        let due = (n % 2 == 0).then(|| bench.at().plus(1 + n));
        assert!(bench.store.release(&task, claim.generation, u64::MAX, due).await.unwrap());
        assert_eq!(bench.store.load(&task).await.unwrap().claims, 0);
    }
}

/// A turn that parked the task has given it back already; a release after it does not undo a wake.
pub async fn parked_task_is_not_released<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let session = bench.session("w").await;
    let owner = bench.own(&session, &task).await;
    bench.step(&task, &owner, Fate::Applied, Due::Park(None)).await;
    bench.tell(&task, Word::Pause).await;
    assert!(!bench.store.release(&task, owner.1, u64::MAX, None).await.unwrap());
    assert_eq!(bench.claimed(&session).await, [task]);
}

/// There is nothing to give back.
pub async fn unknown_task_is_not_released<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let generation = Generation { epoch: bench.store.info().epoch, counter: 1 };
    assert!(!bench.store.release(&Order::nth(9).task, generation, u64::MAX, None).await.unwrap());
}
