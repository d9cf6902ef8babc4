//! A path as a story: what a reader sees happen, one line for each action that matters.

use crate::{
    game::Game,
    world::{Request, Said, Saw, Slot, Turn, World},
};

const NAMES: [&str; 2] = ["A", "B"];

/// Tells a path; each line begins with the tick.
#[must_use]
pub fn story(game: &Game, path: &[World]) -> Vec<String> {
    let mut lines = Vec::new();
    for (n, pair) in path.windows(2).enumerate() {
        let [before, after] = pair else { continue };
        let later = path.get(n + 2);
        let text = step(game, before, after, later);
        if !text.is_empty() {
            lines.push(format!("`t{}` {}.", after.now, text.join("; ")));
        }
    }
    lines
}

fn step(game: &Game, before: &World, after: &World, later: Option<&World>) -> Vec<String> {
    let mut text = Vec::new();
    for (w, name) in NAMES.iter().enumerate() {
        text.extend(worker(game, before, after, w, name));
        text.extend(
            decided(before, after, later, w)
                .map(|what| format!("{name} has decided {what}, not yet durable")),
        );
    }
    text.extend(outside(before, after));
    text.extend(recorded(game, before, after));
    text
}

fn worker(game: &Game, before: &World, after: &World, w: usize, name: &str) -> Vec<String> {
    let (Some(was), Some(is)) = (before.workers.get(w), after.workers.get(w)) else { return Vec::new() };
    let mut text = Vec::new();
    if after.luck.crashes < before.luck.crashes && was != is {
        text.push(format!("{name} crashes"));
        return text;
    }
    if !was.paused && is.paused {
        let between = is.permit.is_some_and(|p| p.checked);
        let when = if between { " between the last check and the write" } else { "" };
        text.push(format!("{name} is stopped by SIGSTOP{when}"));
    }
    if was.paused && !is.paused {
        text.push(format!("{name} goes on"));
    }
    if was.generation == 0 && is.generation > 0 {
        text.push(format!("{name} claims the task under generation {}", is.generation));
    }
    if let (None, Some((_, _, saw))) = (was.look, is.look) {
        text.push(format!("{name} asks the target, which shows {}", seen(saw)));
    }
    if was.look.is_some() && is.look.is_none() {
        text.push(format!("{name} hears the answer of the look-up"));
    }
    text.extend(heard(before, after, w).map(|said| format!("{name} hears {}", told(said))));
    text.extend(sent(before, after, w).map(|r| sending(game, name, r)));
    if was.permit.is_some() && is.permit.is_none() && sent(before, after, w).is_none() {
        text.push(format!("{name} finds `send_by` over and does not send"));
    }
    if was.turn.is_some() && was.generation > 0 && is.generation == 0 {
        text.push(format!("{name}'s turn is refused: it is fenced"));
    } else if was.turn.is_some() && was.turn != is.turn && after.store.task == before.store.task {
        text.push(format!("{name}'s turn is refused: the task has moved on"));
    } else if was.turn.is_none() && was.generation > 0 && is.generation == 0 {
        text.push(format!("{name} learns that it is fenced"));
    }
    text
}

/// A turn that is not committed in the very next action.
fn decided(before: &World, after: &World, later: Option<&World>, w: usize) -> Option<String> {
    let turn = after.workers.get(w)?.turn?;
    if before.workers.get(w)?.turn == Some(turn) {
        return None;
    }
    let next = later?.workers.get(w)?;
    let stays = next.turn == Some(turn);
    let fresh = next.paused || next.permit.is_some() || after.workers.get(w)?.permit.is_some();
    (stays && fresh).then(|| what(turn))
}

fn what(turn: Turn) -> String {
    if turn.starts > 0 { format!("attempt {}", turn.starts) } else { "a turn".to_owned() }
}

fn requests(world: &World) -> impl Iterator<Item = Request> + '_ {
    world.wire.iter().filter_map(|s| match s {
        Slot::Flying(r) | Slot::Inside(r) => Some(*r),
        Slot::Empty | Slot::Answer(..) => None,
    })
}

fn sent(before: &World, after: &World, w: usize) -> Option<Request> {
    let had = before.workers.get(w)?.permit?;
    let has = after.workers.get(w)?.permit;
    let new = requests(after).count() > requests(before).count();
    (new && has.is_none())
        .then(|| requests(after).find(|r| r.attempt == had.attempt && usize::from(r.listener) == w))?
}

fn sending(game: &Game, name: &str, request: Request) -> String {
    let late = if request.late > 0 { format!(", {} too late", request.late) } else { String::new() };
    let key = if request.key > 0 { " under a key of its own" } else { "" };
    let life = game.scenario.life;
    let by = request.until;
    let wire = if life > 0 { format!(" (it arrives by t{by}, or never)") } else { String::new() };
    format!("{name} sends attempt {}{key}{late}{wire}", request.attempt)
}

fn answers(world: &World) -> Vec<(Request, Said)> {
    world
        .wire
        .iter()
        .filter_map(|s| if let Slot::Answer(r, said) = s { Some((*r, *said)) } else { None })
        .collect()
}

fn heard(before: &World, after: &World, w: usize) -> Option<Said> {
    if after.luck.breaks < before.luck.breaks || after.luck.crashes < before.luck.crashes {
        return None;
    }
    let left = answers(after);
    answers(before).into_iter().find(|a| !left.contains(a) && usize::from(a.0.listener) == w).map(|a| a.1)
}

const fn told(said: Said) -> &'static str {
    match said {
        Said::Applied(_) => "that it is applied",
        Said::Replayed(_) => "that it was applied before",
        Said::NotNow => "*not now*",
        Said::Never => "*no*",
        Said::Lost => "that the connection broke",
        Said::NotSent => "that nothing was sent",
    }
}

const fn seen(saw: Saw) -> &'static str {
    match saw {
        Saw::There => "the effect",
        Saw::Absent => "nothing yet",
        Saw::Unclear => "something unclear",
    }
}

fn outside(before: &World, after: &World) -> Vec<String> {
    let mut text = Vec::new();
    if after.luck.breaks < before.luck.breaks {
        let broke = requests(after).count() == requests(before).count();
        let lost = if answers(after).len() < answers(before).len() {
            "an answer is lost"
        } else {
            "a request is lost"
        };
        text.push(
            if broke && lost == "a request is lost" {
                "a connection breaks; its request goes on"
            } else {
                lost
            }
            .to_owned(),
        );
    }
    if after.target.effects > before.target.effects || after.target.overwritten && !before.target.overwritten
    {
        let n = after.target.effects;
        let by = arrived(before, after)
            .map_or_else(|| "a request".to_owned(), |r| format!("attempt {}", r.attempt));
        let over = if after.target.overwritten { ", over what the colleague had set" } else { "" };
        text.push(format!("{by} has its effect at the target: effect {n}{over}"));
    } else if let Some(request) = entered(before, after) {
        text.push(format!(
            "attempt {} reaches the target, which finds no such key and goes on to write",
            request.attempt
        ));
    } else if after.luck.refusals < before.luck.refusals {
        let by = arrived(before, after).map_or(0, |r| r.attempt);
        text.push(format!("the target refuses attempt {by}"));
    }
    if after.luck.colleague < before.luck.colleague {
        text.push("a colleague sees it and sets something else".to_owned());
    }
    if after.luck.answers < before.luck.answers {
        let what = if before.target.effects > 0 { "it happened" } else { "it did not" };
        text.push(format!("a person looks at the target and says: {what}"));
    }
    text
}

/// The request that is no longer under way.
fn arrived(before: &World, after: &World) -> Option<Request> {
    let left: Vec<Request> = requests(after).collect();
    requests(before).find(|r| !left.contains(r))
}

fn entered(before: &World, after: &World) -> Option<Request> {
    let inside = |w: &World| w.wire.iter().filter(|s| matches!(s, Slot::Inside(_))).count();
    let one = after.wire.iter().find(|s| matches!(s, Slot::Inside(_)) && !before.wire.contains(s));
    let more = inside(after) > inside(before);
    one.filter(|_| more).and_then(|s| if let Slot::Inside(r) = s { Some(*r) } else { None })
}

/// What a durable turn has changed.
fn recorded(game: &Game, before: &World, after: &World) -> Vec<String> {
    if before.store.task == after.store.task {
        return Vec::new();
    }
    let (was, is) = (game.ledger.known(before.store.task), game.ledger.known(after.store.task));
    let mut text = Vec::new();
    if let Some(started) = is.attempts.last().filter(|_| is.attempts.len() > was.attempts.len()) {
        text.push(format!("STARTED of attempt {} is durable, send by t{}", started.attempt, started.send_by));
    }
    let mut pairs = before.workers.iter().zip(&after.workers);
    let files = pairs.clone().all(|(b, a)| b.turn == a.turn || b.generation > 0 && a.generation == 0);
    if pairs.any(|(b, _)| b.turn.is_some_and(|t| t.next == after.store.task && t.base != before.store.task)) {
        text.push("its turn is recorded over what came in between".to_owned());
    }
    if files && after.luck.answers == before.luck.answers {
        text.push("it is filed as evidence".to_owned());
    }
    if was.word != is.word {
        text.push(format!("the step is {}", is.word));
    }
    if is.review && !was.review {
        text.push("a person is asked".to_owned());
    }
    text
}
