//! Streams the histories of a store through the tally: a page of rows and one history in memory at a time.

use super::tally::Tally;
use semel_kernel::{id::TaskId, time::Millis};
use semel_ports::{OperationFilter, Page, Store, StoreError, TaskFilter, TaskRow};
use std::collections::BTreeSet;

/// Rows read at once.
const PAGE: u32 = 500;

/// Which tasks are counted.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Which tasks at all.
    pub filter: TaskFilter,
    /// Only those accepted at this moment or later. What is in doubt now counts whenever its task was accepted: what is
    /// old is what must not be hidden.
    pub since: Option<Millis>,
}

/// A tally, and the moment to which it speaks.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Store time when the reading began.
    pub at: Millis,
    /// The tally of all tasks that were chosen.
    pub tally: Tally,
}

impl Measured {
    /// Milliseconds for which the oldest operation in doubt is so; `None` when none is.
    #[must_use]
    pub fn oldest_unknown_ms(&self) -> Option<i64> {
        self.tally.oldest_unknown_since.map(|since| self.at.since(since).max(0))
    }
}

/// Counts the chosen tasks, newest first. `told` hears how many were read, after each. Each history is read as it is at
/// its own moment; tasks that are accepted meanwhile are not counted.
///
/// # Errors
/// Those of reading; [`StoreError::Corrupt`] with the task's name when a history does not fold.
pub async fn measure(
    store: &dyn Store,
    chosen: &Chosen,
    told: &mut (dyn FnMut(u64) + Send),
) -> Result<Measured, StoreError> {
    let mut measured = Measured { at: store.now().at, tally: Tally::default() };
    let mut rows = Rows { chosen, skip: 0, last: None };
    let mut read = 0_u64;
    while let Some(page) = rows.next(store).await? {
        for row in page {
            measured.tally.add(&tally(store, &row.id).await?);
            read = read.saturating_add(1);
            told(read);
        }
    }
    if let Some(since) = chosen.since {
        measured.tally.add(&older_doubts(store, &chosen.filter, since).await?);
    }
    Ok(measured)
}

async fn tally(store: &dyn Store, task: &TaskId) -> Result<Tally, StoreError> {
    let history = store.history(task, 0).await?;
    Tally::of_task(&history).map_err(|e| StoreError::Corrupt(format!("{task}: {e}")))
}

/// Pages of rows, newest first.
struct Rows<'a> {
    chosen: &'a Chosen,
    skip: u32,
    last: Option<(Millis, TaskId)>,
}

impl Rows<'_> {
    /// The next rows that were not given before; `None` at the end. Tasks that are accepted while we read push the rows
    /// on, so some come twice; the order tells which.
    async fn next(&mut self, store: &dyn Store) -> Result<Option<Vec<TaskRow>>, StoreError> {
        let page = Page { skip: self.skip, limit: PAGE };
        let mut rows = store.tasks(&self.chosen.filter, page).await?;
        let Some(end) = rows.last().map(|r| (r.created_at, r.id.clone())) else { return Ok(None) };
        self.skip = self.skip.saturating_add(PAGE);
        let (last, since) = (self.last.replace(end), self.chosen.since);
        if since.is_some_and(|since| rows.iter().all(|r| r.created_at < since)) {
            return Ok(None);
        }
        rows.retain(|r| last.as_ref().is_none_or(|(at, id)| (r.created_at, &r.id) < (*at, id)));
        rows.retain(|r| since.is_none_or(|since| r.created_at >= since));
        Ok(Some(rows))
    }
}

/// What is in doubt now in tasks that were accepted before `since`, found by the rows of operations in doubt.
async fn older_doubts(store: &dyn Store, filter: &TaskFilter, since: Millis) -> Result<Tally, StoreError> {
    let mut tasks = BTreeSet::new();
    let unknown = OperationFilter { unknown: true, ..OperationFilter::default() };
    let mut page = Page { skip: 0, limit: PAGE };
    loop {
        let rows = store.operations(&unknown, page).await?;
        if rows.is_empty() {
            break;
        }
        tasks.extend(rows.into_iter().map(|r| r.task));
        page.skip = page.skip.saturating_add(PAGE);
    }
    let mut sum = Tally::default();
    for task in tasks {
        if filter.prefix.as_ref().is_some_and(|prefix| !task.as_str().starts_with(prefix.as_str())) {
            continue;
        }
        // The filter speaks of rows; a prefix that is the whole id finds that one.
        let one = TaskFilter { prefix: Some(task.to_string()), ..filter.clone() };
        let rows = store.tasks(&one, Page { skip: 0, limit: PAGE }).await?;
        if rows.iter().any(|r| r.id == task && r.created_at < since) {
            sum.add(&tally(store, &task).await?.present());
        }
    }
    Ok(sum)
}
