//! What must hold of the tally for any history, and of its way through a store.

use crate::view_world::{
    HOUR, MINUTE, SECOND, START, World, applied, blind, pending, plan, refused, result, terms, with_probe,
};
use proptest::prelude::*;
use semel_engine::metrics::{Chosen, Rate, Tally, measure};
use semel_kernel::{
    event::Recorded,
    hash::Hash,
    id::TurnId,
    input::Input,
    json::Json,
    outcome::{Finding, Look, Outcome, Source, UnknownCause},
    review::Decision,
    terms::{Effect, OnUnknown, Terms},
    time::{Millis, Now},
};
use semel_ports::{
    Authority, Created, Creation, Due, Store as _, TaskFilter, Turn, mem::MemStore, projection,
};

fn terms_of(draw: u8) -> Terms {
    match draw % 7 {
        0 => with_probe(Effect::Keyed),
        1 => Terms { dedupe_atomic: true, ..terms(Effect::Keyed) },
        2 => terms(Effect::Queryable),
        3 => with_probe(Effect::Natural),
        4 => terms(Effect::None),
        5 => blind(OnUnknown::AcceptLoss),
        _ => blind(OnUnknown::Review),
    }
}

fn outcome_of(draw: u8) -> Outcome {
    match draw % 6 {
        0 => applied("a"),
        1 => applied("b"),
        2 => refused(true, "busy"),
        3 => refused(false, "no"),
        4 => pending("working"),
        _ => Outcome::unknown(UnknownCause::Timeout),
    }
}

fn finding_of(draw: u8) -> Finding {
    match draw % 5 {
        0 => Finding::Applied { result: result("a") },
        1 => Finding::Absent,
        2 => Finding::Pending,
        3 => Finding::Many { cause: "two".into() },
        _ => Finding::Unclear { cause: "?".into() },
    }
}

fn decision_of(draw: u8) -> Decision {
    match draw % 6 {
        0 => Decision::ItHappened { reference: "r".into(), result: Json::Null },
        1 => Decision::ItDidNot,
        2 => Decision::AskAgain,
        3 => Decision::WriteOff,
        4 => Decision::Abort,
        _ => Decision::GoOn,
    }
}

/// One act of a random world; what is not possible now changes nothing.
fn step(world: World, verb: u8, draw: u8) -> World {
    let name = if draw.is_multiple_of(2) { "charge" } else { "notify" };
    let op = world.task.operation_of(world.step(name)).cloned();
    match (verb % 12, op) {
        (0, _) => world.claim(),
        (1, _) => world.pass([SECOND, 40 * SECOND, HOUR][usize::from(draw % 3)]),
        (2, None) => {
            let acting = world.acting(name, "o-1");
            world.offer(acting)
        }
        (2, Some(op)) => {
            let (id, holds) = (op.planned.id, !draw.is_multiple_of(5));
            let finding = finding_of(draw);
            world.offer(Input::Prechecked { op: id, finding, look: Look::answered(holds), shown: Json::Null })
        }
        (3 | 4, Some(op)) if op.request.is_some() => {
            let begin = Input::Begin {
                op: op.planned.id,
                request: None,
                lease_left_ms: 12_000,
                next_key: "n".into(),
            };
            world.offer(begin)
        }
        (3 | 4, Some(op)) => {
            let request = Some(result("request"));
            world.offer(Input::Begin {
                op: op.planned.id,
                request,
                lease_left_ms: 12_000,
                next_key: "n".into(),
            })
        }
        (5 | 6, Some(op)) => {
            let (id, attempt, outcome) = (op.planned.id.clone(), op.last_number(), outcome_of(draw));
            world.offer(Input::Answered { op: id, attempt, outcome, shown: Json::Null, late_ms: 0, cost: 0 })
        }
        (7 | 8, Some(op)) => {
            let (asked_at, finding) = (world.now().at, finding_of(draw));
            world.offer(Input::Probed {
                op: op.planned.id,
                asked_at,
                finding,
                confirm: None,
                shown: Json::Null,
            })
        }
        (9, Some(op)) => {
            let source = if draw.is_multiple_of(3) { Source::LateAnswer } else { Source::Receipt };
            let attempt = Some(u32::from(draw % 3));
            let outcome = outcome_of(draw);
            world.offer(Input::Evidence { op: op.planned.id, source, attempt, outcome, shown: Json::Null })
        }
        (10, _) => match world.task.open_reviews().last().map(|r| r.id.clone()) {
            Some(review) => {
                let (actor, reason) = ("lin".to_owned(), "r".to_owned());
                world.offer(Input::Decide { review, decision: decision_of(draw), actor, reason, page: None })
            }
            None => world,
        },
        (11, _) if draw.is_multiple_of(8) => {
            let (epoch, copied_at) = (world.task.generation.epoch + 1, Millis(START - HOUR));
            world.offer(Input::Adopt { epoch, copied_at, actor: "lin".into() })
        }
        _ => world,
    }
}

fn worlds() -> impl Strategy<Value = Vec<Recorded>> {
    let acts = prop::collection::vec((any::<u8>(), any::<u8>()), 1..60);
    (any::<u8>(), acts).prop_map(|(draw, acts)| {
        let world = World::planned(plan(terms_of(draw)));
        acts.into_iter().fold(world, |world, (verb, draw)| step(world, verb, draw)).history
    })
}

/// Everything that Prometheus is told as a counter.
fn counters(tally: &Tally) -> Vec<u64> {
    let Tally { tasks, tasks_taken_up, tasks_escalated, reviews_opened, attempts, .. } = *tally;
    let Tally { ambiguous_operations, effects, effects_checked, effects_duplicated, written_off, .. } =
        *tally;
    let Tally { recoveries_started, recoveries_finished, recoveries_succeeded, recovery_ms, .. } = *tally;
    let Tally { replays, leases_lost, late_writes_rejected, .. } = *tally;
    let tasks = [tasks, tasks_taken_up, tasks_escalated, reviews_opened, attempts];
    let effects = [ambiguous_operations, effects, effects_checked, effects_duplicated, written_off];
    let recoveries = [recoveries_started, recoveries_finished, recoveries_succeeded, recovery_ms];
    let owners = [replays, leases_lost, late_writes_rejected];
    let sent: Vec<u64> = tally.operations.values().copied().collect();
    [&tasks[..], &effects, &recoveries, &owners, &sent, &[tally.operations_sent()]].concat()
}

fn is_share(rate: Rate) -> bool {
    rate.numerator <= rate.denominator
}

/// Every prefix of every history is folded anew, so the long tier asks for fewer histories than elsewhere.
fn cases() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.min(4_000), ..usual }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn the_sum_does_not_depend_on_the_order_or_on_how_it_is_grouped(
        all in prop::collection::vec(worlds(), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let tallies: Vec<Tally> = all.iter().map(|h| Tally::of_task(h).unwrap()).collect();
        let sum = |part: &mut dyn Iterator<Item = &Tally>| {
            let mut sum = Tally::default();
            part.for_each(|t| sum.add(t));
            sum
        };
        let whole = sum(&mut tallies.iter());
        prop_assert_eq!(&whole, &sum(&mut tallies.iter().rev()));
        let (left, right) = tallies.split_at(cut.index(tallies.len() + 1));
        prop_assert_eq!(&whole, &sum(&mut [sum(&mut left.iter()), sum(&mut right.iter())].iter()));
        prop_assert_eq!(whole.tasks, all.len() as u64);
    }

    /// A share is a share, and what counts up never counts down: each event adds to the counters or leaves them.
    #[test]
    fn shares_are_shares_and_counters_only_grow(history in worlds()) {
        let mut before: Option<(Vec<u64>, usize)> = None;
        for n in 1..=history.len() {
            let tally = Tally::of_task(&history[..n]).unwrap();
            for share in [
                tally.duplicate_side_effect_rate(),
                tally.coverage(),
                tally.recovery_success_rate(),
                tally.ambiguous_outcome_rate(),
                tally.human_escalation_rate(),
            ] {
                prop_assert!(is_share(share), "{share:?} after {:?}", history[n - 1]);
            }
            prop_assert!(tally.recoveries_finished <= tally.recoveries_started);
            prop_assert_eq!(tally.unknown_now > 0, tally.oldest_unknown_since.is_some());
            let (counters, kinds) = (counters(&tally), tally.operations.len());
            if let Some((old, _)) = before.as_ref().filter(|(_, k)| *k == kinds) {
                let grown = old.iter().zip(&counters).all(|(a, b)| a <= b);
                prop_assert!(grown, "{old:?} then {counters:?} by {:?}", history[n - 1]);
            }
            before = Some((counters, kinds));
        }
    }
}

/// The history as a store keeps it, all in the turns of their moments.
async fn keep(store: &MemStore, world: &World) {
    let mut base = 0;
    for group in world.history.chunk_by(|a, b| a.at == b.at) {
        let turn = Turn {
            task: world.task.id.clone(),
            turn: TurnId::parse(&format!("turn{}{base}", world.task.id)).unwrap(),
            base,
            authority: Authority::Anyone,
            at: group[0].at,
            events: group.iter().map(|r| r.event.clone()).collect(),
            projection: projection::of(&world.task, 0),
            due: Due::Park(None),
            progress: true,
            busy_until: Millis::MIN,
            checkpoint: None,
            artifacts: Vec::new(),
            owner: None,
        };
        if base == 0 {
            let created = store.create(Creation { turn, digest: Hash::of(b"d") }).await.unwrap();
            assert!(matches!(created, Created::New(_)));
        } else {
            store.commit(turn).await.unwrap();
        }
        base += group.len() as u64;
    }
}

fn lost(id: &str, at: i64) -> World {
    let world = World::called(plan(blind(OnUnknown::Review)), id, at).claim().act("charge", "o-1");
    world.begin("charge").pass(30 * SECOND).answer("charge", Outcome::unknown(UnknownCause::Timeout))
}

fn done(id: &str, at: i64) -> World {
    let world = World::called(plan(terms(Effect::Keyed)), id, at).claim().act("charge", "o-1");
    world.begin("charge").answer("charge", applied("a"))
}

fn since(at: i64) -> Chosen {
    Chosen { since: Some(Millis(at)), ..Chosen::default() }
}

async fn measured(store: &MemStore, chosen: &Chosen) -> (Tally, u64) {
    let mut told = 0;
    let measured = measure(store, chosen, &mut |n| told = n).await.unwrap();
    (measured.tally, told)
}

/// More tasks than a page holds; many are accepted in the same millisecond.
#[tokio::test]
async fn every_task_of_a_store_is_counted_once_page_by_page() {
    let store = MemStore::new(START + HOUR);
    let mut sum = Tally::default();
    for n in 0..1_203_i64 {
        let id = format!("tsk_{n:05}");
        let world = if n % 400 == 7 { lost(&id, START + n / 50) } else { done(&id, START + n / 50) };
        sum.add(&Tally::of_task(&world.history).unwrap());
        keep(&store, &world).await;
    }
    let (tally, told) = measured(&store, &Chosen::default()).await;
    assert_eq!((tally.tasks, tally.unknown_now, told), (1_203, 3, 1_203));
    assert_eq!(tally, sum);
}

#[tokio::test]
async fn what_is_in_doubt_now_is_counted_however_old_it_is() {
    let store = MemStore::new(START + 2 * HOUR);
    keep(&store, &lost("tsk_old", START)).await;
    keep(&store, &done("tsk_older", START - MINUTE)).await;
    keep(&store, &done("tsk_new", START + HOUR)).await;
    let (tally, told) = measured(&store, &since(START + HOUR)).await;
    assert_eq!((tally.tasks, tally.operations_sent(), told), (1, 1, 1));
    assert_eq!((tally.unknown_now, tally.oldest_unknown_since), (1, Some(Millis(START + 30 * SECOND))));
    assert_eq!(tally.ambiguous_outcome_rate(), Rate { numerator: 0, denominator: 1 });
    let (all, _) = measured(&store, &since(START - HOUR)).await;
    assert_eq!((all.tasks, all.unknown_now), (3, 1));
    let other = TaskFilter { name: Some("other".into()), ..TaskFilter::default() };
    let (none, _) = measured(&store, &Chosen { filter: other, since: Some(Millis(START + HOUR)) }).await;
    assert_eq!(none, Tally::default());
}

#[tokio::test]
async fn the_age_counts_to_the_moment_of_the_reading() {
    let store = MemStore::new(START + HOUR);
    keep(&store, &lost("tsk_old", START)).await;
    let measured = measure(&store, &Chosen::default(), &mut |_| {}).await.unwrap();
    assert_eq!(measured.oldest_unknown_ms(), Some(HOUR - 30 * SECOND));
    store.set_now(Now::steady(Millis(START)));
    let back = measure(&store, &Chosen::default(), &mut |_| {}).await.unwrap();
    assert_eq!(back.oldest_unknown_ms(), Some(0), "a clock that went back makes no age below nothing");
}
