//! `semel run --inputs-from`: one run for each line of inputs, a bounded number of them in flight.
//!
//! Invariant: every line is checked before the first is submitted, so a fault in the last line sends nothing; a line
//! that was submitted before is attached to, never started again.

mod check;
mod lanes;
mod summary;

use crate::{
    config::Config,
    fail::{Exit, Fail},
    low,
    ui::{Ui, progress},
    wire,
};
use lanes::Lane;
use semel_plan::plan::PlanDoc;
use std::sync::Arc;
use summary::Summary;

pub(crate) async fn run(config: &Config, args: &low::Run, ui: Ui) -> Result<Exit, Fail> {
    let plan = Arc::new(PlanDoc::read(&args.plan).map_err(Fail::problems)?);
    ui.warnings(&plan.warnings);
    let path = args.inputs_from.as_deref().unwrap_or(std::path::Path::new("-"));
    let lines = check::lines(&plan, path)?;
    let bar = progress::bar(ui, lines.len() as u64, "runs");
    let lane = Lane { config, plan, new_intent: args.new_intent, in_flight: args.in_flight };
    let results = match wire::own_unless_owned(config).await? {
        None if args.detach => lane.by_owner(lines, true, &bar).await,
        None => wire::in_its_place(config, lane.by_owner(lines, false, &bar)).await,
        Some(owner) if args.detach => lane.submitted_alone(&owner, lines, &bar).await,
        Some(owner) => lane.alone(owner, lines, &bar).await,
    };
    bar.finish_and_clear();
    let summary = Summary::of(&results?, args.detach);
    ui.show(&summary, || summary.text());
    Ok(summary.exit)
}
