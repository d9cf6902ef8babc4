//! What the machine lets us rely on: space, file modes, the clock, core files.

use super::Check;
use crate::ui::time;
use rustix::{fs::statvfs, process::Resource};
use semel_kernel::{limit, time::Now};
use semel_store_sqlite::{OsTime, TimeSource as _};
use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

const MIB: u64 = 1 << 20;

/// Free space where the store lies.
pub(super) fn disk(store: &Path) -> Check {
    let folder = folder(store);
    let stat = match statvfs(&folder) {
        Ok(stat) => stat,
        Err(e) => return Check::warn("disk", format!("{}: {e}", folder.display()), "check the folder"),
    };
    let free = stat.f_bavail.saturating_mul(stat.f_frsize) / MIB;
    let text = format!("{free} MiB free where the store lies");
    match free {
        0..64 => Check::fail("disk", text, "free some space; while the store is full nothing is sent"),
        64..1_024 => Check::warn("disk", text, "free some space; while the store is full nothing is sent"),
        _ => Check::ok("disk", text),
    }
}

fn folder(store: &Path) -> PathBuf {
    store.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}

/// The store holds arguments and answers, so nobody else should read it.
pub(super) fn mode(store: &Path) -> Check {
    let mode = match std::fs::metadata(store) {
        Ok(meta) => meta.permissions().mode() & 0o777,
        Err(e) => return Check::fail("mode", e.to_string(), "check the file"),
    };
    if mode & 0o077 == 0 {
        return Check::ok("mode", format!("{mode:04o}, readable by its owner alone"));
    }
    let fix = format!("chmod 600 {}", store.display());
    Check::warn("mode", format!("{mode:04o}: others on this machine can read it"), fix)
}

/// Store time against the wall clock, and since when it is steady.
pub(super) fn clock(now: Now) -> Check {
    let apart = OsTime.wall_ms().saturating_sub(now.at.0);
    let steady = now.at.since(now.steady_since);
    let fix =
        "let one time service set the clock; settle waits have started again, nothing is sent too early";
    if apart.saturating_abs() > limit::CLOCK_ERROR_MS {
        let text = format!("the wall clock and store time are {} apart", time::span(apart.saturating_abs()));
        return Check::warn("clock", text, fix);
    }
    Check::ok("clock", format!("store time is steady for {}", time::span(steady.max(0))))
}

/// A core file would hold secrets that were being sent.
pub(super) fn cores() -> Check {
    let soft = rustix::process::getrlimit(Resource::Core).current;
    match soft {
        Some(0) => Check::ok("core files", "none is written when a process ends by a crash"),
        Some(_) | None => {
            let text = "a crash would write memory, with secrets in use, to a core file";
            Check::warn("core files", text, "ulimit -c 0")
        }
    }
}
