//! `cargo run -p semel-model -- [MISHAPS]`: every world with all rules on, with more or fewer things going wrong.

use semel_model::{page::try_out, scenario};
use std::{process::ExitCode, time::Instant};

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command of the house")]
fn main() -> ExitCode {
    let mishaps = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(scenario::MISHAPS);
    let mut broken = false;
    for mut world in scenario::ALL {
        world.luck.mishaps = mishaps;
        let start = Instant::now();
        let shown = match try_out(world, &[]) {
            Ok(shown) => shown,
            Err(e) => {
                eprintln!("{}: {e}", world.name);
                return ExitCode::FAILURE;
            }
        };
        let (states, edges, depth) = (shown.found.states.len(), shown.found.edges, shown.found.depth);
        let took = start.elapsed().as_millis();
        println!("{}: {states} states, {edges} transitions, depth {depth}, {took} ms", world.name);
        if let Some((property, _)) = &shown.found.broken {
            broken = true;
            println!("  broken: {property}\n  {}", shown.story.join("\n  "));
        }
    }
    ExitCode::from(u8::from(broken))
}
