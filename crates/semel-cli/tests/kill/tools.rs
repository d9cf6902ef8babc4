//! What a machine may lack, numbers of short and long runs, and chance that can be repeated.
//!
//! Invariant: what cannot be done here is said aloud, never passed over: a line `SKIPPED name: why` on stderr, which the
//! runner shows at its end.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// Says that a test did not happen, and why.
pub(crate) fn skip(test: &str, why: &str) {
    eprintln!("SKIPPED {test}: {why}");
}

#[expect(clippy::disallowed_methods, reason = "it is how whoever runs the tests asks for more of them")]
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// The long tier: full numbers, every point.
pub(crate) fn is_long() -> bool {
    told("SEMEL_LONG").is_some_and(|text| text != "0")
}

/// How often: by the variable, else by the tier.
pub(crate) fn times(variable: &str, short: u32, long: u32) -> u32 {
    let asked = told(variable).map(|text| text.parse().unwrap());
    asked.unwrap_or(if is_long() { long } else { short })
}

/// Runs a program for its success only.
pub(crate) fn works(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs a program that has to succeed.
pub(crate) fn must(program: &str, args: &[&str]) {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Chance with a seed that is printed: `SEMEL_SEED` repeats it.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn of(test: &str) -> Self {
        let drawn = || u64::from(std::process::id()).wrapping_mul(0x9e37_79b9) % 1_000_000;
        let seed = told("SEMEL_SEED").map_or_else(drawn, |text| text.parse().unwrap());
        eprintln!("{test}: SEMEL_SEED={seed}");
        Self(seed)
    }

    /// The next of splitmix64, below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end.max(1)
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

#[expect(clippy::disallowed_methods, reason = "another process is given time")]
pub(crate) fn pause(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

/// Waits until something is true in another process; panics with `what` when it never is.
pub(crate) fn until(what: &str, mut truth: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(120);
    while !truth() {
        assert!(Instant::now() < patience, "this never came true: {what}");
        pause(20);
    }
}

/// What `none` of `trials` allows to claim: the true share is below this, with 95 % confidence.
pub(crate) fn upper_bound(trials: u64) -> String {
    let trials = u32::try_from(trials).unwrap_or(u32::MAX).max(1);
    format!("{:.3} %", 100.0 * (1.0 - 0.05_f64.powf(1.0 / f64::from(trials))))
}
