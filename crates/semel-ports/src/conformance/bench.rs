//! A fresh store on the bench, with the few moves that every check makes.

use super::{
    Factory,
    story::{self, Fate, Order, Word},
};
use crate::{
    error::CommitError,
    projection::{self, Projection},
    receipt::Receipt,
    store::{Claim, Created, Creation, OperationFilter, Page, ReviewFilter, Store, TaskFilter},
    turn::{Authority, Due, Turn},
};
use semel_kernel::{
    decide::Draft,
    event::Recorded,
    fold,
    id::{SessionId, TaskId, TurnId},
    task::Task,
    time::{Generation, Millis},
};
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

/// Milliseconds of every lease here.
pub(super) const LEASE_MS: i64 = 15_000;

/// The whole of a list.
pub(super) const ALL: Page = Page { skip: 0, limit: 10_000 };

pub(super) struct Bench<S> {
    pub(super) store: Arc<S>,
    pub(super) advance: Box<dyn Fn(i64) + Send + Sync>,
    serial: AtomicU32,
}

/// A claimed task: who holds it, and under which token.
pub(super) type Owner = (SessionId, Generation);

impl<S: Store + 'static> Bench<S> {
    pub(super) fn of<F: Factory<S = S>>(factory: &F) -> Self {
        let fresh = factory.fresh();
        Self { store: Arc::new(fresh.store), advance: fresh.advance, serial: AtomicU32::new(1) }
    }

    pub(super) fn at(&self) -> Millis {
        self.store.now().at
    }

    pub(super) fn turn_id(&self) -> TurnId {
        TurnId::parse(&format!("turn-{}", self.serial.fetch_add(1, Ordering::Relaxed))).unwrap()
    }

    /// A live session of that name.
    pub(super) async fn session(&self, name: &str) -> SessionId {
        let session = SessionId::parse(name).unwrap();
        self.store.start_session(&session, LEASE_MS).await.unwrap();
        session
    }

    /// The n-th task's creation, unowned.
    pub(super) fn creation(&self, order: &Order, due: Due) -> Creation {
        let draft = order.submit(self.store.info().epoch, self.store.now());
        let (turn, _) = Turn::close(draft, self.turn_id(), Authority::Anyone, self.at(), due);
        Creation { turn, digest: order.digest() }
    }

    /// The n-th task, created now, unowned and due now.
    pub(super) async fn task(&self, n: u32) -> TaskId {
        self.create(&Order::nth(n)).await
    }

    pub(super) async fn create(&self, order: &Order) -> TaskId {
        let creation = self.creation(order, Due::Park(Some(self.at())));
        match self.store.create(creation).await.unwrap() {
            Created::New(receipt) => receipt.task().clone(),
            Created::Exists { task, .. } => panic!("{task} is there already"),
        }
    }

    /// Takes a task for a session, due or not.
    pub(super) async fn own(&self, session: &SessionId, task: &TaskId) -> Owner {
        let claim = self.store.claim_task(session, task).await.unwrap();
        (session.clone(), claim.expect("the task is free").generation)
    }

    pub(super) async fn claim(&self, session: &SessionId) -> Vec<Claim> {
        self.store.claim(session, 1_000).await.unwrap()
    }

    /// Ids of all that can be claimed now, claimed.
    pub(super) async fn claimed(&self, session: &SessionId) -> Vec<TaskId> {
        self.claim(session).await.into_iter().map(|claim| claim.task).collect()
    }

    pub(super) async fn load(&self, task: &TaskId) -> Task {
        self.store.load(task).await.unwrap().into_task().unwrap()
    }

    pub(super) async fn history(&self, task: &TaskId) -> Vec<Recorded> {
        self.store.history(task, 0).await.unwrap()
    }

    /// The owner's next turn, not yet committed.
    pub(super) async fn work(&self, task: &TaskId, owner: &Owner, fate: Fate, due: Due) -> Turn {
        let now = self.store.now();
        let draft = story::work(self.load(task).await, (&owner.0, owner.1), now, fate);
        self.close(draft.expect("the owner has something to write"), Authority::Owner(owner.1), due)
    }

    /// Somebody else's turn, not yet committed.
    pub(super) async fn say(&self, task: &TaskId, word: Word) -> Turn {
        let draft = story::say(self.load(task).await, word, self.store.now());
        self.close(draft.expect("the word changes something"), Authority::Anyone, Due::Wake)
    }

    pub(super) fn close(&self, draft: Draft, authority: Authority, due: Due) -> Turn {
        Turn::close(draft, self.turn_id(), authority, self.at(), due).0
    }

    /// Commits the owner's next turn.
    pub(super) async fn step(&self, task: &TaskId, owner: &Owner, fate: Fate, due: Due) -> Receipt {
        self.store.commit(self.work(task, owner, fate, due).await).await.unwrap()
    }

    /// Commits somebody else's turn.
    pub(super) async fn tell(&self, task: &TaskId, word: Word) -> Receipt {
        self.store.commit(self.say(task, word).await).await.unwrap()
    }

    /// Runs a task to its end under a new session; every attempt has that fate.
    pub(super) async fn finish(&self, task: &TaskId, fate: Fate) -> Owner {
        let owner = self.own(&self.session(&format!("for-{task}")).await, task).await;
        while self.load(task).await.end.is_none() {
            self.step(task, &owner, fate, Due::Held).await;
        }
        owner
    }

    /// Brings a task to a review: its first attempt is lost, and the target is blind.
    pub(super) async fn lose(&self, task: &TaskId) -> Owner {
        let owner = self.own(&self.session(&format!("for-{task}")).await, task).await;
        while self.load(task).await.open_reviews().next().is_none() {
            self.step(task, &owner, Fate::Lost, Due::Held).await;
        }
        owner
    }

    /// Everything that is shown of a task.
    pub(super) async fn rows(&self, task: &TaskId) -> Projection {
        rows(&*self.store, task).await.expect("the task has a row")
    }

    /// The stored rows are those of the folded history, and the loaded task is that fold.
    pub(super) async fn verify(&self, task: &TaskId) {
        let folded = folded(&self.history(task).await);
        assert_eq!(self.load(task).await, folded, "the loaded task is not the fold of its history");
        assert_eq!(self.rows(task).await, expected(&folded), "a row is not that of the folded history");
    }

    /// Everything of a task that a refused verb must leave alone.
    pub(super) async fn picture(&self, task: &TaskId) -> impl PartialEq + std::fmt::Debug + use<S> {
        let loaded = self.store.load(task).await.unwrap();
        let checkpoint = loaded.checkpoint.as_ref().map(|task| task.version);
        let due = self.store.next_due().await.unwrap();
        let owner = (loaded.generation, loaded.session);
        (self.history(task).await, self.rows(task).await, checkpoint, owner, due)
    }
}

pub(super) fn folded(history: &[Recorded]) -> Task {
    fold::fold_all(history.iter().map(|r| (&r.event, r.at))).expect("the history folds")
}

/// All rows of a task, in the order of their ids.
pub(super) fn expected(task: &Task) -> Projection {
    sorted(projection::of(task, 0))
}

pub(super) async fn rows(store: &dyn Store, task: &TaskId) -> Option<Projection> {
    let tasks = TaskFilter { prefix: Some(task.to_string()), ..TaskFilter::default() };
    let operations = OperationFilter { task: Some(task.clone()), ..OperationFilter::default() };
    let reviews = ReviewFilter { task: Some(task.clone()), decided: true, prefix: None };
    let projection = Projection {
        task: store.tasks(&tasks, ALL).await.unwrap().into_iter().find(|row| row.id == *task)?,
        operations: store.operations(&operations, ALL).await.unwrap(),
        reviews: store.reviews(&reviews, ALL).await.unwrap(),
    };
    Some(sorted(projection))
}

fn sorted(mut rows: Projection) -> Projection {
    rows.operations.sort_by(|a, b| a.id.cmp(&b.id));
    rows.reviews.sort_by(|a, b| a.id.cmp(&b.id));
    rows
}

/// The version that the store reports instead of the one a turn was made for.
pub(super) fn conflict(answer: Result<Receipt, CommitError>) -> u64 {
    match answer {
        Err(CommitError::Conflict { actual }) => actual,
        other => panic!("a conflict was due, not {other:?}"),
    }
}

/// The generation that fenced the turn's writer.
pub(super) fn fenced(answer: Result<Receipt, CommitError>) -> Generation {
    match answer {
        Err(CommitError::Fenced { current }) => current,
        other => panic!("a fence was due, not {other:?}"),
    }
}
