//! A text Gantt: each step's state of knowledge over time, found by folding the history event by event.
//!
//! Invariant: a span begins where an event changed what is known, and nowhere else.

use crate::view::clock::{length, utc};
use semel_kernel::{
    event::Recorded,
    fold::{fold, fold_all},
    id::StepName,
    step::{Step, StepState},
    task::Task,
    time::Millis,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// How a step looks at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Look {
    /// Nothing was decided about it.
    Unplanned,
    /// It is going to act, or waits for the next attempt.
    Planned,
    /// It waits for a timer, for another task or for its items.
    Waiting,
    /// An attempt is under way, or the target works on it.
    Started,
    /// Nothing is proven.
    Unknown,
    /// It waits for a person.
    Review,
    /// The effect is proven, or nothing was ever intended.
    Done,
    /// It is known not to have happened.
    Failed,
    /// It stays unknown for ever.
    WrittenOff,
}

impl Look {
    /// The sign that fills its span.
    #[must_use]
    pub const fn sign(self) -> char {
        match self {
            Self::Unplanned => ' ',
            Self::Planned => '▢',
            Self::Waiting => '░',
            Self::Started => '━',
            Self::Unknown => '▨',
            Self::Review => '?',
            Self::Done => '●',
            Self::Failed => '✕',
            Self::WrittenOff => '∅',
        }
    }

    fn of(step: &Step) -> Self {
        if step.written_off {
            return Self::WrittenOff;
        }
        match step.state {
            StepState::Committed | StepState::Skipped | StepState::Compensated => Self::Done,
            StepState::Failed => Self::Failed,
            StepState::Planned | StepState::Started | StepState::Unknown if step.review.is_some() => {
                Self::Review
            }
            StepState::Unknown => Self::Unknown,
            StepState::Started => Self::Started,
            StepState::Planned if step.is_unresolved() => Self::Unplanned,
            StepState::Planned if step.operation.is_some() => Self::Planned,
            StepState::Planned => Self::Waiting,
        }
    }

    const fn is_end(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::WrittenOff)
    }
}

/// A time during which the look did not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// Its first moment.
    pub from: Millis,
    /// Its end; the last event's moment when it is not over.
    pub to: Millis,
    /// How the step looked.
    pub look: Look,
}

/// The spans of one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The step.
    pub step: StepName,
    /// In order, without gaps; changes within one moment leave only the last.
    pub spans: Vec<Span>,
}

/// All steps over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gantt {
    /// The first event's moment.
    pub from: Millis,
    /// The last event's moment.
    pub to: Millis,
    /// In the task's order.
    pub rows: Vec<Row>,
}

/// The Gantt of a whole history; what does not fold is left out, and a history without its beginning has no rows.
#[must_use]
pub fn gantt(history: &[Recorded]) -> Gantt {
    let from = history.first().map_or(Millis(0), |r| r.at);
    let to = history.last().map_or(from, |r| r.at);
    let mut spans = BTreeMap::new();
    let order = walk(history, &mut spans).map_or_else(Vec::new, |task| task.order);
    let row = |step: StepName| {
        let mut spans = spans.remove(&step).unwrap_or_default();
        close(&mut spans, to);
        Row { step, spans }
    };
    Gantt { from, to, rows: order.into_iter().map(row).collect() }
}

fn walk(history: &[Recorded], spans: &mut BTreeMap<StepName, Vec<Span>>) -> Option<Task> {
    let (first, rest) = history.split_first()?;
    let mut task = fold_all([(&first.event, first.at)]).ok()?;
    note(&task, first.at, spans);
    for recorded in rest {
        let mut next = task.clone();
        if fold(&mut next, &recorded.event, recorded.at).is_err() {
            break;
        }
        task = next;
        note(&task, recorded.at, spans);
    }
    Some(task)
}

/// Opens a span for every step that looks different now.
fn note(task: &Task, at: Millis, spans: &mut BTreeMap<StepName, Vec<Span>>) {
    for step in task.steps.values() {
        let look = Look::of(step);
        let row = spans.entry(step.name.clone()).or_default();
        if row.last().is_some_and(|s| s.look == look) {
            continue;
        }
        if row.last().is_some_and(|s| s.from == at) {
            row.pop();
        }
        close(row, at);
        row.push(Span { from: at, to: at, look });
    }
}

fn close(row: &mut [Span], at: Millis) {
    if let Some(last) = row.last_mut() {
        last.to = at;
    }
}

impl Gantt {
    /// The rows as text: names, then `width` columns of time, then a line with the scale.
    #[must_use]
    pub fn to_text(&self, width: usize) -> String {
        let width = width.max(1);
        let name = self.rows.iter().map(|r| r.step.as_str().chars().count()).max().unwrap_or(0);
        let mut text = String::new();
        for row in &self.rows {
            let bar: String = (0..width).map(|column| self.sign(row, column, width)).collect();
            text.push_str(&format!("{:<name$} │{bar}│\n", row.step.as_str()));
        }
        let (from, to) = (utc(self.from), utc(self.to));
        text.push_str(&format!("{:<name$}  {from} to {to}, {}\n", "", length(self.to.since(self.from))));
        text.push_str("▢ planned ░ waiting ━ started ▨ unknown ? review ● done ✕ failed ∅ written off\n");
        text
    }

    /// The last look that begins before the column ends; an end is drawn once, where it came.
    fn sign(&self, row: &Row, column: usize, width: usize) -> char {
        let (start, end) = (self.edge(column, width), self.edge(column + 1, width));
        let last = column + 1 == width;
        let begun = |s: &&Span| s.from < end || last;
        let Some(span) = row.spans.iter().rev().find(begun) else { return ' ' };
        if span.look.is_end() && span.from < start { ' ' } else { span.look.sign() }
    }

    /// The moment at which a column begins.
    fn edge(&self, column: usize, width: usize) -> Millis {
        let whole = i128::from(self.to.since(self.from));
        let part = whole * i128::try_from(column).unwrap_or(0) / i128::try_from(width).unwrap_or(1);
        self.from.plus(i64::try_from(part).unwrap_or(i64::MAX))
    }
}
