//! A story: a task, told input by input at moments of a made-up clock.
//!
//! Invariant: after every input the laws hold, the history folds to the same task, the task survives its stored form
//! with the same obligations, and a tick at the same moment adds nothing. A refused input changes nothing.

use std::collections::BTreeMap;

use semel_kernel::decide::{Draft, Submission, submit};
use semel_kernel::event::{Event, PlannedOperation, Why};
use semel_kernel::fold::fold_all;
use semel_kernel::hash::{Hash, operation_key};
use semel_kernel::id::{
    ClientId, Intent, OperationId, ReviewId, SessionId, StepName, TaskId, Tenant, ToolName,
};
use semel_kernel::input::{Ctx, Input, Resolution};
use semel_kernel::json::Json;
use semel_kernel::oblige::{Obligation, obligations, phase};
use semel_kernel::operation::{Judgement, Operation};
use semel_kernel::outcome::{Finding, Look, Outcome, RefusalKind, Source, Stored, UnknownCause};
use semel_kernel::plan::{Budget, Plan, PlanStep, StepKind};
use semel_kernel::recover::{self, Act};
use semel_kernel::reject::Reject;
use semel_kernel::review::{Decision, ReviewCause};
use semel_kernel::step::{Step, StepState};
use semel_kernel::task::{Phase, Task};
use semel_kernel::terms::{Effect, ProbeTerms, Terms};
use semel_kernel::time::{Generation, Millis, Now};

/// Moments of a story count from here.
pub(crate) const T0: i64 = 1_000_000_000;
/// `send_by` of an attempt lies so far behind its begin, with default terms.
pub(crate) const SEND: i64 = 5_000;
/// An attempt is dead on our side so far behind its begin, with default terms.
pub(crate) const DEAD: i64 = SEND + 30_000;
/// Clocks may differ by this.
pub(crate) const CLOCK: i64 = 2_000;
/// Settle time of the story's probes.
pub(crate) const SETTLE: i64 = 10_000;
/// The settled moment lies so far behind a begin, with the story's probes.
pub(crate) const SETTLED: i64 = DEAD + SETTLE + CLOCK;
/// One hour.
pub(crate) const HOUR: i64 = 3_600_000;

pub(crate) fn name(text: &str) -> StepName {
    StepName::parse(text).unwrap()
}

pub(crate) fn tool(text: &str) -> ToolName {
    ToolName::parse(text).unwrap()
}

/// Terms of the tool `pay` with this effect; retries without jitter, so that moments can be told.
pub(crate) fn terms(effect: Effect) -> Terms {
    let mut terms = Terms::new(tool("pay"), Hash::of(b"contract"));
    terms.effect = effect;
    terms.retry.jitter = false;
    terms.key_window_ms = (effect == Effect::Keyed).then_some(24 * HOUR);
    terms
}

pub(crate) const fn probe_terms() -> ProbeTerms {
    ProbeTerms { settle_ms: SETTLE, poll_ms: 1_000, poll_cap_ms: 8_000, for_ms: 120_000, max: 6 }
}

pub(crate) fn probed(effect: Effect) -> Terms {
    Terms { probe: Some(probe_terms()), ..terms(effect) }
}

pub(crate) fn step(called: &str, kind: StepKind, needs: &[&str]) -> PlanStep {
    PlanStep { name: name(called), needs: needs.iter().map(|n| name(n)).collect(), kind }
}

/// A step that calls `pay`.
pub(crate) fn pay(called: &str, needs: &[&str]) -> PlanStep {
    step(called, StepKind::Act(tool("pay")), needs)
}

pub(crate) fn plan(steps: Vec<PlanStep>, terms: Terms) -> Plan {
    Plan {
        name: "story".into(),
        hash: Hash::of(b"plan"),
        steps,
        tools: BTreeMap::from([(terms.tool.clone(), terms)]),
        budget: Budget::default(),
        pins: BTreeMap::new(),
    }
}

/// The operation of a step: target, version and one material field.
pub(crate) fn operation(step: &StepName, target: &str, version: &str, amount: &str) -> PlannedOperation {
    let task = TaskId::parse("tsk_story").unwrap();
    let id = OperationId::build(&task, step, &Intent { target, version, intent: 1 }).unwrap();
    PlannedOperation {
        tool: tool("pay"),
        target: target.into(),
        version: version.into(),
        intent: 1,
        key: operation_key("acme", id.as_str(), 0),
        id,
        key_epoch: 0,
        request_hash: Hash::of(format!("{target} {amount}").as_bytes()),
        fields: BTreeMap::from([("amount".to_string(), Hash::of(amount.as_bytes()).short())]),
        arguments: Stored::Inline(Json::from(amount)),
    }
}

pub(crate) fn applied() -> Outcome {
    Outcome::Applied { result: Stored::Inline(Json::from("ok")), replayed: false, truncated: false }
}

pub(crate) fn refused(retryable: bool) -> Outcome {
    Outcome::NotApplied {
        retryable,
        sent: true,
        cause: "refused".into(),
        retry_after_ms: None,
        refusal: None,
    }
}

/// The target's own compare-and-set refused it.
pub(crate) fn stale() -> Outcome {
    let (cause, refusal) = ("stale version (HTTP 412)".into(), Some(RefusalKind::Stale));
    Outcome::NotApplied { retryable: false, sent: true, cause, retry_after_ms: None, refusal }
}

pub(crate) fn lost() -> Outcome {
    Outcome::unknown(UnknownCause::Lost)
}

pub(crate) fn pending() -> Outcome {
    Outcome::Pending { handle: Json::from("h-1"), cause: "accepted".into() }
}

pub(crate) fn found() -> Finding {
    Finding::Applied { result: Stored::Inline(Json::from("found")) }
}

pub(crate) fn unclear() -> Finding {
    Finding::Unclear { cause: "no expression matches".into() }
}

pub(crate) fn many() -> Finding {
    Finding::Many { cause: "two rows".into() }
}

pub(crate) struct Story {
    pub(crate) task: Task,
    pub(crate) history: Vec<(Event, Millis)>,
    pub(crate) now: Now,
    pub(crate) draw: u32,
    /// The whole history is folded again and the stored form read again after every input, not only at the end.
    pub(crate) thorough: bool,
    /// Every input comes after a look at everything at the same moment, so that only what it touches is looked at.
    pub(crate) narrow: bool,
    base: u64,
}

impl Story {
    /// The task is accepted at moment 0 and not yet owned.
    pub(crate) fn new(plan: Plan) -> Self {
        let now = Now::steady(Millis(T0));
        let submission = Submission {
            task: TaskId::parse("tsk_story").unwrap(),
            tenant: Tenant::parse("acme").unwrap(),
            client_id: ClientId::parse("c-1").unwrap(),
            plan,
            inputs: Stored::Inline(Json::Null),
            epoch: 1,
            shared_epoch: 0,
            restored: None,
        };
        let draft = submit(submission, Ctx { now, draw: 0 }).unwrap();
        let (task, events) = draft.finish();
        let history = events.into_iter().map(|e| (e, now.at)).collect();
        let story = Self { task, history, now, draw: u32::MAX, thorough: true, narrow: false, base: 0 };
        story.check();
        story
    }

    /// One step `a` that calls `pay`, claimed and planned, nothing sent.
    pub(crate) fn one(terms: Terms) -> Self {
        let mut story = Self::new(plan(vec![pay("a", &[])], terms));
        story.claim(1);
        story.plan("a");
        story
    }

    /// Like [`Story::one`], with the first attempt begun at moment 0 and lost at moment 100.
    pub(crate) fn lost(terms: Terms) -> Self {
        let mut story = Self::one(terms);
        if story.act("a") == Act::Precheck {
            story.precheck("a", Finding::Absent, true);
        }
        story.begin("a");
        story.at(100);
        story.answer("a", 1, lost());
        story
    }

    // --- the clock -------------------------------------------------------------------------------------------

    pub(crate) fn at(&mut self, ms: i64) -> &mut Self {
        self.now.at = Millis(T0 + ms);
        self
    }

    /// Lets time pass: the moment, and a tick.
    pub(crate) fn tick_at(&mut self, ms: i64) -> &mut Self {
        self.at(ms).give(Input::Tick)
    }

    // --- inputs ----------------------------------------------------------------------------------------------

    pub(crate) fn try_give(&mut self, input: Input) -> Result<(), Reject> {
        let mut draft = Draft::on(self.task.clone());
        let ctx = Ctx { now: self.now, draw: self.draw };
        if self.narrow {
            draft.take(Input::Tick, ctx).unwrap();
        }
        let before = draft.clone();
        if let Err(refusal) = draft.take(input, ctx) {
            assert_eq!(draft.events(), before.events(), "a refused input left events: {refusal}");
            assert_eq!(draft.task(), before.task(), "a refused input changed the draft: {refusal}");
            return Err(refusal);
        }
        let (task, events) = draft.finish();
        self.history.extend(events.into_iter().map(|e| (e, self.now.at)));
        self.task = task;
        self.check();
        Ok(())
    }

    pub(crate) fn give(&mut self, input: Input) -> &mut Self {
        let shown = format!("{input:?}");
        self.try_give(input).unwrap_or_else(|refusal| panic!("{shown}: {refusal}"));
        self
    }

    /// The input is refused with this code; the text is given back.
    pub(crate) fn refuses(&mut self, input: Input, code: &str) -> String {
        let refusal = self.try_give(input).unwrap_err();
        assert_eq!(refusal.code(), code, "{refusal}");
        refusal.to_string()
    }

    pub(crate) fn claim(&mut self, counter: u64) -> &mut Self {
        let session = SessionId::parse(&format!("ses_{counter}")).unwrap();
        let generation = Generation { epoch: self.task.generation.epoch, counter };
        self.give(Input::Claimed { session, generation })
    }

    pub(crate) fn resolve(&mut self, step: &str, resolution: Resolution) -> &mut Self {
        self.give(Input::Resolved { step: name(step), resolution })
    }

    /// Plans the step's operation on a target of its own.
    pub(crate) fn plan(&mut self, step: &str) -> &mut Self {
        let operation = operation(&name(step), step, "1", "100");
        self.resolve(step, Resolution::Act { operation })
    }

    pub(crate) fn op_id(&self, step: &str) -> OperationId {
        self.step(step).operation.clone().unwrap()
    }

    pub(crate) fn precheck(&mut self, step: &str, finding: Finding, holds: bool) -> &mut Self {
        let op = self.op_id(step);
        self.give(Input::Prechecked { op, finding, look: Look::answered(holds), shown: Json::Null })
    }

    /// `require` does not hold, and the look says which of the four it is.
    pub(crate) fn forbid(&mut self, step: &str, finding: Finding, kind: RefusalKind) -> &mut Self {
        let (op, look) = (self.op_id(step), Look { refusal: Some(kind), ..Look::answered(false) });
        self.give(Input::Prechecked { op, finding, look, shown: Json::Null })
    }

    pub(crate) fn begin_input(&self, step: &str) -> Input {
        let op = self.op_id(step);
        let found = &self.task.operations[&op];
        let request = found.request.is_none().then(|| Stored::Inline(Json::from("frozen")));
        let next_key = operation_key("acme", op.as_str(), found.key_epoch + 1);
        Input::Begin { op, request, lease_left_ms: HOUR, next_key }
    }

    pub(crate) fn begin(&mut self, step: &str) -> &mut Self {
        let input = self.begin_input(step);
        self.give(input)
    }

    pub(crate) fn answer(&mut self, step: &str, attempt: u32, outcome: Outcome) -> &mut Self {
        self.answer_at_cost(step, attempt, outcome, 0)
    }

    pub(crate) fn answer_at_cost(
        &mut self,
        step: &str,
        attempt: u32,
        outcome: Outcome,
        cost: i64,
    ) -> &mut Self {
        let op = self.op_id(step);
        self.give(Input::Answered { op, attempt, outcome, shown: Json::Null, late_ms: 0, cost })
    }

    /// A question that leaves now and is answered now.
    pub(crate) fn probe(&mut self, step: &str, finding: Finding) -> &mut Self {
        let asked_at = self.now.at.0 - T0;
        self.probe_asked(step, asked_at, finding)
    }

    pub(crate) fn probe_asked(&mut self, step: &str, asked_at: i64, finding: Finding) -> &mut Self {
        let (op, asked_at) = (self.op_id(step), Millis(T0 + asked_at));
        self.give(Input::Probed { op, asked_at, finding, confirm: None, shown: Json::Null })
    }

    pub(crate) fn receipt(&mut self, step: &str, attempt: Option<u32>, outcome: Outcome) -> &mut Self {
        let op = self.op_id(step);
        self.give(Input::Evidence { op, source: Source::Receipt, attempt, outcome, shown: Json::Null })
    }

    pub(crate) fn cancel(&mut self) -> &mut Self {
        self.give(Input::Cancel { actor: "ann".into(), reason: "stop".into() })
    }

    pub(crate) fn pause(&mut self) -> &mut Self {
        self.give(Input::Pause { actor: "ann".into(), reason: "wait".into() })
    }

    pub(crate) fn resume(&mut self) -> &mut Self {
        self.give(Input::Resume { actor: "ann".into() })
    }

    pub(crate) fn adopt(&mut self, copied_at: i64) -> &mut Self {
        let (epoch, copied_at) = (self.task.generation.epoch + 1, Millis(T0 + copied_at));
        self.give(Input::Adopt { epoch, copied_at, actor: "ann".into() })
    }

    /// The one open review, or the one about the step.
    pub(crate) fn open_review(&self) -> ReviewId {
        let mut open = self.task.open_reviews();
        let review = open.next().unwrap_or_else(|| panic!("no review is open: {:#?}", self.task.reviews));
        assert!(open.next().is_none(), "more than one review is open");
        review.id.clone()
    }

    pub(crate) fn decision(&self, decision: Decision) -> Input {
        let review = self.open_review();
        let page = Some(self.task.page(self.task.review(&review).unwrap()));
        Input::Decide { review, decision, actor: "ann".into(), reason: "I looked".into(), page }
    }

    pub(crate) fn decide(&mut self, decision: Decision) -> &mut Self {
        let input = self.decision(decision);
        self.give(input)
    }

    pub(crate) fn settle_input(&self, step: &str, decision: Decision) -> Input {
        Input::Settle { op: self.op_id(step), decision, actor: "ann".into(), reason: "I looked".into() }
    }

    // --- what is seen ----------------------------------------------------------------------------------------

    pub(crate) fn step(&self, step: &str) -> &Step {
        &self.task.steps[&name(step)]
    }

    pub(crate) fn op(&self, step: &str) -> &Operation {
        &self.task.operations[&self.op_id(step)]
    }

    pub(crate) fn act(&self, step: &str) -> Act {
        recover::act(&self.task, self.op(step), self.now)
    }

    pub(crate) fn owed(&self) -> Vec<Obligation> {
        obligations(&self.task, self.now)
    }

    /// Names of the stored events since the last call of [`Story::mark`].
    pub(crate) fn names(&self) -> Vec<String> {
        let base = usize::try_from(self.base).unwrap();
        self.history[base..].iter().map(|(e, _)| event_name(e)).collect()
    }

    pub(crate) fn mark(&mut self) -> &mut Self {
        self.base = self.history.len() as u64;
        self
    }

    pub(crate) fn started(&self, step: &str) -> usize {
        let is = |e: &Event| matches!(e, Event::StepStarted { step: s, .. } if *s == name(step));
        self.history.iter().filter(|(e, _)| is(e)).count()
    }

    pub(crate) fn expect_state(&mut self, step: &str, state: StepState) -> &mut Self {
        assert_eq!(self.step(step).state, state, "step `{step}`: {:#?}", self.step(step));
        self
    }

    pub(crate) fn expect_failed(&mut self, step: &str, code: &str) -> &mut Self {
        self.expect_state(step, StepState::Failed);
        assert_eq!(self.step(step).code, code, "{}", self.step(step).cause);
        self
    }

    pub(crate) fn expect_phase(&mut self, expected: Phase) -> &mut Self {
        assert_eq!(phase(&self.task), expected, "{:#?}", self.owed());
        self
    }

    pub(crate) fn expect_judged(&mut self, step: &str, judged: Judgement) -> &mut Self {
        assert_eq!(self.op(step).judge(), judged);
        self
    }

    pub(crate) fn expect_act(&mut self, step: &str, act: &Act) -> &mut Self {
        assert_eq!(&self.act(step), act);
        self
    }

    pub(crate) fn expect_begin(&mut self, step: &str, why: Why) -> &mut Self {
        self.expect_act(step, &Act::Begin { why })
    }

    /// The table waits until that moment of the story.
    pub(crate) fn expect_wait(&mut self, step: &str, ms: i64) -> &mut Self {
        let Act::Wait { until, why } = self.act(step) else { panic!("{:?}", self.act(step)) };
        assert_eq!(until.0.saturating_sub(T0), ms, "waits for {why}");
        self
    }

    /// Only an event can end the wait.
    pub(crate) fn expect_stuck(&mut self, step: &str) -> &mut Self {
        let Act::Wait { until, .. } = self.act(step) else { panic!("{:?}", self.act(step)) };
        assert_eq!(until, Millis::MAX);
        self
    }

    /// A review of that cause is the one that is open.
    pub(crate) fn expect_review(&mut self, cause: &ReviewCause) -> &mut Self {
        let review = self.open_review();
        assert_eq!(&self.task.review(&review).unwrap().cause, cause);
        self
    }

    pub(crate) fn expect_no_review(&mut self) -> &mut Self {
        assert_eq!(self.task.open_reviews().count(), 0, "{:#?}", self.task.reviews);
        self
    }

    pub(crate) fn expect_names(&mut self, names: &[&str]) -> &mut Self {
        assert_eq!(self.names(), names);
        self
    }

    // --- the invariant ---------------------------------------------------------------------------------------

    fn check(&self) {
        let task = &self.task;
        semel_kernel::law::check(task).unwrap_or_else(|broken| panic!("law: {broken}\n{task:#?}"));
        let mut draft = Draft::on(task.clone());
        draft.take(Input::Tick, Ctx { now: self.now, draw: 0 }).unwrap();
        assert!(draft.is_empty(), "a tick at the same moment adds {:?}", draft.events());
        if self.thorough {
            self.check_history();
        }
    }

    /// The history folds to the task, and the stored form of the task loses nothing.
    pub(crate) fn check_history(&self) {
        let folded = fold_all(self.history.iter().map(|(e, at)| (e, *at))).unwrap();
        assert_eq!(folded, self.task, "the history folds to another task");
        let stored = serde_json::to_string(&self.task).unwrap();
        let read: Task = serde_json::from_str(&stored).unwrap();
        assert_eq!(read, self.task, "the checkpoint form loses something");
        assert_eq!(obligations(&read, self.now), self.owed());
    }
}

pub(crate) fn event_name(event: &Event) -> String {
    let shown = serde_json::to_value(event).unwrap();
    shown["type"].as_str().unwrap().to_string()
}
