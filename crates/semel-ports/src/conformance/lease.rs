//! Leases: one for a session and all that it owns, by the store's clock.
//!
//! * While a session lives, its tasks are nobody else's; one renewal covers them all.
//! * A lease is over at its moment. From then on it is not renewed, and its tasks are claimable at once.
//! * So are those of a session that ended. A session that does not live is given nothing.
//! * An owner whose lease is over may still write while nobody has claimed the task; never afterwards.
//! * A session whose task makes no progress loses it although it lives; a committed turn of its own is progress, and so is
//!   an attempt that is under way.

use super::{
    Factory,
    bench::{Bench, LEASE_MS, fenced},
    story::{Fate, Order, Word},
};
use crate::{store::Store, turn::Due};
use semel_kernel::id::SessionId;
use semel_kernel::limit::PROGRESS_MS;

/// Nobody is given what a live session owns.
pub async fn live_session_keeps_its_tasks<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let (one, other) = (bench.session("one").await, bench.session("other").await);
    bench.own(&one, &task).await;
    (bench.advance)(LEASE_MS - 1);
    assert_eq!(bench.claimed(&other).await, []);
    assert_eq!(bench.store.claim_task(&other, &task).await.unwrap(), None);
    assert_eq!(bench.store.claim_task(&one, &task).await.unwrap(), None, "it owns the task already");
}

/// A renewal counts from its own moment.
pub async fn renewal_extends<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let one = bench.session("one").await;
    bench.own(&one, &task).await;
    (bench.advance)(LEASE_MS - 1);
    assert!(bench.store.renew_session(&one, LEASE_MS).await.unwrap());
    let other = bench.session("other").await;
    (bench.advance)(LEASE_MS - 1);
    assert_eq!(bench.claimed(&other).await, []);
    assert!(bench.store.renew_session(&other, LEASE_MS).await.unwrap());
    (bench.advance)(1);
    assert_eq!(bench.claimed(&other).await, [task]);
}

/// One renewal keeps every task of the session.
pub async fn one_renewal_covers_every_task<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let one = bench.session("one").await;
    for n in 1..=5 {
        bench.task(n).await;
    }
    assert_eq!(bench.claim(&one).await.len(), 5);
    (bench.advance)(LEASE_MS - 1);
    assert!(bench.store.renew_session(&one, LEASE_MS).await.unwrap());
    (bench.advance)(LEASE_MS - 1);
    assert_eq!(bench.claimed(&bench.session("other").await).await, []);
}

/// A lease is over at its moment and does not come back.
pub async fn expired_lease_is_not_renewed<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let one = bench.session("one").await;
    bench.own(&one, &task).await;
    (bench.advance)(LEASE_MS);
    assert!(!bench.store.renew_session(&one, LEASE_MS).await.unwrap());
    assert!(!bench.store.renew_session(&one, LEASE_MS).await.unwrap(), "a refused renewal revives nothing");
    assert_eq!(bench.claimed(&bench.session("other").await).await, [task]);
}

/// A session that never started, or has ended, has no lease to renew.
pub async fn unknown_session_is_not_renewed<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let never = SessionId::parse("never").unwrap();
    assert!(!bench.store.renew_session(&never, LEASE_MS).await.unwrap());
    let ended = bench.session("ended").await;
    bench.store.end_session(&ended).await.unwrap();
    bench.store.end_session(&ended).await.unwrap();
    assert!(!bench.store.renew_session(&ended, LEASE_MS).await.unwrap());
}

/// No pause after the lease: at its moment the tasks are free, whatever their due moment was.
pub async fn expired_sessions_tasks_are_claimable_at_once<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let first = bench.own(&bench.session("a").await, &task).await;
    let far = Due::Park(Some(bench.at().plus(1_000_000)));
    bench.step(&task, &first, Fate::Applied, far).await;
    let second = bench.own(&bench.session("b").await, &task).await;
    (bench.advance)(LEASE_MS);
    let third = bench.claim(&bench.session("c").await).await;
    assert_eq!(third.first().map(|c| c.generation), Some(second.1.next()));
}

/// A session that says good-bye leaves its tasks to others at once.
pub async fn ended_sessions_tasks_are_claimable_at_once<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let (one, other) = (bench.session("one").await, bench.session("other").await);
    bench.own(&one, &task).await;
    assert_eq!(bench.store.next_due().await.unwrap(), None);
    bench.store.end_session(&one).await.unwrap();
    assert_eq!(bench.store.next_due().await.unwrap(), Some(bench.at()));
    assert_eq!(bench.claimed(&other).await, [task]);
}

/// A session that is expired, ended or unknown is given nothing: it could not keep it.
pub async fn dead_session_is_given_nothing<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let (expired, ended) = (bench.session("expired").await, bench.session("ended").await);
    bench.store.end_session(&ended).await.unwrap();
    (bench.advance)(LEASE_MS);
    for dead in [expired, ended, SessionId::parse("never").unwrap()] {
        assert_eq!(bench.claimed(&dead).await, []);
        assert_eq!(bench.store.claim_task(&dead, &task).await.unwrap(), None);
    }
    assert_eq!(bench.claimed(&bench.session("live").await).await, [task]);
}

/// An expired lease alone fences nobody: the work is not lost while nobody else has begun.
pub async fn late_commit_holds_while_nobody_claimed<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let owner = bench.own(&bench.session("w").await, &task).await;
    (bench.advance)(LEASE_MS * 2);
    bench.step(&task, &owner, Fate::Applied, Due::Held).await;
    bench.verify(&task).await;
}

/// After expiry and a claim by another, the old owner changes nothing, neither with the old work nor with new.
pub async fn late_commit_fails_once_somebody_claimed<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let old = bench.own(&bench.session("old").await, &task).await;
    let work = bench.work(&task, &old, Fate::Applied, Due::Park(None)).await;
    (bench.advance)(LEASE_MS);
    let new = bench.own(&bench.session("new").await, &task).await;
    let before = bench.picture(&task).await;
    assert_eq!(fenced(bench.store.commit(work).await), new.1);
    assert_eq!(bench.picture(&task).await, before);
    bench.store.end_session(&new.0).await.unwrap();
    let work = bench.work(&task, &old, Fate::Applied, Due::Held).await;
    assert_eq!(fenced(bench.store.commit(work).await), new.1, "the fence stays when the new owner is gone");
}

/// Five minutes after the claim a task is free again, however well its session's heart beats.
pub async fn heart_without_progress_stops_counting<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let one = SessionId::parse("one").unwrap();
    bench.store.start_session(&one, 2 * PROGRESS_MS).await.unwrap();
    let owner = bench.own(&one, &task).await;
    (bench.advance)(PROGRESS_MS - 1);
    let other = bench.session("other").await;
    assert_eq!(bench.claimed(&other).await, []);
    (bench.advance)(1);
    assert!(bench.store.next_due().await.unwrap().is_some_and(|due| due <= bench.at()));
    assert_eq!(bench.claimed(&other).await, std::slice::from_ref(&task));
    assert!(bench.store.renew_session(&one, LEASE_MS).await.unwrap(), "the session itself lives on");
    let late = bench.work(&task, &owner, Fate::Applied, Due::Held).await;
    assert_eq!(fenced(bench.store.commit(late).await), owner.1.next());
}

/// A committed turn gives the task another five minutes.
pub async fn commit_is_progress<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let one = SessionId::parse("one").unwrap();
    bench.store.start_session(&one, 3 * PROGRESS_MS).await.unwrap();
    let owner = bench.own(&one, &task).await;
    (bench.advance)(PROGRESS_MS - 1);
    bench.step(&task, &owner, Fate::Applied, Due::Held).await;
    (bench.advance)(PROGRESS_MS - 1);
    let other = bench.session("other").await;
    assert_eq!(bench.claimed(&other).await, []);
    (bench.advance)(1);
    assert_eq!(bench.claimed(&other).await, [task]);
}

/// An attempt that may take longer than five minutes keeps its task with its owner until it is given up, and no longer.
pub async fn long_call_stays_with_its_owner<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.create(&Order { timeout_ms: 3 * PROGRESS_MS, ..Order::nth(1) }).await;
    let one = SessionId::parse("one").unwrap();
    bench.store.start_session(&one, 9 * PROGRESS_MS).await.unwrap();
    let owner = bench.own(&one, &task).await;
    bench.step(&task, &owner, Fate::Applied, Due::Held).await;
    let begun = bench.work(&task, &owner, Fate::Applied, Due::Held).await;
    let until = begun.busy_until;
    assert!(until > bench.at().plus(3 * PROGRESS_MS), "an attempt is under way until {until:?}");
    bench.store.commit(begun).await.unwrap();
    (bench.advance)(until.since(bench.at()) - 1);
    let other = bench.session("other").await;
    assert_eq!(bench.claimed(&other).await, []);
    assert_eq!(bench.store.claim_task(&other, &task).await.unwrap(), None);
    (bench.advance)(1);
    assert_eq!(bench.claimed(&other).await, [task]);
}

/// What somebody else writes says nothing about the owner: its five minutes are not extended.
pub async fn evidence_is_no_progress_of_the_owner<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let one = SessionId::parse("one").unwrap();
    bench.store.start_session(&one, 3 * PROGRESS_MS).await.unwrap();
    bench.own(&one, &task).await;
    (bench.advance)(PROGRESS_MS - 1);
    bench.tell(&task, Word::Pause).await;
    let other = bench.session("other").await;
    assert_eq!(bench.claimed(&other).await, []);
    (bench.advance)(1);
    assert_eq!(bench.claimed(&other).await, [task]);
}
