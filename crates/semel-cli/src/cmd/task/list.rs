//! Tables of tasks: all of them, newest first, and those that are not finished, unknown ones first.

use crate::{
    config::Config,
    fail::{Exit, Fail},
    low::List,
    ui::{self, Ui, table::table, time},
    wire,
};
use semel_kernel::{task::Phase, time::Millis};
use semel_ports::{Page, Store, StoreError, TaskFilter, TaskRow};

/// Tasks that `ps` counts; with more, its counts say so.
const COUNTED: u32 = 20_000;

pub(super) async fn run(
    config: &Config,
    phases: &[String],
    name: Option<String>,
    list: &List,
    ui: Ui,
) -> Result<Exit, Fail> {
    let phases = phases.iter().map(|p| phase(p)).collect::<Result<Vec<_>, _>>()?;
    let store = wire::read(config).await?;
    let filter = TaskFilter { phases, name, prefix: None };
    let rows = store.tasks(&filter, Page { skip: 0, limit: list.limit }).await?;
    let now = store.now().at;
    ui.show(&serde_json::json!({"v": 1, "tasks": rows}), || rows_text(&rows, now));
    if !ui.json && full(&rows, list) {
        ui.say(&format!("the {} newest; --limit shows more", rows.len()));
    }
    Ok(Exit::Done)
}

fn full(rows: &[TaskRow], list: &List) -> bool {
    u32::try_from(rows.len()).is_ok_and(|n| n >= list.limit)
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
pub(crate) async fn ps(config: &Config, list: &List, ui: Ui) -> Result<Exit, Fail> {
    let store = wire::read(config).await?;
    let mut rows = open(store.as_ref()).await?;
    rows.sort_by_key(|t| (t.unknown == 0, t.reviews == 0));
    let counts = Counts::of(&rows);
    rows.truncate(usize::try_from(list.limit).unwrap_or(usize::MAX));
    let now = store.now().at;
    let json = serde_json::json!({
        "v": 1, "tasks": rows,
        "counts": {"open": counts.open, "unknown": counts.unknown, "review": counts.review, "complete": counts.complete},
    });
    ui.show(&json, || if counts.open == 0 { "no task is open".to_owned() } else { rows_text(&rows, now) });
    ui.say(&counts.words(rows.len()));
    Ok(Exit::Done)
}

/// The newest open tasks, in one reading: pages that skip what was read would walk over the same rows again.
async fn open(store: &dyn Store) -> Result<Vec<TaskRow>, StoreError> {
    let phases = Phase::ALL.into_iter().filter(|p| !p.is_end()).collect();
    let filter = TaskFilter { phases, ..TaskFilter::default() };
    store.tasks(&filter, Page { skip: 0, limit: COUNTED }).await
}

struct Counts {
    open: usize,
    unknown: usize,
    review: usize,
    /// All open tasks were counted.
    complete: bool,
}

impl Counts {
    fn of(rows: &[TaskRow]) -> Self {
        let count = |test: fn(&TaskRow) -> bool| rows.iter().filter(|t| test(t)).count();
        Self {
            open: rows.len(),
            unknown: count(|t| t.unknown > 0),
            review: count(|t| t.reviews > 0),
            complete: rows.len() < COUNTED as usize,
        }
    }

    fn words(&self, shown: usize) -> String {
        let Self { open, unknown, review, complete } = self;
        let more = if *complete { "" } else { " (the newest; there may be more)" };
        format!(
            "{shown} of {open} open tasks shown{more} · {unknown} of {open} with an unknown outcome · {review} of {open} in review"
        )
    }
}

fn rows_text(rows: &[TaskRow], now: Millis) -> String {
    table(
        ["TASK", "NAME", "PHASE", "STEPS", "UNKNOWN", "REVIEWS", "AGE"],
        rows.iter().map(|t| {
            [
                t.id.to_string(),
                t.name.clone(),
                phase_text(t),
                format!("{}/{}", t.settled, t.steps),
                t.unknown.to_string(),
                t.reviews.to_string(),
                time::ago(t.created_at, now),
            ]
        }),
    )
}

fn phase_text(task: &TaskRow) -> String {
    let word = ui::state(task.phase.word());
    let note = match (task.cancelling, task.paused) {
        (true, _) if !task.phase.is_end() => " (cancelling)",
        (false, true) if !task.phase.is_end() => " (paused)",
        (true | false, true | false) => "",
    };
    format!("{word}{note}")
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
