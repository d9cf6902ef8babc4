//! `semel review`: what only a person can settle.

mod decide;
mod show;

use super::{
    find,
    task::QUESTION,
    why::{gone, load},
};
use crate::{
    config::Config,
    fail::{Exit, Fail},
    low::{List, Review},
    ui::{
        Ui,
        table::{ShortIds, cut, table},
        time,
    },
    wire,
};
use semel_engine::view::Package;
use semel_kernel::time::Millis;
use semel_ports::{Page, ReviewFilter, ReviewRow, Store};
use std::path::Path;

pub(crate) async fn run(config: &Config, verb: Review, ui: Ui) -> Result<Exit, Fail> {
    match verb {
        Review::List { all, list } => self::list(config, all, &list, ui).await,
        Review::Show(id) => show::run(config, &id.id, ui).await,
        Review::Package { id, output } => package(config, &id.id, output.as_deref(), ui).await,
        Review::Decide(args) => decide::run(config, &args, ui).await,
    }
}

async fn list(config: &Config, all: bool, list: &List, ui: Ui) -> Result<Exit, Fail> {
    let store = wire::read(config).await?;
    let filter = ReviewFilter { decided: all, ..ReviewFilter::default() };
    let rows = store.reviews(&filter, Page { skip: 0, limit: list.limit }).await?;
    let now = store.now().at;
    ui.show(&serde_json::json!({"v": 1, "reviews": rows}), || match (rows.is_empty(), all) {
        (true, false) => "no review is open".to_owned(),
        (true, true) => "no review was ever opened".to_owned(),
        (false, _) => text(&rows, now),
    });
    if u32::try_from(rows.len()).is_ok_and(|n| n >= list.limit) && !ui.json {
        ui.say(&format!("the {} oldest; --limit shows more", rows.len()));
    }
    if let Some(first) = rows.iter().find(|r| r.decided_at.is_none()).filter(|_| !ui.json) {
        ui.say(&format!("next: semel review show {}", first.id));
    }
    Ok(Exit::Done)
}

fn text(rows: &[ReviewRow], now: Millis) -> String {
    let short = ShortIds::of(rows.iter().map(|r| r.task.as_str()));
    table(
        ["REVIEW", "TASK", "STEP", "AGE", "DECIDED", "QUESTION"],
        rows.iter().map(|r| {
            [
                r.id.to_string(),
                short.cut(r.task.as_str()).to_owned(),
                r.step.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
                time::age(r.opened_at, now),
                r.decided_by.as_ref().map_or_else(|| "no".to_owned(), |by| format!("by {by}")),
                cut(&r.question, QUESTION),
            ]
        }),
    )
}

/// The file of a review, as of now.
async fn file(store: &dyn Store, id: &str) -> Result<Package, Fail> {
    let (task, review) = find::review(store, id).await?;
    let history = store.history(&task, 0).await?;
    let task = load(store, &task).await?;
    let review = task.review(&review).ok_or_else(|| gone(id))?;
    Ok(Package::of(&task, review, &history, store.now()))
}

async fn package(config: &Config, id: &str, output: Option<&Path>, ui: Ui) -> Result<Exit, Fail> {
    let store = wire::read(config).await?;
    let package = file(store.as_ref(), id).await?;
    let Some(path) = output else {
        ui.show(&package, || package.to_markdown().trim_end().to_owned());
        return Ok(Exit::Done);
    };
    let json = || serde_json::to_string_pretty(&package).map(|text| text + "\n");
    let text = if ui.json { json().map_err(std::io::Error::other) } else { Ok(package.to_markdown()) };
    let written = text.and_then(|text| std::fs::write(path, text));
    written.map_err(|e| Fail::io(&path.display().to_string(), &e))?;
    ui.say(&format!("written to {}", path.display()));
    Ok(Exit::Done)
}
