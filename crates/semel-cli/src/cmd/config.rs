//! `semel config show`: every setting, its value, where it comes from and how it is set.

use crate::{
    config::{Config, Setting},
    fail::{Exit, Fail},
    ui::{Ui, table::table},
};
use serde::Serialize;

/// A setting with the way to set it.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    setting: &'a Setting,
    /// `None` for what is the same in every store.
    set_by: Option<&'static str>,
}

pub(crate) fn show(config: &Config, ui: Ui) -> Result<Exit, Fail> {
    let rows = config.settings.iter().map(|setting| Row { setting, set_by: set_by(setting.name) });
    let rows: Vec<Row<'_>> = rows.collect();
    ui.show(&serde_json::json!({"v": 1, "settings": rows}), || text(&rows));
    Ok(Exit::Done)
}

/// How a setting is set; what no option names is built in.
fn set_by(name: &str) -> Option<&'static str> {
    match name {
        "store" => Some("--store, SEMEL_STORE, semel.toml"),
        "tenant" => Some("SEMEL_TENANT, semel.toml"),
        "actor" => Some("SEMEL_ACTOR, semel.toml"),
        "slots" => Some("worker --slots, semel.toml"),
        "timeout" => Some("a contract: timeout"),
        "settle" => Some("a contract: probe.settle"),
        _ => None,
    }
}

fn text(rows: &[Row<'_>]) -> String {
    let settable = rows.iter().filter_map(|r| Some((r.setting, r.set_by?)));
    let settable = table(
        ["SETTING", "VALUE", "FROM", "SET BY", "MEANING"],
        settable.map(|(s, by)| [s.name, &s.value, s.origin, by, s.meaning].map(str::to_owned)),
    );
    let fixed = table(
        ["BUILT IN", "VALUE", "MEANING"],
        rows.iter()
            .filter(|r| r.set_by.is_none())
            .map(|Row { setting: s, .. }| [s.name, &s.value, s.meaning].map(str::to_owned)),
    );
    format!("{settable}\n\n{fixed}")
}
