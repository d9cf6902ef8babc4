//! The look-up after a lost answer: is this turn durable?
//!
//! * Every durable turn is found, the creating one too, however many came after it.
//! * A refused turn is not found, nor one that was never sent.
//! * A turn is found under its own task alone.
//! * Read back, a durable turn yields its receipt, and any other turn none.

use super::{
    Factory,
    bench::Bench,
    story::{Order, Word},
};
use crate::{store::Store, turn::Due};

/// Each of them, also when it is no longer the last.
pub async fn durable_turns_are_found<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let creation = bench.creation(&Order::nth(1), Due::Wake);
    let (task, mut turns) = (creation.turn.task.clone(), vec![creation.turn.clone()]);
    bench.store.create(creation).await.unwrap();
    for word in [Word::Pause, Word::Resume, Word::Cancel] {
        let turn = bench.say(&task, word).await;
        assert!(!bench.store.find_turn(&task, &turn.turn).await.unwrap(), "found before it was sent");
        assert!(bench.store.read_back(&turn).await.unwrap().is_none(), "read back before it was sent");
        turns.push(turn.clone());
        bench.store.commit(turn).await.unwrap();
    }
    for turn in turns {
        assert!(bench.store.find_turn(&task, &turn.turn).await.unwrap(), "{turn:?}");
        let receipt = bench.store.read_back(&turn).await.unwrap().expect("its receipt");
        assert_eq!((receipt.turn(), receipt.version()), (&turn.turn, turn.version()));
    }
}

/// What was refused is not there, although another turn has its number now.
pub async fn refused_turn_is_not_found<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let task = bench.task(1).await;
    let stale = bench.say(&task, Word::Pause).await;
    bench.tell(&task, Word::Cancel).await;
    assert!(bench.store.commit(stale.clone()).await.is_err());
    assert!(!bench.store.find_turn(&task, &stale.turn).await.unwrap());
    assert!(bench.store.read_back(&stale).await.unwrap().is_none());
    let taken = bench.creation(&Order::nth(1), Due::Wake);
    let id = taken.turn.turn.clone();
    bench.store.create(taken).await.unwrap();
    assert!(!bench.store.find_turn(&task, &id).await.unwrap());
}

/// Not under another task, and not under one that is not there.
pub async fn turns_belong_to_their_task<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let (one, other) = (bench.task(1).await, bench.task(2).await);
    let turn = bench.say(&one, Word::Pause).await;
    bench.store.commit(turn.clone()).await.unwrap();
    assert!(!bench.store.find_turn(&other, &turn.turn).await.unwrap());
    assert!(!bench.store.find_turn(&Order::nth(9).task, &turn.turn).await.unwrap());
}
