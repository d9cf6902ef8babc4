//! `semel op show`: everything about an operation: its names, its rail with the reasons, every attempt, every fact.

use crate::cmd::{
    find,
    task::{key_left, left},
    why::{gone, health, load},
};
use crate::{
    config::Config,
    fail::{Exit, Fail},
    ui::{
        self, Ui,
        table::{cut, table},
        time,
    },
    wire,
};
use semel_engine::view::{Rail, RawAnswer, raw_answer, why_operation};
use semel_kernel::{
    operation::{Attempt, AttemptState, Evidence, Operation},
    outcome::{Finding, Outcome, Source, Stored},
    task::Task,
    time::{Millis, Now},
};
use semel_ports::{HttpRequest, projection};

/// Characters of a note in a table.
const NOTE: usize = 72;
/// Characters of a result; `--json` has all of it.
const RESULT: usize = 200;

pub(super) async fn run(config: &Config, id: &str, ui: Ui) -> Result<Exit, Fail> {
    let store = wire::read(config).await?;
    let store = store.as_ref();
    let (task, op) = find::operation(store, id).await?;
    let task = load(store, &task).await?;
    let op = task.operations.get(&op).ok_or_else(|| gone(id))?;
    let now = store.now();
    let answer = raw_answer(&store.history(&task.id, 0).await?, &op.planned.id);
    health(config, &task, ui).await;
    ui.show(&json(&task, op, answer.as_ref(), now), || text(&task, op, answer.as_ref(), now));
    Ok(Exit::Done)
}

fn json(task: &Task, op: &Operation, answer: Option<&RawAnswer>, now: Now) -> serde_json::Value {
    let row = projection::of(task, 0).operations.into_iter().find(|r| r.id == op.planned.id);
    serde_json::json!({
        "v": 1,
        "operation": row,
        "contract": task.terms(&op.planned).map(|t| t.contract),
        "rail": Rail::of(task, op),
        "key_left_ms": key_left(task, op, now),
        "request": op.request.as_ref().map(request),
        "attempts": op.attempts,
        "probes": op.probes,
        "evidence": op.evidence,
        "answer": answer,
        "result": op.applied.as_ref().map(|a| &a.result),
        "why": why_operation(task, op, now),
    })
}

fn text(task: &Task, op: &Operation, answer: Option<&RawAnswer>, now: Now) -> String {
    let mut parts = vec![header(task, op, now), stations(task, op)];
    if let Some(stored) = &op.request {
        parts.push(format!("request, the same for every attempt\n  {}", request(stored).join("\n  ")));
    }
    if !op.attempts.is_empty() {
        parts.push(attempts(op, now.at));
    }
    parts.extend(answer.map(ToString::to_string));
    parts.extend(op.applied.as_ref().map(|a| format!("result {}", result(&a.result))));
    parts.extend(facts(op, now.at));
    let mut why = why_operation(task, op, now);
    // The rail stands above, and a page does not send its reader to itself.
    why.rail = None;
    why.next.retain(|next| !next.starts_with("semel op show "));
    parts.push(why.to_string().trim_end().to_owned());
    parts.join("\n\n")
}

fn header(task: &Task, op: &Operation, now: Now) -> String {
    let planned = &op.planned;
    let terms = task.terms(planned);
    let guarantee = terms.map_or("-", |t| t.guarantee().word());
    let contract = terms.map_or_else(|| "-".to_owned(), |t| t.contract.to_string());
    [
        format!("{} {}", planned.id, ui::state(op.status().word())),
        format!("  step          {} of {}", op.step, task.id),
        format!("  tool          {} {contract}", planned.tool),
        format!("  guarantee     {guarantee}"),
        format!("  key           {}{}", planned.key, window(task, op, now)),
        format!("  request hash  {}", planned.request_hash),
    ]
    .join("\n")
}

/// How long the same request may be sent again under its key, where a window binds it.
fn window(task: &Task, op: &Operation, now: Now) -> String {
    let asked = task.steps.get(&op.step).is_some_and(|s| s.review.is_some());
    match key_left(task, op, now) {
        None => String::new(),
        // While a person is asked nothing is sent, so no time is left that anybody could use.
        Some(1..) if asked => String::new(),
        Some(0) => ", whose window is over".to_owned(),
        left_ms => format!(", good for another {}", left(left_ms)),
    }
}

fn stations(task: &Task, op: &Operation) -> String {
    let rail = Rail::of(task, op);
    let lines = rail.reaches().into_iter().map(|reach| format!("\n  {reach}")).collect::<String>();
    format!("{rail}{lines}")
}

/// The frozen request with the names of its secrets, never their values.
fn request(stored: &Stored) -> Vec<String> {
    let json = match stored {
        Stored::Inline(json) => json,
        Stored::Artifact(at) => return vec![format!("{} bytes, kept as {}", at.bytes, at.hash)],
    };
    let Ok(request) = serde_json::from_str::<HttpRequest>(&json.canonical()) else {
        return vec!["a request of a form that is not shown here".to_owned()];
    };
    let mut lines = vec![format!("{} {}", request.method, request.url.shown())];
    lines.extend(request.headers.iter().map(|(name, value)| format!("{name}: {}", value.shown())));
    lines.extend(request.body.as_ref().map(semel_ports::Template::shown));
    lines
}

fn attempts(op: &Operation, now: Millis) -> String {
    table(
        ["ATTEMPT", "WHY", "GENERATION", "STARTED", "STATE", "NOTE"],
        op.attempts.iter().map(|a| {
            [
                a.n.to_string(),
                why(a).to_owned(),
                a.generation.to_string(),
                time::ago(a.started_at, now),
                state(&a.state),
                note(a),
            ]
        }),
    )
}

/// What the answer said, where the state does not say it already.
fn note(attempt: &Attempt) -> String {
    let said = state(&attempt.state).contains(&attempt.note);
    if said { String::new() } else { cut(&attempt.note, NOTE) }
}

/// What the target gave, in a line.
fn result(stored: &Stored) -> String {
    match stored {
        Stored::Inline(json) => cut(&json.canonical(), RESULT),
        Stored::Artifact(at) => format!("of {} bytes, kept as {}", at.bytes, at.hash),
    }
}

const fn why(attempt: &Attempt) -> &'static str {
    use semel_kernel::event::Why;
    match attempt.why {
        Why::First => "first",
        Why::Retry => "proven not applied before",
        Why::SameKey => "same key, deduplicated",
        Why::Harmless => "harmless to repeat",
        Why::AcceptedDuplicate => "a duplicate is accepted",
    }
}

fn state(state: &AttemptState) -> String {
    match state {
        AttemptState::Open => "open".to_owned(),
        AttemptState::Applied => "applied".to_owned(),
        AttemptState::NotApplied { sent: false, .. } => "not sent".to_owned(),
        AttemptState::NotApplied { retryable: true, .. } => "not applied, may pass later".to_owned(),
        AttemptState::NotApplied { retryable: false, .. } => "not applied, final".to_owned(),
        AttemptState::Pending { .. } => "pending at the target".to_owned(),
        AttemptState::Unknown { cause } => format!("unknown: {}", cause.words()),
    }
}

/// What look-ups found and what others said.
fn facts(op: &Operation, now: Millis) -> Vec<String> {
    let asked = op.probes.last.as_ref().map(|last| {
        let when = op.probes.last_at.map_or_else(String::new, |at| format!(", last {}", time::ago(at, now)));
        format!("{}{when}: {}", ui::count(op.probes.asked.into(), "look-up"), finding(last))
    });
    let said = op.evidence.iter().map(|e| format!("{}, {}", time::ago(e.at, now), evidence(e)));
    let told = op.attempts.iter().any(|a| a.note == op.note);
    let note = (!op.note.is_empty() && !told).then(|| cut(&op.note, NOTE * 2));
    asked.into_iter().chain(said).chain(note).collect()
}

fn finding(finding: &Finding) -> String {
    match finding {
        Finding::Applied { .. } => "found once".to_owned(),
        Finding::Absent => "absent".to_owned(),
        Finding::Pending => "in progress".to_owned(),
        Finding::Many { cause } => format!("found more than once ({cause})"),
        Finding::Unclear { cause } => format!("unclear ({})", cut(cause, NOTE)),
    }
}

fn evidence(evidence: &Evidence) -> String {
    let who = match &evidence.source {
        Source::LateAnswer => "a late answer".to_owned(),
        Source::Receipt => "a receipt".to_owned(),
        Source::Person(name) => name.clone(),
    };
    let what = match &evidence.outcome {
        Outcome::Applied { .. } => "it happened",
        Outcome::NotApplied { .. } => "it did not happen",
        Outcome::Pending { .. } => "it is in progress",
        Outcome::Unknown { .. } => "nothing certain",
        Outcome::Contradiction { .. } => "it contradicts the record",
    };
    let against = if evidence.contradicts { ", which contradicts the record" } else { "" };
    format!("{who} says: {what}{against}")
}
