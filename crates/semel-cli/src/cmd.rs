//! One file a noun. Each turns what was typed into calls, and answers into text or JSON.

mod audit;
mod config;
mod db;
mod demo;
mod doctor;
mod explain;
mod find;
mod follow;
mod init;
mod inputs;
mod many;
mod metrics;
mod op;
mod plan;
mod review;
mod run;
mod sink;
mod task;
mod tool;
mod why;
mod worker;

use crate::{
    config::Config,
    fail::{Exit, Fail},
    low::{Args, Command},
    ui::Ui,
};
use clap::CommandFactory as _;
use std::time::Duration;

/// How long the store may take to close; whatever stays open then is found at the next start.
const CLOSING: Duration = Duration::from_secs(2);

/// Runs what was typed.
pub(crate) fn run(args: Args, ui: &Ui) -> Result<Exit, Fail> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Fail::io("starting threads", &e))?;
    let exit = runtime.block_on(dispatch(args, *ui));
    // What is left of the work goes first, then the store closes: its WAL is empty afterwards, where nobody reads it.
    runtime.shutdown_timeout(CLOSING);
    exit
}

async fn dispatch(args: Args, ui: Ui) -> Result<Exit, Fail> {
    let config = Config::load(&args.global)?;
    match args.command {
        Command::Demo(args) => demo::run(&args, ui).await,
        Command::Init(args) => init::run(&args, ui),
        Command::Run(args) if args.inputs_from.is_some() => many::run(&config, &args, ui).await,
        Command::Run(args) => run::run(&config, &args, ui).await,
        Command::Worker(args) => worker::run(&config, &args, ui).await,
        Command::Why(id) => why::run(&config, &id.id, ui).await,
        Command::Ps(args) => task::ps(&config, args.tenant.as_deref(), &args.list, ui).await,
        Command::Plan(verb) => plan::run(&verb, ui),
        Command::Task(verb) => task::run(&config, verb, ui).await,
        Command::Op(verb) => op::run(&config, verb, ui).await,
        Command::Review(verb) => review::run(&config, verb, ui).await,
        Command::Tool(verb) => tool::run(&verb, ui),
        Command::Db(verb) => db::run(&config, verb, ui).await,
        Command::Audit(_) => audit::verify(&config, ui),
        Command::Config(_) => config::show(&config, ui),
        Command::Metrics(args) => metrics::run(&config, &args, ui).await,
        Command::Explain { code } => explain::run(code.as_deref(), ui),
        Command::Doctor => doctor::run(&config, ui).await,
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "semel", &mut script);
            ui.data(String::from_utf8_lossy(&script).trim_end());
            Ok(Exit::Done)
        }
        Command::Sink(args) => sink::run(&args, ui).await,
    }
}
