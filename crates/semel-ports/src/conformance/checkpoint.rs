//! Checkpoints: caches of the fold, from which a task is loaded faster.
//!
//! * Loading gives the last checkpoint and the events after it; folded, they are the task.
//! * A turn without a checkpoint keeps the last one; a refused turn too.
//! * The history stays whole.

use super::{
    Factory,
    bench::{Bench, Owner, folded},
    story::{Fate, Word},
};
use crate::{
    store::Store,
    turn::{Authority, Due, Turn},
};
use semel_kernel::{id::TaskId, task::Task};

/// The owner's next turn with a checkpoint, and the task that it holds.
async fn with_checkpoint<S: Store + 'static>(bench: &Bench<S>, task: &TaskId, owner: &Owner) -> (Turn, Task) {
    let loaded = bench.load(task).await;
    let draft = super::story::work(loaded, (&owner.0, owner.1), bench.store.now(), Fate::Applied).unwrap();
    let id = bench.turn_id();
    let (mut turn, after) = Turn::close(draft, id, Authority::Owner(owner.1), bench.at(), Due::Held);
    turn.checkpoint = Some(Box::new(after.clone()));
    (turn, after)
}

async fn owned<S: Store + 'static>(bench: &Bench<S>) -> (TaskId, Owner) {
    let task = bench.task(1).await;
    let owner = bench.own(&bench.session("w").await, &task).await;
    (task, owner)
}

/// Where the checkpoint stands, and the numbers of the events that are loaded beside it.
async fn loaded<S: Store>(bench: &Bench<S>, task: &TaskId) -> (Option<u64>, Vec<u64>) {
    let loaded = bench.store.load(task).await.unwrap();
    (loaded.checkpoint.map(|t| t.version), loaded.tail.iter().map(|r| r.seq).collect())
}

/// The tail is the whole history.
pub async fn without_one_the_tail_is_the_history<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let (task, owner) = owned(&bench).await;
    bench.step(&task, &owner, Fate::Applied, Due::Held).await;
    let loaded = bench.store.load(&task).await.unwrap();
    assert!(loaded.checkpoint.is_none());
    assert_eq!(loaded.tail, bench.history(&task).await);
}

/// Right after a checkpoint there is no tail, and the checkpoint comes back as it was given.
pub async fn load_begins_at_the_last_one<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let (task, owner) = owned(&bench).await;
    let (turn, after) = with_checkpoint(&bench, &task, &owner).await;
    bench.store.commit(turn).await.unwrap();
    let loaded = bench.store.load(&task).await.unwrap();
    assert_eq!(loaded.tail, []);
    assert_eq!(loaded.checkpoint.as_deref(), Some(&after));
    assert_eq!(folded(&bench.history(&task).await), after, "the history stays whole");
}

/// Later events follow the checkpoint, and together they are the task.
pub async fn later_turn_keeps_it<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let (task, owner) = owned(&bench).await;
    let (turn, after) = with_checkpoint(&bench, &task, &owner).await;
    bench.store.commit(turn).await.unwrap();
    bench.step(&task, &owner, Fate::Applied, Due::Held).await;
    bench.tell(&task, Word::Pause).await;
    let version = bench.load(&task).await.version;
    let rest = (after.version + 1..=version).collect();
    assert_eq!(loaded(&bench, &task).await, (Some(after.version), rest));
    bench.verify(&task).await;
}

/// The last checkpoint counts.
pub async fn newer_one_replaces_it<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let (task, owner) = owned(&bench).await;
    for _ in 0..3 {
        let (turn, after) = with_checkpoint(&bench, &task, &owner).await;
        bench.store.commit(turn).await.unwrap();
        assert_eq!(loaded(&bench, &task).await, (Some(after.version), vec![]));
        bench.verify(&task).await;
    }
}

/// A refused turn does not replace it.
pub async fn refused_turn_leaves_the_old_one<F: Factory>(factory: &F) {
    let bench = Bench::of(factory);
    let (task, owner) = owned(&bench).await;
    let (turn, first) = with_checkpoint(&bench, &task, &owner).await;
    bench.store.commit(turn).await.unwrap();
    let (stale, _) = with_checkpoint(&bench, &task, &owner).await;
    bench.tell(&task, Word::Pause).await;
    assert!(bench.store.commit(stale).await.is_err());
    assert_eq!(loaded(&bench, &task).await.0, Some(first.version));
    bench.verify(&task).await;
}
