//! The binary `semel`: what was typed ([`low`]), what it works on ([`wire`]), one file a noun ([`cmd`]).
//!
//! Invariant: stdout is data, stderr is talk; every error has a code, says what happened and what to do next; the exit
//! codes are those of [`fail::Exit`]. This is the only place that reads the environment.

mod chaos;
mod cmd;
mod config;
mod fail;
mod low;
mod system;
mod ui;
mod wire;

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = low::Args::parse();
    let ui = ui::Ui::of(&args.global);
    ui::log::start(&args.global);
    match cmd::run(args, &ui) {
        Ok(exit) => exit.into(),
        Err(fail) => {
            ui.fail(&fail);
            fail.exit.into()
        }
    }
}
