//! The differential run: random sequences of every verb, step by step on the model and on another store, under clocks
//! that move together.
//!
//! * After every step the two answers are equal: what was given, or which refusal it was (its text is free).
//! * After every step both stores list the same rows and the same next due moment, and of the task that was touched
//!   they show the same history, loaded task, generation and owner; at the end of a sequence, of all tasks.
//! * The rows of these tasks are those of the folded history.
//! * Over the whole run every verb has succeeded and, where it can, failed at least once; else the run proves little
//!   and is a failure itself.
//!
//! A failing sequence is shrunk; the panic shows the shortest one that still differs.

mod call;
mod op;
mod pair;

use super::Factory;
use op::Op;
use pair::Pair;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::{cell::RefCell, collections::BTreeSet};
use tokio::runtime::{Builder, Runtime};

/// What every run must have seen: each verb with a yes and, where it can fail, with a no, and each way in which a turn
/// is refused.
const NEEDED: [&str; 46] = [
    "start_session yes",
    "renew_session yes",
    "renew_session no",
    "end_session yes",
    "create yes",
    "create no",
    "create SM1008",
    "commit yes",
    "commit conflict",
    "commit fenced",
    "commit SM1001",
    "commit SM1008",
    "evidence yes",
    "evidence conflict",
    "checkpoint yes",
    "find_turn yes",
    "find_turn no",
    "claim yes",
    "claim no",
    "claim_task yes",
    "claim_task no",
    "claim_task SM1001",
    "release yes",
    "release no",
    "next_due yes",
    "next_due no",
    "load yes",
    "load SM1001",
    "history yes",
    "history no",
    "history SM1001",
    "find_client yes",
    "find_client no",
    "put_artifact yes",
    "artifact yes",
    "artifact SM2009",
    "tasks yes",
    "tasks no",
    "operations yes",
    "operations no",
    "count_operations yes",
    "count_operations no",
    "reviews yes",
    "reviews no",
    "ended yes",
    "review yes",
];

/// What a run has seen.
pub(super) type Seen = BTreeSet<String>;

/// Steps by which a failing sequence is made shorter, at most.
const SHRINK_STEPS: u32 = 300;

/// Runs `cases` random sequences that follow from `seed` on stores of the factory and on the model.
///
/// It brings its own runtime, so it is called from a plain `#[test]`, outside any other.
///
/// # Panics
/// When the stores differ, when rows are not those of the folded history, or when the run was not varied enough.
pub fn run<F: Factory>(factory: &F, cases: u32, seed: u64) {
    let mut seen = Seen::new();
    if let Err(why) = compare(factory, runner(cases, seed, SHRINK_STEPS), &mut seen) {
        panic!("{why}");
    }
    let missing: Vec<&str> = NEEDED.into_iter().filter(|needed| !seen.contains(*needed)).collect();
    assert!(missing.is_empty(), "never seen in {cases} sequences: {missing:?}");
}

/// The first difference that such a run finds, not shrunk; `None` when there is none.
#[must_use]
pub fn difference<F: Factory>(factory: &F, cases: u32, seed: u64) -> Option<String> {
    compare(factory, runner(cases, seed, 0), &mut Seen::new()).err()
}

fn compare<F: Factory>(factory: &F, mut runner: TestRunner, seen: &mut Seen) -> Result<(), String> {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let all = RefCell::new(seen);
    let outcome = runner.run(&op::sequences(), |ops| {
        let played = play(&runtime, factory, &ops, &mut all.borrow_mut());
        played.map_err(TestCaseError::fail)
    });
    outcome.map_err(|error| match error {
        TestError::Fail(why, ops) => format!("the stores differ: {why}\nafter {ops:#?}"),
        TestError::Abort(why) => format!("the run was given up: {why}"),
    })
}

fn runner(cases: u32, seed: u64, shrink_steps: u32) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config =
        Config { cases, failure_persistence: None, max_shrink_iters: shrink_steps, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

fn play<F: Factory>(runtime: &Runtime, factory: &F, ops: &[Op], seen: &mut Seen) -> Result<(), String> {
    runtime.block_on(async {
        let mut pair = Pair::of(factory);
        for (n, op) in ops.iter().enumerate() {
            let step = pair.step(op, seen).await;
            step.map_err(|why| format!("step {n}, {op:?}: {why}"))?;
        }
        pair.compare_all(seen).await.map_err(|why| format!("at the end: {why}"))
    })
}
