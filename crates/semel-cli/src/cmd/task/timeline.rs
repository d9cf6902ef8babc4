//! `semel task timeline`: what happened when, as a picture and as lines.

use crate::cmd::find;
use crate::{
    config::Config,
    fail::{Exit, Fail},
    ui::Ui,
    wire,
};
use semel_engine::view::timeline;

/// Characters that the bars of the picture take.
const WIDTH: usize = 60;

pub(super) async fn run(config: &Config, id: &str, ui: Ui) -> Result<Exit, Fail> {
    let store = wire::read(config).await?;
    let store = store.as_ref();
    let id = find::task(config, store, id).await?;
    let history = store.history(&id, 0).await?;
    let lines: Vec<_> = history.iter().map(timeline::line).collect();
    ui.show(&serde_json::json!({"v": 1, "task": id, "events": lines}), || {
        let picture = timeline::gantt(&history).to_text(WIDTH);
        let events: Vec<String> = lines.iter().map(ToString::to_string).collect();
        format!("{}\n\n{}", picture.trim_end(), events.join("\n"))
    });
    Ok(Exit::Done)
}
