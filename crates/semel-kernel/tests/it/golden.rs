//! The stored forms of events: every form that was ever released stays readable, and is written as it was.
//!
//! `UPDATE_GENERATED=1` writes the forms that are missing; one that is there is never changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use semel_kernel::event::{Authorship, Event, Proof, SCHEMA, Why};
use semel_kernel::hash::Hash;
use semel_kernel::id::{ClientId, OperationId, ReviewId, SessionId, TaskId, Tenant};
use semel_kernel::json::Json;
use semel_kernel::outcome::{ArtifactRef, Finding, Outcome, RefusalKind, Source, Stored, UnknownCause};
use semel_kernel::plan::StepKind;
use semel_kernel::review::{Decision, ReviewCause};
use semel_kernel::terms::{Effect, Offline, OnUnknown, Scope, Terms};
use semel_kernel::time::{Generation, Millis};

use crate::story::{
    applied, many, name, operation, pay, pending, plan, probed, refused, stale, step, tool, unclear,
};
use crate::table::update_is_asked;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/events/v{SCHEMA}"))
}

fn written(event: &Event) -> String {
    serde_json::to_string_pretty(event).unwrap() + "\n"
}

/// The files as they lie there, by name without ending.
fn stored() -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder()).unwrap().map(|e| e.unwrap().path());
    entries
        .map(|p| (p.file_stem().unwrap().to_str().unwrap().to_string(), fs::read_to_string(p).unwrap()))
        .collect()
}

#[test]
fn every_stored_form_is_read_and_written_as_it_was() {
    if update_is_asked() {
        fs::create_dir_all(folder()).unwrap();
        for (file, event) in samples() {
            let path = folder().join(format!("{file}.json"));
            if !path.exists() {
                fs::write(path, written(&event)).unwrap();
            }
        }
    }
    let stored = stored();
    let samples: BTreeMap<String, Event> =
        samples().into_iter().map(|(file, event)| (file.to_string(), event)).collect();
    assert_eq!(
        stored.keys().collect::<Vec<_>>(),
        samples.keys().collect::<Vec<_>>(),
        "files and samples differ"
    );
    for (file, text) in &stored {
        let read: Event = serde_json::from_str(text).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(&read, &samples[file], "{file} is read as something else");
        assert_eq!(&written(&read), text, "{file} is written in another form");
    }
}

#[test]
fn every_variant_has_a_stored_form() {
    let named: BTreeSet<&str> = samples().iter().map(|(_, event)| variant(event)).collect();
    assert_eq!(named, VARIANTS.into_iter().collect());
    for (file, event) in samples() {
        assert_eq!(file.split('-').next(), Some(variant(&event)), "the file is named after its variant");
        assert_eq!(crate::story::event_name(&event), variant(&event), "the stored name is DESIGN's");
    }
}

const VARIANTS: [&str; 34] = [
    "TaskCreated",
    "LeaseAcquired",
    "RecoveryStarted",
    "RecoveryFinished",
    "StepExpanded",
    "StepPlanned",
    "StepAttached",
    "StepSkipped",
    "PrecheckAnswered",
    "StepStarted",
    "AttemptAnswered",
    "AttemptUnknown",
    "AttemptPending",
    "SentLate",
    "ProbeAnswered",
    "EvidenceAdded",
    "ArtifactCreated",
    "StepCommitted",
    "StepFailed",
    "StepWrittenOff",
    "RetryScheduled",
    "TimerSet",
    "TimerFired",
    "ReviewOpened",
    "ReviewDecided",
    "CancelRequested",
    "Paused",
    "Resumed",
    "SnapshotAdopted",
    "TaskCompleted",
    "TaskFailed",
    "TaskCancelled",
    "CostCounted",
    "AccountSeen",
];

/// Written out, so that a new variant does not compile before it has a name here, and does not pass before a sample.
fn variant(event: &Event) -> &'static str {
    let at = match event {
        Event::TaskCreated { .. } => 0,
        Event::LeaseAcquired { .. } => 1,
        Event::RecoveryStarted { .. } => 2,
        Event::RecoveryFinished { .. } => 3,
        Event::StepExpanded { .. } => 4,
        Event::StepPlanned { .. } => 5,
        Event::StepAttached { .. } => 6,
        Event::StepSkipped { .. } => 7,
        Event::PrecheckAnswered { .. } => 8,
        Event::StepStarted { .. } => 9,
        Event::AttemptAnswered { .. } => 10,
        Event::AttemptUnknown { .. } => 11,
        Event::AttemptPending { .. } => 12,
        Event::SentLate { .. } => 13,
        Event::ProbeAnswered { .. } => 14,
        Event::EvidenceAdded { .. } => 15,
        Event::ArtifactCreated { .. } => 16,
        Event::StepCommitted { .. } => 17,
        Event::StepFailed { .. } => 18,
        Event::StepWrittenOff { .. } => 19,
        Event::RetryScheduled { .. } => 20,
        Event::TimerSet { .. } => 21,
        Event::TimerFired { .. } => 22,
        Event::ReviewOpened { .. } => 23,
        Event::ReviewDecided { .. } => 24,
        Event::CancelRequested { .. } => 25,
        Event::Paused { .. } => 26,
        Event::Resumed { .. } => 27,
        Event::SnapshotAdopted { .. } => 28,
        Event::TaskCompleted { .. } => 29,
        Event::TaskFailed { .. } => 30,
        Event::TaskCancelled { .. } => 31,
        Event::CostCounted { .. } => 32,
        Event::AccountSeen { .. } => 33,
    };
    VARIANTS[at]
}

fn op() -> OperationId {
    operation(&name("a"), "x,y", "2", "100").id
}

fn generation() -> Generation {
    Generation { epoch: 1, counter: 7 }
}

fn artifact() -> ArtifactRef {
    ArtifactRef { hash: Hash::of(b"body"), bytes: 70_000 }
}

fn shown() -> Json {
    Json::parse(r#"{"status":200,"body":"é\u0000","ratio":0.1}"#).unwrap()
}

fn samples() -> Vec<(&'static str, Event)> {
    [task_samples(), step_samples(), attempt_samples(), fact_samples(), proof_samples(), review_samples()]
        .concat()
}

fn created() -> Event {
    let full = Terms {
        refusals_stick: true,
        dedupe_atomic: true,
        require: true,
        irreversible: true,
        on_unknown: OnUnknown::Compensate,
        offline: Offline::Wait(60_000),
        scope: Scope::Tenant { within_ms: 604_800_000 },
        ..probed(Effect::Keyed)
    };
    let each = StepKind::Each { tool: tool("pay"), parallel: 3 };
    let steps = vec![pay("a", &[]), step("nap", StepKind::Sleep, &["a"]), step("all", each, &["nap"])];
    let mut plan = plan(steps, full);
    plan.budget.deadline_ms = Some(3_600_000);
    plan.budget.attempts = Some(9);
    plan.pins.insert("model".into(), "m-1".into());
    Event::TaskCreated {
        task: TaskId::parse("tsk_1").unwrap(),
        tenant: Tenant::parse("acme").unwrap(),
        client_id: ClientId::parse("order/4711").unwrap(),
        plan,
        inputs: Stored::Inline(Json::obj([("amount", Json::from(100))])),
        epoch: 1,
        shared_epoch: 2,
        restored: None,
    }
}

fn task_samples() -> Vec<(&'static str, Event)> {
    let (actor, reason) = ("ann".to_string(), "on request".to_string());
    let written_off = vec![name("a")];
    vec![
        ("TaskCreated", created()),
        (
            "LeaseAcquired",
            Event::LeaseAcquired { session: SessionId::parse("ses_1").unwrap(), generation: generation() },
        ),
        ("RecoveryStarted", Event::RecoveryStarted { generation: generation(), open: vec![name("a")] }),
        (
            "RecoveryFinished",
            Event::RecoveryFinished { settled: vec![name("a")], in_review: vec![name("all[x%2Fy]")] },
        ),
        ("ArtifactCreated", Event::ArtifactCreated { artifact: artifact() }),
        ("CancelRequested", Event::CancelRequested { actor: actor.clone(), reason: reason.clone() }),
        ("Paused", Event::Paused { actor: actor.clone(), reason }),
        ("Resumed", Event::Resumed { actor: actor.clone() }),
        ("SnapshotAdopted", Event::SnapshotAdopted { epoch: 2, copied_at: Millis(1_700_000_000_000), actor }),
        ("TaskCompleted", Event::TaskCompleted { written_off: vec![] }),
        (
            "TaskFailed",
            Event::TaskFailed { step: name("a"), code: "SM3001".into(), written_off: written_off.clone() },
        ),
        ("TaskCancelled", Event::TaskCancelled { written_off }),
    ]
}

fn step_samples() -> Vec<(&'static str, Event)> {
    let step = || name("a");
    let operation = || operation(&name("a"), "x,y", "2", "100");
    vec![
        (
            "StepExpanded",
            Event::StepExpanded {
                step: name("all"),
                items: vec![name("all[0]"), name("all[1]")],
                list: Stored::Artifact(artifact()),
            },
        ),
        ("StepPlanned", Event::StepPlanned { step: step(), operation: operation(), same_as: None }),
        (
            "StepPlanned-equal",
            Event::StepPlanned { step: name("b"), operation: operation(), same_as: Some(op()) },
        ),
        ("StepAttached", Event::StepAttached { step: step(), to: TaskId::parse("opt_1").unwrap(), epoch: 3 }),
        ("StepSkipped", Event::StepSkipped { step: step(), cause: "amount > 0 is false".into() }),
        (
            "StepFailed",
            Event::StepFailed {
                step: step(),
                code: "SM3001".into(),
                cause: "declined".into(),
                fields: vec![],
                refusal: None,
            },
        ),
        (
            "StepFailed-conflict",
            Event::StepFailed {
                step: step(),
                code: "SM1006".into(),
                cause: "differs".into(),
                fields: vec!["amount".into()],
                refusal: None,
            },
        ),
        (
            "StepFailed-duplicate",
            Event::StepFailed {
                step: step(),
                code: "SM3006".into(),
                cause: "done before".into(),
                fields: vec![],
                refusal: Some(RefusalKind::Duplicate),
            },
        ),
        ("StepWrittenOff", Event::StepWrittenOff { step: step(), by: "ann".into() }),
        ("TimerSet", Event::TimerSet { step: name("nap"), at: Millis(1_700_000_000_000) }),
        ("TimerFired", Event::TimerFired { step: name("nap") }),
        (
            "RetryScheduled",
            Event::RetryScheduled { op: op(), at: Millis(1_700_000_000_000), cause: "busy".into() },
        ),
    ]
}

fn started(attempt: u32, why: Why, request: Option<Stored>) -> Event {
    Event::StepStarted {
        step: name("a"),
        op: op(),
        attempt,
        why,
        generation: generation(),
        send_by: Millis(1_700_000_005_000),
        timeout_ms: 30_000,
        key_epoch: 1,
        key: "abcdefghijklmnopqrstuvwxyz234567".into(),
        request,
    }
}

fn attempt_samples() -> Vec<(&'static str, Event)> {
    let answered = |outcome| Event::AttemptAnswered { op: op(), attempt: 1, outcome, shown: shown() };
    let unknown = |cause| {
        let outcome = Outcome::unknown(cause);
        Event::AttemptUnknown { op: op(), attempt: 1, outcome, shown: Json::Null }
    };
    let waits = Outcome::NotApplied {
        retryable: true,
        sent: false,
        cause: "no route".into(),
        retry_after_ms: Some(500),
        refusal: None,
    };
    let large = Outcome::Applied { result: Stored::Artifact(artifact()), replayed: true, truncated: true };
    vec![
        ("StepStarted", started(1, Why::First, Some(Stored::Inline(shown())))),
        ("StepStarted-retry", started(2, Why::Retry, None)),
        ("StepStarted-same-key", started(2, Why::SameKey, None)),
        ("StepStarted-harmless", started(2, Why::Harmless, None)),
        ("StepStarted-duplicate", started(2, Why::AcceptedDuplicate, None)),
        ("AttemptAnswered", answered(applied())),
        ("AttemptAnswered-large", answered(large)),
        ("AttemptAnswered-refused", answered(refused(false))),
        ("AttemptAnswered-stale", answered(stale())),
        ("AttemptAnswered-not-sent", answered(waits)),
        ("AttemptAnswered-contradiction", answered(Outcome::Contradiction { cause: "other".into() })),
        ("AttemptUnknown", unknown(UnknownCause::Timeout)),
        ("AttemptUnknown-lost", unknown(UnknownCause::Lost)),
        ("AttemptUnknown-garbled", unknown(UnknownCause::Garbled)),
        ("AttemptUnknown-undeclared", unknown(UnknownCause::Undeclared)),
        ("AttemptUnknown-not-a-success", unknown(UnknownCause::NotASuccess)),
        ("AttemptUnknown-owner-gone", unknown(UnknownCause::OwnerGone)),
        ("AttemptUnknown-deadline", unknown(UnknownCause::Deadline)),
        ("AttemptUnknown-body", unknown(UnknownCause::Body)),
        ("AttemptUnknown-restored", unknown(UnknownCause::Restored)),
        (
            "AttemptPending",
            Event::AttemptPending { op: op(), attempt: 1, outcome: pending(), shown: shown() },
        ),
        ("AccountSeen", Event::AccountSeen { op: op(), account: "main".into() }),
        ("CostCounted", Event::CostCounted { op: op(), attempt: 1, cost: 7 }),
        ("SentLate", Event::SentLate { op: op(), attempt: 1, late_ms: 40 }),
    ]
}

fn fact_samples() -> Vec<(&'static str, Event)> {
    let asked = |finding, settled| Event::ProbeAnswered {
        op: op(),
        asked_at: Millis(1_700_000_000_000),
        finding,
        confirm: None,
        settled,
        shown: shown(),
    };
    let confirmed = Event::ProbeAnswered {
        op: op(),
        asked_at: Millis(1_700_000_000_000),
        finding: Finding::Many { cause: "two sources disagree".into() },
        confirm: Some(Finding::Absent),
        settled: true,
        shown: shown(),
    };
    let fact = |source, attempt, outcome, contradicts| Event::EvidenceAdded {
        op: op(),
        source,
        attempt,
        outcome,
        shown: shown(),
        contradicts,
    };
    let found = Finding::Applied { result: Stored::Inline(Json::from("ok")) };
    vec![
        (
            "PrecheckAnswered",
            Event::PrecheckAnswered {
                op: op(),
                finding: Finding::Absent,
                holds: true,
                answered: true,
                refusal: None,
                tag: None,
                shown: shown(),
            },
        ),
        (
            "PrecheckAnswered-refused",
            Event::PrecheckAnswered {
                op: op(),
                finding: Finding::Absent,
                holds: false,
                answered: true,
                refusal: Some(RefusalKind::Changed),
                tag: None,
                shown: shown(),
            },
        ),
        (
            "PrecheckAnswered-version",
            Event::PrecheckAnswered {
                op: op(),
                finding: Finding::Absent,
                holds: true,
                answered: true,
                refusal: None,
                tag: Some("\"v7\"".into()),
                shown: shown(),
            },
        ),
        ("ProbeAnswered", asked(found, false)),
        ("ProbeAnswered-confirmed", confirmed),
        ("ProbeAnswered-absent", asked(Finding::Absent, true)),
        ("ProbeAnswered-pending", asked(Finding::Pending, false)),
        ("ProbeAnswered-many", asked(many(), false)),
        ("ProbeAnswered-unclear", asked(unclear(), false)),
        ("EvidenceAdded", fact(Source::LateAnswer, Some(1), applied(), false)),
        ("EvidenceAdded-receipt", fact(Source::Receipt, None, refused(false), true)),
        ("EvidenceAdded-person", fact(Source::Person("ann".into()), None, applied(), false)),
    ]
}

fn proof_samples() -> Vec<(&'static str, Event)> {
    let committed = |proof, authorship| Event::StepCommitted {
        step: name("a"),
        proof,
        authorship,
        output: Stored::Inline(Json::Arr(vec![Json::Null, Json::Bool(true)])),
    };
    let replay = Proof::Replay { of: "tsk_1/a/x@1".into(), at: Millis(1_700_000_000_000) };
    vec![
        ("StepCommitted", committed(Proof::Answer { attempt: 1 }, None)),
        ("StepCommitted-ours", committed(Proof::Answer { attempt: 2 }, Some(Authorship::Ours))),
        ("StepCommitted-probe", committed(Proof::Probe, Some(Authorship::Unproven))),
        ("StepCommitted-evidence", committed(Proof::Evidence, None)),
        ("StepCommitted-person", committed(Proof::Person { actor: "ann".into() }, None)),
        ("StepCommitted-replay", committed(replay, None)),
        ("StepCommitted-timer", committed(Proof::Timer, None)),
        ("StepCommitted-items", committed(Proof::Items, None)),
    ]
}

fn review_samples() -> Vec<(&'static str, Event)> {
    let review = || ReviewId::parse("rev_1_1").unwrap();
    let opened = |cause, step: Option<&str>| Event::ReviewOpened {
        review: review(),
        cause,
        step: step.map(name),
        question: "Did `pay` happen for x?".into(),
    };
    let decided = |decision| Event::ReviewDecided {
        review: review(),
        decision,
        actor: "ann".into(),
        reason: "I looked".into(),
    };
    let happened = Decision::ItHappened { reference: "4711".into(), result: Json::Null };
    vec![
        ("ReviewOpened", opened(ReviewCause::Blind, Some("a"))),
        ("ReviewOpened-key-window", opened(ReviewCause::KeyWindowOver, Some("a"))),
        ("ReviewOpened-account", opened(ReviewCause::AccountChanged, Some("a"))),
        ("ReviewOpened-probes", opened(ReviewCause::ProbesExhausted, Some("a"))),
        ("ReviewOpened-attempts", opened(ReviewCause::AttemptsExhausted, Some("a"))),
        ("ReviewOpened-contradiction", opened(ReviewCause::Contradiction, Some("a"))),
        ("ReviewOpened-cancelled", opened(ReviewCause::CancelledWhileUnknown, Some("a"))),
        ("ReviewOpened-offline", opened(ReviewCause::Offline, Some("a"))),
        ("ReviewOpened-compensate", opened(ReviewCause::Compensate, Some("a"))),
        ("ReviewOpened-budget", opened(ReviewCause::Budget { which: "deadline".into() }, None)),
        ("ReviewOpened-no-progress", opened(ReviewCause::NoProgress { claims: 3 }, None)),
        ("ReviewOpened-version", opened(ReviewCause::VersionMissing { what: "pay@1".into() }, None)),
        ("ReviewDecided", decided(happened)),
        ("ReviewDecided-it-did-not", decided(Decision::ItDidNot)),
        ("ReviewDecided-ask-again", decided(Decision::AskAgain)),
        ("ReviewDecided-wait", decided(Decision::WaitUntil { at: Millis(1_700_000_000_000) })),
        ("ReviewDecided-skip", decided(Decision::Skip)),
        ("ReviewDecided-write-off", decided(Decision::WriteOff)),
        ("ReviewDecided-abort", decided(Decision::Abort)),
        ("ReviewDecided-go-on", decided(Decision::GoOn)),
    ]
}
