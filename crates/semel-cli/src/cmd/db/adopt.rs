//! `semel db adopt`: going on with a copied or restored store, under a new epoch.
//!
//! Invariant: nothing is adopted without the word that the original will never run again.

use crate::{
    config::Config,
    fail::{Exit, Fail},
    ui::{Ui, time},
    wire,
};
use semel_ports::Store as _;

/// What adopting means, in the words of `docs/guarantees`.
const MEANING: &str = "\
Adopting a copied or restored store means:
  the original never runs again: two stores with one history would both send;
  every task goes on under a new epoch, which fences the original's late answers;
  whatever is not settled counts as possibly sent by the original, steps that were only planned included:
    targets that can be asked are asked before anything is sent again,
    a key is trusted only inside its window, counted from the moment of the copy,
    for blind targets a person is asked.";

pub(super) async fn run(config: &Config, yes: bool, ui: Ui) -> Result<Exit, Fail> {
    wire::must_exist(config)?;
    if !yes {
        ui.say(MEANING);
        let message = "nothing was adopted: the word that the original will never run again is missing";
        return Err(Fail::new(Exit::NotAllowed, "SM2006", message, "semel db adopt --yes"));
    }
    let owner = wire::own(config).await?;
    let before = owner.store.info();
    let report = owner.store.adopt(&config.actor).await?;
    let adopted = owner.engine.adopt(&report.tasks, report.epoch, report.copied_at, &config.actor).await?;
    wire::end(&owner).await?;
    let was_held = before.held.is_some();
    let json = serde_json::json!({
        "v": 1, "was_held": was_held, "because": before.held, "epoch": report.epoch, "tasks": adopted,
        "copied_at": report.copied_at,
    });
    ui.show(&json, || match &before.held {
        None => format!("nothing to adopt: this is the store it was, in epoch {}", report.epoch),
        Some(why) => format!(
            "adopted in epoch {} ({why}); {adopted} tasks go on, with everything after {} unproven",
            report.epoch,
            time::moment(report.copied_at)
        ),
    });
    Ok(Exit::Done)
}
