//! Tasks in every state, made by the real kernel: each verb is an input, so no state is shown that cannot occur.

use semel_engine::view::clock;
use semel_kernel::{
    decide::{Draft, Submission, submit},
    event::{PlannedOperation, Recorded},
    hash::Hash,
    id::{ClientId, Intent, OperationId, SessionId, StepName, TaskId, Tenant, ToolName},
    input::{Ctx, Input, Resolution},
    json::Json,
    law,
    operation::Operation,
    outcome::{Finding, Look, Outcome, Source, Stored, UnknownCause},
    plan::{Budget, Plan, PlanStep, StepKind},
    review::{Decision, Review, ReviewCause},
    step::Step,
    task::Task,
    terms::{Effect, OnUnknown, ProbeTerms, RetryTerms, Terms},
    time::{Generation, Millis, Now},
};
use semel_ports::request::{HttpRequest, Part, Template};

/// 2026-11-30T02:14:00Z.
pub(crate) const START: i64 = 1_796_004_840_000;

pub(crate) const SECOND: i64 = 1_000;
pub(crate) const MINUTE: i64 = 60 * SECOND;
pub(crate) const HOUR: i64 = 60 * MINUTE;

pub(crate) struct World {
    pub(crate) task: Task,
    pub(crate) history: Vec<Recorded>,
    at: i64,
}

pub(crate) fn tool(name: &str) -> ToolName {
    ToolName::parse(name).unwrap()
}

pub(crate) fn name(text: &str) -> StepName {
    StepName::parse(text).unwrap()
}

/// Terms of a tool `pay` without chance in its pauses.
pub(crate) fn terms(effect: Effect) -> Terms {
    let mut terms = Terms::new(tool("pay"), Hash::of(b"contract of pay"));
    terms.effect = effect;
    terms.retry = RetryTerms { jitter: false, ..RetryTerms::default() };
    if effect == Effect::Keyed {
        terms.key_window_ms = Some(24 * HOUR);
    }
    if effect == Effect::Queryable {
        terms.probe = Some(probe());
    }
    terms
}

pub(crate) fn probe() -> ProbeTerms {
    ProbeTerms {
        settle_ms: 10 * SECOND,
        poll_ms: 2 * SECOND,
        poll_cap_ms: MINUTE,
        for_ms: 15 * MINUTE,
        max: 20,
    }
}

pub(crate) fn with_probe(effect: Effect) -> Terms {
    Terms { probe: Some(probe()), ..terms(effect) }
}

pub(crate) fn blind(on_unknown: OnUnknown) -> Terms {
    Terms { on_unknown, ..terms(Effect::Blind) }
}

fn step(of: &str, needs: &[&str], kind: StepKind) -> PlanStep {
    PlanStep { name: name(of), needs: needs.iter().map(|n| name(n)).collect(), kind }
}

/// `charge` pays, then `notify` sends mail.
pub(crate) fn plan(terms: Terms) -> Plan {
    let mut mail = Terms::new(tool("mail"), Hash::of(b"contract of mail"));
    mail.retry.jitter = false;
    let notify = step("notify", &["charge"], StepKind::Act(tool("mail")));
    let charge = step("charge", &[], StepKind::Act(tool("pay")));
    plan_of(vec![charge, notify], vec![terms, mail])
}

pub(crate) fn sleeping() -> Plan {
    plan_of(vec![step("rest", &[], StepKind::Sleep)], Vec::new())
}

pub(crate) fn each(terms: Terms) -> Plan {
    let kind = StepKind::Each { tool: tool("pay"), parallel: 2 };
    plan_of(vec![step("pay-all", &[], kind)], vec![terms])
}

pub(crate) fn twice(terms: Terms) -> Plan {
    let act = || StepKind::Act(tool("pay"));
    plan_of(vec![step("charge", &[], act()), step("again", &[], act())], vec![terms])
}

fn plan_of(steps: Vec<PlanStep>, tools: Vec<Terms>) -> Plan {
    Plan {
        name: "onboard".into(),
        hash: Hash::of(b"plan"),
        steps,
        tools: tools.into_iter().map(|t| (t.tool.clone(), t)).collect(),
        budget: Budget::default(),
        pins: [("model".to_owned(), "acme@09".to_owned())].into(),
    }
}

/// A request as the engine freezes it, with the key and a secret left open.
fn frozen() -> Stored {
    let request = HttpRequest {
        method: "POST".into(),
        url: Template::text("https://pay.example/charges"),
        headers: vec![
            (
                "authorization".into(),
                Template(vec![Part::Text("Bearer ".into()), Part::Secret("env:PAY_KEY".into())]),
            ),
            ("idempotency-key".into(), Template(vec![Part::Key])),
        ],
        body: Some(Template::text("order=o-1&amount=100")),
        ca_file: None,
    };
    Stored::Inline(Json::parse(&serde_json::to_string(&request).unwrap()).unwrap())
}

pub(crate) fn applied(id: &str) -> Outcome {
    Outcome::Applied { result: result(id), replayed: false, truncated: false }
}

pub(crate) fn result(id: &str) -> Stored {
    let href = "https://pay.example/charges/1?token=hidden";
    Stored::Inline(Json::obj([("id", Json::str(id)), ("amount", Json::from(100)), ("href", Json::str(href))]))
}

pub(crate) fn refused(retryable: bool, cause: &str) -> Outcome {
    Outcome::NotApplied { retryable, sent: true, cause: cause.into(), retry_after_ms: None, refusal: None }
}

pub(crate) fn pending(cause: &str) -> Outcome {
    Outcome::Pending { handle: Json::Null, cause: cause.into() }
}

impl World {
    pub(crate) fn new(plan: Plan) -> Self {
        Self::called(plan, "tsk_0001", START)
    }

    /// The same under another id, accepted at another time.
    pub(crate) fn called(plan: Plan, id: &str, at: i64) -> Self {
        let client = if id == "tsk_0001" { "onboard-o-1" } else { id };
        let submission = Submission {
            task: TaskId::parse(id).unwrap(),
            tenant: Tenant::parse("default").unwrap(),
            client_id: ClientId::parse(client).unwrap(),
            plan,
            inputs: Stored::Inline(Json::Null),
            epoch: 0,
            shared_epoch: 0,
            restored: None,
        };
        let draft = submit(submission, ctx(at)).unwrap();
        let mut world = Self { task: draft.task().clone(), history: Vec::new(), at };
        world.keep(draft);
        world
    }

    fn keep(&mut self, draft: Draft) {
        let (task, events) = draft.finish();
        for event in events {
            let seq = self.history.len() as u64 + 1;
            self.history.push(Recorded { seq, at: Millis(self.at), event });
        }
        law::check(&task).unwrap();
        self.task = task;
    }

    /// Claimed, with `charge` planned.
    pub(crate) fn planned(plan: Plan) -> Self {
        Self::new(plan).claim().act("charge", "o-1")
    }

    /// Claimed, planned, and the first attempt recorded.
    pub(crate) fn started(terms: Terms) -> Self {
        Self::planned(plan(terms)).begin("charge")
    }

    /// The first attempt ended without an answer after its time-out.
    pub(crate) fn timed_out(terms: Terms) -> Self {
        Self::started(terms).pass(30 * SECOND).answer("charge", Outcome::unknown(UnknownCause::Timeout))
    }

    pub(crate) fn now(&self) -> Now {
        Now::steady(Millis(self.at))
    }

    pub(crate) fn take(mut self, input: Input) -> Self {
        let mut draft = Draft::on(self.task.clone());
        draft.take(input, ctx(self.at)).unwrap();
        self.keep(draft);
        self
    }

    /// An input that the kernel may refuse; a refusal changes nothing.
    pub(crate) fn offer(mut self, input: Input) -> Self {
        let mut draft = Draft::on(self.task.clone());
        if draft.take(input, ctx(self.at)).is_ok() {
            self.keep(draft);
        }
        self
    }

    /// Time passes, and the consequences are drawn.
    pub(crate) fn pass(mut self, ms: i64) -> Self {
        self.at += ms;
        self.take(Input::Tick)
    }

    /// Time passes while nobody looks.
    pub(crate) fn skip_time(mut self, ms: i64) -> Self {
        self.at += ms;
        self
    }

    pub(crate) fn claim(self) -> Self {
        let generation = self.task.generation.next();
        let session = SessionId::parse(&format!("ses_{}", generation.counter)).unwrap();
        self.take(Input::Claimed { session, generation })
    }

    pub(crate) fn next_generation(&self) -> Generation {
        self.task.generation.next()
    }

    pub(crate) fn resolve(self, step: &str, resolution: Resolution) -> Self {
        self.take(Input::Resolved { step: name(step), resolution })
    }

    pub(crate) fn act(self, step: &str, target: &str) -> Self {
        let acting = self.acting(step, target);
        self.take(acting)
    }

    /// The step turns out to act on that target.
    pub(crate) fn acting(&self, step: &str, target: &str) -> Input {
        let step = name(step);
        let intent = Intent { target, version: "1", intent: 1 };
        let StepKind::Act(tool) = self.task.steps[&step].kind.clone() else { panic!("not an act") };
        let operation = PlannedOperation {
            id: OperationId::build(&self.task.id, &step, &intent).unwrap(),
            tool,
            target: target.into(),
            version: "1".into(),
            intent: 1,
            key: "abcdefghijklmnopqrstuvwxyz234567".into(),
            key_epoch: 0,
            request_hash: Hash::of(target.as_bytes()),
            fields: [("amount".to_owned(), "1a2b".to_owned())].into(),
            arguments: Stored::Inline(Json::Null),
        };
        Input::Resolved { step, resolution: Resolution::Act { operation } }
    }

    pub(crate) fn expand(self, items: &[&str]) -> Self {
        let items = items.iter().map(|i| name("pay-all").item(i).unwrap()).collect();
        self.resolve("pay-all", Resolution::Each { items, list: Stored::Inline(Json::Null) })
    }

    pub(crate) fn begin(self, step: &str) -> Self {
        let op = self.op(step);
        let (id, request) = (op.planned.id.clone(), op.request.is_none().then(frozen));
        self.take(Input::Begin { op: id, request, lease_left_ms: 12 * SECOND, next_key: "next".into() })
    }

    /// The last attempt of the step's operation is answered.
    pub(crate) fn answer(self, step: &str, outcome: Outcome) -> Self {
        let attempt = self.op(step).attempts.last().unwrap().n;
        let shown = match &outcome {
            Outcome::Unknown { .. } => Json::Null,
            _ => Json::obj([("status", Json::from(200)), ("body", Json::str("{\"card\":\"[redacted]\"}"))]),
        };
        let op = self.op(step).planned.id.clone();
        self.take(Input::Answered { op, attempt, outcome, shown, late_ms: 0, cost: 0 })
    }

    pub(crate) fn probed(self, step: &str, finding: Finding) -> Self {
        let op = self.op(step).planned.id.clone();
        let shown = Json::obj([("status", Json::from(404))]);
        let asked_at = Millis(self.at);
        self.take(Input::Probed { op, asked_at, finding, confirm: None, shown })
    }

    pub(crate) fn prechecked(self, finding: Finding, holds: bool) -> Self {
        let op = self.op("charge").planned.id.clone();
        self.take(Input::Prechecked { op, finding, look: Look::answered(holds), shown: Json::Null })
    }

    pub(crate) fn evidence(self, source: Source, attempt: Option<u32>, outcome: Outcome) -> Self {
        let op = self.op("charge").planned.id.clone();
        self.take(Input::Evidence { op, source, attempt, outcome, shown: Json::str("kept") })
    }

    pub(crate) fn decide(self, decision: Decision) -> Self {
        let review = self.review().id.clone();
        let (actor, reason) = ("lin".to_owned(), "looked at the ledger".to_owned());
        self.take(Input::Decide { review, decision, actor, reason, page: None })
    }

    pub(crate) fn need_person(self, cause: ReviewCause) -> Self {
        self.take(Input::NeedPerson { cause })
    }

    pub(crate) fn pause(self) -> Self {
        self.take(Input::Pause { actor: "lin".into(), reason: "maintenance.".into() })
    }

    pub(crate) fn cancel(self) -> Self {
        self.take(Input::Cancel { actor: "lin".into(), reason: "order withdrawn".into() })
    }

    pub(crate) fn adopt(self) -> Self {
        let copied_at = Millis(START - HOUR);
        self.take(Input::Adopt { epoch: 1, copied_at, actor: "lin".into() })
    }

    pub(crate) fn step(&self, of: &str) -> &Step {
        &self.task.steps[&name(of)]
    }

    pub(crate) fn op(&self, step: &str) -> &Operation {
        self.task.operation_of(self.step(step)).unwrap()
    }

    /// The last open review.
    pub(crate) fn review(&self) -> &Review {
        self.task.open_reviews().last().unwrap()
    }

    /// The present, for messages of tests.
    pub(crate) fn moment(&self) -> String {
        clock::utc(Millis(self.at))
    }
}

fn ctx(at: i64) -> Ctx {
    Ctx { now: Now::steady(Millis(at)), draw: 0 }
}
