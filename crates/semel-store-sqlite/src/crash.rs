//! Named points at which a test may kill the process.
//!
//! Invariant: a point does nothing unless a hook is set, and only the composition root sets one.

use std::sync::OnceLock;

static HOOK: OnceLock<fn(&'static str)> = OnceLock::new();

/// Every point of this crate.
pub const POINTS: [&str; 6] = [
    "turn.before_commit",
    "turn.after_commit",
    "claim.before_commit",
    "claim.after_commit",
    "submit.before_commit",
    "submit.after_commit",
];

/// Sets what happens at the points of [`POINTS`]; the first call wins.
pub fn set_crash_hook(hook: fn(&'static str)) {
    HOOK.get_or_init(|| hook);
}

pub(crate) fn point(name: &'static str) {
    if let Some(hook) = HOOK.get() {
        hook(name);
    }
}
