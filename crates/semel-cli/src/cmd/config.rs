//! `semel config show`: every setting, its value and where it comes from.

use crate::{
    config::Config,
    fail::{Exit, Fail},
    ui::{Ui, table::table},
};

pub(crate) fn show(config: &Config, ui: Ui) -> Result<Exit, Fail> {
    ui.show(&serde_json::json!({"v": 1, "settings": config.settings}), || {
        table(
            ["SETTING", "VALUE", "FROM", "MEANING"],
            config
                .settings
                .iter()
                .map(|s| [s.name.to_owned(), s.value.clone(), s.origin.to_owned(), s.meaning.to_owned()]),
        )
    });
    Ok(Exit::Done)
}
