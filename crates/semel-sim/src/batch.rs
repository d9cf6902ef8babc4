//! Many seeds: on all processors, each run by itself; what they met is added up.

use crate::{
    check::Violation,
    control::Control,
    cover::Cover,
    sim::{self, Verdict},
    swarm::Knobs,
};
use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

/// How a batch came out.
#[derive(Debug, Default)]
pub struct Batch {
    /// Runs that were made.
    pub runs: u64,
    /// Things that happened in all of them.
    pub acts: u64,
    /// What was met.
    pub cover: Cover,
    /// Seeds that broke a rule, with the rule, smallest first.
    pub broken: Vec<(u64, Violation)>,
}

/// Which seeds, and how.
#[derive(Clone, Debug)]
pub struct Seeds {
    /// The first.
    pub from: u64,
    /// How many.
    pub count: u64,
    /// The engine that is run.
    pub control: Option<Control>,
    /// Stop at the first that breaks a rule.
    pub first: bool,
    /// Threads.
    pub jobs: usize,
}

/// Runs them; `told` hears of every run.
pub fn run(seeds: &Seeds, told: &(dyn Fn() + Sync)) -> Batch {
    let next = AtomicU64::new(seeds.from);
    let parts: Vec<Batch> = thread::scope(|scope| {
        let workers: Vec<_> =
            (0..seeds.jobs.max(1)).map(|_| scope.spawn(|| part(seeds, &next, told))).collect();
        let ended = workers.into_iter().map(thread::ScopedJoinHandle::join);
        ended.map(|part| part.unwrap_or_else(|cause| std::panic::resume_unwind(cause))).collect()
    });
    let mut whole = Batch::default();
    for part in parts {
        whole.runs += part.runs;
        whole.acts += part.acts;
        whole.cover.add(&part.cover);
        whole.broken.extend(part.broken);
    }
    whole.broken.sort_by_key(|(seed, _)| *seed);
    whole
}

fn part(seeds: &Seeds, next: &AtomicU64, told: &(dyn Fn() + Sync)) -> Batch {
    let mut batch = Batch::default();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= seeds.from.saturating_add(seeds.count) {
            return batch;
        }
        let verdict = sim::run(&Knobs::draw(seed), seeds.control, false);
        told();
        let Verdict { violation, cover, acts, .. } = verdict;
        batch.runs += 1;
        batch.acts += acts;
        batch.cover.add(&cover);
        if let Some(found) = violation {
            batch.broken.push((seed, found));
            if seeds.first {
                next.store(u64::MAX / 2, Ordering::Relaxed);
            }
        }
    }
}
