//! The conformance suite: what every store must do, as checks that any store can run.
//!
//! A store offers a [`Factory`]; [`conformance_tests!`](crate::conformance_tests) turns every check into a named test,
//! and [`differential`] runs random sequences of all verbs on the store and on [`MemStore`](crate::mem::MemStore) side
//! by side. Each file begins with its properties in words.
//!
//! Invariant: a check speaks of the [`Store`] trait alone. It must not know how a store keeps anything, and it reads no
//! clock but the store's, which it moves through [`Fresh::advance`].
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a check fails by a panic, as a test does"
)]

pub mod append;
pub mod artifact;
pub mod cas;
pub mod checkpoint;
pub mod claim;
pub mod create;
pub mod differential;
pub mod find_turn;
pub mod lease;
pub mod limits;
pub mod query;
pub mod release;

mod bench;
mod story;

use crate::store::Store;

/// A store that nothing was written to, and the handle of its clock.
pub struct Fresh<S> {
    /// The store.
    pub store: S,
    /// Moves the store's clock by so many milliseconds; between calls it stands still.
    pub advance: Box<dyn Fn(i64) + Send + Sync>,
}

/// Makes stores to be checked. It keeps alive what they need, such as a folder.
pub trait Factory: Sync {
    /// The store.
    type S: Store + 'static;

    /// A fresh, empty store under a clock that only [`Fresh::advance`] moves.
    fn fresh(&self) -> Fresh<Self::S>;
}

/// Runs every check on fresh stores, one after the other; the first failure panics. The differential run is apart,
/// because it brings its own runtime.
pub async fn run_all<F: Factory>(factory: &F) {
    crate::conformance_tests!(@list run (factory));
}

/// One `#[tokio::test]` for each check, in a module for each group, and one test for the differential run.
///
/// The argument is an expression that makes a [`Factory`](crate::conformance::Factory); it is evaluated once in each
/// test. The crate that calls it needs `tokio` with `macros` and `rt-multi-thread`.
#[macro_export]
macro_rules! conformance_tests {
    ($factory:expr) => {
        $crate::conformance_tests!(@list tests ($factory));

        #[test]
        fn differential_run_finds_no_difference() {
            $crate::conformance::differential::run(&$factory, 64, 1);
        }
    };
    (@tests ($factory:expr) $($group:ident [$($check:ident)*])*) => {
        $(mod $group {
            #[allow(unused_imports)]
            use super::*;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $check() {
                $crate::conformance::$group::$check(&$factory).await;
            })*
        })*
    };
    (@run ($factory:expr) $($group:ident [$($check:ident)*])*) => {
        $($(Box::pin($crate::conformance::$group::$check($factory)).await;)*)*
    };
    (@list $how:tt $factory:tt) => {
        $crate::conformance_tests! { @$how $factory
            append [
                events_are_numbered_without_gaps
                history_after_gives_the_rest
                time_is_the_turns
                rows_equal_the_fold_after_every_step
                receipt_names_the_turn
                started_turn_yields_one_permit
                unknown_task_is_refused
            ]
            artifact [
                body_comes_back_by_its_hash
                same_body_is_kept_once
                unknown_hash_is_refused
                turn_writes_its_bodies
                refused_turn_writes_no_body
                creation_writes_its_bodies
            ]
            cas [
                stale_version_leaves_nothing
                fenced_owner_leaves_nothing
                version_is_checked_before_generation
                evidence_of_a_fenced_worker_is_accepted
                stale_evidence_is_refused
                twenty_turns_on_one_version_one_wins
                repeated_turn_is_a_conflict
                tasks_do_not_touch_each_other
            ]
            checkpoint [
                without_one_the_tail_is_the_history
                load_begins_at_the_last_one
                later_turn_keeps_it
                newer_one_replaces_it
                refused_turn_leaves_the_old_one
            ]
            claim [
                task_is_claimed_once
                generation_leads_with_the_epoch_and_grows
                claims_are_counted_until_a_commit
                taking_up_does_not_end_the_count
                evidence_ends_the_count_too
                longest_due_comes_first
                limit_holds
                sessions_never_share_a_task
                one_task_has_one_taker
                parked_task_waits_for_its_moment
                parked_without_a_moment_waits_for_a_wake
                wake_leaves_a_live_owner_alone
                wake_keeps_an_earlier_moment
                claim_task_does_not_wait
                claim_task_needs_a_task
                ended_task_is_never_claimable
                next_due_announces_what_a_claim_gives
            ]
            create [
                twenty_at_once_make_one
                second_creation_leaves_nothing
                task_id_is_taken_once
                other_tenant_is_another_client
                owned_from_its_first_turn
                unowned_is_claimable_when_due
                find_client_tells_task_and_digest
            ]
            find_turn [
                durable_turns_are_found
                refused_turn_is_not_found
                turns_belong_to_their_task
            ]
            lease [
                live_session_keeps_its_tasks
                renewal_extends
                one_renewal_covers_every_task
                expired_lease_is_not_renewed
                unknown_session_is_not_renewed
                expired_sessions_tasks_are_claimable_at_once
                ended_sessions_tasks_are_claimable_at_once
                dead_session_is_given_nothing
                late_commit_holds_while_nobody_claimed
                late_commit_fails_once_somebody_claimed
                heart_without_progress_stops_counting
                commit_is_progress
                long_call_stays_with_its_owner
                evidence_is_no_progress_of_the_owner
            ]
            limits [
                event_at_the_limit_is_kept
                event_over_the_limit_leaves_nothing
                creation_over_the_limit_leaves_nothing
            ]
            query [
                tasks_come_newest_first
                tasks_are_filtered
                tasks_are_filtered_by_tenant
                operations_come_last_changed_first
                operations_are_filtered
                find_takes_text_literally
                unknown_ones_are_listed_until_settled
                written_off_ones_are_listed_and_counted
                reviews_come_oldest_first
                decided_reviews_are_shown_on_demand
                pages_neither_lose_nor_repeat
            ]
            release [
                gives_back_at_its_moment
                what_came_meanwhile_is_due_at_once
                stale_generation_changes_nothing
                second_release_changes_nothing
                keeps_the_generation_and_the_count
                waiting_is_no_failure
                parked_task_is_not_released
                unknown_task_is_not_released
            ]
        }
    };
}
