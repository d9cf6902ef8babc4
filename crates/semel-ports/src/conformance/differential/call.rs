//! A call of one verb, and an answer that two stores can be compared by.

use crate::{
    error::{CommitError, StoreError},
    store::{Created, Creation, OperationFilter, Page, ReviewFilter, Store, TaskFilter},
    turn::{Authority, Turn},
};
use semel_kernel::{
    hash::Hash,
    id::{ClientId, SessionId, TaskId, Tenant, TurnId},
    limit::PROGRESS_MS,
    time::{Generation, Millis},
};
use std::fmt::Debug;

/// Milliseconds of a session's lease: every third one outlasts the deadline for progress.
fn lease_ms(session: &SessionId) -> i64 {
    let last = session.as_str().bytes().last().unwrap_or_default();
    if last.is_multiple_of(3) { 4 * PROGRESS_MS } else { 15_000 }
}

/// A verb with its arguments.
#[derive(Clone, Debug)]
pub(super) enum Call {
    StartSession(SessionId),
    RenewSession(SessionId),
    EndSession(SessionId),
    Create(Box<Creation>),
    Commit(Box<Turn>),
    FindTurn(TaskId, TurnId),
    Claim(SessionId, u32),
    ClaimTask(SessionId, TaskId),
    Release(TaskId, Generation, u64, Option<Millis>),
    NextDue,
    Load(TaskId),
    History(TaskId, u64),
    FindClient(Tenant, ClientId),
    PutArtifact(Vec<u8>),
    Artifact(Hash),
    Tasks(TaskFilter, Page),
    Operations(OperationFilter, Page),
    CountOperations(OperationFilter, u32),
    Reviews(ReviewFilter, Page),
}

/// What a store answered: the kind of answer, and all of it. The texts of errors are free, so they are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) kind: &'static str,
    pub(super) whole: String,
}

impl Answer {
    fn of<T: Debug>(yes: bool, whole: T) -> Self {
        Self { kind: if yes { "yes" } else { "no" }, whole: format!("{whole:?}") }
    }

    fn refused(error: &StoreError) -> Self {
        Self { kind: error.code(), whole: String::new() }
    }
}

fn told<T: Debug>(answer: Result<T, StoreError>, yes: impl Fn(&T) -> bool) -> Answer {
    answer.map_or_else(|e| Answer::refused(&e), |whole| Answer::of(yes(&whole), whole))
}

fn done(answer: Result<(), StoreError>) -> Answer {
    told(answer, |()| true)
}

fn rows<T: Debug>(answer: Result<Vec<T>, StoreError>) -> Answer {
    told(answer, |rows| !rows.is_empty())
}

fn maybe<T: Debug>(answer: Result<Option<T>, StoreError>) -> Answer {
    told(answer, Option::is_some)
}

fn not_written(error: &CommitError) -> Answer {
    match error {
        CommitError::Conflict { actual } => Answer { kind: "conflict", whole: format!("{actual}") },
        CommitError::Fenced { current } => Answer { kind: "fenced", whole: format!("{current}") },
        CommitError::Store(e) => Answer::refused(e),
    }
}

fn created(answer: &Result<Created, CommitError>) -> Answer {
    match answer {
        Ok(Created::New(receipt)) => Answer::of(true, receipt),
        Ok(Created::Exists { task, digest }) => Answer::of(false, (task, digest)),
        Err(error) => not_written(error),
    }
}

impl Call {
    /// The verb's name, as coverage counts it; what is not the owner's turn counts apart.
    pub(super) fn verb(&self) -> &'static str {
        match self {
            Self::StartSession(_) => "start_session",
            Self::RenewSession(_) => "renew_session",
            Self::EndSession(_) => "end_session",
            Self::Create(_) => "create",
            Self::Commit(turn) if turn.authority == Authority::Anyone => "evidence",
            Self::Commit(_) => "commit",
            Self::FindTurn(..) => "find_turn",
            Self::Claim(..) => "claim",
            Self::ClaimTask(..) => "claim_task",
            Self::Release(..) => "release",
            Self::NextDue => "next_due",
            Self::Load(_) => "load",
            Self::History(..) => "history",
            Self::FindClient(..) => "find_client",
            Self::PutArtifact(_) => "put_artifact",
            Self::Artifact(_) => "artifact",
            Self::Tasks(..) => "tasks",
            Self::Operations(..) => "operations",
            Self::CountOperations(..) => "count_operations",
            Self::Reviews(..) => "reviews",
        }
    }

    /// The task that it is about, if it is about one.
    pub(super) fn task(&self) -> Option<TaskId> {
        match self {
            Self::Create(creation) => Some(creation.turn.task.clone()),
            Self::Commit(turn) => Some(turn.task.clone()),
            Self::FindTurn(task, _)
            | Self::ClaimTask(_, task)
            | Self::Release(task, ..)
            | Self::Load(task)
            | Self::History(task, _) => Some(task.clone()),
            Self::StartSession(_)
            | Self::RenewSession(_)
            | Self::EndSession(_)
            | Self::Claim(..)
            | Self::NextDue
            | Self::FindClient(..)
            | Self::PutArtifact(_)
            | Self::Artifact(_)
            | Self::Tasks(..)
            | Self::Operations(..)
            | Self::CountOperations(..)
            | Self::Reviews(..) => None,
        }
    }

    /// Makes the call.
    pub(super) async fn on(&self, store: &dyn Store) -> Answer {
        match self.clone() {
            Self::StartSession(s) => done(store.start_session(&s, lease_ms(&s)).await),
            Self::RenewSession(s) => told(store.renew_session(&s, lease_ms(&s)).await, |lives| *lives),
            Self::EndSession(s) => done(store.end_session(&s).await),
            Self::Create(creation) => created(&store.create(*creation).await),
            Self::Commit(turn) => {
                store.commit(*turn).await.map_or_else(|e| not_written(&e), |r| Answer::of(true, r))
            }
            Self::FindTurn(task, turn) => told(store.find_turn(&task, &turn).await, |found| *found),
            Self::Claim(s, limit) => rows(store.claim(&s, limit).await),
            Self::ClaimTask(s, task) => maybe(store.claim_task(&s, &task).await),
            Self::Release(task, generation, version, due) => {
                told(store.release(&task, generation, version, due).await, |done| *done)
            }
            Self::NextDue => maybe(store.next_due().await),
            Self::Load(task) => {
                let loaded = store.load(&task).await;
                told(loaded.map(|l| (l.checkpoint, l.tail, l.generation)), |_| true)
            }
            Self::History(task, after) => rows(store.history(&task, after).await),
            Self::FindClient(tenant, client) => maybe(store.find_client(&tenant, &client).await),
            Self::PutArtifact(bytes) => told(store.put_artifact(bytes).await, |_| true),
            Self::Artifact(hash) => told(store.artifact(hash).await, |_| true),
            Self::Tasks(filter, page) => rows(store.tasks(&filter, page).await),
            Self::Operations(filter, page) => rows(store.operations(&filter, page).await),
            Self::CountOperations(filter, most) => {
                told(store.count_operations(&filter, most).await, |n| *n > 0)
            }
            Self::Reviews(filter, page) => rows(store.reviews(&filter, page).await),
        }
    }
}
