//! The recommended next act of a review, why, and what would change our mind.
//!
//! Invariant: advice never asks for a resend of what is unknown; it asks for a fact first.

use super::operation_of;
use crate::view::{
    act,
    clock::{utc, when},
    command,
};
use semel_kernel::{
    json::Json,
    operation::{Judgement, Operation},
    outcome::Stored,
    review::{Decision, Review, ReviewCause},
    task::Task,
    time::Now,
};
use semel_ports::request::{HttpRequest, Part};
use serde::Serialize;

/// What we recommend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// The act, as an order.
    pub act: String,
    /// Why.
    pub why: String,
    /// What would change our mind.
    pub unless: Vec<String>,
}

impl Advice {
    fn new(act: impl Into<String>, why: impl Into<String>) -> Self {
        Self { act: act.into(), why: why.into(), unless: Vec::new() }
    }

    fn unless(mut self, reason: impl Into<String>) -> Self {
        self.unless.push(reason.into());
        self
    }
}

pub(super) fn of(task: &Task, review: &Review, now: Now) -> Advice {
    let Some(op) = operation_of(task, review) else { return about_task(task, review) };
    let subject = About { task, op, review, now };
    match &review.cause {
        ReviewCause::Contradiction => subject.contradiction(),
        ReviewCause::ProbesExhausted => subject.ask_again(),
        ReviewCause::Offline => subject.offline(),
        ReviewCause::Budget { which } => subject.spent(which),
        ReviewCause::Compensate => subject.compensate(),
        ReviewCause::Blind
        | ReviewCause::KeyWindowOver
        | ReviewCause::AccountChanged
        | ReviewCause::AttemptsExhausted
        | ReviewCause::CancelledWhileUnknown
        | ReviewCause::NoProgress { .. }
        | ReviewCause::VersionMissing { .. } => subject.look_yourself(),
    }
}

fn about_task(task: &Task, review: &Review) -> Advice {
    let go_on = command::decide(task, review, &Decision::GoOn);
    let abort = "the work is no longer wanted: then answer `--abort`";
    match &review.cause {
        ReviewCause::Budget { which } => {
            let why =
                format!("the budget `{which}` is spent, and nothing new starts until somebody extends it");
            Advice::new(format!("decide whether it is worth more, then `{go_on}`"), why).unless(abort)
        }
        ReviewCause::VersionMissing { what } => {
            let why = format!(
                "a task runs only with the versions that it pinned, and {what} is not available here"
            );
            Advice::new(format!("make that version available, then `{go_on}`"), why).unless(abort)
        }
        ReviewCause::NoProgress { claims } => {
            let why = format!(
                "{claims} workers took it up and none committed a turn, so the task itself may end them"
            );
            Advice::new(format!("find out why its workers end, then `{go_on}`"), why).unless(abort)
        }
        ReviewCause::Blind
        | ReviewCause::KeyWindowOver
        | ReviewCause::AccountChanged
        | ReviewCause::ProbesExhausted
        | ReviewCause::AttemptsExhausted
        | ReviewCause::Contradiction
        | ReviewCause::CancelledWhileUnknown
        | ReviewCause::Offline
        | ReviewCause::Compensate => {
            Advice::new(format!("look into it, then `{go_on}`"), review.cause.words()).unless(abort)
        }
    }
}

/// Characters of the arguments that an advice repeats.
const ARGUMENTS: usize = 240;

/// Whether the target got our key, and so can be searched by it.
fn carries_key(op: &Operation) -> bool {
    let Some(Stored::Inline(json)) = &op.request else { return false };
    let Ok(request) = serde_json::from_str::<HttpRequest>(&json.canonical()) else { return false };
    let texts = request.headers.iter().map(|(_, text)| text).chain([&request.url]).chain(&request.body);
    texts.flat_map(|text| &text.0).any(|part| *part == Part::Key)
}

/// The times within which bytes of the attempts in doubt may have left.
fn sent_between(op: &Operation) -> Option<String> {
    let open = op.attempts.iter().filter(|a| a.is_open() && a.n > 0);
    let first = open.clone().map(|a| a.started_at).min()?;
    let last = open.map(|a| a.ended_at.unwrap_or(a.dead_at())).max()?;
    Some(format!("between {} and {}", utc(first), utc(last)))
}

/// An operation in review.
struct About<'a> {
    task: &'a Task,
    op: &'a Operation,
    review: &'a Review,
    now: Now,
}

impl About<'_> {
    fn what(&self) -> String {
        let planned = &self.op.planned;
        let target = if planned.target.is_empty() { "-" } else { &planned.target };
        format!("`{}` for {target}", planned.tool)
    }

    fn happened(&self) -> String {
        let happened = Decision::ItHappened { reference: "REFERENCE".to_owned(), result: Json::Null };
        command::decide(self.task, self.review, &happened)
    }

    /// The one safe order for what is unknown: a fact from where the effect would be.
    fn look_yourself(&self) -> Advice {
        let act = format!(
            "look at the target itself, or ask its owner, whether {} is there ({}), and answer with that fact: `{}`",
            self.what(),
            self.search(),
            self.happened()
        );
        let why = format!(
            "{}; sending again without a fact could do it twice, and calling it failed could lose it",
            self.review.cause.words()
        );
        Advice::new(act, why)
            .unless(self.absent())
            .unless("a late answer or a receipt arrives: it settles this by itself and closes the review")
            .unless("nobody can ever know: then answer `--write-off`, and it stays unknown for ever")
    }

    /// What an absent effect leads to, and from when on that is believed.
    fn absent(&self) -> String {
        let terms = self.task.terms(&self.op.planned);
        let from = terms.map(|t| self.op.settled_at(t, self.now)).filter(|at| *at > self.now.at);
        let from =
            from.map_or_else(String::new, |at| format!(", which is believed from {} on", when(at, self.now)));
        format!("it is not there: then answer `--did-not`{from}, and recovery may send it again")
    }

    /// What to search the target for: the key where it was sent, else what the request said, and when it was sent.
    fn search(&self) -> String {
        let sent = sent_between(self.op).map_or_else(String::new, |times| format!(", sent {times}"));
        if carries_key(self.op) {
            return format!("search for key {}{sent}", self.op.key());
        }
        let target = if self.op.planned.target.is_empty() { "-" } else { &self.op.planned.target };
        let with = match &self.op.planned.arguments {
            Stored::Inline(Json::Null) | Stored::Artifact(_) => String::new(),
            Stored::Inline(json) => format!(" with {}", act::cut(&json.canonical(), ARGUMENTS)),
        };
        format!("it got no key from us: search for {target}{with}{sent}")
    }

    fn contradiction(&self) -> Advice {
        let said = self.op.contradiction.as_deref().map_or_else(String::new, act::clean);
        let act = format!(
            "look at the target itself and count how often {} is there, before anything else is done to it; if it is \
             there once, answer `{}`",
            self.what(),
            self.happened()
        );
        let why = format!("sources contradict each other ({said}), so neither can be trusted alone");
        Advice::new(act, why)
            .unless("it is there twice: undo one by hand first, and note it in the reason")
            .unless(self.absent())
            .unless("one of the sources was wrong and is mended: then answer `--ask-again`, where there is a look-up")
    }

    fn ask_again(&self) -> Advice {
        let can_ask = self.task.terms(&self.op.planned).is_some_and(|t| t.probe.is_some());
        if !can_ask {
            return self.look_yourself();
        }
        let again = command::decide(self.task, self.review, &Decision::AskAgain);
        let act = format!("see whether the look-up of the target works now, then `{again}`");
        let why = format!(
            "{} look-ups gave no clear answer; asking changes nothing at the target",
            self.op.probes.asked
        );
        let mut advice = Advice::new(act, why);
        advice.unless = self.look_yourself().unless;
        advice
            .unless(format!("you can see at the target that it is there: then answer `{}`", self.happened()))
    }

    fn offline(&self) -> Advice {
        let proven = matches!(self.op.judge(), Judgement::NotApplied { .. });
        if !proven {
            return self.look_yourself();
        }
        let go_on = command::decide(self.task, self.review, &Decision::GoOn);
        let act = format!("bring the target back, then `{go_on}`");
        let why = "not one byte of any attempt was handed to a connection, so nothing happened";
        Advice::new(act, why)
            .unless("the step is not needed: then answer `--skip`")
            .unless("the work is no longer wanted: then answer `--abort`")
    }

    /// A budget of the operation itself.
    fn spent(&self, which: &str) -> Advice {
        if !matches!(self.op.judge(), Judgement::NotApplied { .. }) {
            return self.look_yourself();
        }
        let go_on = command::decide(self.task, self.review, &Decision::GoOn);
        let act = format!("decide whether it is worth more, then `{go_on}`");
        let why =
            format!("the budget `{which}` of the contract is spent, and every attempt is proven not applied");
        Advice::new(act, why)
            .unless("the step is not needed: then answer `--skip`")
            .unless("the work is no longer wanted: then answer `--abort`")
    }

    fn compensate(&self) -> Advice {
        let mut advice = self.look_yourself();
        advice.act = format!("{}; if it is there and must not be, undo it by hand first", advice.act);
        advice
    }
}
