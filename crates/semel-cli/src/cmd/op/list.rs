//! Tables of operations: what is promised, how far each got, and how long its key is good for.

use crate::cmd::{
    find,
    task::{key_left, left},
    why::load,
};
use crate::{
    config::Config,
    fail::{Exit, Fail},
    low::List,
    ui::{
        self, Ui,
        table::{ShortIds, table},
        time,
    },
    wire,
};
use semel_engine::view::Rail;
use semel_kernel::{
    id::TaskId,
    operation::Status,
    task::Task,
    time::{Millis, Now},
};
use semel_ports::{OperationFilter, OperationRow, Page, Store};
use serde::Serialize;
use std::collections::BTreeMap;

/// A row with what only the task itself can tell.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    row: OperationRow,
    rail: String,
    key_left_ms: Option<i64>,
}

/// Which operations a list is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// All of them.
    Every,
    /// Those in doubt.
    Unknown,
    /// Those in doubt, and those that are unknown for ever.
    WrittenOffToo,
}

impl Which {
    pub(super) const fn of(unknown: bool, all: bool) -> Self {
        match (unknown, all) {
            (false, _) => Self::Every,
            (true, false) => Self::Unknown,
            (true, true) => Self::WrittenOffToo,
        }
    }
}

/// Written-off operations that are counted; where there are more, the count says so.
const COUNTED: u32 = 10_000;

pub(super) async fn run(
    config: &Config,
    which: Which,
    task: Option<&str>,
    list: &List,
    ui: Ui,
) -> Result<Exit, Fail> {
    let store = wire::read(config).await?;
    let store = store.as_ref();
    let task = match task {
        Some(id) => Some(find::task(config, store, id).await?),
        None => None,
    };
    let filter = OperationFilter { unknown: which != Which::Every, task, ..OperationFilter::default() };
    let mut found = store.operations(&filter, Page { skip: 0, limit: list.limit }).await?;
    let in_doubt = !found.is_empty();
    let written_off = OperationFilter { unknown: false, written_off: true, ..filter };
    let hidden = match which {
        Which::Every => 0,
        Which::Unknown => store.count_operations(&written_off, COUNTED).await?,
        Which::WrittenOffToo => {
            let left = list.limit.saturating_sub(u32::try_from(found.len()).unwrap_or(u32::MAX));
            found.extend(store.operations(&written_off, Page { skip: 0, limit: left }).await?);
            0
        }
    };
    print(&rows(store, found).await?, hidden, store.now(), list, ui);
    Ok(if which != Which::Every && in_doubt { Exit::Unknown } else { Exit::Done })
}

/// By id, key, target or step name.
pub(super) async fn find(config: &Config, text: &str, list: &List, ui: Ui) -> Result<Exit, Fail> {
    let store = wire::read(config).await?;
    let store = store.as_ref();
    let mut found = find::operations(store, text, Page { skip: 0, limit: list.limit }).await?;
    if found.is_empty() {
        let (_, op) = find::operation(store, text).await?;
        found = find::operations(store, op.as_str(), Page { skip: 0, limit: 1 }).await?;
    }
    print(&rows(store, found).await?, 0, store.now(), list, ui);
    Ok(Exit::Done)
}

async fn rows(store: &dyn Store, found: Vec<OperationRow>) -> Result<Vec<Row>, Fail> {
    let now = store.now();
    let mut tasks: BTreeMap<TaskId, Task> = BTreeMap::new();
    let mut rows = Vec::new();
    for row in found {
        if !tasks.contains_key(&row.task) {
            tasks.insert(row.task.clone(), load(store, &row.task).await?);
        }
        let task = tasks.get(&row.task);
        let op = task.and_then(|t| t.operations.get(&row.id).map(|op| (t, op)));
        let rail = op.map_or_else(String::new, |(t, op)| Rail::of(t, op).strip());
        let key_left_ms = op.and_then(|(t, op)| key_left(t, op, now));
        rows.push(Row { row, rail, key_left_ms });
    }
    Ok(rows)
}

fn print(rows: &[Row], written_off: u32, now: Now, list: &List, ui: Ui) {
    ui.show(&serde_json::json!({"v": 1, "operations": rows}), || {
        if rows.is_empty() { "no such operation".to_owned() } else { text(rows, now.at) }
    });
    if ui.json {
        return;
    }
    let open: Vec<&Row> =
        rows.iter().filter(|r| r.row.status == Status::Unknown && !r.row.written_off).collect();
    let oldest = open.iter().map(|r| r.row.changed_at).min();
    let oldest = oldest.map_or_else(String::new, |at| format!(" · oldest {}", time::ago(at, now.at)));
    let full = u32::try_from(rows.len()).is_ok_and(|n| n >= list.limit);
    let more = if full { " (the last changed; --limit shows more)" } else { "" };
    let apart = if written_off == 0 {
        String::new()
    } else {
        let more = if written_off == COUNTED { " or more" } else { "" };
        format!(" · {written_off}{more} written off (--all shows them)")
    };
    ui.say(&format!("{} of {} unknown{oldest}{apart}{more}", open.len(), rows.len()));
}

fn text(rows: &[Row], now: Millis) -> String {
    let short = ShortIds::of(rows.iter().map(|r| r.row.task.as_str()));
    table(
        ["OPERATION", "STATUS", "GUARANTEE", "ATTEMPTS", "①–⑦", "KEY LEFT", "SINCE"],
        rows.iter().map(|r| {
            let written_off = if r.row.written_off { " (written off)" } else { "" };
            [
                short.operation(r.row.id.as_str()),
                format!("{}{written_off}", ui::state(r.row.status.word())),
                r.row.guarantee.word().to_owned(),
                r.row.attempts.to_string(),
                r.rail.clone(),
                left(r.key_left_ms),
                time::age(r.row.changed_at, now),
            ]
        }),
    )
}
