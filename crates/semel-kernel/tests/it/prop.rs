//! Whatever happens in whatever order: the laws hold, nothing is sent that must not be, and every task can be brought
//! to an end.

use proptest::prelude::*;
use semel_kernel::decide::decide;
use semel_kernel::event::{Event, Why};
use semel_kernel::fold::fold;
use semel_kernel::input::{Ctx, Input, Resolution};
use semel_kernel::json::Json;
use semel_kernel::limit::PRECHECK_FRESH_MS;
use semel_kernel::oblige::{Obligation, wakes_at};
use semel_kernel::operation::{AttemptState, Judgement, Operation};
use semel_kernel::outcome::{Finding, Look, Outcome, Source, Stored};
use semel_kernel::plan::{Plan, StepKind};
use semel_kernel::reject::Reject;
use semel_kernel::review::Decision;
use semel_kernel::step::{Step, StepState};
use semel_kernel::task::Task;
use semel_kernel::terms::{Effect, OnUnknown};
use semel_kernel::time::{Generation, Millis};

use crate::chance::{Deed, any_life};
use crate::story::{Story, T0, applied, found, operation};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_happens_breaks_a_law((plan, deeds, draw) in any_life()) {
        live(plan, deeds, draw);
    }

    #[test]
    fn every_task_can_be_brought_to_an_end((plan, deeds, draw) in any_life()) {
        let mut world = live(plan, deeds, draw);
        heal(&mut world);
    }
}

/// A story with a watch over every event that is recorded.
struct World {
    story: Story,
    seen: usize,
}

fn live(plan: Plan, deeds: Vec<Deed>, draw: u32) -> World {
    let mut story = Story::new(plan);
    story.draw = draw;
    story.thorough = false;
    // Half of the lives are led in drafts that take more than one input: the check after each finds what they overlook.
    story.narrow = draw.is_multiple_of(2);
    let mut world = World { story, seen: 1 };
    for deed in deeds {
        world.happens(deed);
    }
    world.story.check_history();
    world
}

impl World {
    fn now(&self) -> i64 {
        self.story.now.at.0 - T0
    }

    /// Takes an input; a refusal is fine, corruption is not.
    fn give(&mut self, input: Input) -> Result<(), Reject> {
        let mut before = self.story.task.clone();
        let shown = format!("{input:?}");
        let result = self.story.try_give(input);
        if let Err(Reject::Corrupt(cause)) = &result {
            panic!("{shown}: corrupt: {cause}");
        }
        for (event, at) in &self.story.history[self.seen..] {
            watch(&before, event, *at);
            let mut after = before.clone();
            fold(&mut after, event, *at).unwrap();
            watch_states(&before, &after, event);
            before = after;
        }
        assert_eq!(before, self.story.task, "the events fold to another task");
        self.seen = self.story.history.len();
        result
    }

    fn op(&self, n: usize) -> Option<Operation> {
        let count = self.story.task.operations.len();
        (count > 0).then(|| self.story.task.operations.values().nth(n % count).cloned().unwrap())
    }

    fn happens(&mut self, deed: Deed) {
        let shown = Json::Null;
        let told = match deed {
            Deed::Pass(ms) => self.pass(ms),
            Deed::Sleep => self.sleep(),
            Deed::Owed(n, outcome, finding) => self.owed(n, outcome, finding),
            Deed::Claim => self.claim(),
            Deed::Answer(n, attempt, outcome) => self.op(n).map_or(Ok(()), |op| {
                let late_ms = [0, 10_000, 90_000][attempt % 3];
                let Some(attempt) = op.attempts.get(attempt % op.attempts.len().max(1)) else {
                    return Ok(());
                };
                let (op, attempt) = (op.planned.id.clone(), attempt.n);
                self.give(Input::Answered { op, attempt, outcome, shown, late_ms, cost: 0 })
            }),
            Deed::Probe(n, lag, finding) => self.op(n).map_or(Ok(()), |op| {
                let asked_at = self.story.now.at.plus(-lag);
                self.give(Input::Probed { op: op.planned.id, asked_at, finding, confirm: None, shown })
            }),
            Deed::Receipt(n, attempt, outcome) => self.op(n).map_or(Ok(()), |op| {
                let (op, source) = (op.planned.id, Source::Receipt);
                self.give(Input::Evidence { op, source, attempt, outcome, shown })
            }),
            Deed::Begin(n) => self.op(n).map_or(Ok(()), |op| {
                let input = self.story.begin_input(op.step.as_str());
                self.give(input)
            }),
            Deed::Decide(n, decision) => self.decide(n, decision),
            Deed::Settle(n, decision) => self.op(n).map_or(Ok(()), |op| {
                let input = self.story.settle_input(op.step.as_str(), decision);
                self.give(input)
            }),
            Deed::Cancel => self.twice(Input::Cancel { actor: "ann".into(), reason: "stop".into() }),
            Deed::Pause => self.twice(Input::Pause { actor: "ann".into(), reason: "wait".into() }),
            Deed::Resume => self.twice(Input::Resume { actor: "ann".into() }),
            Deed::Adopt(ago) => {
                let epoch = self.story.task.generation.epoch + 1;
                let copied_at = self.story.now.at.plus(-ago);
                self.twice(Input::Adopt { epoch, copied_at, actor: "ann".into() })
            }
            Deed::Jump => {
                self.story.now.steady_since = self.story.now.at;
                self.story.now.windows_void_before = self.story.now.at;
                self.give(Input::Tick)
            }
        };
        drop(told);
    }

    fn pass(&mut self, ms: i64) -> Result<(), Reject> {
        self.story.now.at = self.story.now.at.plus(ms);
        self.give(Input::Tick)
    }

    fn sleep(&mut self) -> Result<(), Reject> {
        let now = self.story.now.at;
        let until = wakes_at(&self.story.task, self.story.now).unwrap_or(now);
        self.pass(until.since(now).clamp(0, 1 << 40))
    }

    fn claim(&mut self) -> Result<(), Reject> {
        let Generation { epoch, counter } = self.story.task.generation;
        let session = semel_kernel::id::SessionId::parse("ses_x").unwrap();
        let input = Input::Claimed { session, generation: Generation { epoch, counter: counter + 1 } };
        self.give(input.clone())?;
        assert!(self.give(input).is_err(), "a generation is claimed once");
        Ok(())
    }

    /// An input that asks for a state; asking again changes nothing.
    fn twice(&mut self, input: Input) -> Result<(), Reject> {
        self.give(input.clone())?;
        let ctx = Ctx { now: self.story.now, draw: 0 };
        let again = decide(&self.story.task, input, ctx).unwrap_or_default();
        assert_eq!(again, [], "asked twice");
        Ok(())
    }

    fn decide(&mut self, n: usize, decision: Decision) -> Result<(), Reject> {
        let reviews = &self.story.task.reviews;
        if reviews.is_empty() {
            return Ok(());
        }
        let review = reviews[n % reviews.len()].id.clone();
        let (actor, reason) = ("ann".into(), "I looked".into());
        self.give(Input::Decide { review, decision, actor, reason, page: None })
    }

    fn owed(&mut self, n: usize, outcome: Option<Outcome>, finding: Finding) -> Result<(), Reject> {
        let owed = self.story.owed();
        if owed.is_empty() {
            return Ok(());
        }
        let shown = Json::Null;
        match owed[n % owed.len()].clone() {
            Obligation::Resolve(step) => {
                let resolution = self.resolution(&self.story.task.steps[&step]);
                self.give(Input::Resolved { step, resolution })
            }
            Obligation::Precheck(op) => {
                self.give(Input::Prechecked { op, finding, look: Look::answered(outcome.is_some()), shown })
            }
            Obligation::Begin { op, .. } => {
                let step = self.story.task.operations[&op].step.to_string();
                let input = self.story.begin_input(&step);
                self.give(input).unwrap_or_else(|refusal| panic!("what is owed is refused: {refusal}"));
                let attempt = self.story.task.operations[&op].attempts.last().unwrap().n;
                outcome.map_or(Ok(()), |outcome| {
                    self.give(Input::Answered { op, attempt, outcome, shown, late_ms: 0, cost: 0 })
                })
            }
            Obligation::Probe(op) => {
                let asked_at = self.story.now.at;
                self.give(Input::Probed { op, asked_at, finding, confirm: None, shown })
            }
            Obligation::Answer(op) => {
                let open = self.story.task.operations[&op].attempts.iter();
                let attempt = open.filter(|a| a.state == AttemptState::Open).map(|a| a.n).next().unwrap();
                outcome.map_or(Ok(()), |outcome| {
                    self.give(Input::Answered { op, attempt, outcome, shown, late_ms: 0, cost: 0 })
                })
            }
            Obligation::WaitUntil(_) | Obligation::Watch { .. } | Obligation::Person => self.sleep(),
        }
    }

    /// Every second step shares its target and version with the step before, so that twins meet.
    fn resolution(&self, step: &Step) -> Resolution {
        match &step.kind {
            StepKind::Sleep => Resolution::Sleep { until: Millis(T0 + 60_000) },
            StepKind::Each { .. } => {
                let items = (0..3).map(|n| step.name.item(&n.to_string()).unwrap()).collect();
                Resolution::Each { items, list: Stored::Inline(Json::Null) }
            }
            StepKind::Act(tool) => {
                let target = if step.item_of.is_some() { "shared" } else { step.name.as_str() };
                let version = if step.name.as_str().contains('2') { "2" } else { "1" };
                let mut operation = operation(&step.name, target, version, "100");
                operation.tool = tool.clone();
                Resolution::Act { operation }
            }
        }
    }
}

/// What may never be recorded in this state.
fn watch(before: &Task, event: &Event, at: Millis) {
    if before.end.is_some() {
        let fact = matches!(
            event,
            Event::LeaseAcquired { .. }
                | Event::EvidenceAdded { .. }
                | Event::ProbeAnswered { .. }
                | Event::AttemptAnswered { .. }
                | Event::AttemptUnknown { .. }
                | Event::AttemptPending { .. }
                | Event::SentLate { .. }
                | Event::ReviewOpened { .. }
                | Event::ReviewDecided { .. }
        );
        assert!(fact, "after the end: {event:?}");
    }
    match event {
        Event::StepStarted { op, key, send_by, why, .. } => {
            assert!(!before.is_stopped(), "a request leaves while the task is stopped");
            let op = &before.operations[op];
            assert!(!before.steps[&op.step].is_settled());
            watch_send(before, op, key, *send_by, at);
            watch_reasons(before, op, key, *why, at);
        }
        Event::StepFailed { step, .. } => {
            let step = &before.steps[step];
            let reads = before.operation_of(step).is_some_and(|o| before.changes_nothing(o));
            assert!(step.state != StepState::Unknown || reads, "unknown became failed: {step:?}");
        }
        _ => {}
    }
}

fn watch_send(before: &Task, op: &Operation, key: &str, send_by: Millis, at: Millis) {
    let terms = before.terms(&op.planned).unwrap();
    assert!(op.attempts.iter().all(|a| a.state != AttemptState::Open), "two at once: {op:#?}");
    assert!(op.attempts.iter().all(|a| a.state != AttemptState::Applied), "sent after proof: {op:#?}");
    let doubtful: Vec<_> = op.attempts.iter().filter(|a| a.is_open()).collect();
    match terms.effect {
        Effect::None | Effect::Natural => {}
        Effect::Queryable => assert!(doubtful.is_empty(), "sent in doubt: {op:#?}"),
        Effect::Blind => {
            let accepted = terms.on_unknown == OnUnknown::AcceptDuplicate && !terms.irreversible;
            assert!(doubtful.is_empty() || accepted, "sent in doubt: {op:#?}");
        }
        Effect::Keyed => {
            let settle = terms.settle_ms() + terms.clock_error_ms;
            for attempt in doubtful {
                assert_eq!(attempt.key, key, "another key while one is in doubt");
                let dead = attempt.dead_at().plus(terms.clock_error_ms);
                assert!(terms.dedupe_atomic || dead <= at, "the earlier attempt may still be sending");
            }
            let used = op.attempts.iter().filter(|a| a.key == key && a.may_have_left());
            if let (Some(first), Some(window)) = (used.map(|a| a.started_at).min(), terms.key_window_ms) {
                let over = first.plus(window - terms.key_margin_ms());
                assert!(send_by.plus(terms.timeout_ms + settle) <= over, "the key's window may be over");
            }
        }
    }
}

/// `require` was looked at for this send and lately; another key needs a refusal; unread natural states are left alone.
fn watch_reasons(before: &Task, op: &Operation, key: &str, why: Why, at: Millis) {
    let terms = before.terms(&op.planned).unwrap();
    if terms.require && matches!(why, Why::First | Why::Retry) {
        let looked = op.precheck.as_ref().unwrap();
        let fresh = looked.after == op.last_number() && at <= looked.at.plus(PRECHECK_FRESH_MS);
        assert!(fresh && looked.holds, "sent without `require`: {op:#?}");
    }
    let refused = op.attempts.iter().any(|a| a.refused && a.key == op.key());
    assert!(key == op.key() || refused, "another key without a refusal: {op:#?}");
    if terms.effect == Effect::Natural && terms.probe.is_some() && why == Why::Harmless {
        assert_eq!(op.probes.last, Some(Finding::Absent), "overwrites what it cannot read: {op:#?}");
    }
    let frozen = before.operations.values().any(|o| {
        o.judge() == Judgement::Contradiction
            && (&o.planned.tool, &o.planned.target) == (&op.planned.tool, &op.planned.target)
    });
    assert!(!frozen, "the target is frozen: {op:#?}");
}

/// Settled is settled, and a settled state is not left; numbers are not used twice.
fn watch_states(before: &Task, after: &Task, event: &Event) {
    for (name, step) in &before.steps {
        let now = &after.steps[name];
        let settled = step.is_settled() || before.end.is_some();
        assert!(!settled || now.state == step.state, "{name} left {:?} by {event:?}", step.state);
    }
    assert!(before.generation <= after.generation);
    assert_eq!(after.version, before.version + 1);
    for (id, op) in &before.operations {
        let now = &after.operations[id];
        assert_eq!(
            (&op.planned, &op.request.is_some()),
            (&now.planned, &(now.request.is_some() && op.request.is_some()))
        );
        assert!(op.request.is_none() || op.request == now.request, "the request was thawed");
        assert!(op.evidence.len() <= now.evidence.len(), "evidence was lost");
    }
}

/// The world is well again: targets answer, people decide. The task must come to its end.
fn heal(world: &mut World) {
    drop(world.claim());
    drop(world.give(Input::Resume { actor: "ann".into() }));
    for _ in 0..600 {
        let task = &world.story.task;
        if task.end.is_some() && task.open_reviews().next().is_none() {
            return;
        }
        let owed = world.story.owed();
        assert!(!owed.is_empty(), "nobody owes anything and the task is open: {task:#?}");
        if owed.contains(&Obligation::Person) {
            person(world);
            continue;
        }
        let busy = |o: &Obligation| !matches!(o, Obligation::WaitUntil(_) | Obligation::Watch { .. });
        match owed.iter().position(busy) {
            Some(n) => drop(world.owed(n, Some(applied()), found())),
            None => {
                let before = world.now();
                drop(world.sleep());
                let moved = world.now() > before || world.story.owed() != owed;
                assert!(moved, "it waits for the past: {owed:?} {:#?}", world.story.task);
            }
        }
    }
    panic!("the task does not end: {:#?}", world.story.task);
}

/// Tries the answers in turn; one of them must be taken.
fn person(world: &mut World) {
    let open = world.story.task.open_reviews().next().unwrap().id.clone();
    let n = world.story.task.reviews.iter().position(|r| r.id == open).unwrap();
    let happened = Decision::ItHappened { reference: "4711".into(), result: Json::Null };
    let tried = [Decision::GoOn, happened, Decision::WriteOff, Decision::Abort];
    assert!(tried.into_iter().any(|d| world.decide(n, d).is_ok()), "no answer is taken: {open}");
}
