//! The page: every world with all rules on, and for each rule the shortest accident without it.

use crate::{
    check::{Found, explore},
    game::{Game, ONCE},
    ledger::Broken,
    rule::{Off, Rule},
    scenario::{self, Scenario},
    tell,
    world::World,
};
/// Rules that are switched off together, and what that must come to.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// The rules that are off.
    pub off: &'static [Rule],
    /// In which world.
    pub scenario: Scenario,
    /// Whether it ends in an accident.
    pub accident: bool,
    /// The only property that is looked at; all where it is `None`.
    pub watched: Option<&'static str>,
}

const fn accident(off: &'static [Rule], scenario: Scenario) -> Trial {
    Trial { off, scenario, accident: true, watched: None }
}

const fn none(off: &'static [Rule], scenario: Scenario) -> Trial {
    Trial { off, scenario, accident: false, watched: None }
}

/// A second effect, whatever else breaks before.
const fn twice(off: &'static [Rule], scenario: Scenario) -> Trial {
    Trial { off, scenario, accident: true, watched: Some(ONCE) }
}

const fn never_twice(off: &'static [Rule], scenario: Scenario) -> Trial {
    Trial { off, scenario, accident: false, watched: Some(ONCE) }
}

const GENERATION: &[Rule] = &[Rule::Generation];
const LEASE: &[Rule] = &[Rule::Lease];

/// Every rule with the world in which it is needed.
pub const TRIALS: [Trial; 17] = [
    accident(&[Rule::DurableFirst], scenario::QUERYABLE),
    accident(&[Rule::SendBy], scenario::QUERYABLE),
    accident(&[Rule::SilenceIsUnknown], scenario::BLIND),
    accident(&[Rule::Settle], scenario::QUERYABLE),
    accident(&[Rule::AskedAt], scenario::QUERYABLE),
    accident(&[Rule::DeadFirst], scenario::CHECK_THEN_WRITE),
    accident(&[Rule::OneKey], scenario::KEYED),
    accident(&[Rule::KeyWindow], scenario::KEYED),
    accident(&[Rule::KeyMargin], scenario::KEYED),
    accident(&[Rule::ResendInWindow], scenario::KEYED),
    accident(&[Rule::JudgedByAll], scenario::KEYED),
    accident(&[Rule::BlindStops], scenario::BLIND),
    accident(&[Rule::PersonWaits], scenario::BLIND),
    accident(&[Rule::LateAnswers], scenario::BLIND),
    accident(&[Rule::LookFirst], scenario::NATURAL),
    accident(&[Rule::Version], scenario::BLIND),
    twice(&[Rule::Generation, Rule::Version], scenario::BLIND),
];

/// Rules that others stand in for: without them alone nothing happens in these worlds.
pub const IMPLIED: [Trial; 13] = [
    none(GENERATION, scenario::QUERYABLE),
    none(GENERATION, scenario::KEYED),
    none(GENERATION, scenario::CHECK_THEN_WRITE),
    none(GENERATION, scenario::BLIND),
    none(GENERATION, scenario::NATURAL),
    none(LEASE, scenario::QUERYABLE),
    none(LEASE, scenario::KEYED),
    none(LEASE, scenario::CHECK_THEN_WRITE),
    none(LEASE, scenario::KEYED_PROBED),
    none(LEASE, scenario::BLIND),
    none(LEASE, scenario::NATURAL),
    never_twice(&[Rule::Version], scenario::BLIND),
    never_twice(&[Rule::Version], scenario::QUERYABLE),
];

/// What an exploration has shown.
pub struct Shown {
    /// States, edges, depth, accident.
    pub found: Found<World>,
    /// Different tasks of the kernel among them.
    pub tasks: usize,
    /// The story, if there was an accident.
    pub story: Vec<String>,
    /// Judged by the tasks: ways to end well that were seen.
    pub ends: Ends,
}

/// What was reached: an exploration that never gets anywhere holds every property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// COMMITTED by the first attempt.
    pub first: bool,
    /// COMMITTED after a further attempt.
    pub again: bool,
    /// FAILED.
    pub failed: bool,
    /// A person was asked.
    pub review: bool,
}

/// Explores a world with some rules off.
///
/// # Errors
/// When the kernel refuses the plan of the model.
pub fn try_out(scenario: Scenario, off: &[Rule]) -> Result<Shown, Broken> {
    watch(scenario, off, None)
}

fn watch(scenario: Scenario, off: &[Rule], watched: Option<&'static str>) -> Result<Shown, Broken> {
    let mut game = Game::new(scenario, Off::all(off))?;
    game.watched = watched;
    let found = explore(&mut game);
    let story = found.broken.as_ref().map_or_else(Vec::new, |(_, path)| tell::story(&game, path));
    let ends = ends(&game, &found.states);
    Ok(Shown { found, tasks: game.ledger.len(), story, ends })
}

fn ends(game: &Game, states: &[World]) -> Ends {
    let mut ends = Ends::default();
    for world in states {
        let known = game.ledger.known(world.store.task);
        ends.first |= known.committed && known.attempts.len() == 1;
        ends.again |= known.committed && known.attempts.len() > 1;
        ends.failed |= known.failed;
        ends.review |= known.review;
    }
    ends
}

const INTRO: &str = "# The model\n\n\
    Computed by `model/tests/model.rs`; a test fails when it differs. Never edited by hand: run the test with \
    `UPDATE_GENERATED=1`. What is modelled, and what is not, is in `docs/model.md`. A tick is a minute.\n";

/// The whole page.
///
/// # Errors
/// When a world cannot be set up, or a trial does not come out as it must.
pub fn page() -> Result<String, Broken> {
    let mut text = INTRO.to_owned();
    text.push_str("\n## All rules on: every property holds in every state\n\n");
    text.push_str("| world | states | transitions | depth | tasks of the kernel |\n|---|---|---|---|---|\n");
    for scenario in scenario::ALL {
        let shown = try_out(scenario, &[])?;
        expect(&shown, false, scenario.name)?;
        let Found { states, edges, depth, .. } = &shown.found;
        let (name, states, tasks) = (scenario.name, states.len(), shown.tasks);
        line(&mut text, &format!("| {name} | {states} | {edges} | {depth} | {tasks} |"));
    }
    without(&mut text)?;
    implied(&mut text)?;
    beyond(&mut text)?;
    Ok(text)
}

fn without(text: &mut String) -> Result<(), Broken> {
    text.push_str("\n## Without a rule: the shortest accident\n\n");
    text.push_str("| without | world | what breaks | actions |\n|---|---|---|---|\n");
    let mut stories = String::new();
    for trial in TRIALS {
        let shown = watch(trial.scenario, trial.off, trial.watched)?;
        let name = named(trial.off);
        expect(&shown, trial.accident, &name)?;
        let what = property(&shown);
        line(text, &format!("| {name} | {} | {what} | {} |", trial.scenario.name, actions(&shown)));
        tell_all(&mut stories, &format!("Without: {name}"), trial.scenario, &shown);
    }
    text.push_str(&stories);
    Ok(())
}

fn implied(text: &mut String) -> Result<(), Broken> {
    text.push_str("\n## Rules that others stand in for\n\nWithout one of these alone nothing happens in these worlds.\n\n");
    text.push_str("| without | world | does not break | states | depth |\n|---|---|---|---|---|\n");
    for trial in IMPLIED {
        let shown = watch(trial.scenario, trial.off, trial.watched)?;
        let name = named(trial.off);
        expect(&shown, trial.accident, &name)?;
        let (states, depth) = (shown.found.states.len(), shown.found.depth);
        let what = trial.watched.unwrap_or("any property");
        line(text, &format!("| {name} | {} | {what} | {states} | {depth} |", trial.scenario.name));
    }
    Ok(())
}

fn beyond(text: &mut String) -> Result<(), Broken> {
    text.push_str("\n## All rules on, an assumption broken\n\n");
    text.push_str("| when | what breaks | actions |\n|---|---|---|\n");
    let mut stories = String::new();
    for (when, scenario) in scenario::BEYOND {
        let shown = try_out(scenario, &[])?;
        expect(&shown, true, when)?;
        line(text, &format!("| {when} | {} | {} |", property(&shown), actions(&shown)));
        tell_all(&mut stories, &format!("When {when}"), scenario, &shown);
    }
    text.push_str(&stories);
    Ok(())
}

/// The rules in words.
#[must_use]
pub fn named(off: &[Rule]) -> String {
    off.iter().map(|rule| rule.words()).collect::<Vec<_>>().join("; and ")
}

fn expect(shown: &Shown, accident: bool, name: &str) -> Result<(), Broken> {
    match (&shown.found.broken, accident) {
        (Some((property, _)), false) => Err(format!("{name}: {property}\n{}", shown.story.join("\n"))),
        (None, true) => Err(format!("{name}: no accident in {} states", shown.found.states.len())),
        (Some(_), true) | (None, false) => Ok(()),
    }
}

fn property(shown: &Shown) -> &'static str {
    shown.found.broken.as_ref().map_or("nothing", |(property, _)| *property)
}

fn actions(shown: &Shown) -> usize {
    shown.found.broken.as_ref().map_or(0, |(_, path)| path.len().saturating_sub(1))
}

fn tell_all(text: &mut String, title: &str, scenario: Scenario, shown: &Shown) {
    line(text, &format!("\n### {title}\n"));
    line(text, &format!("World: {}. Breaks: {}.\n", scenario.name, property(shown)));
    for (n, told) in shown.story.iter().enumerate() {
        line(text, &format!("{}. {told}", n + 1));
    }
}

fn line(text: &mut String, content: &str) {
    text.push_str(content);
    text.push('\n');
}
