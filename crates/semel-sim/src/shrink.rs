//! Shrinking: the same seed with less and less of everything, as long as the same rule is broken.

use crate::{
    check::Check,
    control::Control,
    sim,
    swarm::{Faults, Knobs},
};

/// A smaller way to make a run smaller; `false` when there is nothing to take away.
type Cut = fn(&mut Knobs) -> bool;

const CUTS: &[Cut] = &[
    |k| take(&mut k.reboots),
    |k| take(&mut k.outages),
    |k| take(&mut k.deploys),
    |k| take(&mut k.meddling),
    |k| take(&mut k.orders),
    |k| take(&mut k.resubmits),
    |k| less(&mut k.submits),
    |k| less(&mut k.workers),
    |k| {
        let shorter = k.horizon_ms > 2_000;
        k.horizon_ms /= 2;
        shorter
    },
    |k| rate(k, |f| &mut f.crash),
    |k| rate(k, |f| &mut f.pause),
    |k| rate(k, |f| &mut f.drop_request),
    |k| rate(k, |f| &mut f.drop_answer),
    |k| rate(k, |f| &mut f.delay),
    |k| rate(k, |f| &mut f.repeat),
    |k| rate(k, |f| &mut f.refuse),
    |k| rate(k, |f| &mut f.trouble),
    |k| rate(k, |f| &mut f.later),
    |k| rate(k, |f| &mut f.dont_know),
    |k| rate(k, |f| &mut f.unreachable),
    |k| rate(k, |f| &mut f.busy),
    |k| rate(k, |f| &mut f.commit_lost),
    |k| rate(k, |f| &mut f.commit_unmade),
    |k| rate(k, |f| &mut f.renewal_lost),
    |k| rate(k, |f| &mut f.heard_twice),
    |k| rate(k, |f| &mut f.late_byte),
];

fn take(n: &mut u32) -> bool {
    let some = *n > 0;
    *n = 0;
    some
}

fn less(n: &mut u32) -> bool {
    let some = *n > 1;
    *n = n.saturating_sub(1).max(1);
    some
}

fn rate(knobs: &mut Knobs, which: fn(&mut Faults) -> &mut u32) -> bool {
    take(which(&mut knobs.faults))
}

/// The smallest run that still breaks the rule, by taking away one thing after the other.
#[must_use]
pub fn shrink(knobs: &Knobs, control: Option<Control>, check: Check) -> Knobs {
    let mut best = knobs.clone();
    loop {
        let mut smaller = false;
        for cut in CUTS {
            let mut tried = best.clone();
            if cut(&mut tried) && breaks(&tried, control, check) {
                best = tried;
                smaller = true;
            }
        }
        if !smaller {
            return best;
        }
    }
}

fn breaks(knobs: &Knobs, control: Option<Control>, check: Check) -> bool {
    sim::run(knobs, control, false).violation.is_some_and(|v| v.check == check)
}
