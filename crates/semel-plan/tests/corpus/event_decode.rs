//! Any sequence of events that decodes has one stored form, and folds into a task or is refused as corrupt; a task that
//! folds can be asked what it owes.

use semel_kernel::{
    event::Event,
    fold::fold_all,
    oblige, recover,
    task::Task,
    time::{Millis, Now},
};
use serde_json::Value;

/// Lines of one input; more would only be slower.
const MOST: usize = 64;

/// One event a line, or `@N POINTER VALUE`: the N-th line again, changed in one place, so that a small change of the
/// input is a small change of the history. Lines that are no events are passed over, and the rest is still tried. True when the history folds into a task.
pub(crate) fn check(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let mut read: Vec<Value> = Vec::new();
    let events: Vec<Event> = text.lines().take(MOST).filter_map(|line| event(line, &mut read)).collect();
    let moments = (0..).map(|n: i64| Millis(1_700_000_000_000 + n * 1_000));
    let Ok(task) = fold_all(events.iter().zip(moments)) else { return false };
    asked(&task);
    true
}

fn event(line: &str, read: &mut Vec<Value>) -> Option<Event> {
    let json = match line.strip_prefix('@') {
        Some(order) => again(order, read)?,
        None => serde_json::from_str(line).ok()?,
    };
    read.push(json.clone());
    // A history holds the text, so the text is what is decoded.
    let event: Event = serde_json::from_str(&json.to_string()).ok()?;
    let stored = serde_json::to_string(&event).expect("an event can be stored");
    let back: Event = serde_json::from_str(&stored).unwrap_or_else(|e| panic!("{e}: {stored}"));
    assert_eq!(back, event, "{stored}");
    assert_eq!(serde_json::to_string(&back).expect("an event can be stored"), stored);
    Some(event)
}

fn again(order: &str, read: &[Value]) -> Option<Value> {
    let mut words = order.splitn(3, ' ');
    let at: usize = words.next()?.parse().ok()?;
    let mut json = read.get(at % read.len().max(1))?.clone();
    if let (Some(pointer), Some(value)) = (words.next(), words.next()) {
        *json.pointer_mut(pointer)? = serde_json::from_str(value).ok()?;
    }
    Some(json)
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
