//! `semel review show`: the question, what is known, the clocks, what we recommend, and the exact commands.

use crate::{
    config::Config,
    fail::{Exit, Fail},
    ui::{Ui, table::cut},
    wire,
};
use semel_engine::view::{
    Package,
    clock::when,
    package::{Choice, Clocks},
    shown_words,
};
use semel_kernel::time::{Millis, Now};

/// Characters of a raw answer on the page; the package has more.
const SHOWN: usize = 96;

pub(super) async fn run(config: &Config, id: &str, ui: Ui) -> Result<Exit, Fail> {
    let store = wire::read(config).await?;
    let package = super::file(store.as_ref(), id).await?;
    let now = store.now();
    ui.show(&package, || text(&package, now));
    Ok(Exit::Done)
}

fn text(package: &Package, now: Now) -> String {
    let mut parts = vec![header(package, now)];
    if let Some(rail) = &package.rail {
        let lines = rail.reaches().into_iter().map(|reach| format!("\n  {reach}")).collect::<String>();
        parts.push(format!("{rail}{lines}"));
    }
    parts.extend(section("known", &known(package)));
    parts.extend(section("tried", &tried(package)));
    parts.extend(section("clocks", &clocks(&package.clocks, now)));
    parts.push(advice(package));
    parts.extend(section("answers", &answers(package)));
    parts.join("\n\n")
}

fn section(title: &str, lines: &[String]) -> Option<String> {
    if lines.is_empty() { None } else { Some(format!("{title}\n  {}", lines.join("\n  "))) }
}

fn header(package: &Package, now: Now) -> String {
    let review = &package.review;
    let step = review.step.as_ref().map_or_else(String::new, |s| format!(", step {s}"));
    let state = match &review.decided_by {
        Some(by) => format!("decided by {by}"),
        None => format!("open since {}", when(review.opened_at, now)),
    };
    let about = format!(
        "  task {}{step}; page version {} (pass --page {}); {state}",
        package.checkpoint.task, review.page, review.page
    );
    format!("{}  {}\n{about}", review.id, package.question)
}

fn known(package: &Package) -> Vec<String> {
    let confirmed = package.confirmed.iter().map(|c| {
        let ids: Vec<String> = c.external_ids.iter().map(|(path, id)| format!("{path} = {id}")).collect();
        let ids = if ids.is_empty() { String::new() } else { format!(" ({})", ids.join(", ")) };
        format!("● {} is proven by {}{ids}", c.operation, c.proof)
    });
    let unknown = package.unknown.iter().map(|u| {
        let word = if u.written_off { "is written off" } else { "is unknown" };
        format!("▨ {} {word}: {}", u.operation, u.because.join("; "))
    });
    let absent = package.absent.iter().map(|a| format!("✕ {} did not happen: {}", a.operation, a.because));
    unknown.chain(confirmed).chain(absent).collect()
}

fn tried(package: &Package) -> Vec<String> {
    let one = |t: &semel_engine::view::package::Tried| {
        let raw = if t.shown.is_null() {
            String::new()
        } else {
            format!("  {}", cut(&shown_words(&t.shown), SHOWN))
        };
        format!("{}  {}: {}{raw}", semel_engine::view::clock::utc(t.at), t.what, t.result)
    };
    package.tried.iter().map(one).collect()
}

fn clocks(clocks: &Clocks, now: Now) -> Vec<String> {
    let line = |name: &str, at: Option<Millis>| at.map(|at| format!("{name:<28} {}", when(at, now)));
    [
        line("“it did not” is believed from", clocks.settled_at),
        line("a send under this key before", clocks.resend_until),
        line("the key's window ends", clocks.key_window_ends_at),
        line("the task's deadline", clocks.deadline_at),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn advice(package: &Package) -> String {
    let advice = &package.advice;
    let unless: Vec<String> = advice.unless.iter().map(|u| format!("\n  unless {u}")).collect();
    format!("recommended\n  {}\n  because {}{}", advice.act, advice.why, unless.concat())
}

/// Every command names the page, so that an answer to an old page is refused; what is refused now comes last.
fn answers(package: &Package) -> Vec<String> {
    let one = |c: &Choice| match (&c.refused, &c.then) {
        (Some(refused), _) => format!("{} — refused now: {refused}", c.answer),
        (None, Some(then)) => format!("{}\n      then Semel {then}", c.command),
        (None, None) => c.command.clone(),
    };
    package.choices.iter().map(one).collect()
}
