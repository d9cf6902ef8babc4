//! Claims: a due task goes to one live session, under a new generation.
//!
//! * A claim gives the tasks that are due and free, longest due first, up to its limit; equally due ones by id.
//! * The generation leads with the store's epoch, and its counter grows with every claim.
//! * Claims are counted until a turn is committed that moves the task on, so that a task that keeps ending its workers
//!   is noticed.
//! * However many sessions claim at once, no task is given to two of them.
//! * A parked task waits for its moment, or for a wake when it has none. A wake never takes a task from its owner.
//! * `claim_task` waits for no moment. A task that has ended is never given.
//! * `next_due` announces the earliest moment at which a claim gives something.

use super::{
    Factory,
    bench::{Bench, LEASE_MS},
    story::{self, Fate, Order, Word},
};
use crate::{
    error::StoreError,
    store::{Claim, Store},
    turn::{Authority, Due},
};
use semel_kernel::{
    id::{SessionId, TaskId},
    time::Generation,
};
use std::{collections::BTreeSet, sync::Arc};
use tokio::task::JoinSet;

/// A task is given to one session, and to no second one.
pub async fn task_is_claimed_once<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let (one, other) = (bench.session("one").await, bench.session("other").await);
    assert_eq!(bench.claimed(&one).await, std::slice::from_ref(&task));
    assert_eq!(bench.claimed(&one).await, []);
    assert_eq!(bench.claimed(&other).await, []);
    assert_eq!(bench.store.load(&task).await.unwrap().session, Some(one));
}

/// `epoch.1`, `epoch.2` … whatever happened in between; the history knows only of owners that wrote.
pub async fn generation_leads_with_the_epoch_and_grows<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let epoch = bench.store.info().epoch;
    assert_eq!(bench.store.load(&task).await.unwrap().generation, Generation { epoch, counter: 0 });
    for counter in 1..=3 {
        let owner = bench.own(&bench.session(&format!("w{counter}")).await, &task).await;
        assert_eq!(owner.1, Generation { epoch, counter });
        assert_eq!(bench.store.load(&task).await.unwrap().generation, owner.1);
        (bench.advance)(LEASE_MS);
    }
    assert_eq!(bench.history(&task).await.len(), 1, "a claim writes no event");
    let owner = bench.own(&bench.session("w4").await, &task).await;
    bench.step(&task, &owner, Fate::Applied, Due::Held).await;
    assert_eq!(bench.load(&task).await.generation, Generation { epoch, counter: 4 });
}

/// Claims of the only task, one for each of `n` workers that die.
async fn dying<S: Store + 'static>(bench: &Bench<S>, n: u32) -> Vec<Claim> {
    let mut claims = Vec::new();
    for i in 0..n {
        let session = bench.session(&format!("dying-{i}")).await;
        claims.extend(bench.claim(&session).await);
        bench.store.end_session(&session).await.unwrap();
    }
    claims
}

/// 1, 2, 3 without a commit; 1 again after one.
pub async fn claims_are_counted_until_a_commit<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let counts: Vec<u32> = dying(&bench, 3).await.iter().map(|c| c.claims).collect();
    assert_eq!(counts, [1, 2, 3]);
    let owner = bench.own(&bench.session("w").await, &task).await;
    bench.step(&task, &owner, Fate::Applied, Due::Park(Some(bench.at()))).await;
    let counts: Vec<u32> = dying(&bench, 2).await.iter().map(|c| c.claims).collect();
    assert_eq!(counts, [1, 2]);
}

/// Any committed turn ends the count: the task has moved on.
pub async fn evidence_ends_the_count_too<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    dying(&bench, 2).await;
    bench.tell(&task, Word::Pause).await;
    assert_eq!(dying(&bench, 1).await.first().map(|c| c.claims), Some(1));
}

/// A turn that only takes the task up is no progress: a crash loop writes one in each of its lives.
pub async fn taking_up_does_not_end_the_count<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    for claims in 1..=3 {
        let session = bench.session(&format!("w{claims}")).await;
        let [claim] = &bench.claim(&session).await[..] else { panic!("the task is due") };
        assert_eq!(claim.claims, claims);
        assert_eq!(bench.store.load(&task).await.unwrap().claims, claims);
        let draft = story::take_up(bench.load(&task).await, (&session, claim.generation), bench.store.now());
        let turn = bench.close(draft, Authority::Owner(claim.generation), Due::Park(Some(bench.at())));
        bench.store.commit(turn).await.unwrap();
    }
    let owner = bench.own(&bench.session("w4").await, &task).await;
    bench.step(&task, &owner, Fate::Applied, Due::Park(Some(bench.at()))).await;
    assert_eq!(dying(&bench, 1).await.first().map(|c| c.claims), Some(1));
}

/// What has waited longest comes first, whenever it was created.
pub async fn longest_due_comes_first<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let start = bench.at();
    for (n, due) in [(1, 30), (2, 10), (3, 20), (4, 10)] {
        let creation = bench.creation(&Order::nth(n), Due::Park(Some(start.plus(due))));
        bench.store.create(creation).await.unwrap();
    }
    (bench.advance)(25);
    let session = bench.session("w").await;
    assert_eq!(bench.claimed(&session).await, [2, 4, 3].map(|n| Order::nth(n).task));
    (bench.advance)(5);
    assert_eq!(bench.claimed(&session).await, [Order::nth(1).task]);
}

/// No more than asked for; the rest stays for others, in order.
pub async fn limit_holds<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    for n in 1..=5 {
        bench.task(n).await;
    }
    let session = bench.session("w").await;
    assert_eq!(bench.store.claim(&session, 0).await.unwrap(), []);
    let mut seen = Vec::new();
    for size in [2, 2, 1] {
        let claims = bench.store.claim(&session, 2).await.unwrap();
        assert_eq!(claims.len(), size);
        seen.extend(claims.into_iter().map(|c| c.task));
    }
    assert_eq!(seen, [1, 2, 3, 4, 5].map(|n| Order::nth(n).task));
}

/// Claims three at a time until nothing is left.
async fn drain<S: Store>(store: Arc<S>, session: SessionId) -> Vec<TaskId> {
    let mut taken = Vec::new();
    loop {
        let claims = store.claim(&session, 3).await.unwrap();
        if claims.is_empty() {
            return taken;
        }
        taken.extend(claims.into_iter().map(|c| c.task));
        tokio::task::yield_now().await;
    }
}

/// Eight sessions claim at once: every task is given, none of them twice.
pub async fn sessions_never_share_a_task<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    for n in 1..=40 {
        bench.task(n).await;
    }
    let mut workers = JoinSet::new();
    for i in 0..8 {
        workers.spawn(drain(Arc::clone(&bench.store), bench.session(&format!("w{i}")).await));
    }
    let taken: Vec<TaskId> = workers.join_all().await.into_iter().flatten().collect();
    assert_eq!(taken.len(), 40);
    assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), 40, "a task was given twice");
}

/// Twenty sessions want the same task at once: one gets it.
pub async fn one_task_has_one_taker<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let mut workers = JoinSet::new();
    for i in 0..20 {
        let (store, task) = (Arc::clone(&bench.store), task.clone());
        let session = bench.session(&format!("w{i}")).await;
        workers.spawn(async move { store.claim_task(&session, &task).await.unwrap() });
    }
    let given: Vec<Claim> = workers.join_all().await.into_iter().flatten().collect();
    assert_eq!(given.len(), 1);
    assert_eq!(bench.store.load(&task).await.unwrap().generation, given[0].generation);
}

/// Not one millisecond before; and it holds no lease meanwhile.
pub async fn parked_task_waits_for_its_moment<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let owner = bench.own(&bench.session("w").await, &task).await;
    let due = bench.at().plus(100);
    bench.step(&task, &owner, Fate::Applied, Due::Park(Some(due))).await;
    assert_eq!(bench.store.load(&task).await.unwrap().session, None);
    assert_eq!(bench.store.next_due().await.unwrap(), Some(due));
    (bench.advance)(99);
    assert_eq!(bench.claimed(&owner.0).await, []);
    (bench.advance)(1);
    assert_eq!(bench.claimed(&owner.0).await, [task]);
}

/// No time wakes it; a word does, at once.
pub async fn parked_without_a_moment_waits_for_a_wake<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let owner = bench.own(&bench.session("w").await, &task).await;
    bench.step(&task, &owner, Fate::Applied, Due::Park(None)).await;
    assert_eq!(bench.store.next_due().await.unwrap(), None);
    (bench.advance)(1_000_000_000);
    let session = bench.session("later").await;
    assert_eq!(bench.claimed(&session).await, []);
    bench.tell(&task, Word::Pause).await;
    assert_eq!(bench.store.next_due().await.unwrap(), Some(bench.at()));
    assert_eq!(bench.claimed(&session).await, [task]);
}

/// The owner of a task goes on after somebody else's word: it meets a conflict, not a fence.
pub async fn wake_leaves_a_live_owner_alone<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let (one, other) = (bench.session("one").await, bench.session("other").await);
    let owner = bench.own(&one, &task).await;
    bench.step(&task, &owner, Fate::Applied, Due::Held).await;
    bench.tell(&task, Word::Pause).await;
    assert_eq!(bench.claimed(&other).await, []);
    assert_eq!(bench.store.load(&task).await.unwrap().session, Some(one));
    bench.tell(&task, Word::Resume).await;
    bench.step(&task, &owner, Fate::Applied, Due::Held).await;
}

/// What was due before the word stays due since then.
pub async fn wake_keeps_an_earlier_moment<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let (task, start) = (bench.task(1).await, bench.at());
    (bench.advance)(50);
    bench.tell(&task, Word::Pause).await;
    assert_eq!(bench.store.next_due().await.unwrap(), Some(start));
}

/// A task is taken by name whether it is due or not.
pub async fn claim_task_does_not_wait<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let session = bench.session("w").await;
    for park in [Due::Park(Some(bench.at().plus(1_000_000))), Due::Park(None)] {
        let owner = bench.own(&session, &task).await;
        bench.step(&task, &owner, Fate::Applied, park).await;
        assert_eq!(bench.claimed(&session).await, []);
    }
    let claim = bench.store.claim_task(&session, &task).await.unwrap();
    assert_eq!(claim.map(|c| (c.generation.counter, c.claims)), Some((3, 1)));
}

/// There is nothing to take.
pub async fn claim_task_needs_a_task<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let (session, task) = (bench.session("w").await, Order::nth(9).task);
    let answer = bench.store.claim_task(&session, &task).await;
    assert_eq!(answer.unwrap_err(), StoreError::NoTask(task));
}

/// Neither a due moment, nor a wake, nor its owner's death makes an ended task claimable.
pub async fn ended_task_is_never_claimable<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let (kept, parked, woken) = (bench.task(1).await, bench.task(2).await, bench.task(3).await);
    bench.finish(&kept, Fate::Applied).await;
    bench.finish(&woken, Fate::Refused).await;
    bench.tell(&woken, Word::Receipt).await;
    let owner = bench.own(&bench.session("w").await, &parked).await;
    let mut last = bench.say(&parked, Word::Cancel).await;
    last.authority = crate::turn::Authority::Owner(owner.1);
    last.due = Due::Park(Some(bench.at()));
    bench.store.commit(last).await.unwrap();
    (bench.advance)(LEASE_MS);
    assert_eq!(bench.store.next_due().await.unwrap(), None);
    let session = bench.session("later").await;
    assert_eq!(bench.claimed(&session).await, []);
    for task in [kept, parked, woken] {
        assert!(bench.load(&task).await.end.is_some());
        assert_eq!(bench.store.claim_task(&session, &task).await.unwrap(), None, "{task}");
    }
}

/// The earliest moment of all free tasks, past ones included; nothing when all are owned.
pub async fn next_due_announces_what_a_claim_gives<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    assert_eq!(bench.store.next_due().await.unwrap(), None);
    let start = bench.at();
    for (n, due) in [(1, 300), (2, 100), (3, 200)] {
        let creation = bench.creation(&Order::nth(n), Due::Park(Some(start.plus(due))));
        bench.store.create(creation).await.unwrap();
    }
    let session = bench.session("w").await;
    for due in [100, 200, 300] {
        assert_eq!(bench.store.next_due().await.unwrap(), Some(start.plus(due)));
        assert_eq!(bench.claimed(&session).await, []);
        (bench.advance)(100);
        assert_eq!(bench.store.next_due().await.unwrap(), Some(start.plus(due)));
        assert_eq!(bench.claimed(&session).await.len(), 1);
    }
    assert_eq!(bench.store.next_due().await.unwrap(), None);
}
