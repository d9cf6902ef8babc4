//! Any sequence of events that decodes has one stored form, and folds into a task or is refused as corrupt; a task that
//! folds can be asked what it owes.

use semel_kernel::{
    event::Event,
    fold::fold_all,
    oblige, recover,
    task::Task,
    time::{Millis, Now},
};

/// One event a line; lines that are none are passed over, so that the rest is still tried.
pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let events: Vec<Event> = text.lines().filter_map(event).collect();
    let moments = (0..).map(|n: i64| Millis(1_700_000_000_000 + n * 1_000));
    if let Ok(task) = fold_all(events.iter().zip(moments)) {
        asked(&task);
    }
}

fn event(line: &str) -> Option<Event> {
    let event: Event = serde_json::from_str(line).ok()?;
    let stored = serde_json::to_string(&event).expect("an event can be stored");
    let again: Event = serde_json::from_str(&stored).unwrap_or_else(|e| panic!("{e}: {stored}"));
    assert_eq!(again, event, "{stored}");
    assert_eq!(serde_json::to_string(&again).expect("an event can be stored"), stored);
    Some(event)
}

/// None of the questions that a worker asks of a task may end it.
fn asked(task: &Task) {
    let now = Now::steady(Millis(1_700_000_100_000));
    drop(oblige::obligations(task, now));
    let _ = (oblige::phase(task), oblige::wakes_at(task, now), oblige::progress_until(task, now));
    for op in task.operations.values() {
        drop(recover::act(task, op, now));
    }
    let checkpoint = serde_json::to_string(task).expect("a checkpoint can be stored");
    let again: Task = serde_json::from_str(&checkpoint).unwrap_or_else(|e| panic!("{e}: {checkpoint}"));
    assert!(again == *task, "a checkpoint is the task: {checkpoint}");
}
