//! The tasks of the model, made by the real kernel and kept by number. Every decision is the kernel's own; a rule that is
//! switched off changes what the kernel is given or what it records, here and nowhere else.
//!
//! Invariant: two tasks have one number exactly when nothing that a decision reads tells them apart.

mod known;
mod look;
mod told;

pub use known::Known;

use self::{
    look::look,
    told::{finding, outcome, refused, small, switched},
};
use crate::{
    rule::{Off, Rule},
    scenario::{Scenario, ms},
    world::{Ask, Fact, Said},
};
use semel_kernel::{
    decide::{Submission, decide, submit},
    event::{Event, PlannedOperation},
    fold::fold,
    hash::Hash,
    id::{ClientId, Intent, OperationId, SessionId, StepName, TaskId, Tenant, ToolName},
    input::{Ctx, Input, Resolution},
    json::Json,
    oblige::{Obligation, obligations},
    operation::Operation,
    outcome::{Look, Source, Stored},
    plan::{Budget, Plan, PlanStep, StepKind},
    review::Decision,
    task::Task,
    terms::Terms,
    time::{Generation, Millis, Now},
};
use std::collections::{BTreeMap, HashMap};

/// The model could not be set up, or the kernel called its own history corrupt.
pub type Broken = String;

/// What a turn would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// The task after it; the same number when nothing is to be recorded.
    pub next: u32,
    /// The attempt that it starts; 0 for none.
    pub starts: u8,
    /// What the target is to be asked.
    pub asks: Option<Ask>,
}

type Question = (u32, u8, Option<Fact>, u8, u8);

/// All tasks that were ever made.
pub struct Ledger {
    off: Off,
    tasks: Vec<Task>,
    known: Vec<Known>,
    numbers: HashMap<String, u32>,
    made: HashMap<Question, Made>,
    filed: HashMap<(u32, Fact, u8), u32>,
    answered: HashMap<(u32, bool, u8), u32>,
    op: OperationId,
    step: StepName,
    session: SessionId,
}

/// The first moment.
const T0: i64 = 1_000_000_000;

fn moment(tick: u8) -> Millis {
    Millis(T0 + ms(tick))
}

fn tick(at: Millis) -> u8 {
    u8::try_from((at.0 - T0) / crate::scenario::TICK_MS).unwrap_or(u8::MAX)
}

fn ctx(now: u8) -> Ctx {
    Ctx { now: Now::steady(moment(now)), draw: u32::MAX }
}

fn text<E: core::fmt::Display>(e: E) -> Broken {
    e.to_string()
}

impl Ledger {
    /// A ledger with one task: number 0, claimed under generation 1, its one step planned, nothing sent.
    ///
    /// # Errors
    /// When the kernel refuses the plan.
    pub fn new(scenario: &Scenario, off: Off) -> Result<Self, Broken> {
        let terms = switched(scenario.terms().map_err(text)?, off);
        let task = TaskId::parse("tsk_model").map_err(text)?;
        let step = StepName::parse("s").map_err(text)?;
        let intent = Intent { target: "t", version: "1", intent: 1 };
        let op = OperationId::build(&task, &step, &intent).map_err(text)?;
        let session = SessionId::parse("ses_m").map_err(text)?;
        let mut ledger = Self {
            off,
            tasks: Vec::new(),
            known: Vec::new(),
            numbers: HashMap::new(),
            made: HashMap::new(),
            filed: HashMap::new(),
            answered: HashMap::new(),
            op,
            step,
            session,
        };
        let first = ledger.first(terms, task)?;
        ledger.number(first);
        Ok(ledger)
    }

    fn first(&self, terms: Terms, task: TaskId) -> Result<Task, Broken> {
        let submission = Submission {
            task,
            tenant: Tenant::parse("acme").map_err(text)?,
            client_id: ClientId::parse("c").map_err(text)?,
            plan: self.plan(terms.clone()),
            inputs: Stored::Inline(Json::Null),
            epoch: 1,
            shared_epoch: 0,
            restored: None,
        };
        let (mut task, _) = submit(submission, ctx(0)).map_err(text)?.finish();
        let resolution = Resolution::Act { operation: self.planned(terms.tool) };
        for input in [self.claimed(1), Input::Resolved { step: self.step.clone(), resolution }] {
            task = self.give(&task, input, 0).ok_or("the kernel refuses the first turn")?;
        }
        Ok(task)
    }

    fn plan(&self, terms: Terms) -> Plan {
        let kind = StepKind::Act(terms.tool.clone());
        Plan {
            name: "model".into(),
            hash: Hash::of(b"plan"),
            steps: vec![PlanStep { name: self.step.clone(), needs: Vec::new(), kind }],
            tools: BTreeMap::from([(terms.tool.clone(), terms)]),
            budget: Budget::default(),
            pins: BTreeMap::new(),
        }
    }

    fn planned(&self, tool: ToolName) -> PlannedOperation {
        PlannedOperation {
            id: self.op.clone(),
            tool,
            target: "t".into(),
            version: "1".into(),
            intent: 1,
            key: "k".into(),
            key_epoch: 0,
            request_hash: Hash::of(b"request"),
            fields: BTreeMap::new(),
            arguments: Stored::Inline(Json::Null),
        }
    }

    fn claimed(&self, generation: u8) -> Input {
        let generation = Generation { epoch: 1, counter: u64::from(generation) };
        Input::Claimed { session: self.session.clone(), generation }
    }

    /// What is known of a task.
    #[must_use]
    pub fn known(&self, task: u32) -> &Known {
        self.known.get(task as usize).unwrap_or(&known::NOTHING)
    }

    /// How many tasks differ.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// There is always the first one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The turn of an owner: its claim, what it has heard, and all that follows, as the engine's machine makes it.
    pub fn turn(&mut self, task: u32, generation: u8, fact: Option<Fact>, now: u8, lease: u8) -> Made {
        let question = (task, generation, fact, now, lease);
        if let Some(made) = self.made.get(&question) {
            return *made;
        }
        let made = self.make(question);
        self.made.insert(question, made);
        made
    }

    fn make(&mut self, (number, generation, fact, now, lease): Question) -> Made {
        let mut made = Made { next: number, starts: 0, asks: None };
        let Some(mut task) = self.tasks.get(number as usize).cloned() else { return made };
        if self.known(number).generation < generation {
            self.take(&mut task, self.claimed(generation), now);
        }
        if let Some(fact) = fact {
            self.take_fact(&mut task, fact, now);
        }
        self.take(&mut task, Input::Tick, now);
        while self.advance(&mut task, &mut made, now, lease) {}
        made.next = self.number(task);
        made
    }

    /// One round over what the kernel says is owed; `true` when something was recorded.
    fn advance(&self, task: &mut Task, made: &mut Made, now: u8, lease: u8) -> bool {
        for owed in obligations(task, ctx(now).now) {
            match owed {
                Obligation::Begin { op, .. } => {
                    let first = task.operations.get(&op).is_some_and(|o| o.request.is_none());
                    let request = first.then_some(Stored::Inline(Json::Null));
                    let next_key = String::new();
                    let lease_left_ms = ms(lease.saturating_sub(now));
                    if self.take(task, Input::Begin { op, request, lease_left_ms, next_key }, now) {
                        made.starts = self.operation(task).map_or(0, |o| small(o.last_number()));
                        return true;
                    }
                }
                Obligation::Probe(_) => made.asks = Some(Ask::Probe),
                Obligation::Precheck(_) => made.asks = Some(Ask::Before),
                _ => {}
            }
        }
        false
    }

    /// What is heard by one that is no owner any more: a turn of its own, on the task as it is stored.
    pub fn file(&mut self, task: u32, fact: Fact, now: u8) -> u32 {
        if self.off.has(Rule::LateAnswers) {
            return task;
        }
        if let Some(next) = self.filed.get(&(task, fact, now)) {
            return *next;
        }
        let Some(mut next) = self.tasks.get(task as usize).cloned() else { return task };
        self.take_fact(&mut next, fact, now);
        let next = self.number(next);
        self.filed.insert((task, fact, now), next);
        next
    }

    /// A person answers the open review by what he sees at the target; `None` when he is told to wait.
    pub fn person(&mut self, task: u32, happened: bool, now: u8) -> Option<u32> {
        if let Some(next) = self.answered.get(&(task, happened, now)) {
            return (*next != task).then_some(*next);
        }
        let before = self.tasks.get(task as usize)?;
        let input = self.answer(before, happened)?;
        let next = self.give(before, input, now).map_or(task, |after| self.number(after));
        self.answered.insert((task, happened, now), next);
        (next != task).then_some(next)
    }

    fn answer(&self, task: &Task, happened: bool) -> Option<Input> {
        let (actor, reason) = ("ann".to_owned(), "I looked".to_owned());
        if !happened && self.off.has(Rule::PersonWaits) {
            let (op, source) = (self.op.clone(), Source::Person(actor));
            let outcome = refused("did not", true);
            return Some(Input::Evidence { op, source, attempt: None, outcome, shown: Json::Null });
        }
        let decision = if happened {
            Decision::ItHappened { reference: "seen".into(), result: Json::Null }
        } else {
            Decision::ItDidNot
        };
        let review = task.open_reviews().next()?.id.clone();
        Some(Input::Decide { review, decision, actor, reason, page: None })
    }

    fn take_fact(&self, task: &mut Task, fact: Fact, now: u8) {
        match fact {
            Fact::Answer { attempt, said, late } => self.take_answer(task, attempt, said, late, now),
            Fact::Look { ask, asked_at, saw } => {
                let (op, finding, shown) = (self.op.clone(), finding(saw), Json::Null);
                let input = match ask {
                    Ask::Before => Input::Prechecked { op, finding, look: Look::answered(true), shown },
                    Ask::Probe => {
                        let asked_at = self.asked_at(task, asked_at, now);
                        Input::Probed { op, asked_at, finding, confirm: None, shown }
                    }
                };
                self.take(task, input, now);
            }
        }
    }

    /// When the question counts as asked.
    fn asked_at(&self, task: &Task, asked_at: u8, now: u8) -> Millis {
        let terms = task.plan.tools.values().next();
        if self.off.has(Rule::Settle)
            && let (Some(op), Some(terms)) = (self.operation(task), terms)
        {
            return moment(asked_at).max(op.settled_at(terms, ctx(now).now));
        }
        moment(if self.off.has(Rule::AskedAt) { now } else { asked_at })
    }

    fn take_answer(&self, task: &mut Task, attempt: u8, said: Said, late: u8, now: u8) {
        if self.off.has(Rule::JudgedByAll) && matches!(said, Said::Never | Said::NotNow) {
            self.judge_all(task, attempt, now);
        }
        let outcome = if said == Said::Lost && self.off.has(Rule::SilenceIsUnknown) {
            refused("timed out", true)
        } else {
            outcome(said)
        };
        let (op, attempt, late_ms) = (self.op.clone(), u32::from(attempt), ms(late));
        self.take(task, Input::Answered { op, attempt, outcome, shown: Json::Null, late_ms, cost: 0 }, now);
    }

    /// A refusal of one attempt is taken for a refusal of all: only without that rule.
    fn judge_all(&self, task: &mut Task, but: u8, now: u8) {
        let others: Vec<u32> = self.operation(task).map_or_else(Vec::new, |o| {
            o.attempts.iter().filter(|a| a.is_open() && a.n != u32::from(but)).map(|a| a.n).collect()
        });
        for n in others {
            let (op, source, attempt) = (self.op.clone(), Source::Receipt, Some(n));
            let outcome = refused("a later attempt was refused", true);
            self.take(task, Input::Evidence { op, source, attempt, outcome, shown: Json::Null }, now);
        }
    }

    fn operation<'a>(&self, task: &'a Task) -> Option<&'a Operation> {
        task.operations.get(&self.op)
    }

    /// Gives the kernel an input; a refusal changes nothing.
    fn take(&self, task: &mut Task, input: Input, now: u8) -> bool {
        let Some(after) = self.give(task, input, now) else { return false };
        *task = after;
        true
    }

    fn give(&self, task: &Task, input: Input, now: u8) -> Option<Task> {
        let events = decide(task, input, ctx(now)).ok()?;
        let mut after = task.clone();
        for event in events {
            let (event, stop) = self.twisted(event, now);
            fold(&mut after, &event, moment(now)).ok()?;
            if stop {
                return self.give(&after, Input::Tick, now);
            }
        }
        Some(after)
    }

    /// What is recorded when a rule is off. `true` when what follows has to be decided anew.
    fn twisted(&self, mut event: Event, now: u8) -> (Event, bool) {
        if let Event::StepStarted { key, send_by, attempt, .. } = &mut event {
            if self.off.has(Rule::OneKey) {
                *key = format!("k{attempt}");
            }
            if self.off.has(Rule::ResendInWindow) {
                *send_by = moment(now.saturating_add(1));
            }
        }
        match event {
            Event::AttemptUnknown { op, attempt, shown, .. } if self.off.has(Rule::SilenceIsUnknown) => {
                let outcome = refused("nothing was heard", true);
                (Event::AttemptAnswered { op, attempt, outcome, shown }, true)
            }
            event => (event, false),
        }
    }

    fn number(&mut self, task: Task) -> u32 {
        let key = look(&task);
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = u32::try_from(self.tasks.len()).unwrap_or(u32::MAX);
        let known = known::read(&task, &self.step, self.operation(&task));
        self.known.push(known);
        self.numbers.insert(key, number);
        self.tasks.push(task);
        number
    }
}
