//! Sentences about an operation: the verdict over its attempts, and what the recovery table does next.

use super::{Clause, person_decides, recorded, review_commands};
use crate::view::{
    act::{ActKind, clean, proof_words, reason, settled},
    clock::when,
    command,
    dry_run::feed,
    outlook,
};
use semel_kernel::{
    event::{Authorship, Proof},
    input::Input,
    operation::{Attempt, AttemptState, Judgement, Operation},
    outcome::{Finding, Outcome, Source, UnknownCause},
    review::{Decision, Review, ReviewCause},
    step::{Step, StepState},
    task::Task,
    terms::Terms,
    time::Now,
};

pub(super) fn clause(task: &Task, op: &Operation, now: Now) -> Clause {
    let Some(step) = task.steps.get(&op.step) else {
        return Clause::new(op.status().word(), "its step is not there", "Nothing happens");
    };
    let known = known(task, step, op, now);
    if step.is_settled() {
        return settled_clause(task, step, op, known);
    }
    let state = step.state.word();
    if let Some(review) = step.review.as_ref().and_then(|id| task.review(id)) {
        let known = because(known, review);
        return Clause::new(state, known, person_decides(review)).with(review_commands(review));
    }
    let next = outlook::of_step(task, task, &op.step, now);
    if is_in_hand(op, next.kind) && task.paused.is_none() {
        let text = format!("Semel {}; nothing has to be done by hand", next.text);
        return Clause::new(state, known, text).with(in_hand_commands(task, op));
    }
    Clause::new(state, known, format!("Semel {}", next.text)).with(commands(task, op, now))
}

/// The cause of a review beside what is known, unless that says it already.
fn because(known: String, review: &Review) -> String {
    if review.cause == ReviewCause::Contradiction {
        known
    } else {
        format!("{known}; {}", review.cause.words())
    }
}

/// How we know, for every state that an operation can be in.
fn known(task: &Task, step: &Step, op: &Operation, now: Now) -> String {
    if step.written_off {
        return written_off(task, step, op);
    }
    match step.state {
        StepState::Committed => committed(step, op, now),
        StepState::Failed => failed(step, op, now),
        StepState::Skipped => format!("{}, {}", clean(&step.cause), recorded(step.changed_at, now)),
        StepState::Compensated => format!("its undo is proven, {}", recorded(step.changed_at, now)),
        StepState::Planned | StepState::Started | StepState::Unknown => open(task, op, now),
    }
}

fn settled_clause(task: &Task, step: &Step, op: &Operation, known: String) -> Clause {
    let late = step.review.as_ref().and_then(|id| task.review(id));
    let state = if step.written_off { "UNKNOWN (written off)" } else { step.state.word() };
    let known =
        if op.contradiction.is_some() { format!("{known}; later evidence contradicts it") } else { known };
    let clause = match late {
        Some(review) => {
            let next = format!(
                "A person looks at the contradiction in review {}; the state stays as it is",
                review.id
            );
            Clause::new(state, known, next).with(review_commands(review))
        }
        None => Clause::new(state, known, "Nothing more is sent for it, and late evidence is still kept"),
    };
    let code = (!step.code.is_empty()).then(|| command::explain(&step.code));
    clause.with([command::op("show", &op.planned.id)]).with(code)
}

fn written_off(task: &Task, step: &Step, op: &Operation) -> String {
    let order = task.reviews.iter().rev().filter(|r| r.step.as_ref() == Some(&step.name));
    let order = order.filter_map(|r| r.decided.as_ref()).find(|d| d.decision == Decision::WriteOff);
    let by = order.map_or_else(
        || "the owner of the contract accepts that it may be lost".to_owned(),
        |d| format!("{} wrote it off{}", d.actor, reason(&d.reason)),
    );
    let n = op.attempts.iter().filter(|a| a.is_open()).count();
    let stay = if n == 1 { "attempt of it stays" } else { "attempts of it stay" };
    format!("{by}, and {n} {stay} without proof for ever")
}

fn committed(step: &Step, op: &Operation, now: Now) -> String {
    let when = recorded(step.changed_at, now);
    let proof = match &step.proof {
        Some(Proof::Answer { attempt }) => format!("the target's answer to attempt {attempt} proves it"),
        Some(Proof::Probe) if op.attempts.is_empty() => "the state held before anything was sent".to_owned(),
        Some(Proof::Probe) if step.authorship == Some(Authorship::Unproven) => {
            "a look-up at the target shows that the state holds".to_owned()
        }
        Some(Proof::Probe) => "a look-up at the target found it once, with our key or reference".to_owned(),
        Some(Proof::Evidence) => late_evidence(op),
        Some(Proof::Person { actor }) => {
            format!("{actor} says that it happened, which is weaker than proof from the target")
        }
        Some(proof @ (Proof::Replay { .. } | Proof::Timer | Proof::Items)) => {
            format!("it is proven by {}", proof_words(proof))
        }
        None => "it is proven".to_owned(),
    };
    let whose = match step.authorship {
        Some(Authorship::Unproven) => {
            "; that it is our doing is not proven, so it is never undone automatically"
        }
        Some(Authorship::Ours) | None => "",
    };
    format!("{proof}, {when}{whose}")
}

fn late_evidence(op: &Operation) -> String {
    let applied = |e: &&semel_kernel::operation::Evidence| matches!(e.outcome, Outcome::Applied { .. });
    match op.evidence.iter().rev().find(applied).map(|e| &e.source) {
        Some(Source::Receipt) => "an authenticated receipt proves it".to_owned(),
        Some(Source::LateAnswer) => "the target's answer, which came late, proves it".to_owned(),
        Some(Source::Person(actor)) => format!("{actor} says that it happened"),
        None => "evidence proves it".to_owned(),
    }
}

fn failed(step: &Step, op: &Operation, now: Now) -> String {
    let proof = match op.made() {
        0 => "nothing was sent".to_owned(),
        1 => "its one attempt is proven not applied".to_owned(),
        n => format!("all {n} attempts are proven not applied"),
    };
    format!("{proof} ({}: {}), {}", step.code, clean(&step.cause), recorded(step.changed_at, now))
}

fn open(task: &Task, op: &Operation, now: Now) -> String {
    let looked = task.terms(&op.planned).map_or_else(String::new, |terms| looked_up(op, terms, now));
    match op.judge() {
        Judgement::Unsent => "no attempt is recorded, so nothing was sent".to_owned(),
        Judgement::InFlight => in_flight(task, op, now),
        Judgement::Applied => "the effect is proven and about to be recorded".to_owned(),
        Judgement::NotApplied { .. } => not_applied(op, now),
        Judgement::Pending => format!("{}{looked}", pending(op, now)),
        Judgement::Unknown => format!("{}{looked}", unknown(op, now)),
        Judgement::Contradiction => {
            format!("sources contradict each other ({})", clean(op.contradiction.as_deref().unwrap_or("?")))
        }
    }
}

fn in_flight(task: &Task, op: &Operation, now: Now) -> String {
    let Some(attempt) = op.attempts.iter().find(|a| a.state == AttemptState::Open) else {
        return "an attempt is under way".to_owned();
    };
    let owner = if attempt.generation < task.generation {
        "and the worker that made it is gone".to_owned()
    } else {
        "and its answer is awaited".to_owned()
    };
    format!(
        "attempt {}, {} by generation {}, may have left, {owner}",
        attempt.n,
        recorded(attempt.started_at, now),
        attempt.generation
    )
}

fn not_applied(op: &Operation, now: Now) -> String {
    let Some(last) = op.attempts.last() else { return "nothing was sent".to_owned() };
    let note = clean(&last.note);
    let ended = recorded(last.ended_at.unwrap_or(last.started_at), now);
    if last.may_have_left() {
        return format!("attempt {} is proven not applied ({note}), {ended}", last.n);
    }
    format!("not one byte of attempt {} was handed to a connection ({note}), {ended}", last.n)
}

fn pending(op: &Operation, now: Now) -> String {
    let last = op.attempts.iter().rev().find(|a| matches!(a.state, AttemptState::Pending { .. }));
    let Some(last) = last else { return "the target works on it".to_owned() };
    let ended = recorded(last.ended_at.unwrap_or(last.started_at), now);
    format!("the target answered attempt {} that it works on it ({}), {ended}", last.n, clean(&last.note))
}

/// The attempt that is without proof, and since when.
fn unknown(op: &Operation, now: Now) -> String {
    let doubt = |a: &&Attempt| matches!(a.state, AttemptState::Unknown { .. });
    let Some(last) = op.attempts.iter().rev().find(doubt) else {
        return "an attempt of it may have left and is without proof".to_owned();
    };
    if last.state == (AttemptState::Unknown { cause: UnknownCause::Restored }) {
        return "this store is an adopted copy, and the original may have sent it".to_owned();
    }
    let since = when(last.ended_at.unwrap_or(last.started_at), now);
    let refused =
        op.attempts.last().filter(|a| a.n > last.n && !a.is_open()).map_or_else(String::new, |later| {
            format!("; attempt {} is proven not applied, which says nothing about it", later.n)
        });
    format!(
        "attempt {}, {}, has been without proof since {since}, because {}{refused}",
        last.n,
        recorded(last.started_at, now),
        clean(&last.note)
    )
}

/// What the last look-up found, and what that is worth.
fn looked_up(op: &Operation, terms: &Terms, now: Now) -> String {
    let (Some(last), Some(at)) = (&op.probes.last, op.probes.last_at) else { return String::new() };
    let found = match last {
        Finding::Absent if at < op.settled_at(terms, now) => {
            format!(
                "found nothing, which proves nothing before the settled moment {}",
                settled(op, terms, now)
            )
        }
        Finding::Absent => "found nothing".to_owned(),
        Finding::Pending => "found it in progress".to_owned(),
        Finding::Applied { .. } => "found it".to_owned(),
        Finding::Many { cause } => format!("found it more than once ({})", clean(cause)),
        Finding::Unclear { cause } => format!("was unclear ({})", clean(cause)),
    };
    format!("; look-up {}, sent at {}, {found}", op.probes.asked, when(at, now))
}

/// It is in doubt, and Semel settles the doubt by itself.
fn is_in_hand(op: &Operation, next: ActKind) -> bool {
    let in_doubt = matches!(op.judge(), Judgement::Unknown | Judgement::Pending);
    let acts = matches!(
        next,
        ActKind::Wait | ActKind::Probe | ActKind::Begin | ActKind::Pace | ActKind::Commit | ActKind::Lose
    );
    in_doubt && acts
}

fn in_hand_commands(task: &Task, op: &Operation) -> Vec<String> {
    let asks = task.terms(&op.planned).is_some_and(|t| t.probe.is_some());
    let ask = asks.then(|| command::op("probe", &op.planned.id));
    [command::task("tail", &task.id)].into_iter().chain(ask).collect()
}

fn commands(task: &Task, op: &Operation, now: Now) -> Vec<String> {
    let id = &op.planned.id;
    let asks = task.terms(&op.planned).is_some_and(|t| t.probe.is_some());
    match op.judge() {
        Judgement::Unknown | Judgement::Pending | Judgement::Contradiction => {
            let mut commands = if asks { vec![command::op("probe", id)] } else { Vec::new() };
            commands.extend(settle_commands(task, op, now));
            commands
        }
        Judgement::Unsent | Judgement::InFlight | Judgement::Applied | Judgement::NotApplied { .. } => {
            vec![command::op("show", id), command::task("tail", &task.id)]
        }
    }
}

/// *It happened* and, where the kernel would believe it by now, *it did not*.
fn settle_commands(task: &Task, op: &Operation, now: Now) -> Vec<String> {
    let id = &op.planned.id;
    let believed = Input::Settle {
        op: id.clone(),
        decision: Decision::ItDidNot,
        actor: "a person".to_owned(),
        reason: "-".to_owned(),
    };
    let mut commands = vec![command::settle_happened(id)];
    commands.extend(feed(task, believed, now).is_ok().then(|| command::settle_did_not(id)));
    commands
}
