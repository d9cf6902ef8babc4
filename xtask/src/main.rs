//! `cargo run -p xtask -- tidy`: the rules of the house, checked. `-- cases` writes the page of scenarios anew. Both run as
//! tests, too.

use std::process::ExitCode;
use xtask::Report;

#[expect(clippy::print_stderr, reason = "a command of the house")]
fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => told(&xtask::tidy(&xtask::root())),
        Some("cases") => match xtask::cases::write(&xtask::root()) {
            Ok(report) => told(&report),
            Err(e) => {
                eprintln!("docs/generated/cases.md: {e}");
                ExitCode::FAILURE
            }
        },
        _ => {
            eprintln!("usage: cargo run -p xtask -- tidy|cases");
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command of the house")]
fn told(report: &Report) -> ExitCode {
    println!("{}", report.summary);
    for fault in &report.faults {
        eprintln!("{fault}");
    }
    ExitCode::from(u8::from(!report.faults.is_empty()))
}
