//! `semel-sim`: runs seeds, tells what they met, and shows the history of one that broke a rule.

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use semel_sim::{
    batch::{self, Batch, Seeds},
    check::Violation,
    control::Control,
    plans, shrink, sim,
    swarm::Knobs,
};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, Write as _},
    process::ExitCode,
    time::Instant,
};

/// Runs the simulator: every seed is one world with faults, in which one intent must have one effect.
#[derive(Parser)]
#[command(name = "semel-sim", version)]
struct Options {
    /// How many seeds.
    #[arg(long, default_value_t = 1_000)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Run an engine with a safeguard broken: a name, or `all` for the table.
    #[arg(long)]
    control: Option<String>,
    /// Show the history of one seed.
    #[arg(long)]
    seed: Option<u64>,
    /// Make the run of `--seed` as small as it can be and still break the same rule.
    #[arg(long, requires = "seed")]
    shrink: bool,
    /// Fail when something that a batch should meet was not met.
    #[arg(long)]
    cover: bool,
    /// Show everything that was met, and how often.
    #[arg(long)]
    marks: bool,
    /// Threads; each runs whole seeds.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// One JSON object instead of text.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let control = options.control.as_deref().and_then(Control::named);
    let unknown = options.control.as_deref().filter(|c| control.is_none() && *c != "all");
    if let Some(name) = unknown {
        let names: Vec<&str> = Control::ALL.iter().map(|c| c.word()).collect();
        say(&format!("there is no control `{name}`; there are: all, {}", names.join(", ")));
        return ExitCode::from(2);
    }
    match (options.seed, options.control.as_deref()) {
        (Some(seed), _) => one(seed, control, options.shrink),
        (None, Some("all")) => controls(&options),
        (None, _) => many(&options, control),
    }
}

fn say(line: &str) {
    let mut out = io::stdout().lock();
    // Nobody is left to hear that nobody hears.
    writeln!(out, "{line}").unwrap_or_default();
}

/// One seed, with its history.
fn one(seed: u64, control: Option<Control>, shrinks: bool) -> ExitCode {
    let mut knobs = Knobs::draw(seed);
    let found = sim::run(&knobs, control, false).violation;
    if let (Some(found), true) = (&found, shrinks) {
        knobs = shrink::shrink(&knobs, control, found.check);
    }
    let verdict = sim::run(&knobs, control, true);
    say(&format!("{knobs:#?}"));
    say(&verdict.log.unwrap_or_default());
    match verdict.violation {
        None => {
            say(&format!("seed {seed}: every rule held, {} acts", verdict.acts));
            ExitCode::SUCCESS
        }
        Some(found) => {
            say(&told(seed, &found));
            ExitCode::from(9)
        }
    }
}

fn told(seed: u64, found: &Violation) -> String {
    format!("seed {seed} broke `{}`: {}", found.check.word(), found.what)
}

fn seeds_of(options: &Options, control: Option<Control>, first: bool) -> Seeds {
    Seeds { from: options.from, count: options.seeds, control, first, jobs: options.jobs }
}

fn with_bar(seeds: &Seeds) -> Batch {
    let bar = ProgressBar::new(seeds.count);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} seeds {per_sec} eta {eta}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    let batch = batch::run(seeds, &|| bar.inc(1));
    bar.finish_and_clear();
    batch
}

/// A batch of seeds.
fn many(options: &Options, control: Option<Control>) -> ExitCode {
    plans::all();
    let begun = Instant::now();
    let batch = with_bar(&seeds_of(options, control, false));
    let seconds = begun.elapsed().as_secs_f64();
    let missing = if options.cover { batch.cover.missing() } else { Vec::new() };
    if options.json {
        say(&json(options, &batch, seconds, &missing));
    } else {
        say(&text(options, &batch, seconds, &missing));
    }
    if batch.broken.is_empty() && missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(9) }
}

fn rate(of: u64, by: f64) -> f64 {
    if by > 0.0 { u32::try_from(of).map_or(f64::MAX, f64::from) / by } else { 0.0 }
}

fn text(options: &Options, batch: &Batch, seconds: f64, missing: &[&str]) -> String {
    let mut out = String::new();
    let faults = batch.cover.faults();
    let per_run = rate(faults, rate(batch.runs, 1.0));
    writeln!(
        out,
        "{} seeds from {}: {} broke a rule; {} acts, {faults} faults ({per_run:.1} a run), {:.0} seeds/s",
        batch.runs,
        options.from,
        batch.broken.len(),
        batch.acts,
        rate(batch.runs, seconds)
    )
    .unwrap_or_default();
    for (seed, found) in batch.broken.iter().take(20) {
        writeln!(out, "{}", told(*seed, found)).unwrap_or_default();
    }
    if let Some((seed, _)) = batch.broken.first() {
        let control = options.control.as_ref().map(|c| format!(" --control {c}")).unwrap_or_default();
        writeln!(out, "next: semel-sim --seed {seed} --shrink{control}").unwrap_or_default();
    }
    for what in missing {
        writeln!(out, "never met: {what}").unwrap_or_default();
    }
    if options.marks {
        for (what, n) in batch.cover.all() {
            writeln!(out, "{n:>9}  {what}").unwrap_or_default();
        }
    }
    out.trim_end().to_owned()
}

fn json(options: &Options, batch: &Batch, seconds: f64, missing: &[&str]) -> String {
    let broken: Vec<_> = batch
        .broken
        .iter()
        .map(|(seed, v)| serde_json::json!({ "seed": seed, "check": v.check.word(), "what": v.what }))
        .collect();
    let marks: serde_json::Map<String, serde_json::Value> =
        batch.cover.all().map(|(what, n)| (what.clone(), (*n).into())).collect();
    serde_json::json!({
        "from": options.from, "seeds": batch.runs, "acts": batch.acts, "faults": batch.cover.faults(),
        "seconds": seconds, "broken": broken, "never_met": missing, "marks": marks,
    })
    .to_string()
}

/// Every control must be caught; the table says by what, and how soon.
fn controls(options: &Options) -> ExitCode {
    plans::all();
    let mut escaped = false;
    say("| engine with a broken safeguard | first caught at seed | by | caught in | by which rules |");
    say("|---|---|---|---|---|");
    for control in Control::ALL {
        let batch = with_bar(&seeds_of(options, Some(control), false));
        escaped |= batch.broken.is_empty();
        say(&row(control, &batch));
    }
    if escaped { ExitCode::from(9) } else { ExitCode::SUCCESS }
}

fn row(control: Control, batch: &Batch) -> String {
    let (word, caught, of) = (control.word(), batch.broken.len(), batch.runs);
    let Some((seed, found)) = batch.broken.first() else {
        return format!("| `{word}` | **never** | – | 0 of {of} | – |");
    };
    let mut by: BTreeMap<&str, u32> = BTreeMap::new();
    for (_, found) in &batch.broken {
        *by.entry(found.check.word()).or_default() += 1;
    }
    let by: Vec<String> = by.iter().map(|(check, n)| format!("{check} {n}")).collect();
    format!("| `{word}` | {seed} | {} | {caught} of {of} | {} |", found.check.word(), by.join(", "))
}
