//! Sentences about a task: its phase, the step that matters most now, and what holds it.

use super::{Clause, Why, recorded, review_commands, step};
use crate::view::{
    act::{clean, count, reason},
    clock::when,
    command,
};
use semel_kernel::{
    oblige,
    operation::{Judgement, Operation},
    review::Review,
    step::{Step, StepState},
    task::{End, Order, Phase, Task},
    time::Now,
};

pub(super) fn clause(task: &Task, now: Now) -> Why {
    let subject = format!("task {} ({})", task.id, task.plan.name);
    let clause = match &task.end {
        Some(end) => ended(task, end, now),
        None => going(task, now),
    };
    clause.into_why(subject, None)
}

fn ended(task: &Task, end: &End, now: Now) -> Clause {
    let count = task.order.len();
    let known = match end.phase {
        Phase::Completed if count == 1 => "its one step is settled and did not fail".to_owned(),
        Phase::Completed => format!("all {count} steps are settled and none failed"),
        Phase::Failed => failed(task, end),
        Phase::Cancelled => cancelled(task),
        Phase::Created | Phase::Ready | Phase::Running | Phase::Waiting | Phase::NeedsReview => String::new(),
    };
    let known = format!("{known}{}, {}", left_unknown(task), recorded(end.at, now));
    let show = [command::task("show", &task.id), command::task("timeline", &task.id)];
    let Some(review) = task.open_reviews().next() else {
        let next = "Nothing more happens, and late evidence is still kept";
        return Clause::new(end.phase.word(), known, next).with(show);
    };
    let next =
        format!("A person looks at review {} ({}); the end stays as it is", review.id, review.cause.words());
    Clause::new(end.phase.word(), known, next).with(review_commands(review)).with(show)
}

fn failed(task: &Task, end: &End) -> String {
    let first = task.steps_in_order().find(|s| s.state == StepState::Failed);
    let Some(first) = first else { return format!("a step failed ({})", end.code) };
    format!("step `{}` is known not to have happened ({}: {})", first.name, end.code, clean(&first.cause))
}

fn cancelled(task: &Task) -> String {
    let done = task.steps_in_order().filter(|s| s.state.is_done()).count();
    let by = task.cancelling.as_ref().map_or_else(String::new, |o| format!("{} cancelled it; ", o.actor));
    format!("{by}{done} of {} done and nothing is open", count_are(task.order.len()))
}

fn left_unknown(task: &Task) -> String {
    let names: Vec<String> = task.written_off().iter().map(|n| format!("`{n}`")).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!("; written off and unknown for ever: {}", names.join(", "))
    }
}

fn going(task: &Task, now: Now) -> Clause {
    let phase = oblige::phase(task);
    if phase == Phase::Created {
        return created(task, now);
    }
    if let Some(review) = task.open_reviews().find(|r| r.step.is_none()) {
        return held(task, phase, review, now);
    }
    let Some(lead) = lead(task, phase) else {
        let known = format!("{}{}", progress(task), circumstances(task, now));
        return Clause::new(phase.word(), known, "Semel takes the next step")
            .with([command::task("tail", &task.id)]);
    };
    let of_step = step::clause(task, lead, now);
    let known = format!(
        "{}; step `{}` is {}: {}{}{}",
        progress(task),
        lead.name,
        of_step.state,
        of_step.known,
        others_in_review(task, lead),
        circumstances(task, now),
    );
    let next = next(task, phase, lead, &of_step.next);
    Clause::new(phase.word(), known, next).with(orders(task)).with(of_step.commands).with(forecast(task))
}

fn created(task: &Task, now: Now) -> Clause {
    let known = format!(
        "it was accepted at {} and nobody has owned it, so nothing was sent",
        when(task.created_at, now)
    );
    let first = task.order.first().map_or_else(String::new, |n| format!(" and begins with step `{n}`"));
    let next = format!("The next free worker claims it{first}");
    Clause::new(Phase::Created.word(), known, next).with([command::worker(), command::task("tail", &task.id)])
}

/// A review about the whole task is open.
fn held(task: &Task, phase: Phase, review: &Review, now: Now) -> Clause {
    let known = format!(
        "{}, and {}, which review {} asks about, {}{}",
        progress(task),
        review.cause.words(),
        review.id,
        recorded(review.opened_at, now),
        circumstances(task, now)
    );
    let next = format!(
        "A person decides review {} (go on, or abort), and until then nothing new starts while what is in flight is \
         settled",
        review.id
    );
    Clause::new(phase.word(), known, next).with(super::review::open_commands(task, review, now))
}

fn progress(task: &Task) -> String {
    let settled = task.steps.values().filter(|s| s.is_settled()).count();
    match (settled, task.order.len()) {
        (0, 1) => "its one step is not settled".to_owned(),
        (settled, all) => format!("{settled} of {} settled", count_are(all)),
    }
}

/// `1 step is`, `3 steps are`.
fn count_are(n: usize) -> String {
    format!("{} {}", count(n, "step"), if n == 1 { "is" } else { "are" })
}

/// What holds or surrounds the whole task.
fn circumstances(task: &Task, now: Now) -> String {
    let mut text = String::new();
    let order = |o: &Order| format!("{} at {}{}", o.actor, when(o.at, now), reason(&o.reason));
    if let Some(by) = &task.cancelling {
        text.push_str(&format!("; it is being cancelled by {}", order(by)));
    } else if let Some(by) = &task.paused {
        text.push_str(&format!("; it is paused by {}", order(by)));
    }
    if let Some(recovery) = &task.recovery {
        let open = recovery.open.len();
        text.push_str(&format!(
            "; it has been in recovery since {}, with {open} open",
            when(recovery.since, now)
        ));
    }
    if let Some(restored) = &task.restored {
        text.push_str(&format!("; it was adopted from a copy made at {}", when(restored.copied_at, now)));
    }
    text
}

fn others_in_review(task: &Task, lead: &Step) -> String {
    let others: Vec<&Review> =
        task.open_reviews().filter(|r| r.step.as_ref().is_some_and(|s| *s != lead.name)).collect();
    match others.as_slice() {
        [] => String::new(),
        [one] => format!("; meanwhile review {} waits for a person", one.id),
        [first, ..] => format!("; meanwhile {} reviews wait for a person, first {}", others.len(), first.id),
    }
}

fn next(task: &Task, phase: Phase, lead: &Step, of_step: &str) -> String {
    if task.cancelling.is_some() {
        return format!("It ends as CANCELLED once nothing is open; for step `{}`: {of_step}", lead.name);
    }
    if task.paused.is_some() {
        return format!("Nothing new starts until it is resumed; for step `{}`: {of_step}", lead.name);
    }
    if phase == Phase::Ready {
        return format!("The next free worker claims it; then, for step `{}`: {of_step}", lead.name);
    }
    of_step.to_owned()
}

fn orders(task: &Task) -> Option<String> {
    (task.paused.is_some() && task.cancelling.is_none()).then(|| command::task("resume", &task.id))
}

/// After a takeover or a restore people want to see the whole list before it runs.
fn forecast(task: &Task) -> Option<String> {
    (task.recovery.is_some() || task.restored.is_some()).then(|| command::dry_run(&task.id))
}

/// The step that matters most: one that a person is asked about when only a person can go on, else the one that is
/// most under way.
pub(crate) fn lead(task: &Task, phase: Phase) -> Option<&Step> {
    let open = task.steps_in_order().filter(|s| !s.is_settled());
    open.min_by_key(|s| (s.review.is_some() != (phase == Phase::NeedsReview), rank(task, s)))
}

fn rank(task: &Task, step: &Step) -> u8 {
    let op = step.operation.as_ref().and_then(|id| task.operations.get(id));
    match op.map(Operation::judge) {
        Some(Judgement::Contradiction) => 0,
        Some(Judgement::Unknown) => 1,
        Some(Judgement::Pending) => 2,
        Some(Judgement::InFlight) => 3,
        Some(Judgement::NotApplied { .. }) => 4,
        Some(Judgement::Unsent | Judgement::Applied) => 5,
        None if step.attached.is_some() || step.timer.is_some() => 6,
        None if step.items.is_some() || step.same_as.is_some() => 7,
        None if task.is_ready(step) => 8,
        None => 9,
    }
}
