//! What each event says, in a few words.

use crate::view::{
    act::{self, clean, count, proof_words},
    clock::{length, utc},
};
use semel_kernel::{
    event::{Authorship, Event, PlannedOperation, Proof, Why},
    id::{OperationId, StepName},
    outcome::{Finding, Outcome, Source},
    review::Decision,
    time::{Generation, Millis},
};

/// One arm for each kind of event; longer ones have a function each.
pub(super) fn of(event: &Event) -> String {
    match event {
        Event::TaskCreated { plan, client_id, .. } => {
            format!(
                "accepted as {client_id}: plan {} ({}), {}",
                plan.name,
                plan.hash.short(),
                count(plan.steps.len(), "step")
            )
        }
        Event::LeaseAcquired { session, generation } => {
            format!("{session} owns the task, generation {generation}")
        }
        Event::RecoveryStarted { generation, open } => {
            format!("recovery under generation {generation}; open: {}", names(open))
        }
        Event::RecoveryFinished { settled, in_review } => {
            format!("recovery is over; settled: {}; in review: {}", names(settled), names(in_review))
        }
        Event::StepExpanded { items, .. } => format!("its list has {}", count(items.len(), "item")),
        Event::StepPlanned { operation, same_as, .. } => planned(operation, same_as.as_ref()),
        Event::StepAttached { to, epoch, .. } => {
            format!("waits for the tenant-scoped operation in {to}~{epoch}")
        }
        Event::StepSkipped { cause, .. } => format!("skipped: {}", clean(cause)),
        Event::PrecheckAnswered { finding, holds, .. } => prechecked(finding, *holds),
        Event::StepStarted { attempt, why, generation, send_by, .. } => {
            started(*attempt, *why, *generation, *send_by)
        }
        Event::AttemptAnswered { attempt, outcome, .. }
        | Event::AttemptUnknown { attempt, outcome, .. }
        | Event::AttemptPending { attempt, outcome, .. } => {
            format!("attempt {attempt}: {}", outcome_words(outcome))
        }
        Event::AccountSeen { account, .. } => format!("under account {}", clean(account)),
        Event::CostCounted { attempt, cost, .. } => format!("attempt {attempt} cost {cost}"),
        Event::SentLate { attempt, late_ms, .. } => {
            format!("attempt {attempt} left {} after its send-by", length(*late_ms))
        }
        Event::ProbeAnswered { asked_at, finding, settled, .. } => look_up(*asked_at, finding, *settled),
        Event::EvidenceAdded { source, outcome, contradicts, .. } => evidence(source, outcome, *contradicts),
        Event::ArtifactCreated { artifact } => {
            format!("kept {} bytes as {}", artifact.bytes, artifact.hash.short())
        }
        Event::StepCommitted { proof, authorship, .. } => committed(proof, *authorship),
        Event::StepFailed { code, cause, .. } => {
            format!("known not to have happened ({code}): {}", clean(cause))
        }
        Event::StepWrittenOff { by, .. } => format!("written off by {by}: unknown for ever"),
        Event::RetryScheduled { at, cause, .. } => format!("next attempt at {}: {}", utc(*at), clean(cause)),
        Event::TimerSet { at, .. } => format!("sleeps until {}", utc(*at)),
        Event::TimerFired { .. } => "the timer fired".to_owned(),
        Event::ReviewOpened { review, cause, .. } => format!("asks a person ({review}): {}", cause.words()),
        Event::ReviewDecided { review, decision, actor, reason } => {
            format!("{actor} answers {review}: {}{}", decision_words(decision), act::reason(reason))
        }
        Event::CancelRequested { actor, reason } => format!("{actor} cancels{}", act::reason(reason)),
        Event::Paused { actor, reason } => format!("{actor} pauses{}", act::reason(reason)),
        Event::Resumed { actor } => format!("{actor} resumes"),
        Event::SnapshotAdopted { epoch, copied_at, actor } => {
            format!("{actor} adopts a copy made at {} as epoch {epoch}", utc(*copied_at))
        }
        Event::TaskCompleted { written_off } => {
            format!("all steps are settled and none failed{}", unknown(written_off))
        }
        Event::TaskFailed { step, code, written_off } => {
            format!("`{step}` failed ({code}){}", unknown(written_off))
        }
        Event::TaskCancelled { written_off } => format!("cancelled, nothing is open{}", unknown(written_off)),
    }
}

fn prechecked(finding: &Finding, holds: bool) -> String {
    let verdict = if holds { "may be sent" } else { "`require` does not hold" };
    format!("the state before the first send: {}; {verdict}", finding_words(finding))
}

fn evidence(source: &Source, outcome: &Outcome, contradicts: bool) -> String {
    let tail = if contradicts { "; it contradicts the record" } else { "" };
    format!("{}: {}{tail}", source_words(source), outcome_words(outcome))
}

fn planned(operation: &PlannedOperation, same_as: Option<&OperationId>) -> String {
    if let Some(other) = same_as {
        return format!("an equal call to {other}; gets its answer");
    }
    format!("planned as {} with key {}, hash {}", operation.id, operation.key, operation.request_hash.short())
}

fn started(attempt: u32, why: Why, generation: Generation, send_by: Millis) -> String {
    let why = match why {
        Why::First => "first",
        Why::Retry => "all earlier ones are proven not applied",
        Why::SameKey => "same request, same key",
        Why::Harmless => "sending again is harmless",
        Why::AcceptedDuplicate => "a duplicate is accepted",
    };
    format!("attempt {attempt} may leave before {} ({why}), generation {generation}", utc(send_by))
}

fn committed(proof: &Proof, authorship: Option<Authorship>) -> String {
    let whose = match authorship {
        Some(Authorship::Unproven) => "; by whose doing is not proven",
        Some(Authorship::Ours) | None => "",
    };
    format!("proven by {}{whose}", proof_words(proof))
}

fn look_up(asked_at: Millis, finding: &Finding, settled: bool) -> String {
    let worth = match (finding, settled) {
        (Finding::Absent, true) => "; sent after the settled moment, so it is proof",
        (Finding::Absent, false) => "; sent before the settled moment, so it proves nothing",
        (Finding::Applied { .. } | Finding::Pending | Finding::Many { .. } | Finding::Unclear { .. }, _) => {
            ""
        }
    };
    format!("look-up sent at {}: {}{worth}", utc(asked_at), finding_words(finding))
}

pub(crate) fn finding_words(finding: &Finding) -> String {
    match finding {
        Finding::Applied { .. } => "found".to_owned(),
        Finding::Absent => "absent".to_owned(),
        Finding::Pending => "in progress".to_owned(),
        Finding::Many { cause } => format!("found more than once ({})", clean(cause)),
        Finding::Unclear { cause } => format!("unclear ({})", clean(cause)),
    }
}

pub(crate) fn outcome_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Applied { replayed, truncated, .. } => {
            let again = if *replayed { ", the target replays an earlier answer" } else { "" };
            let cut = if *truncated { ", its body was cut" } else { "" };
            format!("applied{again}{cut}")
        }
        Outcome::NotApplied { sent: false, cause, .. } => format!("not sent ({})", clean(cause)),
        Outcome::NotApplied { retryable: true, cause, .. } => {
            format!("not applied, may pass later ({})", clean(cause))
        }
        Outcome::NotApplied { cause, .. } => format!("not applied, final ({})", clean(cause)),
        Outcome::Pending { cause, .. } => format!("the target works on it ({})", clean(cause)),
        Outcome::Unknown { cause } => format!("unknown: {}", cause.words()),
        Outcome::Contradiction { cause } => format!("contradiction ({})", clean(cause)),
    }
}

pub(crate) fn source_words(source: &Source) -> String {
    match source {
        Source::LateAnswer => "a late answer".to_owned(),
        Source::Receipt => "a receipt".to_owned(),
        Source::Person(actor) => format!("{actor} says"),
    }
}

pub(crate) fn decision_words(decision: &Decision) -> String {
    match decision {
        Decision::ItHappened { reference, .. } => format!("it happened, {reference}"),
        Decision::ItDidNot => "it did not".to_owned(),
        Decision::AskAgain => "ask again".to_owned(),
        Decision::WaitUntil { at } => format!("wait until {}", utc(*at)),
        Decision::Skip => "skip".to_owned(),
        Decision::WriteOff => "write off".to_owned(),
        Decision::Abort => "abort".to_owned(),
        Decision::GoOn => "go on".to_owned(),
    }
}

fn names(steps: &[StepName]) -> String {
    if steps.is_empty() {
        return "none".to_owned();
    }
    steps.iter().map(StepName::as_str).collect::<Vec<_>>().join(", ")
}

fn unknown(written_off: &[StepName]) -> String {
    if written_off.is_empty() { String::new() } else { format!("; unknown for ever: {}", names(written_off)) }
}
