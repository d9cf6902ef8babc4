//! The wire between a process and the targets: it delays, loses and repeats, and what is on it outlives the process.

use crate::{
    control::Control,
    life::Step,
    plans::WIRE_MS,
    sim::{Act, Sim},
    world::{Doing, Sent, dedupes},
};
use semel_engine::machine::{Asking, Completion};
use semel_kernel::{
    event::Event,
    id::OperationId,
    json::Json,
    outcome::{Stored, UnknownCause},
    time::Millis,
};
use semel_ports::{
    Answer, CallPermit, HttpRequest, Question, Receipt, Report, Transport, Turn,
    outside::{NoSecret, Secret, Secrets},
    request::Fills,
};

/// A call that waits for its answer.
#[derive(Debug)]
pub(crate) struct OpenCall {
    pub(crate) life: u64,
    hand: u64,
    op: OperationId,
    attempt: u32,
    late_ms: i64,
}

/// A look-up that waits for its answer.
#[derive(Debug)]
pub(crate) struct OpenAsk {
    pub(crate) life: u64,
    hand: u64,
    op: OperationId,
    asking: Asking,
    asked_at: Millis,
    sent: Sent,
    timeout_ms: i64,
}

/// What a caller hears.
#[derive(Clone, Debug)]
pub(crate) enum Told {
    /// A full answer.
    Answer(Answer),
    /// Nothing, for this reason.
    Nothing(UnknownCause),
}

/// Something on the wire or in a target.
#[derive(Debug)]
pub(crate) enum Parcel {
    /// A request arrives.
    Request(u64, Sent),
    /// A target writes.
    Write { call: u64, sent: Sent, answered: bool, looked: bool },
    /// An answer goes back.
    Answer(u64, Answer),
    /// A look-up arrives.
    Look(u64),
}

struct NoSecrets;

impl Secrets for NoSecrets {
    fn resolve(&self, reference: &str) -> Result<Secret, NoSecret> {
        Err(NoSecret { reference: reference.to_owned(), cause: "there are none here".to_owned() })
    }
}

/// The request as it looks on the wire.
fn sent(request: &HttpRequest, key: &str, fence: &str) -> Option<Sent> {
    let fills = Fills { key, fence, secrets: &NoSecrets };
    let url = request.url.fill(&fills).ok()?;
    let rest = url.strip_prefix("http://sim/")?;
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let body = request.body.as_ref().map_or(Ok(String::new()), |b| b.fill(&fills)).ok()?;
    let mut json = Json::parse(&body).unwrap_or(Json::Null);
    let mut key_sent = None;
    for (name, value) in &request.headers {
        if name == "idempotency-key" {
            key_sent = value.fill(&fills).ok();
        }
    }
    if let Json::Obj(members) = &mut json
        && let Some(key) = members.remove("key")
    {
        key_sent = key.as_str().map(str::to_owned);
    }
    let in_query = query.split('&').find_map(|p| p.strip_prefix("what=")).map(str::to_owned);
    let what = in_query.or_else(|| json.get("what").and_then(Json::as_str).map(str::to_owned))?;
    Some(Sent {
        method: request.method.clone(),
        path: path.to_owned(),
        what,
        key: key_sent,
        body: json.canonical(),
    })
}

impl Sim {
    /// A call with a permit: the connection is dialled.
    pub(crate) fn send(&mut self, life: u64, hand: u64, permit: CallPermit) {
        if self.control == Some(Control::StartedAfterSend) {
            // It has left already.
            return;
        }
        self.dial(life, hand, permit);
    }

    fn dial(&mut self, life: u64, hand: u64, permit: CallPermit) {
        self.runs(life, hand);
        let called_at = self.store_now().at;
        let longest = if self.chance.net.happens(self.faults.delay) { 6_000 } else { 300 };
        let ms = self.chance.net.delay(longest);
        self.after(ms, Act::Inside(life, Step::Dial { hand, permit, called_at }));
    }

    /// Under one control the request leaves when its turn is on its way, and not when it is durable.
    pub(crate) fn sends_too_early(&mut self, life: u64, hand: u64, turn: &Turn) {
        let starts = turn.events.iter().any(|e| matches!(e, Event::StepStarted { .. }));
        if self.control != Some(Control::StartedAfterSend) || !starts {
            return;
        }
        let Some(task) = self.checks.as_it_will_be(turn) else { return };
        for permit in Receipt::attest(turn).permits(&task) {
            self.dial(life, hand, permit);
        }
    }

    /// The connection stands, or does not; the first byte leaves before `send_by`, or never.
    pub(crate) fn dials(&mut self, life: u64, hand: u64, permit: &CallPermit, called_at: Millis) {
        if self.dies_at(life, "call.before_send") {
            return;
        }
        let (op, attempt) = (permit.op().clone(), permit.attempt());
        let unreachable = self.chance.net.happens(self.faults.unreachable);
        let now = self.store_now().at;
        let late = now > permit.send_by() && self.control != Some(Control::NoSendBy);
        debug_assert!(now >= called_at, "time does not go back inside a process");
        let not_sent = match (unreachable, late) {
            (true, _) => Some("connection refused"),
            (_, true) => Some("late: `send_by` was over"),
            _ => None,
        };
        if let Some(cause) = not_sent {
            self.cover.mark(if late { "not sent: late" } else { "fault: unreachable" });
            self.note(|| format!("not sent {op} attempt {attempt}: {cause}"));
            let report = Report::not_sent(cause.to_owned());
            return self.reply(life, hand, Completion::Answered { op, attempt, report });
        }
        self.leaves(life, hand, permit);
    }

    fn leaves(&mut self, life: u64, hand: u64, permit: &CallPermit) {
        let (op, attempt) = (permit.op().clone(), permit.attempt());
        let mut key = permit.key().to_owned();
        if self.control == Some(Control::KeyPerAttempt) {
            key = format!("{key}-{attempt}");
        }
        let Stored::Inline(json) = permit.request() else { return };
        let Ok(request) = serde_json::from_str::<HttpRequest>(&json.canonical()) else { return };
        let Some(sent) = sent(&request, &key, &permit.generation().to_string()) else {
            return self.checks.unreadable(self.now, &op);
        };
        let late_ms = if self.chance.net.happens(self.faults.late_byte) {
            self.cover.mark("fault: first byte late");
            self.store_now().at.since(permit.send_by()).max(0) + self.chance.net.between(1, 1_000)
        } else {
            0
        };
        self.checks.left(self.now, permit, &sent);
        let path = sent.path.clone();
        self.note(|| format!("→ {op} attempt {attempt} leaves for {path} {}", sent.what));
        let call = self.number();
        let rest = permit.send_by().since(self.store_now().at).max(0) + permit.timeout_ms();
        self.calls.insert(call, OpenCall { life, hand, op, attempt, late_ms });
        self.after(rest, Act::Inside(life, Step::Heard(call, Told::Nothing(UnknownCause::Timeout))));
        self.goes(call, &sent);
        if self.chance.net.happens(self.faults.repeat) && dedupes(&path) && path != "looks" {
            self.cover.mark("fault: request repeated by the network");
            self.goes(0, &sent);
        }
        self.dies_at(life, "call.after_send");
    }

    /// On its way to the target, or lost.
    fn goes(&mut self, call: u64, sent: &Sent) {
        if self.chance.net.happens(self.faults.drop_request) {
            self.cover.mark("fault: request lost");
            self.note(|| format!("× the request about {} is lost", sent.what));
            return;
        }
        let ms = self.travels();
        self.after(ms, Act::Parcel(Parcel::Request(call, sent.clone())));
    }

    fn travels(&mut self) -> i64 {
        let slow = self.chance.net.happens(self.faults.delay);
        if slow {
            self.cover.mark("fault: delay");
            self.chance.net.between(0, WIRE_MS)
        } else {
            self.chance.net.between(1, 200)
        }
    }

    /// A request, a write, an answer or a look-up moves on.
    pub(crate) fn moves_on(&mut self, parcel: Parcel) {
        match parcel {
            Parcel::Request(call, sent) => self.arrives(call, sent),
            Parcel::Write { call, sent, answered, looked } => self.writes(call, &sent, answered, looked),
            Parcel::Answer(call, answer) => self.comes_back(call, answer),
            Parcel::Look(ask) => self.looked_up(ask),
        }
    }

    fn arrives(&mut self, call: u64, sent: Sent) {
        match self.world.arrive(self.now, &sent) {
            Doing::Answers(answer) => {
                self.cover.mark(&format!("answer: {} from {}", answer.status, sent.path));
                self.note(|| format!("  {} answers {} about {}", sent.path, answer.status, sent.what));
                self.goes_back(call, answer);
            }
            Doing::Writes { after, looked, early } => {
                let answered = early.is_some();
                if let Some(early) = early {
                    self.cover.mark(&format!("answer: {} from {}", early.status, sent.path));
                    self.note(|| {
                        format!("  {} answers {} about {}, and works on", sent.path, early.status, sent.what)
                    });
                    self.goes_back(call, early);
                }
                self.after(after, Act::Parcel(Parcel::Write { call, sent, answered, looked }));
            }
        }
    }

    fn writes(&mut self, call: u64, sent: &Sent, answered: bool, looked: bool) {
        let answer = self.world.write(self.now, sent);
        self.cover.mark(&format!("effect: {}", sent.path));
        self.cover.mark(&format!("answer: {} from {}", answer.status, sent.path));
        self.note(|| format!("● {} happens to {} (looked first: {looked})", sent.path, sent.what));
        self.checks.happened(self.now, &self.world, sent);
        if !answered {
            self.goes_back(call, answer);
        }
    }

    fn goes_back(&mut self, call: u64, answer: Answer) {
        if self.chance.net.happens(self.faults.drop_answer) {
            self.cover.mark("fault: answer lost");
            self.note(|| format!("× an answer {} is lost", answer.status));
            return;
        }
        let ms = self.travels();
        self.after(ms, Act::Parcel(Parcel::Answer(call, answer)));
    }

    fn comes_back(&mut self, call: u64, answer: Answer) {
        let Some(life) = self.calls.get(&call).map(|c| c.life) else { return };
        self.after(0, Act::Inside(life, Step::Heard(call, Told::Answer(answer))));
    }

    /// The caller hears an answer, or has waited long enough.
    pub(crate) fn heard(&mut self, life: u64, call: u64, told: Told) {
        let Some(open) = self.calls.remove(&call) else { return };
        if self.dies_at(life, "call.after_answer") {
            return;
        }
        let mut report = report(told, open.late_ms);
        let refused = matches!(&report.transport, Transport::Answered(a) if (400..500).contains(&a.status));
        if self.control == Some(Control::RetryOnTimeout) && matches!(report.transport, Transport::Lost { .. })
        {
            report = Report::not_sent("no answer, so it is tried again".to_owned());
        }
        if self.control == Some(Control::RefusalTakenForAll) && refused {
            for attempt in 1..open.attempt {
                let (op, report) = (open.op.clone(), report.clone());
                self.runs(life, open.hand);
                self.reply(life, open.hand, Completion::Answered { op, attempt, report });
            }
        }
        let (op, attempt, hand) = (open.op, open.attempt, open.hand);
        if self.chance.net.happens(self.faults.heard_twice) {
            self.cover.mark("fault: answer heard twice");
            self.runs(life, hand);
            let again = Completion::Answered { op: op.clone(), attempt, report: report.clone() };
            self.reply(life, hand, again);
        }
        self.reply(life, hand, Completion::Answered { op, attempt, report });
    }

    /// A question is put to a target.
    pub(crate) fn ask(&mut self, life: u64, hand: u64, op: OperationId, asking: Asking, question: &Question) {
        self.runs(life, hand);
        let Some(sent) = sent(&question.request, &question.key, &question.fence) else {
            return self.checks.unreadable(self.now, &op);
        };
        let ask = self.number();
        let asked_at = self.store_now().at;
        let timeout_ms = question.timeout_ms;
        self.asks.insert(ask, OpenAsk { life, hand, op, asking, asked_at, sent, timeout_ms });
        let ms = self.chance.net.delay(300);
        self.after(ms, Act::Inside(life, Step::AskLeaves(ask)));
    }

    /// The question leaves.
    pub(crate) fn ask_leaves(&mut self, life: u64, ask: u64) {
        if self.dies_at(life, "probe.before") {
            return;
        }
        let Some(open) = self.asks.get(&ask) else { return };
        let rest = open.timeout_ms;
        self.after(rest, Act::Inside(life, Step::AskHeard(ask, Told::Nothing(UnknownCause::Timeout))));
        if !self.chance.net.happens(self.faults.drop_request) {
            let ms = self.travels();
            self.after(ms, Act::Parcel(Parcel::Look(ask)));
        }
    }

    fn looked_up(&mut self, ask: u64) {
        let Some(open) = self.asks.get(&ask) else { return };
        let (life, sent) = (open.life, open.sent.clone());
        let answer = if sent.path == "read" {
            crate::world::answer(200, &Json::Null)
        } else {
            self.world.look(self.now, &sent)
        };
        if !self.chance.net.happens(self.faults.drop_answer) {
            let ms = self.travels();
            self.after(ms, Act::Inside(life, Step::AskHeard(ask, Told::Answer(answer))));
        }
    }

    /// The question is answered, or has waited long enough.
    pub(crate) fn ask_heard(&mut self, life: u64, ask: u64, told: Told) {
        let Some(open) = self.asks.remove(&ask) else { return };
        if self.dies_at(life, "probe.after") {
            return;
        }
        let asked_at = if self.control == Some(Control::ProbeJudgedAtAnswer) {
            self.store_now().at
        } else {
            open.asked_at
        };
        let text = shown(&told);
        self.note(|| format!("? {} hears {text}", open.op));
        let report = report(told, 0);
        let (op, asking) = (open.op, open.asking);
        self.reply(life, open.hand, Completion::Asked { op, asking, asked_at, report });
    }
}

fn shown(told: &Told) -> String {
    match told {
        Told::Answer(a) => format!("{} {}", a.status, String::from_utf8_lossy(&a.body)),
        Told::Nothing(_) => "nothing".to_owned(),
    }
}

fn report(told: Told, late_ms: i64) -> Report {
    match told {
        Told::Answer(answer) => Report::new(Transport::Answered(answer), 100, late_ms),
        Told::Nothing(cause) => {
            Report::new(Transport::Lost { cause, detail: "no answer".to_owned() }, 100, late_ms)
        }
    }
}
