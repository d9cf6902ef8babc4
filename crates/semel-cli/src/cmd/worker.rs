//! `semel worker`: work on whatever is due, until interrupted or idle.

use super::run::duration;
use crate::{
    config::Config,
    fail::{Exit, Fail},
    low,
    ui::Ui,
    wire,
};
use semel_engine::engine::{Engine, Options};
use std::time::Duration;

pub(crate) async fn run(config: &Config, args: &low::Worker, ui: Ui) -> Result<Exit, Fail> {
    let idle = args.until_idle.as_deref().map(duration).transpose()?;
    let slots = args.slots.unwrap_or(config.options.slots);
    let config = Config { options: Options { slots, ..config.options.clone() }, ..config.clone() };
    let mut owner = wire::own(&config).await?;
    owner.open_door();
    ui.say(&format!("working on {} as {}; Ctrl-C drains", config.store.display(), owner.engine.session()));
    let asked = owner.beside(async {
        let exit = until_asked(&owner.engine, idle).await;
        ui.say("draining: nothing new is started, what was sent is waited for up to its time-out");
        exit
    });
    asked.await
}

async fn until_asked(engine: &Engine, idle: Option<Duration>) -> Result<Exit, Fail> {
    let mut term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        .map_err(|e| Fail::io("listening for signals", &e))?;
    tokio::select! {
        _ = tokio::signal::ctrl_c() => Ok(Exit::Interrupted),
        _ = term.recv() => Ok(Exit::Done),
        idle = until_idle(engine, idle) => idle.map(|()| Exit::Done),
    }
}

/// Nothing is in hand, and nothing becomes due within `idle`.
async fn until_idle(engine: &Engine, idle: Option<Duration>) -> Result<(), Fail> {
    let Some(idle) = idle else { return std::future::pending().await };
    let idle_ms = i64::try_from(idle.as_millis()).unwrap_or(i64::MAX);
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        if engine.is_idle_for(idle_ms).await? {
            return Ok(());
        }
    }
}
