//! Tables of tasks: all of them, newest first, and those that are not finished, unknown ones first.

use crate::cmd::{follow::phase_text, why::health_with};
use crate::{
    config::Config,
    fail::{Exit, Fail},
    low::List,
    ui::{
        Ui,
        table::{ShortIds, cut, table},
        time,
    },
    wire,
};
use semel_kernel::{
    id::{BadId, TaskId, Tenant},
    task::Phase,
    time::Millis,
};
use semel_ports::{Page, Store, StoreError, TaskFilter, TaskRow};
use std::collections::BTreeSet;

/// Tasks that `ps` counts, among those that wait for a person and among the others; with more, its counts say so.
const COUNTED: u32 = 5_000;

/// Which tasks are meant, in the words that were typed.
pub(super) fn filter(
    phases: &[String],
    name: Option<String>,
    tenant: Option<&str>,
) -> Result<TaskFilter, Fail> {
    let phases = phases.iter().map(|p| phase(p)).collect::<Result<Vec<_>, _>>()?;
    Ok(TaskFilter { phases, name, tenant: named_tenant(tenant)?, prefix: None })
}

fn named_tenant(text: Option<&str>) -> Result<Option<Tenant>, Fail> {
    let usage =
        |e: BadId| Fail::new(Exit::Usage, "SM1012", e.to_string(), "name a tenant as its tasks have it");
    text.map(Tenant::parse).transpose().map_err(usage)
}

pub(super) async fn run(config: &Config, filter: &TaskFilter, list: &List, ui: Ui) -> Result<Exit, Fail> {
    let store = wire::read(config).await?;
    let rows = store.tasks(filter, Page { skip: 0, limit: list.limit }).await?;
    let now = store.now().at;
    ui.show(&serde_json::json!({"v": 1, "tasks": rows}), || {
        if rows.is_empty() { "no such task".to_owned() } else { rows_text(&rows, now) }
    });
    if !ui.json && full(rows.len(), list) {
        ui.say(&format!("the {} newest; --limit shows more", rows.len()));
    }
    Ok(Exit::Done)
}

fn full(rows: usize, list: &List) -> bool {
    u32::try_from(rows).is_ok_and(|n| n >= list.limit)
}

fn phase(text: &str) -> Result<Phase, Fail> {
    let word = text.to_ascii_uppercase().replace('-', "_");
    Phase::ALL.into_iter().find(|p| p.word() == word).ok_or_else(|| {
        let all: Vec<&str> = Phase::ALL.iter().map(|p| p.word()).collect();
        Fail::new(
            Exit::Usage,
            "SM1012",
            format!("`{text}` is not a phase"),
            format!("use one of: {}", all.join(", ")),
        )
    })
}

/// Tasks that are not finished; those with something unknown come first.
pub(crate) async fn ps(config: &Config, tenant: Option<&str>, list: &List, ui: Ui) -> Result<Exit, Fail> {
    let filter = TaskFilter { tenant: named_tenant(tenant)?, ..TaskFilter::default() };
    let store = wire::read(config).await?;
    let (mut rows, complete) = open(store.as_ref(), &filter).await?;
    rows.sort_by_key(|t| (t.unknown == 0, t.reviews == 0));
    let counts = Counts::of(&rows, complete);
    rows.truncate(usize::try_from(list.limit).unwrap_or(usize::MAX));
    let now = store.now().at;
    let health = health_with(config, counts.moving > 0, ui).await;
    let json = serde_json::json!({
        "v": 1, "tasks": rows, "worked_on": health.worked_on, "degraded": health.degraded,
        "counts": {"open": counts.open, "unknown": counts.unknown, "review": counts.review, "complete": counts.complete},
    });
    ui.show(&json, || if counts.open == 0 { "no task is open".to_owned() } else { rows_text(&rows, now) });
    ui.say(&counts.words(rows.len()));
    Ok(Exit::Done)
}

/// The newest open tasks, and whether they are all. Those that wait for a person are read apart, so that younger ones
/// do not hide them.
async fn open(store: &dyn Store, filter: &TaskFilter) -> Result<(Vec<TaskRow>, bool), StoreError> {
    let open = Phase::ALL.into_iter().filter(|p| !p.is_end());
    let (people, others) = open.partition(|p| *p == Phase::NeedsReview);
    let (mut rows, others) = (newest(store, filter, people).await?, newest(store, filter, others).await?);
    let complete = rows.len().max(others.len()) < COUNTED as usize;
    // A task that was answered between the two readings is in both.
    let seen: BTreeSet<TaskId> = rows.iter().map(|t| t.id.clone()).collect();
    rows.extend(others.into_iter().filter(|t| !seen.contains(&t.id)));
    Ok((rows, complete))
}

/// In one reading: pages that skip what was read would walk over the same rows again.
async fn newest(
    store: &dyn Store,
    filter: &TaskFilter,
    phases: Vec<Phase>,
) -> Result<Vec<TaskRow>, StoreError> {
    let filter = TaskFilter { phases, ..filter.clone() };
    store.tasks(&filter, Page { skip: 0, limit: COUNTED }).await
}

struct Counts {
    open: usize,
    unknown: usize,
    review: usize,
    /// Tasks that could go on without a person.
    moving: usize,
    /// All open tasks were counted.
    complete: bool,
}

impl Counts {
    fn of(rows: &[TaskRow], complete: bool) -> Self {
        let count = |test: fn(&TaskRow) -> bool| rows.iter().filter(|t| test(t)).count();
        Self {
            open: rows.len(),
            unknown: count(|t| t.unknown > 0),
            review: count(|t| t.reviews > 0),
            moving: count(|t| t.phase != Phase::NeedsReview),
            complete,
        }
    }

    fn words(&self, shown: usize) -> String {
        let Self { open, unknown, review, moving: _, complete } = self;
        let more = if *complete { "" } else { " (the newest; there may be more)" };
        format!(
            "{shown} of {open} open tasks shown{more} · {unknown} of {open} with an unknown outcome · {review} of {open} in review"
        )
    }
}

/// Characters of a reference and of a plan's name in a table.
const NAME: usize = 16;

fn rows_text(rows: &[TaskRow], now: Millis) -> String {
    let short = ShortIds::of(rows.iter().map(|t| t.id.as_str()));
    table(
        ["TASK", "REFERENCE", "PLAN", "PHASE", "STEPS", "UNKNOWN", "REVIEWS", "AGE"],
        rows.iter().map(|row| {
            let written_off = usize::try_from(row.written_off).unwrap_or(usize::MAX);
            [
                short.cut(row.id.as_str()).to_owned(),
                cut(row.client_id.as_str(), NAME),
                cut(&row.name, NAME),
                format!("{}{}", phase_text(row.phase, written_off), orders(row)),
                format!("{}/{}", row.settled, row.steps),
                row.unknown.to_string(),
                row.reviews.to_string(),
                time::age(row.created_at, now),
            ]
        }),
    )
}

fn orders(task: &TaskRow) -> &'static str {
    match (task.cancelling, task.paused) {
        (true, _) if !task.phase.is_end() => " (cancelling)",
        (false, true) if !task.phase.is_end() => " (paused)",
        (true | false, true | false) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_read_in_any_case_and_unknown_ones_name_the_choices() {
        assert_eq!(phase("needs-review").ok(), Some(Phase::NeedsReview));
        let fail = phase("done").expect_err("no phase");
        assert!(fail.next.contains("COMPLETED"), "{}", fail.next);
    }
}
