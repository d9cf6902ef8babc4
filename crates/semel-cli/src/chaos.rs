//! Crash points: named once, always compiled in, armed only by `SEMEL_CHAOS` on a store marked as a sandbox.
//!
//! `SEMEL_CHAOS=call.after_send` ends this process by SIGKILL when the point is reached the first time,
//! `SEMEL_CHAOS=call.after_send:3` the third time. `SEMEL_CHAOS=store.sync_normal` is no point: it opens the sandbox with
//! `synchronous=NORMAL`, the control of the power-cut tests, which has to be seen losing what was acknowledged.

use std::sync::{
    OnceLock,
    atomic::{AtomicU32, Ordering},
};

/// Every crash point.
pub(crate) const POINTS: [&str; 11] = [
    "submit.before_commit",
    "submit.after_commit",
    "claim.before_commit",
    "claim.after_commit",
    "turn.before_commit",
    "turn.after_commit",
    "call.before_send",
    "call.after_send",
    "call.after_answer",
    "probe.before",
    "probe.after",
];

/// The store runs with less durability than it promises.
pub(crate) const SYNC_NORMAL: &str = "store.sync_normal";

struct Armed {
    point: String,
    nth: u32,
    seen: AtomicU32,
}

static ARMED: OnceLock<Armed> = OnceLock::new();

/// Arms a point; the text is `POINT` or `POINT:N`.
pub(crate) fn arm(text: &str) -> Result<(), String> {
    let (point, nth) = text.split_once(':').unwrap_or((text, "1"));
    if !POINTS.contains(&point) {
        let points = POINTS.join(", ");
        return Err(format!("`{point}` is not a crash point; there are: {points}; and {SYNC_NORMAL}"));
    }
    let nth = nth.parse().map_err(|_| format!("`{nth}` is not a number"))?;
    drop(ARMED.set(Armed { point: point.to_owned(), nth, seen: AtomicU32::new(0) }));
    Ok(())
}

/// Reached a point: ends the process if it is armed, as a power switch would.
pub(crate) fn point(name: &'static str) {
    let Some(armed) = ARMED.get().filter(|a| a.point == name) else { return };
    let reached = armed.seen.fetch_add(1, Ordering::SeqCst).saturating_add(1) == armed.nth;
    let (this, kill) = (rustix::process::getpid(), rustix::process::Signal::KILL);
    if reached && rustix::process::kill_process(this, kill).is_err() {
        std::process::abort();
    }
}
