//! `cargo run -p xtask -- tidy`: the rules of the house, checked. The same runs as a test.

use std::process::ExitCode;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command of the house")]
fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => {
            let report = xtask::tidy(&xtask::root());
            println!("{}", report.summary);
            for fault in &report.faults {
                eprintln!("{fault}");
            }
            ExitCode::from(u8::from(!report.faults.is_empty()))
        }
        _ => {
            eprintln!("usage: cargo run -p xtask -- tidy");
            ExitCode::from(2)
        }
    }
}
