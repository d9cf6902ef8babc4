//! The suite finds what is wrong: each fault makes the differential run fail, and the check that is about it.

use crate::crooked::{Crooks, Fault};
use semel_ports::conformance::{
    Factory, append, artifact, cas, checkpoint, claim, differential, find_turn, lease, query, release,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Whether a call ends in a panic.
fn fails(call: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(call)).is_err()
}

/// Whether the check that is about a fault fails on a store.
fn check_fails<F: Factory>(fault: Fault, factory: &F) -> bool {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    fails(|| {
        runtime.block_on(async {
            match fault {
                Fault::NoFence => cas::fenced_owner_leaves_nothing(factory).await,
                Fault::EarlyBodies => artifact::refused_turn_writes_no_body(factory).await,
                Fault::NoBodies => artifact::turn_writes_its_bodies(factory).await,
                Fault::AnyRelease => release::stale_generation_changes_nothing(factory).await,
                Fault::ReleaseAtOnce => release::gives_back_at_its_moment(factory).await,
                Fault::LateRenewal => lease::expired_lease_is_not_renewed(factory).await,
                Fault::EndlessCount => claim::claims_are_counted_until_a_commit(factory).await,
                Fault::CountEndsAtOnce => claim::taking_up_does_not_end_the_count(factory).await,
                Fault::ShortCalls => lease::long_call_stays_with_its_owner(factory).await,
                Fault::AnyProgress => lease::evidence_is_no_progress_of_the_owner(factory).await,
                Fault::NoCheckpoint => checkpoint::load_begins_at_the_last_one(factory).await,
                Fault::FindsAll => find_turn::refused_turn_is_not_found(factory).await,
                Fault::NoWake => claim::parked_without_a_moment_waits_for_a_wake(factory).await,
                Fault::OldRows => append::rows_equal_the_fold_after_every_step(factory).await,
                Fault::Backwards => query::tasks_come_newest_first(factory).await,
                Fault::ShortHistory => append::history_after_gives_the_rest(factory).await,
            }
        });
    })
}

macro_rules! found {
    ($($test:ident: $fault:ident;)*) => {
        $(#[test]
        fn $test() {
            let crooks = Crooks(Fault::$fault);
            assert!(check_fails(Fault::$fault, &crooks), "no check finds it");
            assert!(differential::difference(&crooks, 64, 1).is_some(), "the differential run does not find it");
        })*
    };
}

found! {
    missing_fence: NoFence;
    bodies_of_refused_turns: EarlyBodies;
    forgotten_bodies: NoBodies;
    release_by_anyone: AnyRelease;
    release_that_forgets_its_moment: ReleaseAtOnce;
    renewal_of_the_dead: LateRenewal;
    count_that_never_ends: EndlessCount;
    count_that_any_turn_ends: CountEndsAtOnce;
    dropped_checkpoints: NoCheckpoint;
    turns_that_were_never_written: FindsAll;
    lost_wakes: NoWake;
    rows_that_lag_behind: OldRows;
    lists_from_their_end: Backwards;
    histories_without_their_end: ShortHistory;
}

/// Five minutes without a word, by a session that lives on, are too rare in random sequences: the check alone finds these.
#[test]
fn deadlines_of_progress_that_are_not_kept() {
    for fault in [Fault::ShortCalls, Fault::AnyProgress] {
        assert!(check_fails(fault, &Crooks(fault)), "no check finds {fault:?}");
    }
}

#[test]
#[should_panic(expected = "never seen")]
fn run_that_proves_little_fails() {
    differential::run(&Crooks(Fault::Backwards), 0, 1);
}
