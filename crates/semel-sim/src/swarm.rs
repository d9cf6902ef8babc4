//! What a run is made of: drawn from the seed, each fault absent from about half of the runs (swarm testing), so that
//! faults that mask each other are also met apart.

use crate::chance::Chance;

/// Rates of a thousand, at the places where the fault can strike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// A process dies at a crash point.
    pub crash: u32,
    /// A process is stopped for a while, up to three leases.
    pub pause: u32,
    /// A request is lost before it reaches the target.
    pub drop_request: u32,
    /// An answer is lost on its way back.
    pub drop_answer: u32,
    /// A message takes up to the longest time instead of a short one.
    pub delay: u32,
    /// The network repeats a request to a target that dedupes.
    pub repeat: u32,
    /// The target refuses for good or for now, without an effect.
    pub refuse: u32,
    /// The target fails after, or before, the effect, and says neither.
    pub trouble: u32,
    /// The target answers *accepted* and works on.
    pub later: u32,
    /// A look-up gets no useful answer.
    pub dont_know: u32,
    /// A connection cannot be made.
    pub unreachable: u32,
    /// The store is busy for a moment.
    pub busy: u32,
    /// A commit is made and its answer is lost.
    pub commit_lost: u32,
    /// A commit is not made, and nobody knows.
    pub commit_unmade: u32,
    /// A renewal does not arrive.
    pub renewal_lost: u32,
    /// An answer is heard twice.
    pub heard_twice: u32,
    /// Bytes leave a little after the check.
    pub late_byte: u32,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knobs {
    /// Its seed.
    pub seed: u64,
    /// Worker processes.
    pub workers: u32,
    /// Submissions.
    pub submits: u32,
    /// Further submissions of a client id that is known already, also at the same moment.
    pub resubmits: u32,
    /// Acts of operators at random.
    pub orders: u32,
    /// Changes that a colleague makes by himself.
    pub meddling: u32,
    /// Times at which a process is asked to leave in good order.
    pub deploys: u32,
    /// Times at which the store can be written by nobody: full or read-only.
    pub outages: u32,
    /// Times at which the whole machine boots anew, the wall clock thrown back or forth.
    pub reboots: u32,
    /// The store is a file with one owner: a new process knows that its predecessor is dead.
    pub locked: bool,
    /// A turn that was on its way when its process died may still arrive.
    pub outlives: bool,
    /// Milliseconds of the safety phase.
    pub horizon_ms: i64,
    /// Rates.
    pub faults: Faults,
    /// Which plans are submitted, by number; all of them when empty.
    pub plans: Vec<usize>,
}

impl Knobs {
    /// The run of a seed.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        let mut c = Chance::of(seed, "swarm");
        let locked = c.happens(400);
        Self {
            seed,
            workers: if locked { 1 } else { u32::try_from(c.between(1, 3)).unwrap_or(1) },
            submits: small(&mut c, 1, 4),
            resubmits: sometimes(&mut c, 3),
            orders: sometimes(&mut c, 5),
            meddling: sometimes(&mut c, 4),
            deploys: sometimes(&mut c, 3),
            outages: sometimes(&mut c, 2),
            reboots: if c.happens(150) { small(&mut c, 1, 2) } else { 0 },
            locked,
            outlives: !locked && c.happens(500),
            horizon_ms: c.between(30_000, 600_000),
            faults: faults(&mut c),
            plans: Vec::new(),
        }
    }
}

fn small(c: &mut Chance, low: i64, high: i64) -> u32 {
    u32::try_from(c.between(low, high)).unwrap_or(1)
}

fn sometimes(c: &mut Chance, most: i64) -> u32 {
    if c.happens(500) { small(c, 1, most) } else { 0 }
}

/// Absent, rare or frequent.
fn rate(c: &mut Chance, rare: u32, frequent: u32) -> u32 {
    match c.between(0, 3) {
        0 | 1 => 0,
        2 => rare,
        _ => frequent,
    }
}

fn faults(c: &mut Chance) -> Faults {
    let mut drawn = all_faults(c);
    // A gateway that repeats a request, of which the target refuses one and obeys the other, is beyond any contract.
    if drawn.refuse > 0 || drawn.trouble > 0 {
        drawn.repeat = 0;
    }
    drawn
}

fn all_faults(c: &mut Chance) -> Faults {
    Faults {
        crash: rate(c, 15, 60),
        pause: rate(c, 10, 50),
        drop_request: rate(c, 30, 200),
        drop_answer: rate(c, 50, 300),
        delay: rate(c, 50, 400),
        repeat: rate(c, 20, 100),
        refuse: rate(c, 30, 200),
        trouble: rate(c, 50, 250),
        later: rate(c, 50, 300),
        dont_know: rate(c, 50, 300),
        unreachable: rate(c, 30, 200),
        busy: rate(c, 20, 100),
        commit_lost: rate(c, 10, 80),
        commit_unmade: rate(c, 10, 50),
        renewal_lost: rate(c, 100, 500),
        heard_twice: rate(c, 30, 200),
        late_byte: rate(c, 10, 60),
    }
}
