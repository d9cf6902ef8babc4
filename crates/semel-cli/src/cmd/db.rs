//! `semel db`: the store itself.

mod adopt;

use crate::{
    config::Config,
    fail::{Exit, Fail},
    low::Db,
    ui::{Ui, count, progress},
    wire,
};
use indicatif::ProgressBar;
use semel_ports::{Store as _, StoreError};
use semel_store_sqlite::{backup, verify};
use std::path::Path;

pub(crate) async fn run(config: &Config, verb: Db, ui: Ui) -> Result<Exit, Fail> {
    match verb {
        Db::Create { sandbox } => create(config, sandbox, ui),
        Db::Verify => blocking(|| check(config, ui, verify::db)),
        Db::Backup { to } => blocking(|| back_up(config, &to, ui)),
        Db::Restore { from, force } => blocking(|| restore(config, &from, force, ui)),
        Db::Adopt { yes } => adopt::run(config, yes, ui).await,
    }
}

/// Runs what reads and writes files at length, without holding up the threads that serve others.
fn blocking<T>(work: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(work)
}

fn create(config: &Config, sandbox: bool, ui: Ui) -> Result<Exit, Fail> {
    let path = &config.store;
    if path.exists() {
        return Err(in_the_way(path, "name another with --store"));
    }
    let store = wire::open(path)?;
    if sandbox {
        wire::mark_sandbox(path, &store).map_err(|e| Fail::io("marking the sandbox", &e))?;
    }
    let info = store.info();
    let json = serde_json::json!({
        "v": 1, "store": path, "instance": info.instance, "epoch": info.epoch, "sandbox": sandbox,
    });
    let kind = if sandbox { "a sandbox, where crash points may be armed" } else { "a store" };
    ui.show(&json, || format!("{} is {kind} now", path.display()));
    Ok(Exit::Done)
}

/// Something is there already, and nothing is overwritten unasked.
pub(crate) fn in_the_way(path: &Path, next: &str) -> Fail {
    Fail::new(Exit::Usage, "SM1018", format!("there is a file at {} already", path.display()), next)
}

/// A check of the store's file.
pub(crate) type Check = fn(&Path, &mut dyn FnMut(verify::Progress)) -> Result<verify::Report, StoreError>;

/// Runs a check with a bar; what is wrong is told, and the exit says so.
pub(crate) fn check(config: &Config, ui: Ui, check: Check) -> Result<Exit, Fail> {
    wire::must_exist(config)?;
    let bar = progress::bar(ui, 0, "tasks");
    let report = check(&config.store, &mut |p| advance(&bar, p.done, p.total))?;
    bar.finish_and_clear();
    ui.show(&serde_json::json!({"v": 1, "clean": report.is_clean(), "report": report}), || text(&report));
    if report.is_clean() {
        return Ok(Exit::Done);
    }
    if !ui.json {
        ui.say("next: stop what works on it, keep the file, and restore the last good backup");
    }
    Ok(Exit::Verification)
}

fn advance(bar: &ProgressBar, done: u64, total: u64) {
    bar.set_length(total);
    bar.set_position(done);
}

fn text(report: &verify::Report) -> String {
    let problems = report.problems.iter().map(|p| {
        let task = p.task.as_ref().map_or_else(|| "store".to_owned(), ToString::to_string);
        format!("{task}: {}\n", p.what)
    });
    let problems: String = problems.collect();
    let checked = [
        (report.tasks, "task"),
        (report.turns, "turn"),
        (report.events, "event"),
        (report.checkpoints, "checkpoint"),
    ];
    let checked = checked.map(|(n, noun)| format!("{}, ", count(n, noun))).concat();
    let (bodies, found) = (report.artifacts, report.problems.len());
    let bodies = if bodies == 1 { "1 body".to_owned() } else { format!("{bodies} bodies") };
    let found = count(u64::try_from(found).unwrap_or(u64::MAX), "problem");
    format!("{problems}{checked}{bodies} checked: {found}")
}

fn back_up(config: &Config, to: &Path, ui: Ui) -> Result<Exit, Fail> {
    wire::must_exist(config)?;
    if to.exists() {
        return Err(in_the_way(to, "name a file that is not there"));
    }
    let bar = progress::bar(ui, 0, "pages");
    let mut pages = 0;
    backup::backup(&config.store, to, &mut |p| {
        pages = p.total;
        advance(&bar, p.done, p.total);
    })?;
    bar.finish_and_clear();
    let json = serde_json::json!({"v": 1, "from": config.store, "to": to, "pages": pages});
    ui.show(&json, || {
        format!("{} is a copy of {} as it was at one moment", to.display(), config.store.display())
    });
    Ok(Exit::Done)
}

fn restore(config: &Config, from: &Path, force: bool, ui: Ui) -> Result<Exit, Fail> {
    let path = &config.store;
    if !from.exists() {
        let message = format!("there is no backup at {}", from.display());
        return Err(Fail::new(Exit::Store, "SM2010", message, "name the file that `semel db backup` wrote"));
    }
    if path.exists() && !force {
        return Err(in_the_way(path, "add --force to replace it"));
    }
    let bar = progress::bar(ui, 0, "pages");
    backup::restore(from, path, force, &mut |p| advance(&bar, p.done, p.total))?;
    bar.finish_and_clear();
    let json = serde_json::json!({"v": 1, "store": path, "from": from, "held": true});
    ui.show(&json, || {
        format!("{} is in place, and held: nothing is sent until it is adopted", path.display())
    });
    ui.say("next: semel db adopt");
    Ok(Exit::Done)
}
