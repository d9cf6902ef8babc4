//! Append: a turn becomes durable as a whole.
//!
//! * Events are numbered 1, 2, 3 … without gaps, in the order of the turn; *after n* gives those above n.
//! * Each event carries the time of its turn.
//! * After every turn, the rows are those of the folded history, and the loaded task is that fold.
//! * A receipt names task, turn and version; each STARTED yields one permit.
//! * A task that is not there is refused, never made up.

use super::{
    Factory,
    bench::Bench,
    story::{Fate, Order, Word},
};
use crate::{
    error::{CommitError, StoreError},
    store::Store,
    turn::{Authority, Due},
};
use semel_kernel::operation::Status;

/// Events are numbered 1, 2, 3 … without gaps.
pub async fn events_are_numbered_without_gaps<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    bench.finish(&task, Fate::Applied).await;
    let seqs: Vec<u64> = bench.history(&task).await.iter().map(|r| r.seq).collect();
    assert!(seqs.len() > 5, "a whole life has more events than {seqs:?}");
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<u64>>());
}

/// *After n* gives the events above n, in order.
pub async fn history_after_gives_the_rest<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    bench.finish(&task, Fate::Applied).await;
    let whole = bench.history(&task).await;
    for after in 0..=whole.len() {
        let rest = bench.store.history(&task, after as u64).await.unwrap();
        assert_eq!(rest, whole.iter().skip(after).cloned().collect::<Vec<_>>(), "after {after}");
    }
    assert_eq!(bench.store.history(&task, 1_000).await.unwrap(), []);
}

/// Each event carries the time of its turn, not that of the write.
pub async fn time_is_the_turns<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let created = bench.at();
    (bench.advance)(700);
    let said = bench.at();
    let turn = bench.say(&task, Word::Pause).await;
    (bench.advance)(40);
    bench.store.commit(turn).await.unwrap();
    let times: Vec<_> = bench.history(&task).await.iter().map(|r| r.at).collect();
    assert_eq!(times, [created, said]);
    let row = bench.rows(&task).await.task;
    assert_eq!((row.created_at, row.updated_at), (created, said));
}

/// A life with a lost answer, a review and an end: rows and loaded task follow the history at every step.
pub async fn rows_equal_the_fold_after_every_step<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    bench.verify(&task).await;
    let owner = bench.own(&bench.session("w").await, &task).await;
    while bench.load(&task).await.open_reviews().next().is_none() {
        (bench.advance)(10);
        bench.step(&task, &owner, Fate::Lost, Due::Held).await;
        bench.verify(&task).await;
    }
    for word in [Word::Pause, Word::Resume, Word::Settle] {
        (bench.advance)(10);
        bench.tell(&task, word).await;
        bench.verify(&task).await;
    }
    while bench.load(&task).await.end.is_none() {
        (bench.advance)(10);
        bench.step(&task, &owner, Fate::Refused, Due::Held).await;
        bench.verify(&task).await;
    }
    bench.tell(&task, Word::Receipt).await;
    bench.verify(&task).await;
    let statuses: Vec<Status> = bench.rows(&task).await.operations.iter().map(|op| op.status).collect();
    assert_eq!(statuses, [Status::Succeeded, Status::Unknown], "the receipt contradicts the refusal");
}

/// The receipt speaks of the turn that was written.
pub async fn receipt_names_the_turn<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let turn = bench.say(&task, Word::Cancel).await;
    let receipt = bench.store.commit(turn.clone()).await.unwrap();
    assert_eq!((receipt.task(), receipt.turn()), (&task, &turn.turn));
    assert_eq!(receipt.version(), bench.load(&task).await.version);
}

/// One STARTED, one permit; a turn without one yields none.
pub async fn started_turn_yields_one_permit<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let owner = bench.own(&bench.session("w").await, &task).await;
    let planned = bench.step(&task, &owner, Fate::Applied, Due::Held).await;
    assert!(planned.permits(&bench.load(&task).await).is_empty());
    let started = bench.step(&task, &owner, Fate::Applied, Due::Held).await;
    let permits = started.permits(&bench.load(&task).await);
    assert_eq!(permits.len(), 1);
    assert_eq!(permits.first().map(|p| (p.attempt(), p.generation())), Some((1, owner.1)));
}

/// Verbs about a task that is not there say so and make nothing up.
pub async fn unknown_task_is_refused<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let known = bench.task(1).await;
    let mut turn = bench.say(&known, Word::Pause).await;
    turn.task = Order::nth(2).task;
    turn.authority = Authority::Anyone;
    let gone = StoreError::NoTask(turn.task.clone());
    assert_eq!(bench.store.load(&turn.task).await.unwrap_err(), gone);
    assert_eq!(bench.store.history(&turn.task, 0).await.unwrap_err(), gone);
    assert_eq!(bench.store.commit(turn.clone()).await.unwrap_err(), CommitError::Store(gone.clone()));
    assert_eq!(bench.store.load(&turn.task).await.unwrap_err(), gone);
}
