//! The machines and the recovery table as a document that is computed, so that a changed rule is a visible diff.
//!
//! `UPDATE_GENERATED=1` writes `docs/generated/transitions.md` anew.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use semel_kernel::event::{Event, Why};
use semel_kernel::fold::fold;
use semel_kernel::id::SessionId;
use semel_kernel::input::{Input, Resolution};
use semel_kernel::json::Json;
use semel_kernel::oblige::phase;
use semel_kernel::outcome::{Finding, Outcome, UnknownCause};
use semel_kernel::plan::StepKind;
use semel_kernel::recover::{self, Act};
use semel_kernel::review::ReviewCause;
use semel_kernel::step::{Move, StepState, next};
use semel_kernel::task::Phase;
use semel_kernel::terms::{Effect, OnUnknown, Terms};
use semel_kernel::time::{Generation, Millis};

use crate::story::{
    CLOCK, DEAD, HOUR, SETTLED, Story, T0, applied, found, lost, many, pay, pending, plan, probed, refused,
    step, terms, unclear,
};

const INTRO: &str = "# Transitions\n\n\
    Computed from the kernel by `crates/semel-kernel/tests/it/table.rs`; a test fails when it differs. \
    Never edited by hand: run the test with `UPDATE_GENERATED=1`.\n";

#[test]
fn the_committed_tables_are_what_the_kernel_does() {
    let mut text = INTRO.to_string();
    step_table(&mut text);
    step_diagram(&mut text);
    phase_table(&mut text);
    recovery_table(&mut text);
    blind_table(&mut text);
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/transitions.md");
    if update_is_asked() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "docs/generated/transitions.md differs; run with UPDATE_GENERATED=1 and look at the diff"
    );
}

#[expect(clippy::disallowed_methods, reason = "a test that writes a committed file must be asked to")]
pub(crate) fn update_is_asked() -> bool {
    std::env::var("UPDATE_GENERATED").is_ok_and(|v| v == "1")
}

// --- the step machine ------------------------------------------------------------------------------------------

fn row(text: &mut String, cells: &[String]) {
    writeln!(text, "| {} |", cells.join(" | ")).unwrap();
}

fn head(text: &mut String, cells: &[String]) {
    row(text, cells);
    row(text, &vec!["---".to_string(); cells.len()]);
}

fn step_table(text: &mut String) {
    text.push_str("\n## Steps\n\nA dash is an illegal move: a history that makes it is corrupt.\n\n");
    let moves = Move::ALL.map(|m| format!("{m:?}"));
    head(text, &[vec!["from".to_string()], moves.to_vec()].concat());
    for from in StepState::ALL {
        let to = Move::ALL.map(|by| next(from, by).map_or("–", StepState::word).to_string());
        row(text, &[vec![from.word().to_string()], to.to_vec()].concat());
    }
}

fn step_diagram(text: &mut String) {
    text.push_str("\n```mermaid\nstateDiagram-v2\n    [*] --> PLANNED\n");
    for from in StepState::ALL {
        for by in Move::ALL {
            if let Some(to) = next(from, by) {
                writeln!(text, "    {} --> {}: {by:?}", from.word(), to.word()).unwrap();
            }
        }
    }
    for end in StepState::ALL.into_iter().filter(|from| Move::ALL.iter().all(|by| next(*from, *by).is_none()))
    {
        writeln!(text, "    {} --> [*]", end.word()).unwrap();
    }
    text.push_str("```\n");
}

/// What the table may never come to say, whatever else changes.
#[test]
fn the_step_table_keeps_its_promises() {
    for by in Move::ALL {
        for end in [StepState::Failed, StepState::Skipped, StepState::Compensated] {
            assert_eq!(next(end, by), None, "{end:?} {by:?}");
        }
        let from_committed = next(StepState::Committed, by);
        assert!(from_committed.is_none_or(|to| to == StepState::Compensated));
        let from_unknown = next(StepState::Unknown, by);
        assert_eq!(from_unknown == Some(StepState::Failed), by == Move::Fail);
        assert_ne!(from_unknown, Some(StepState::Skipped), "an open operation is never skipped");
    }
}

// --- phases ----------------------------------------------------------------------------------------------------

fn phase_table(text: &mut String) {
    text.push_str("\n## Phases of a task\n\nThe phase is a function of the state.\n\n");
    head(text, &["the task".to_string(), "phase".into()]);
    let mut seen = Vec::new();
    for (what, story) in situations() {
        let phase = phase(&story.task);
        seen.push(phase);
        row(text, &[what.to_string(), phase.word().to_string()]);
    }
    for phase in Phase::ALL {
        assert!(seen.contains(&phase), "no situation shows {}", phase.word());
    }
}

fn told(terms: Terms, tell: impl FnOnce(&mut Story)) -> Story {
    let mut story = Story::one(terms);
    tell(&mut story);
    story
}

fn situations() -> Vec<(&'static str, Story)> {
    let blind = || terms(Effect::Blind);
    let sleeping = {
        let mut story = Story::new(plan(vec![step("s", StepKind::Sleep, &[])], blind()));
        story.claim(1).resolve("s", Resolution::Sleep { until: Millis(T0 + HOUR) });
        story
    };
    let beside = {
        let mut story = Story::new(plan(vec![pay("a", &[]), pay("b", &[])], blind()));
        story.claim(1).plan("a").plan("b").begin("a").answer("a", 1, lost());
        story
    };
    let no_progress = || Input::NeedPerson { cause: ReviewCause::NoProgress { claims: 3 } };
    vec![
        ("accepted, nobody has owned it", Story::new(plan(vec![pay("a", &[])], blind()))),
        ("adopted from a copy, nobody owns it", told(terms(Effect::None), |s| drop_ref(s.adopt(0)))),
        ("a request is due", told(blind(), |_| {})),
        ("a request is in flight", told(blind(), |s| drop_ref(s.begin("a")))),
        (
            "a look-up is due",
            told(probed(Effect::Queryable), |s| drop_ref(s.begin("a").answer("a", 1, lost()))),
        ),
        ("a pause before a retry", told(blind(), |s| drop_ref(s.begin("a").answer("a", 1, refused(true))))),
        ("a timer is set", sleeping),
        ("paused", told(blind(), |s| drop_ref(s.pause()))),
        ("cancelling, a request is in flight", told(blind(), |s| drop_ref(s.begin("a").cancel()))),
        ("one branch in review, another can go on", beside),
        ("unknown and in review", told(blind(), |s| drop_ref(s.begin("a").answer("a", 1, lost())))),
        ("held by a review about the task", told(blind(), |s| drop_ref(s.give(no_progress())))),
        (
            "all steps settled, none failed",
            told(blind(), |s| drop_ref(s.begin("a").answer("a", 1, applied()))),
        ),
        (
            "a step failed, nothing open",
            told(blind(), |s| drop_ref(s.begin("a").answer("a", 1, refused(false)))),
        ),
        ("cancelled, nothing open", told(blind(), |s| drop_ref(s.cancel()))),
    ]
}

fn drop_ref(_: &mut Story) {}

// --- recovery --------------------------------------------------------------------------------------------------

/// A class of targets: its name, its terms, and whether its key window is over.
struct Class {
    name: &'static str,
    terms: Terms,
    over: bool,
}

fn classes() -> Vec<Class> {
    let class = |name, terms| Class { name, terms, over: false };
    let over = |name, terms| Class { name, terms, over: true };
    vec![
        class("none", terms(Effect::None)),
        class("natural", terms(Effect::Natural)),
        class("natural, probe", probed(Effect::Natural)),
        class("keyed", terms(Effect::Keyed)),
        class("keyed, probe", probed(Effect::Keyed)),
        over("keyed, window over", terms(Effect::Keyed)),
        over("keyed, probe, window over", probed(Effect::Keyed)),
        class("queryable", probed(Effect::Queryable)),
        class("blind", terms(Effect::Blind)),
    ]
}

/// What is found, as events that follow a first STARTED at moment 0, and the moment at which the table is asked.
struct Found {
    what: &'static str,
    facts: Vec<Fact>,
    at: i64,
}

#[derive(Clone)]
enum Fact {
    Ended(Outcome),
    Asked(Finding, bool),
    Fenced,
    Paused,
    Cancelling,
}

fn crash() -> Fact {
    Fact::Ended(Outcome::unknown(UnknownCause::OwnerGone))
}

fn rows() -> Vec<Found> {
    let found_row = |what, facts: &[Fact], at| Found { what, facts: facts.to_vec(), at };
    let asked = |finding: Finding, settled| [crash(), Fact::Asked(finding, settled)];
    let dead = DEAD + CLOCK;
    vec![
        found_row("in flight, ours, deadline ahead", &[], 10),
        found_row("in flight, ours, deadline past", &[], dead),
        found_row("in flight, older generation", &[Fact::Fenced], 10),
        found_row("answer lost", &[Fact::Ended(lost())], 10),
        found_row("unknown after a crash, at once", &[crash()], 10),
        found_row("unknown after a crash, attempt dead", &[crash()], dead),
        found_row("unknown, asked early: absent", &asked(Finding::Absent, false), dead),
        found_row("unknown, asked: unclear", &asked(unclear(), false), dead),
        found_row("unknown, asked: in progress", &asked(Finding::Pending, false), dead),
        found_row("unknown, asked: found", &asked(found(), false), dead),
        found_row("unknown, asked when settled: absent", &asked(Finding::Absent, true), SETTLED),
        found_row("unknown, asked: found twice", &asked(many(), false), dead),
        found_row("unknown, task paused", &[crash(), Fact::Paused], dead),
        found_row("unknown, task cancelling", &[crash(), Fact::Cancelling], dead),
        found_row("pending at the target", &[Fact::Ended(pending())], dead),
        found_row("refused, may pass", &[Fact::Ended(refused(true))], dead),
        found_row("refused for good", &[Fact::Ended(refused(false))], dead),
        found_row("not sent", &[Fact::Ended(Outcome::not_sent("no route"))], dead),
        found_row("other parameters under our key", &[contradiction()], dead),
        found_row("applied", &[Fact::Ended(applied())], dead),
    ]
}

fn contradiction() -> Fact {
    Fact::Ended(Outcome::Contradiction { cause: "other parameters".into() })
}

fn recovery_table(text: &mut String) {
    text.push_str(
        "\n## Recovery\n\nWhat the table says about one operation, by what is found and by class.\n\n",
    );
    let names = classes().into_iter().map(|c| c.name.to_string());
    head(text, &std::iter::once("found".to_string()).chain(names).collect::<Vec<_>>());
    let unsent = classes().into_iter().map(|class| match class.over {
        true => "–".to_string(),
        false => word(&Story::one(class.terms).act("a")),
    });
    row(text, &std::iter::once("nothing sent".to_string()).chain(unsent).collect::<Vec<_>>());
    for found in rows() {
        let cells = classes().into_iter().map(|class| cell(&class, &found));
        row(text, &std::iter::once(found.what.to_string()).chain(cells).collect::<Vec<_>>());
    }
}

fn cell(class: &Class, found: &Found) -> String {
    if class.over && found.what.starts_with("in flight, ours") {
        return "–".into();
    }
    let mut story = Story::one(class.terms.clone());
    if story.act("a") == Act::Precheck {
        story.precheck("a", Finding::Absent, true);
    }
    story.begin("a");
    // The facts are folded as they are: what would follow from them is what the table is asked for.
    story.now.at = Millis(T0 + if class.over { found.at + 25 * HOUR } else { found.at });
    for fact in &found.facts {
        let event = event_of(&story, fact, found.at);
        fold(&mut story.task, &event, Millis(T0 + 5)).unwrap();
    }
    let act = recover::act(&story.task, story.op("a"), story.now);
    word(&act)
}

fn event_of(story: &Story, fact: &Fact, at: i64) -> Event {
    let (op, attempt, shown) = (story.op_id("a"), 1, Json::Null);
    let (actor, reason) = ("ann".to_string(), String::new());
    match fact.clone() {
        Fact::Ended(outcome) => match outcome {
            Outcome::Unknown { .. } => Event::AttemptUnknown { op, attempt, outcome, shown },
            Outcome::Pending { .. } => Event::AttemptPending { op, attempt, outcome, shown },
            Outcome::Applied { .. } | Outcome::NotApplied { .. } | Outcome::Contradiction { .. } => {
                Event::AttemptAnswered { op, attempt, outcome, shown }
            }
        },
        Fact::Asked(finding, settled) => {
            let asked_at = Millis(T0 + at.min(if settled { SETTLED } else { 1_000 }));
            Event::ProbeAnswered { op, asked_at, finding, confirm: None, settled, shown }
        }
        Fact::Fenced => Event::LeaseAcquired {
            session: SessionId::parse("ses_2").unwrap(),
            generation: Generation { epoch: 1, counter: 2 },
        },
        Fact::Paused => Event::Paused { actor, reason },
        Fact::Cancelling => Event::CancelRequested { actor, reason },
    }
}

fn blind_table(text: &mut String) {
    text.push_str("\n## Blind and unknown\n\nBy `on_unknown`; an irreversible act is never repeated or lost by rule.\n\n");
    head(text, &["on_unknown".to_string(), "act".into(), "act, irreversible".into()]);
    for on_unknown in
        [OnUnknown::Review, OnUnknown::AcceptDuplicate, OnUnknown::AcceptLoss, OnUnknown::Compensate]
    {
        let found = Found { what: "unknown", facts: vec![crash()], at: DEAD + CLOCK };
        let act = |irreversible| {
            let terms = Terms { on_unknown, irreversible, ..terms(Effect::Blind) };
            cell(&Class { name: "blind", terms, over: false }, &found)
        };
        row(text, &[format!("{on_unknown:?}"), act(false), act(true)]);
    }
}

fn word(act: &Act) -> String {
    match act {
        Act::Nothing => "nothing".into(),
        Act::Wait { why, .. } => format!("wait for {why}"),
        Act::Precheck => "look first".into(),
        Act::Begin { why } => match why {
            Why::First => "begin".into(),
            Why::Retry => "begin: retry".into(),
            Why::SameKey => "begin: same key".into(),
            Why::Harmless => "begin: harmless".into(),
            Why::AcceptedDuplicate => "begin: accepted duplicate".into(),
        },
        Act::Probe => "ask the target".into(),
        Act::Lose { .. } => "record UNKNOWN".into(),
        Act::Commit { .. } => "commit".into(),
        Act::Fail { code, .. } => format!("fail {code}"),
        Act::Pace { .. } => "pause, then again".into(),
        Act::AcceptLoss => "write off".into(),
        Act::Review { cause } => format!("review: {}", cause.words()),
    }
}
