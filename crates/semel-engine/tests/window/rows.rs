//! One test a row.

use crate::world::{World, first, op};
use semel_kernel::{
    event::Proof,
    operation::{AttemptState, Judgement},
    outcome::{RefusalKind, UnknownCause},
    review::ReviewCause,
    step::StepState,
    task::{Phase, Task},
};
use semel_sinks::{SinkKind, hostile::Behaviour};

/// A blind POST with one attempt: what it shows is what stays.
fn post(path: &str, more: &str) -> String {
    format!(
        r#"
semel: 1
name: window
tools:
  act:
    effect: blind
    key: [incident]
    timeout: 700ms
    retry: {{ max: 1 }}
    http: {{ method: POST, url: "{{SINK}}{path}", body: json }}
{more}
steps:
  - step: act
    act: act
    with: {{ incident: gw-1, title: down, to: gw-1, text: down, order: gw-1, amount: 1 }}
"#
    )
}

fn keyed(path: &str, more: &str) -> String {
    post(path, more)
        .replace(
            "effect: blind",
            "effect: keyed\n    key_window: 24h\n    dedupe: atomic\n    send_within: 1s",
        )
        .replace("retry: { max: 1 }", "retry: { max: 4, wait: 50ms }")
}

const NEVER: fn(&Task) -> bool = |_| false;

fn unknown(task: &Task) -> Option<UnknownCause> {
    match &first(task).state {
        AttemptState::Unknown { cause } => Some(cause.clone()),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_answer_that_satisfies_success_is_applied() {
    let world = World::sink(SinkKind::Tickets).await;
    let task = world.run(&post("/tickets", ""), NEVER).await;
    assert_eq!(first(&task).state, AttemptState::Applied);
    assert_eq!(op(&task).applied.as_ref().unwrap().proof, Proof::Answer { attempt: 1 });
    assert_eq!(world.effects().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_effect_free_answer_is_not_applied_for_good() {
    let world = World::sink(SinkKind::Tickets).await;
    world.faults(r#"[{"fault":"refuse_401"}]"#).await;
    let task = world.run(&post("/tickets", ""), NEVER).await;
    assert_eq!(first(&task).state, AttemptState::NotApplied { retryable: false, sent: true });
    assert_eq!((task.end.unwrap().phase, world.effects().await), (Phase::Failed, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_429_passes_and_is_tried_again() {
    let world = World::sink(SinkKind::Tickets).await;
    world.faults(r#"[{"fault":"refuse_429","times":2}]"#).await;
    let plan = post("/tickets", "").replace("retry: { max: 1 }", "retry: { max: 4, wait: 20ms }");
    let task = world.run(&plan, NEVER).await;
    assert_eq!(first(&task).state, AttemptState::NotApplied { retryable: true, sent: true });
    assert_eq!((op(&task).made(), world.effects().await), (3, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_must_be_declared_to_prove_anything() {
    for (fault, declared) in [("refuse_404", "404"), ("refuse_422", "422")] {
        let world = World::sink(SinkKind::Tickets).await;
        world.faults(&format!(r#"[{{"fault":"{fault}"}}]"#)).await;
        let task = world.run(&post("/tickets", ""), NEVER).await;
        assert_eq!(unknown(&task), Some(UnknownCause::Undeclared), "{fault}");
        let rule = format!("    refusals: [{{ when: \"status == {declared}\", final: true }}]");
        let world = World::sink(SinkKind::Tickets).await;
        world.faults(&format!(r#"[{{"fault":"{fault}"}}]"#)).await;
        let task = world.run(&post("/tickets", &rule), NEVER).await;
        assert_eq!(first(&task).state, AttemptState::NotApplied { retryable: false, sent: true }, "{fault}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn zero_bytes_handed_over_is_not_sent_whatever_it_is_called() {
    // Refused connection, a name that does not resolve, and a peer that does not speak TLS.
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let plain = World::hostile(Behaviour::PlainToTls).await.address.replace("http:", "https:");
    let cut = World::hostile(Behaviour::CloseInTlsHandshake).await.address.replace("http:", "https:");
    for address in [format!("http://{closed}"), "http://nowhere.invalid".to_owned(), plain, cut] {
        let task = World::nowhere(&address).run(&post("/tickets", ""), NEVER).await;
        assert_eq!(
            first(&task).state,
            AttemptState::NotApplied { retryable: true, sent: false },
            "{address}"
        );
        assert_eq!(task.end.unwrap().phase, Phase::Failed, "{address}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_or_garbled_answer_is_unknown() {
    let rows = [
        ("reset_before", UnknownCause::Lost, 0),
        ("reset_after", UnknownCause::Lost, 1),
        ("half_answer", UnknownCause::Garbled, 1),
        ("garbage", UnknownCause::Garbled, 1),
        ("slow_after:3000", UnknownCause::Timeout, 1),
        ("status_500_before", UnknownCause::Undeclared, 0),
        ("status_500_after", UnknownCause::Undeclared, 1),
        ("redirect_302", UnknownCause::Undeclared, 0),
    ];
    for (fault, cause, effects) in rows {
        let world = World::sink(SinkKind::Tickets).await;
        world.faults(&format!(r#"[{{"fault":"{fault}","times":1}}]"#)).await;
        let task = world.run(&post("/tickets", ""), NEVER).await;
        assert_eq!(unknown(&task), Some(cause), "{fault}");
        assert_eq!(op(&task).judge(), Judgement::Unknown, "{fault}");
        assert_eq!(task.reviews[0].cause, ReviewCause::Blind, "{fault}");
        assert_eq!(world.effects().await, effects, "{fault}");
        assert!(task.steps.values().all(|s| s.state != StepState::Failed), "{fault}: unknown is not failed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_misbehaves_on_the_wire_is_unknown_once_bytes_have_left() {
    let rows = [
        Behaviour::HeadThenReset,
        Behaviour::ReadAllThenReset,
        Behaviour::ReadAllThenClose,
        Behaviour::HalfAnswer,
        Behaviour::Garbage,
        Behaviour::NeverAnswer,
        Behaviour::CloseAfterBytes(20),
    ];
    for behaviour in rows {
        let named = format!("{behaviour:?}");
        let task = World::hostile(behaviour).await.run(&post("/tickets", ""), NEVER).await;
        assert!(unknown(&task).is_some(), "{named}: {:?}", first(&task).state);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_2xx_that_fails_success_is_unknown() {
    let world = World::sink(SinkKind::Tickets).await;
    world.faults(r#"[{"fault":"ok_but_false","times":1}]"#).await;
    let task = world.run(&post("/tickets", "    success: \"status == 201\""), NEVER).await;
    assert_eq!(unknown(&task), Some(UnknownCause::NotASuccess));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_202_is_pending_and_is_polled() {
    let world = World::sink(SinkKind::Tickets).await;
    world.faults(r#"[{"fault":"accept_202","times":1,"commit_after_ms":600}]"#).await;
    let probe = r#"
    probe:
      http: { method: GET, url: "{SINK}/tickets", query: { incident: "${{ args.incident }}" } }
      applied: "body.total == 1"
      absent: "body.total == 0"
      settle: 5s
      poll: 200ms"#;
    let plan = post("/tickets", probe).replace("effect: blind", "effect: queryable");
    let task = world.run(&plan, NEVER).await;
    assert!(matches!(first(&task).state, AttemptState::Pending { .. }));
    assert_eq!(op(&task).applied.as_ref().unwrap().proof, Proof::Probe);
    assert_eq!((op(&task).made(), world.effects().await), (1, 1));
}

/// The first request is still being worked on when the second one comes under the same key.
#[tokio::test(flavor = "multi_thread")]
async fn key_in_use_is_pending_and_the_key_is_repeated() {
    let world = World::sink(SinkKind::Tickets).await;
    world.faults(r#"[{"fault":"slow_before:1500","times":1}]"#).await;
    let plan = keyed("/tickets", "    key_in_use: \"status == 409\"\n    key_reused: \"status == 422\"");
    let plan = plan.replace("wait: 50ms", "wait: 600ms, jitter: none");
    let task = world.run(&plan, NEVER).await;
    assert_eq!(unknown(&task), Some(UnknownCause::Timeout));
    let pending =
        op(&task).attempts.iter().filter(|a| matches!(a.state, AttemptState::Pending { .. })).count();
    assert!(pending > 0, "{:?}", op(&task).attempts);
    assert_eq!((op(&task).judge(), world.effects().await), (Judgement::Applied, 1));
}

/// The desk holds the key for another request: a contradiction, and a person is asked.
#[tokio::test(flavor = "multi_thread")]
async fn key_used_with_other_parameters_is_a_review() {
    let world = World::sink(SinkKind::Tickets).await;
    world.faults(r#"[{"fault":"refuse_422"}]"#).await;
    let task = world.run(&keyed("/tickets", "    key_reused: \"status == 422\""), NEVER).await;
    assert_eq!(op(&task).judge(), Judgement::Contradiction);
    assert_eq!(task.reviews[0].cause, ReviewCause::Contradiction);
    assert_eq!(world.effects().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_under_a_key_is_replayed() {
    let world = World::sink(SinkKind::Payments).await;
    world.faults(r#"[{"fault":"reset_after","times":1}]"#).await;
    let task = world.run(&keyed("/charges", ""), NEVER).await;
    assert_eq!((op(&task).made(), world.effects().await), (2, 1));
    let keys: std::collections::BTreeSet<_> = op(&task).attempts.iter().map(|a| &a.key).collect();
    assert_eq!(keys.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn found_more_than_once_is_a_review() {
    let world = World::sink(SinkKind::Tickets).await;
    world.faults(r#"[{"fault":"reset_after","times":1},{"fault":"lookup_many"}]"#).await;
    let probe = r#"
    probe:
      http: { method: GET, url: "{SINK}/tickets", query: { incident: "${{ args.incident }}" } }
      applied: "body.total == 1"
      absent: "body.total == 0"
      many: "body.total > 1"
      settle: 1s
      poll: 100ms"#;
    let plan = post("/tickets", probe).replace("effect: blind", "effect: queryable");
    let task = world.run(&plan, NEVER).await;
    assert_eq!(task.reviews[0].cause, ReviewCause::Contradiction);
    assert_eq!(world.effects().await, 1);
}

/// A natural effect whose state holds already: nothing is sent, and authorship is not claimed.
#[tokio::test(flavor = "multi_thread")]
async fn natural_effects_look_before_they_set() {
    let world = World::sink(SinkKind::Accounts).await;
    let plan = r#"
semel: 1
name: block
tools:
  block:
    effect: natural
    key: [account]
    timeout: 700ms
    http: { method: PUT, url: "{SINK}/accounts/${{ args.account }}", body: json, send: { state: blocked } }
    probe:
      http: { method: GET, url: "{SINK}/accounts/${{ args.account }}" }
      applied: "body.state == 'blocked'"
      absent: "body.state == 'active'"
      pending: "body.state == 'blocking'"
      settle: 1s
      poll: 100ms
steps:
  - { step: block, act: block, with: { account: u-1 } }
  - { step: again, act: block, intent: 2, with: { account: u-1 } }
"#;
    world.faults(r#"[{"fault":"reset_after","times":1}]"#).await;
    let task = world.run(plan, NEVER).await;
    assert_eq!(task.end.as_ref().unwrap().phase, Phase::Completed, "{:#?}", task.steps);
    assert_eq!(world.effects().await, 1);
    let again = task.steps.values().find(|s| s.name.as_str() == "again").unwrap();
    let sent = task.operation_of(again).unwrap().made();
    assert_eq!((sent, again.proof.clone()), (0, Some(Proof::Probe)));
}

/// A state is set only in the version that was looked at: the gate of `BLOCK` is put in the place of GATE.
const BLOCK: &str = r#"
semel: 1
name: block
tools:
  block:
    effect: natural
    key: [account]
    timeout: 700ms
    retry: { max: 3, wait: 1500ms, jitter: none }
    GATE
    http: { method: PUT, url: "{SINK}/accounts/${{ args.account }}", body: json, send: { state: blocked, by: us } }
    probe:
      http: { method: GET, url: "{SINK}/accounts/${{ args.account }}" }
      applied: "body.id == args.account && body.state == 'blocked' && body.by == 'us'"
      absent: "body.id == args.account && body.by != 'us'"
      settle: 1s
      poll: 100ms
steps:
  - { step: block, act: block, with: { account: u-1 } }
"#;

async fn others_write(world: &World, state: &str) {
    let body = format!(r#"{{"state":"{state}","by":"others"}}"#);
    world.call("PUT", "/accounts/u-1", Some(body)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_is_current_is_named_and_accepted() {
    let world = World::sink(SinkKind::Accounts).await;
    let task = world.run(&BLOCK.replace("GATE", "if_match: true"), NEVER).await;
    assert_eq!(first(&task).state, AttemptState::Applied);
    let frozen = format!("{:?}", op(&task).request);
    assert!(frozen.contains("if-match"), "{frozen}");
    assert_eq!(world.effects().await, 1);
}

/// The version is frozen with the first attempt. It is refused for now, others write meanwhile, and the same bytes are
/// refused as stale.
#[tokio::test(flavor = "multi_thread")]
async fn a_412_to_the_frozen_version_is_a_stale_version_and_final() {
    let world = World::sink(SinkKind::Accounts).await;
    world.faults(r#"[{"fault":"refuse_429","times":1}]"#).await;
    let plan = BLOCK.replace("GATE", "if_match: true");
    let waits: fn(&Task) -> bool = |task| op(task).made() == 1 && op(task).not_before.is_some();
    let task = world.run(&plan, waits).await;
    assert_eq!(first(&task).state, AttemptState::NotApplied { retryable: true, sent: true });
    others_write(&world, "blocked").await;
    let task = world.run(&plan, NEVER).await;
    let step = task.steps.values().next().unwrap();
    assert_eq!((step.state, step.refusal), (StepState::Failed, Some(RefusalKind::Stale)), "{step:#?}");
    assert_eq!((op(&task).made(), op(&task).attempts[1].refusal), (2, Some(RefusalKind::Stale)));
    assert_eq!(world.effects().await, 1, "only what others wrote");
}

/// Our own first request, whose answer was lost, has changed the version: it is looked up, and not sent again to be
/// refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_to_a_named_version_is_looked_up() {
    let world = World::sink(SinkKind::Accounts).await;
    world.faults(r#"[{"fault":"reset_after","times":1}]"#).await;
    let task = world.run(&BLOCK.replace("GATE", "if_match: true"), NEVER).await;
    assert_eq!(task.end.as_ref().unwrap().phase, Phase::Completed, "{:#?}", task.steps);
    assert_eq!((op(&task).applied.as_ref().unwrap().proof.clone(), world.effects().await), (Proof::Probe, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_the_state_says_which_it_is() {
    let gate = "require: { duplicate: \"body.state == 'blocked'\", stale: \"body.version > 2\", holds: \"body.state == 'active'\" }";
    for (writes, expected) in [(1, RefusalKind::Duplicate), (2, RefusalKind::Stale)] {
        let world = World::sink(SinkKind::Accounts).await;
        for state in ["blocked", "active"].into_iter().take(writes) {
            others_write(&world, state).await;
        }
        let task = world.run(&BLOCK.replace("GATE", gate), NEVER).await;
        let step = task.steps.values().next().unwrap();
        assert_eq!((step.refusal, op(&task).made()), (Some(expected), 0), "{step:#?}");
        assert_eq!(world.effects().await, i64::try_from(writes).unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_429_that_retry_on_leaves_out_is_final() {
    let world = World::sink(SinkKind::Tickets).await;
    world.faults(r#"[{"fault":"refuse_429","times":1}]"#).await;
    let plan = post("/tickets", "").replace("retry: { max: 1 }", "retry: { max: 4, wait: 20ms, on: [409] }");
    let task = world.run(&plan, NEVER).await;
    assert_eq!(first(&task).state, AttemptState::NotApplied { retryable: false, sent: true });
    assert_eq!((op(&task).made(), world.effects().await), (1, 0));
}

/// The desk's own count of effects is the second source.
fn confirmed() -> String {
    let probe = r#"
    send_within: 1s
    probe:
      http: { method: GET, url: "{SINK}/tickets", query: { incident: "${{ args.incident }}" } }
      applied: "body.total == 1"
      absent: "body.total == 0"
      settle: 500ms
      poll: 100ms
      confirm:
        http: { method: GET, url: "{SINK}/_count" }
        applied: "body.effects == 1"
        absent: "body.effects == 0""#;
    let plan = post("/tickets", probe).replace("effect: blind", "effect: queryable");
    plan.replace("retry: { max: 1 }", "retry: { max: 4, wait: 20ms }")
}

/// The listing lags behind for good. By itself it would prove *absent*, and the ticket would be created twice.
#[tokio::test(flavor = "multi_thread")]
async fn two_sources_that_disagree_are_a_review_and_not_a_resend() {
    let world = World::sink(SinkKind::Tickets).await;
    world.faults(r#"[{"fault":"reset_after","times":1},{"fault":"read_lag:600000"}]"#).await;
    let task = world.run(&confirmed(), NEVER).await;
    assert_eq!(task.reviews[0].cause, ReviewCause::Contradiction, "{:#?}", op(&task));
    assert_eq!((op(&task).made(), world.effects().await), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sources_that_agree_on_absent_let_it_be_sent_again() {
    let world = World::sink(SinkKind::Tickets).await;
    world.faults(r#"[{"fault":"reset_before","times":1}]"#).await;
    let task = world.run(&confirmed(), NEVER).await;
    assert_eq!(task.end.as_ref().unwrap().phase, Phase::Completed, "{:#?}", op(&task));
    assert_eq!((op(&task).made(), world.effects().await), (2, 1));
}

/// What the answer says that it cost is counted, and a further attempt that would cost too much is a person's choice.
#[tokio::test(flavor = "multi_thread")]
async fn attempts_that_cost_too_much_are_a_review() {
    let world = World::sink(SinkKind::Tickets).await;
    world.faults(r#"[{"fault":"refuse_429"}]"#).await;
    let cost = "    limits: { cost: { max: 5, attempt: 1, answer: \"status == 429 ? 1 : 0\" } }";
    let plan = post("/tickets", cost).replace("retry: { max: 1 }", "retry: { max: 9, wait: 20ms }");
    let task = world.run(&plan, NEVER).await;
    assert_eq!(task.reviews[0].cause, ReviewCause::Budget { which: "cost".into() });
    assert_eq!((op(&task).made(), op(&task).attempts[0].cost, world.effects().await), (3, 1, 0));
}

/// The label lies in a file, and is another one when the task is taken up again: the key would be new to that account,
/// so the second request would be a second charge.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_account_ends_the_keys_window() {
    for (label, made, asked) in [("main", 2, None), ("other", 1, Some(ReviewCause::AccountChanged))] {
        let world = World::sink(SinkKind::Payments).await;
        let file = world.dir.path().join("account");
        std::fs::write(&file, "main").unwrap();
        world.faults(r#"[{"fault":"reset_after","times":1}]"#).await;
        let account = format!("    account: \"file:{}\"", file.display());
        let plan = keyed("/charges", &account).replace("wait: 50ms", "wait: 1500ms, jitter: none");
        let waits: fn(&Task) -> bool = |task| task.operations.values().any(|op| op.not_before.is_some());
        let task = world.run(&plan, waits).await;
        assert_eq!((op(&task).made(), op(&task).account.as_deref()), (1, Some("main")));
        std::fs::write(&file, label).unwrap();
        let task = world.run(&plan, NEVER).await;
        assert_eq!(task.reviews.first().map(|r| r.cause.clone()), asked, "{label}");
        assert_eq!((op(&task).made(), world.effects().await), (made, 1), "{label}");
    }
}
