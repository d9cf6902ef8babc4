//! `semel metrics`: what the recorded history adds up to, as a table, as JSON and as Prometheus text.
//!
//! Invariant: it only reads, beside whoever owns the store; no rate is shown without its numerator and denominator, and
//! where there is nothing to divide by there is no rate.

mod json;
mod prometheus;
mod text;

use crate::{
    config::Config,
    fail::{Exit, Fail},
    low,
    ui::{Ui, progress},
    wire,
};
use semel_engine::metrics::{self, Chosen, Measured, Rate};
use semel_ports::{Store, TaskFilter};

pub(crate) async fn run(config: &Config, args: &low::Metrics, ui: Ui) -> Result<Exit, Fail> {
    if args.prometheus && ui.json {
        let next = "choose one of --json and --prometheus";
        return Err(Fail::new(Exit::Usage, "SM1012", "JSON and Prometheus text at once", next));
    }
    let store = wire::read(config).await?;
    let chosen = chosen(store.as_ref(), args)?;
    let bar = progress::count(ui, "tasks read");
    let measured = metrics::measure(store.as_ref(), &chosen, &mut |read| bar.set_position(read)).await;
    bar.finish_and_clear();
    let measured = measured?;
    if args.prometheus {
        ui.data(prometheus::text(&measured, args.plan.as_deref()).trim_end());
    } else {
        ui.show(&json::of(&measured, &chosen), || text::of(&measured, &chosen));
    }
    Ok(Exit::Done)
}

fn chosen(store: &dyn Store, args: &low::Metrics) -> Result<Chosen, Fail> {
    let since = match &args.since {
        Some(text) => Some(store.now().at.plus(-lately(text)?)),
        None => None,
    };
    Ok(Chosen { filter: TaskFilter { name: args.plan.clone(), ..TaskFilter::default() }, since })
}

fn lately(text: &str) -> Result<i64, Fail> {
    semel_plan::duration::parse(text).map_err(|e| {
        Fail::new(Exit::Usage, "SM1012", format!("--since `{text}`: {e}"), "see `semel metrics --help`")
    })
}

/// A rate of DESIGN section 16, as it is shown.
struct Shown {
    name: &'static str,
    rate: Rate,
    unit: Unit,
    /// What the denominator counts.
    among: &'static str,
    /// The bound that so many trials allow is said beside it.
    bounded: bool,
}

/// What a rate's value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// A part of a whole.
    Share,
    /// Milliseconds for each.
    Ms,
    /// So many for each.
    Each,
}

fn rates(measured: &Measured) -> [Shown; 7] {
    let tally = &measured.tally;
    let shown = |name, rate, unit, among| Shown { name, rate, unit, among, bounded: false };
    let (share, each) = (Unit::Share, Unit::Each);
    [
        Shown {
            bounded: true,
            ..shown(
                "duplicate_side_effect_rate",
                tally.duplicate_side_effect_rate(),
                share,
                "checked effects",
            )
        },
        shown("duplicate_check_coverage", tally.coverage(), share, "proven effects"),
        shown("recovery_success_rate", tally.recovery_success_rate(), share, "finished recoveries"),
        shown("mean_recovery_time", tally.mean_recovery_ms(), Unit::Ms, "successful recoveries"),
        shown("ambiguous_outcome_rate", tally.ambiguous_outcome_rate(), share, "operations sent"),
        shown("human_escalation_rate", tally.human_escalation_rate(), share, "tasks"),
        shown("replay_count_per_task", tally.replay_count_per_task(), each, "tasks taken up"),
    ]
}

/// What is counted without being a part of anything.
fn counts(measured: &Measured) -> [(&'static str, u64); 7] {
    let tally = &measured.tally;
    [
        ("unknown_now", tally.unknown_now),
        ("written_off", tally.written_off),
        ("leases_lost", tally.leases_lost),
        ("late_writes_rejected", tally.late_writes_rejected),
        ("reviews_opened", tally.reviews_opened),
        ("recoveries_started", tally.recoveries_started),
        ("attempts", tally.attempts),
    ]
}
