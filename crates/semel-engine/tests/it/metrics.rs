//! Metrics, counted by hand: one history event by event, then each count in the histories that it is made for.

use crate::view_world::{
    HOUR, MINUTE, SECOND, START, World, applied, blind, name, plan, refused, result, terms, tool, with_probe,
};
use semel_engine::metrics::{Measured, Rate, Tally};
use semel_kernel::{
    event::{Event, PlannedOperation, Proof, Recorded, Why},
    hash::Hash,
    id::{ClientId, Intent, OperationId, ReviewId, SessionId, TaskId, Tenant},
    json::Json,
    outcome::{Finding, Outcome, Source, Stored, UnknownCause},
    review::{Decision, ReviewCause},
    terms::{Effect, OnUnknown, Terms},
    time::{Generation, Millis},
};

fn tally(world: &World) -> Tally {
    Tally::of_task(&world.history).unwrap()
}

fn rate(numerator: u64, denominator: u64) -> Rate {
    Rate { numerator, denominator }
}

/// A history written event by event, without the kernel's decisions.
struct ByHand {
    history: Vec<Recorded>,
    task: TaskId,
}

impl ByHand {
    fn at(mut self, second: i64, event: Event) -> Self {
        let seq = self.history.len() as u64 + 1;
        self.history.push(Recorded { seq, at: Millis(START + second * SECOND), event });
        self
    }

    fn op(&self, step: &str) -> OperationId {
        let intent = Intent { target: "o-1", version: "1", intent: 1 };
        OperationId::build(&self.task, &name(step), &intent).unwrap()
    }

    fn created(self, terms: Terms) -> Self {
        let event = Event::TaskCreated {
            task: self.task.clone(),
            tenant: Tenant::parse("default").unwrap(),
            client_id: ClientId::parse("c").unwrap(),
            plan: plan(terms),
            inputs: Stored::Inline(Json::Null),
            epoch: 0,
            shared_epoch: 0,
            restored: None,
        };
        self.at(0, event)
    }

    fn owner(self, second: i64, n: u64) -> Self {
        let session = SessionId::parse(&format!("ses_{n}")).unwrap();
        self.at(second, Event::LeaseAcquired { session, generation: generation(n) })
    }

    fn planned(self, second: i64, step: &str, with: &str) -> Self {
        let operation = PlannedOperation {
            id: self.op(step),
            tool: tool(with),
            target: "o-1".into(),
            version: "1".into(),
            intent: 1,
            key: "k".into(),
            key_epoch: 0,
            request_hash: Hash::of(b"r"),
            fields: [].into(),
            arguments: Stored::Inline(Json::Null),
        };
        self.at(second, Event::StepPlanned { step: name(step), operation, same_as: None })
    }

    fn started(self, second: i64, step: &str, owner: u64) -> Self {
        let event = Event::StepStarted {
            step: name(step),
            op: self.op(step),
            attempt: 1,
            why: Why::First,
            generation: generation(owner),
            send_by: Millis(START + second * SECOND + 5_000),
            timeout_ms: 30_000,
            key_epoch: 0,
            key: "k".into(),
            request: Some(Stored::Inline(Json::Null)),
        };
        self.at(second, event)
    }

    fn lost(self, second: i64, step: &str, cause: UnknownCause) -> Self {
        let (op, outcome) = (self.op(step), Outcome::unknown(cause));
        self.at(second, Event::AttemptUnknown { op, attempt: 1, outcome, shown: Json::Null })
    }
}

const fn generation(counter: u64) -> Generation {
    Generation { epoch: 0, counter }
}

/// The worker dies with `charge` under way; the next one looks, finds it, and goes on to `notify`, whose answer is lost.
/// A third owner takes over; the late answer of the first is filed; a person writes `notify` off.
fn by_hand() -> Vec<Recorded> {
    let hand = ByHand { history: Vec::new(), task: TaskId::parse("tsk_hand").unwrap() };
    let charge = hand.op("charge");
    let review = ReviewId::nth(&hand.task, 1).unwrap();
    let hand = hand
        .created(with_probe(Effect::Keyed))
        .owner(0, 1) // the first take-up: no replay
        .planned(0, "charge", "pay")
        .started(0, "charge", 1) // attempt 1
        .owner(20, 2) // replay 1; an attempt is under way: lease lost 1
        .at(20, Event::RecoveryStarted { generation: generation(2), open: vec![name("charge")] }) // recovery 1
        .lost(20, "charge", UnknownCause::OwnerGone); // in doubt 1
    let found = Finding::Applied { result: result("p-1") };
    let asked_at = Millis(START + 39 * SECOND);
    let hand = hand
        .at(
            40,
            Event::ProbeAnswered {
                op: charge.clone(),
                asked_at,
                finding: found,
                confirm: None,
                settled: false,
                shown: Json::Null,
            },
        ) // checked 1
        .at(
            40,
            Event::StepCommitted {
                step: name("charge"),
                proof: Proof::Probe,
                authorship: None,
                output: result("p-1"),
            },
        )
        .at(40, Event::RecoveryFinished { settled: vec![name("charge")], in_review: vec![] }) // success 1, 20 s
        .planned(41, "notify", "mail")
        .started(41, "notify", 2) // attempt 2
        .lost(71, "notify", UnknownCause::Timeout); // in doubt 2
    let question = "Did it happen?".to_owned();
    let opened = Event::ReviewOpened {
        review: review.clone(),
        cause: ReviewCause::Blind,
        step: Some(name("notify")),
        question,
    };
    let hand = hand
        .at(71, opened) // review 1
        .owner(90, 3); // replay 2; nothing is under way: no lease lost
    let late = Event::EvidenceAdded {
        op: charge,
        source: Source::LateAnswer,
        attempt: Some(1),
        outcome: applied("p-1"),
        shown: Json::Null,
        contradicts: false,
    };
    let (actor, reason) = ("lin".to_owned(), "nobody knows".to_owned());
    let decided = Event::ReviewDecided { review, decision: Decision::WriteOff, actor, reason };
    hand.at(91, late) // owner 1 speaks after owner 3 took over: late write 1
        .at(100, decided)
        .at(100, Event::StepWrittenOff { step: name("notify"), by: "lin".into() }) // written off 1
        .at(100, Event::TaskCompleted { written_off: vec![name("notify")] })
        .history
}

#[test]
fn a_history_counted_by_hand() {
    let expected = Tally {
        tasks: 1,
        tasks_taken_up: 1,
        tasks_escalated: 1,
        reviews_opened: 1,
        operations: [("keyed+probed", 1), ("at-most-once", 1)].into(),
        attempts: 2,
        ambiguous_operations: 2,
        effects: 1, // charge; notify is proven by nobody
        effects_checked: 1,
        effects_duplicated: 0,
        written_off: 1,
        recoveries_started: 1,
        recoveries_finished: 1,
        recoveries_succeeded: 1,
        recovery_ms: 20_000,
        replays: 2,
        leases_lost: 1,
        late_writes_rejected: 1,
        unknown_now: 0, // written off: it leaves the open set
        oldest_unknown_since: None,
    };
    assert_eq!(Tally::of_task(&by_hand()).unwrap(), expected);
}

/// The same history cut off at second 71: one operation is in doubt, since then, and its task waits for a person.
#[test]
fn a_history_that_is_not_over_says_what_is_in_doubt_and_since_when() {
    let mut history = by_hand();
    history.truncate(14);
    let tally = Tally::of_task(&history).unwrap();
    assert_eq!((tally.unknown_now, tally.written_off, tally.replays), (1, 0, 1));
    assert_eq!(tally.oldest_unknown_since, Some(Millis(START + 71 * SECOND)));
    let measured = Measured { at: Millis(START + 100 * SECOND), tally: tally.clone() };
    assert_eq!(measured.oldest_unknown_ms(), Some(29 * SECOND));
    let present = tally.present();
    assert_eq!((present.unknown_now, present.tasks, present.attempts), (1, 0, 0));
}

#[test]
fn the_rates_of_the_history_counted_by_hand() {
    let tally = Tally::of_task(&by_hand()).unwrap();
    assert_eq!(tally.duplicate_side_effect_rate(), rate(0, 1));
    assert_eq!(tally.coverage(), rate(1, 1));
    assert_eq!(tally.recovery_success_rate(), rate(1, 1));
    assert_eq!(tally.mean_recovery_ms(), rate(20_000, 1));
    assert_eq!(tally.ambiguous_outcome_rate(), rate(2, 2));
    assert_eq!(tally.human_escalation_rate(), rate(1, 1));
    assert_eq!(tally.replay_count_per_task(), rate(2, 1));
    assert_eq!(Tally::default().human_escalation_rate().value(), None);
}

#[test]
fn a_history_that_does_not_fold_is_refused() {
    let mut history = by_hand();
    history.remove(3);
    assert!(Tally::of_task(&history).is_err());
    assert!(Tally::of_task(&[]).is_err());
}

/// (effects, checked, duplicated)
fn effects(world: &World) -> (u64, u64, u64) {
    let tally = tally(world);
    (tally.effects, tally.effects_checked, tally.effects_duplicated)
}

#[test]
fn an_answer_proves_an_effect_and_checks_nothing() {
    let world = World::started(terms(Effect::Keyed)).answer("charge", applied("a"));
    assert_eq!(effects(&world), (1, 0, 0));
    assert_eq!(tally(&world).ambiguous_outcome_rate(), rate(0, 1));
    let refusal = World::started(terms(Effect::Keyed)).answer("charge", refused(false, "no"));
    assert_eq!((effects(&refusal), tally(&refusal).operations_sent()), ((0, 0, 0), 1));
}

#[test]
fn a_look_up_a_receipt_and_a_person_check_and_a_late_answer_does_not() {
    let lost = || World::timed_out(with_probe(Effect::Keyed));
    let found = lost().probed("charge", Finding::Applied { result: result("a") });
    assert_eq!(effects(&found), (1, 1, 0));
    let told = |source| lost().evidence(source, Some(1), applied("a"));
    assert_eq!(effects(&told(Source::Receipt)), (1, 1, 0));
    assert_eq!(effects(&told(Source::Person("lin".into()))), (1, 1, 0));
    assert_eq!(effects(&told(Source::LateAnswer)), (1, 0, 0));
    for unclear in [Finding::Absent, Finding::Pending, Finding::Unclear { cause: "?".into() }] {
        assert_eq!(effects(&lost().probed("charge", unclear)), (0, 0, 0));
    }
}

#[test]
fn what_is_found_twice_is_a_duplicate_and_stays_one_whatever_a_person_decides() {
    let many = Finding::Many { cause: "2 charges".into() };
    let world = World::timed_out(with_probe(Effect::Keyed)).probed("charge", many);
    assert_eq!((effects(&world), tally(&world).unknown_now), ((1, 1, 1), 1));
    let decision = Decision::ItHappened { reference: "a".into(), result: Json::Null };
    let decided = world.decide(decision);
    assert_eq!((effects(&decided), tally(&decided).unknown_now), ((1, 1, 1), 0));
}

/// The first request was held for absent, a second one was made and answered, and then the first is heard of.
#[test]
fn a_request_that_counted_as_absent_and_had_an_effect_is_a_duplicate() {
    let world = World::timed_out(terms(Effect::Queryable)).skip_time(HOUR).probed("charge", Finding::Absent);
    let world = world.begin("charge").answer("charge", applied("b"));
    assert_eq!(effects(&world), (1, 0, 0));
    let world = world.evidence(Source::LateAnswer, Some(1), applied("a"));
    assert_eq!(effects(&world), (1, 1, 1));
}

/// The step failed, so no effect is on record; one that is found after all is the first, not a second.
#[test]
fn an_effect_of_a_step_that_failed_is_a_contradiction_and_no_duplicate() {
    let world = World::started(terms(Effect::Keyed)).answer("charge", refused(false, "no"));
    let world = world.evidence(Source::Receipt, Some(1), applied("a"));
    assert_eq!((effects(&world), tally(&world).unknown_now), ((1, 1, 0), 1));
    let again = world.evidence(Source::Receipt, Some(1), applied("b"));
    assert_eq!(effects(&again), (1, 1, 1), "the second one is");
}

#[test]
fn natural_effects_are_no_duplicates_and_reads_are_no_effects() {
    let natural = World::started(terms(Effect::Natural)).answer("charge", applied("a"));
    assert_eq!((effects(&natural), tally(&natural).operations_sent()), ((0, 0, 0), 1));
    let held = World::planned(plan(with_probe(Effect::Natural)));
    let held = held.prechecked(Finding::Applied { result: result("a") }, true);
    assert_eq!((effects(&held), tally(&held).operations_sent()), ((0, 0, 0), 0), "it was so before");
    let read = World::timed_out(terms(Effect::None));
    let tally = tally(&read);
    assert_eq!((effects(&read), tally.operations_sent(), tally.ambiguous_operations), ((0, 0, 0), 0, 0));
    assert_eq!(tally.attempts, 1, "a read is a request all the same");
}

#[test]
fn an_operation_of_which_nothing_was_sent_is_in_no_denominator() {
    let tally = tally(&World::planned(plan(terms(Effect::Keyed))));
    assert_eq!((tally.tasks, tally.operations_sent(), tally.attempts), (1, 0, 0));
}

#[test]
fn doubt_is_counted_once_for_an_operation_however_often_it_comes() {
    let lost =
        |w: World| w.pass(MINUTE).begin("charge").answer("charge", Outcome::unknown(UnknownCause::Lost));
    let world = lost(World::timed_out(Terms { dedupe_atomic: true, ..terms(Effect::Keyed) }));
    let tally = tally(&world);
    assert_eq!((tally.ambiguous_outcome_rate(), tally.attempts), (rate(1, 1), 2));
}

#[test]
fn the_copy_of_a_store_is_in_doubt_about_what_the_original_may_have_sent() {
    let tally = tally(&World::planned(plan(terms(Effect::Keyed))).adopt());
    assert_eq!((tally.ambiguous_outcome_rate(), tally.attempts, tally.unknown_now), (rate(1, 1), 0, 1));
}

/// (started, finished, succeeded, milliseconds)
fn recoveries(world: &World) -> (u64, u64, u64, u64) {
    let tally = tally(world);
    let (started, finished) = (tally.recoveries_started, tally.recoveries_finished);
    (started, finished, tally.recoveries_succeeded, tally.recovery_ms)
}

#[test]
fn a_recovery_succeeds_by_proof_and_not_by_asking_or_giving_up() {
    let taken = |terms: Terms| World::started(terms).skip_time(MINUTE).claim();
    let under_way = taken(with_probe(Effect::Keyed));
    assert_eq!(recoveries(&under_way), (1, 0, 0, 0));
    let proven = under_way.skip_time(7 * SECOND).probed("charge", Finding::Applied { result: result("a") });
    assert_eq!(recoveries(&proven), (1, 1, 1, 7_000));
    assert_eq!(recoveries(&taken(blind(OnUnknown::Review))), (1, 1, 0, 0), "a person is asked");
    assert_eq!(recoveries(&taken(blind(OnUnknown::AcceptLoss))), (1, 1, 0, 0), "it is written off");
    assert_eq!(tally(&taken(blind(OnUnknown::AcceptLoss))).written_off, 1);
}

#[test]
fn a_lease_is_lost_only_where_an_attempt_was_under_way() {
    let idle = World::planned(plan(terms(Effect::Keyed))).claim().claim();
    let found = tally(&idle);
    assert_eq!((found.leases_lost, found.replay_count_per_task()), (0, rate(2, 1)));
    let busy = tally(&World::started(terms(Effect::Keyed)).claim());
    assert_eq!((busy.leases_lost, busy.replay_count_per_task()), (1, rate(1, 1)));
    let never = tally(&World::new(plan(terms(Effect::Keyed))));
    assert_eq!((never.replay_count_per_task(), never.tasks), (rate(0, 0), 1));
}

/// The second worker dies while it recovers what the first has left: no further recovery begins, and a lease is lost.
#[test]
fn an_owner_that_dies_while_it_recovers_has_lost_its_lease_too() {
    let world = World::started(Terms { dedupe_atomic: true, ..terms(Effect::Keyed) }).claim();
    let world = world.skip_time(MINUTE).begin("charge").claim();
    assert_eq!((tally(&world).leases_lost, recoveries(&world).0), (2, 1));
}

#[test]
fn a_late_answer_counts_as_rejected_only_from_an_owner_that_was_fenced_off() {
    let answer = |w: World| w.evidence(Source::LateAnswer, Some(1), applied("a"));
    let own = answer(World::timed_out(with_probe(Effect::Keyed)));
    assert_eq!(tally(&own).late_writes_rejected, 0, "its own owner had given up waiting");
    let fenced = answer(World::started(with_probe(Effect::Keyed)).claim());
    assert_eq!(tally(&fenced).late_writes_rejected, 1);
    let lost = World::started(with_probe(Effect::Keyed)).claim();
    let lost = lost.evidence(Source::Receipt, Some(1), applied("a"));
    assert_eq!(tally(&lost).late_writes_rejected, 0, "a receipt is nobody's write");
}

#[test]
fn a_task_is_escalated_once_however_many_reviews_it_has() {
    let world = World::timed_out(blind(OnUnknown::Review)).need_person(ReviewCause::NoProgress { claims: 5 });
    let tally = tally(&world);
    assert_eq!((tally.human_escalation_rate(), tally.reviews_opened), (rate(1, 1), 2));
}

#[test]
fn tallies_add_up_and_the_oldest_doubt_stays_the_oldest() {
    let mut sum = Tally::default();
    let one = Tally::of_task(&by_hand()).unwrap();
    let doubt = tally(&World::timed_out(blind(OnUnknown::Review)));
    for tally in [&one, &doubt, &one] {
        sum.add(tally);
    }
    assert_eq!((sum.tasks, sum.attempts, sum.replays), (3, 5, 4));
    assert_eq!(sum.operations, [("keyed+probed", 2), ("at-most-once", 3)].into());
    assert_eq!((sum.unknown_now, sum.oldest_unknown_since), (1, doubt.oldest_unknown_since));
}
