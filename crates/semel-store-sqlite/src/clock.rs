//! Store time: a clock that never goes back and never jumps under one boot of the machine (DESIGN section 7).
//!
//! Under one boot id it is an anchor plus the progress of the boot-time clock, which runs during suspend and which
//! nobody sets. Under a new boot id it is the wall clock, made non-decreasing; what happened in between nobody can
//! vouch for, so settle waits start again, and key windows that are open count as over when time went backwards.
//!
//! Invariant: a wait is credited only from [`Now::steady_since`] on.

use rustix::time::{ClockId, clock_gettime};
use semel_kernel::time::{Millis, Now};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

/// The clocks of the machine, as a port, so that tests can move them.
pub trait TimeSource: Send + Sync {
    /// The wall clock: milliseconds since 1970-01-01T00:00:00Z; it may jump.
    fn wall_ms(&self) -> i64;

    /// Milliseconds since the machine was booted, suspend included.
    fn boottime_ms(&self) -> i64;

    /// Another text for every boot.
    fn boot_id(&self) -> String;
}

/// The clocks of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsTime;

impl TimeSource for OsTime {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock that everybody else gets as an argument"
    )]
    fn wall_ms(&self) -> i64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
    }

    fn boottime_ms(&self) -> i64 {
        let t = clock_gettime(ClockId::Boottime);
        t.tv_sec.saturating_mul(1_000).saturating_add(t.tv_nsec / 1_000_000)
    }

    /// Empty where the system does not tell it; then no two starts count as one boot.
    fn boot_id(&self) -> String {
        let text = fs::read_to_string("/proc/sys/kernel/random/boot_id");
        text.map(|t| t.trim().to_owned()).unwrap_or_default()
    }
}

/// What a store keeps of its clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Anchor {
    pub(crate) store_ms: i64,
    pub(crate) boot_ms: i64,
    pub(crate) boot_id: String,
    pub(crate) steady_since: i64,
    pub(crate) windows_void_before: i64,
}

impl Anchor {
    /// The anchor to go on with, from the one that is kept and the last store time that is known to have been.
    pub(crate) fn after(
        kept: Option<Self>,
        last: Millis,
        source: &dyn TimeSource,
        clock_error_ms: i64,
    ) -> Self {
        let (boot_ms, boot_id) = (source.boottime_ms(), source.boot_id());
        match kept {
            Some(kept) if !boot_id.is_empty() && kept.boot_id == boot_id && kept.boot_ms <= boot_ms => kept,
            Some(kept) => {
                let last = last.0.max(kept.store_ms);
                let wall = source.wall_ms();
                let store_ms = wall.max(last);
                let backwards = last.saturating_sub(wall) > clock_error_ms;
                let windows_void_before = if backwards { store_ms } else { kept.windows_void_before };
                Self { store_ms, boot_ms, boot_id, steady_since: store_ms, windows_void_before }
            }
            None => Self::first(source.wall_ms().max(last.0), boot_ms, boot_id),
        }
    }

    fn first(store_ms: i64, boot_ms: i64, boot_id: String) -> Self {
        Self { store_ms, boot_ms, boot_id, steady_since: store_ms, windows_void_before: i64::MIN }
    }
}

/// Store time, running.
pub(crate) struct Clock {
    source: Arc<dyn TimeSource>,
    anchor: Anchor,
    latest: AtomicI64,
}

impl Clock {
    /// A clock that goes on from the anchor, never before `last`.
    pub(crate) fn new(source: Arc<dyn TimeSource>, anchor: Anchor, last: Millis) -> Self {
        let latest = AtomicI64::new(anchor.store_ms.max(last.0));
        Self { source, anchor, latest }
    }

    /// The present; never before an earlier answer.
    pub(crate) fn now(&self) -> Now {
        let run = self.source.boottime_ms().saturating_sub(self.anchor.boot_ms);
        let at = self.anchor.store_ms.saturating_add(run);
        let at = self.latest.fetch_max(at, Ordering::Relaxed).max(at);
        Now {
            at: Millis(at),
            steady_since: Millis(self.anchor.steady_since),
            windows_void_before: Millis(self.anchor.windows_void_before),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fake {
        wall: i64,
        boot: i64,
        id: &'static str,
    }

    impl TimeSource for Fake {
        fn wall_ms(&self) -> i64 {
            self.wall
        }
        fn boottime_ms(&self) -> i64 {
            self.boot
        }
        fn boot_id(&self) -> String {
            self.id.to_owned()
        }
    }

    fn kept() -> Anchor {
        Anchor {
            store_ms: 1_000_000,
            boot_ms: 500,
            boot_id: "a".into(),
            steady_since: 1_000_000,
            windows_void_before: i64::MIN,
        }
    }

    fn open(kept: Option<Anchor>, last: i64, fake: Fake) -> Now {
        let anchor = Anchor::after(kept, Millis(last), &fake, 2_000);
        Clock::new(Arc::new(fake), anchor, Millis(last)).now()
    }

    #[test]
    fn under_one_boot_a_wall_clock_that_jumps_is_not_seen() {
        for wall in [0, 1_000_000, 9_000_000_000] {
            let now = open(Some(kept()), 1_000_050, Fake { wall, boot: 800, id: "a" });
            assert_eq!(now.at, Millis(1_000_300));
            assert_eq!(now.steady_since, Millis(1_000_000), "waits go on across a restart of the process");
            assert_eq!(now.windows_void_before, Millis::MIN);
        }
    }

    #[test]
    fn a_new_boot_restarts_waits_and_keeps_windows() {
        let now = open(Some(kept()), 1_000_050, Fake { wall: 1_600_000, boot: 10, id: "b" });
        assert_eq!((now.at, now.steady_since), (Millis(1_600_000), Millis(1_600_000)));
        assert_eq!(now.windows_void_before, Millis::MIN);
    }

    #[test]
    fn a_wall_clock_that_went_back_voids_windows_too() {
        let now = open(Some(kept()), 1_050_000, Fake { wall: 900_000, boot: 10, id: "b" });
        assert_eq!(now.at, Millis(1_050_000), "time never goes back");
        assert_eq!((now.steady_since, now.windows_void_before), (now.at, now.at));
    }

    #[test]
    fn going_back_less_than_the_clock_error_is_no_jump() {
        let now = open(Some(kept()), 1_001_500, Fake { wall: 1_000_000, boot: 10, id: "b" });
        assert_eq!((now.at, now.windows_void_before), (Millis(1_001_500), Millis::MIN));
    }

    #[test]
    fn a_boot_clock_that_went_back_under_one_boot_id_counts_as_a_new_boot() {
        let now = open(Some(kept()), 0, Fake { wall: 2_000_000, boot: 400, id: "a" });
        assert_eq!((now.at, now.steady_since), (Millis(2_000_000), Millis(2_000_000)));
    }

    #[test]
    fn without_a_boot_id_nothing_is_credited() {
        let mut kept = kept();
        kept.boot_id = String::new();
        let now = open(Some(kept), 0, Fake { wall: 2_000_000, boot: 800, id: "" });
        assert_eq!(now.steady_since, Millis(2_000_000));
    }

    #[test]
    fn the_system_tells_all_three_clocks() {
        assert!(OsTime.wall_ms() > 1_500_000_000_000);
        assert!(OsTime.boottime_ms() > 0);
        assert!(!OsTime.boot_id().is_empty());
    }
}
