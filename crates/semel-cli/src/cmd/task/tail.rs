//! `semel task tail`: its events, then new ones as they come.

use crate::cmd::{find, why::load};
use crate::{
    config::Config,
    fail::{Exit, Fail},
    ui::{Ui, time},
    wire,
};
use semel_engine::view::timeline;
use semel_kernel::event::Recorded;
use std::time::Duration;

/// How often the store is read for new events.
const POLL: Duration = Duration::from_millis(150);

pub(super) async fn run(config: &Config, id: &str, no_follow: bool, ui: Ui) -> Result<Exit, Fail> {
    let store = wire::read(config).await?;
    let store = store.as_ref();
    let task = find::task(config, store, id).await?;
    let mut seen = 0;
    loop {
        // The state is read before the events, so that the last ones are never missed.
        let ended = load(store, &task).await?.end.is_some();
        for recorded in store.history(&task, seen).await? {
            seen = recorded.seq;
            print(&recorded, ui);
        }
        if no_follow || ended {
            return Ok(Exit::Done);
        }
        tokio::select! {
            () = tokio::time::sleep(POLL) => {}
            () = crate::system::interrupted() => return Ok(Exit::Interrupted),
        }
    }
}

/// One event a line, for programs too.
fn print(recorded: &Recorded, ui: Ui) {
    let line = timeline::line(recorded);
    if ui.json {
        ui.data(&serde_json::json!({"v": 1, "event": recorded, "text": line.text}).to_string());
    } else {
        ui.data(&format!("{:>4}  {}  {}", recorded.seq, time::moment(recorded.at), line.text));
    }
}
