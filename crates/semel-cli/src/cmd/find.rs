//! Ids as people type them: by unique prefix, and operations also by target, key, `TASK/STEP` or bare step name.
//!
//! Invariant: an exact match wins; anything else must name one thing, or it is refused with what it could have been.

use super::why::load;
use crate::{
    config::Config,
    fail::{Exit, Fail},
};
use semel_kernel::id::{ClientId, OperationId, ReviewId, StepName, TaskId, Tenant};
use semel_ports::{
    OperationFilter, OperationRow, Page, ReviewFilter, ReviewRow, Store, StoreError, TaskFilter, TaskRow,
};

/// Candidates that an ambiguous id is answered with.
const SHOWN: usize = 5;
/// Operations among which a bare step name is looked for; beyond that it is refused rather than guessed.
const SEARCHED: u32 = 10_000;

/// Newest tasks among which a bare name of a step without an operation is looked for; each of them is loaded.
const LOADED: u32 = 500;

/// What an id stands for.
#[derive(Debug)]
pub(crate) enum Found {
    /// A task.
    Task(TaskId),
    /// An operation of a task.
    Operation(TaskId, OperationId),
    /// A review of a task.
    Review(TaskId, ReviewId),
    /// A step that has no operation of its own: it is not planned, waits for a time, or acts through another task.
    Step(TaskId, StepName),
}

/// The one thing that a text stands for.
pub(crate) async fn any(config: &Config, store: &dyn Store, text: &str) -> Result<Found, Fail> {
    let tasks = if text.contains('/') { Vec::new() } else { tasks(config, store, text).await? };
    let reviews = if text.contains('/') { Vec::new() } else { reviews(store, text).await? };
    let found = tasks.into_iter().map(|t| (t.id.to_string(), Found::Task(t.id)));
    let found = found.chain(reviews.into_iter().map(|r| (r.id.to_string(), Found::Review(r.task, r.id))));
    let found: Vec<(String, Found)> = found.collect();
    if !found.is_empty() {
        return one(text, "task or review", found);
    }
    match operation(store, text).await {
        Err(fail) if fail.code == "SM1001" => {
            let found = steps(config, store, text).await?.into_iter();
            let found = found.map(|(task, step)| (format!("{task}/{step}"), Found::Step(task, step)));
            one(text, "task, step, operation or review", found.collect())
        }
        found => found.map(|(task, op)| Found::Operation(task, op)),
    }
}

/// Steps of that name, in the tasks that `TASK/STEP` names or, for a bare name, in the newest tasks.
async fn steps(config: &Config, store: &dyn Store, text: &str) -> Result<Vec<(TaskId, StepName)>, Fail> {
    let (task, step) = text.split_once('/').unwrap_or(("", text));
    let Ok(step) = StepName::parse(step) else { return Ok(Vec::new()) };
    let rows = match task {
        "" => store.tasks(&TaskFilter::default(), Page { skip: 0, limit: LOADED }).await?,
        task => tasks(config, store, task).await?,
    };
    let mut found = Vec::new();
    for row in rows {
        if load(store, &row.id).await?.steps.contains_key(&step) {
            found.push((row.id, step.clone()));
        }
    }
    Ok(found)
}

/// The task of that id, prefix or client id.
pub(crate) async fn task(config: &Config, store: &dyn Store, text: &str) -> Result<TaskId, Fail> {
    let found = tasks(config, store, text).await?;
    one(text, "task", found.into_iter().map(|t| (t.id.to_string(), t.id)).collect())
}

/// The review of that id or prefix.
pub(crate) async fn review(store: &dyn Store, text: &str) -> Result<(TaskId, ReviewId), Fail> {
    let found = reviews(store, text).await?;
    one(text, "review", found.into_iter().map(|r| (r.id.to_string(), (r.task, r.id))).collect())
}

/// The operation of that id, key, target, `TASK/STEP` or step name, or of the beginning of one.
pub(crate) async fn operation(store: &dyn Store, text: &str) -> Result<(TaskId, OperationId), Fail> {
    let mut found = operations(store, text, few()).await?;
    if found.is_empty() {
        found = by_step(store, text).await?;
    }
    one(text, "operation", found.into_iter().map(|o| (o.id.to_string(), (o.task, o.id))).collect())
}

const fn few() -> Page {
    Page { skip: 0, limit: 50 }
}

/// Operations whose id, key or target begins with the text.
pub(crate) async fn operations(
    store: &dyn Store,
    text: &str,
    page: Page,
) -> Result<Vec<OperationRow>, StoreError> {
    let filter = OperationFilter { find: Some(text.to_owned()), ..OperationFilter::default() };
    store.operations(&filter, page).await
}

async fn tasks(config: &Config, store: &dyn Store, text: &str) -> Result<Vec<TaskRow>, Fail> {
    let by_prefix = |prefix: String| TaskFilter { prefix: Some(prefix), ..TaskFilter::default() };
    let found = store.tasks(&by_prefix(text.to_owned()), few()).await?;
    let client = Tenant::parse(&config.tenant).ok().zip(ClientId::parse(text).ok());
    let (true, Some((tenant, client))) = (found.is_empty(), client) else { return Ok(found) };
    match store.find_client(&tenant, &client).await? {
        Some((task, _)) => Ok(store.tasks(&by_prefix(task.to_string()), few()).await?),
        None => Ok(found),
    }
}

async fn reviews(store: &dyn Store, text: &str) -> Result<Vec<ReviewRow>, StoreError> {
    let filter = ReviewFilter { decided: true, prefix: Some(text.to_owned()), ..ReviewFilter::default() };
    store.reviews(&filter, few()).await
}

/// Operations of a step: `STEP`, or `TASK/STEP` or `TASK/STEP/TARGET@VERSION` where the task may be a prefix.
async fn by_step(store: &dyn Store, text: &str) -> Result<Vec<OperationRow>, Fail> {
    let (task, step) = text.split_once('/').map_or(("", text), |(task, step)| (task, step));
    // Tables cut the task inside an operation's id.
    let rest = |o: &OperationRow| o.id.as_str().split_once('/').is_some_and(|(_, rest)| rest == step);
    let named = |o: &OperationRow| (o.step.as_str() == step || rest(o)) && o.task.as_str().starts_with(task);
    // In one reading: pages that skip what was read would walk over the same rows again.
    let most = Page { skip: 0, limit: SEARCHED + 1 };
    let rows = store.operations(&OperationFilter::default(), most).await?;
    if rows.len() <= SEARCHED as usize {
        return Ok(rows.into_iter().filter(named).collect());
    }
    let message = format!("there are too many operations to know which one the step `{text}` means");
    Err(Fail::new(Exit::Usage, "SM1014", message, "give the operation's id: `semel op list` shows them"))
}

/// The one candidate; an exact match wins over what only begins with the text.
fn one<T>(text: &str, kind: &str, mut found: Vec<(String, T)>) -> Result<T, Fail> {
    if let Some(exact) = found.iter().position(|(id, _)| id == text) {
        return Ok(found.swap_remove(exact).1);
    }
    match found.len() {
        0 => Err(none(text, kind)),
        1 => Ok(found.swap_remove(0).1),
        n => Err(ambiguous(text, n, found.iter().map(|(id, _)| id.as_str()))),
    }
}

fn none(text: &str, kind: &str) -> Fail {
    let noun = match kind {
        "operation" => "op",
        "review" => "review",
        _ => "task",
    };
    let message = format!("there is no {kind} `{text}`");
    Fail::new(Exit::Usage, "SM1001", message, format!("see `semel {noun} list`"))
}

fn ambiguous<'a>(text: &str, n: usize, ids: impl Iterator<Item = &'a str>) -> Fail {
    let shown: Vec<String> = ids.take(SHOWN).map(|id| format!("\n    {id}")).collect();
    let more = if n > SHOWN { "\n    …" } else { "" };
    let message = format!("`{text}` could be {n} things:{}{more}", shown.concat());
    Fail::new(Exit::Usage, "SM1014", message, "type more of the id")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(texts: &[&str]) -> Vec<(String, usize)> {
        texts.iter().enumerate().map(|(i, t)| ((*t).to_owned(), i)).collect()
    }

    #[test]
    fn an_exact_id_wins_over_those_that_begin_with_it() {
        assert_eq!(one("tsk_1", "task", ids(&["tsk_12", "tsk_1"])).ok(), Some(1));
    }

    #[test]
    fn more_than_one_candidate_is_refused_and_five_are_named() {
        let refused = one("tsk", "task", ids(&["tsk1", "tsk2", "tsk3", "tsk4", "tsk5", "tsk6"]));
        let fail = refused.expect_err("ambiguous");
        assert_eq!((fail.code.as_str(), fail.exit), ("SM1014", Exit::Usage));
        assert!(fail.message.contains("could be 6 things") && fail.message.contains("tsk5"));
        assert!(!fail.message.contains("tsk6"));
    }

    #[test]
    fn nothing_is_told_with_the_list_to_look_at() {
        let fail = one::<()>("rev_9", "review", Vec::new()).expect_err("nothing");
        assert_eq!((fail.code.as_str(), fail.next.as_str()), ("SM1001", "see `semel review list`"));
    }
}
