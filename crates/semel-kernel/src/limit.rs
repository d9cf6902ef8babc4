//! The limits table (DESIGN section 18). A limit that is hit says which and by how much, before anything is sent.

/// Bytes of a plan file.
pub const PLAN_BYTES: usize = 1 << 20;
/// Steps of a plan.
pub const PLAN_STEPS: usize = 512;
/// Bytes of a step's arguments, as canonical JSON.
pub const ARGUMENT_BYTES: usize = 256 << 10;
/// Bytes of a result that stay inside the event; larger ones go to the artifact store.
pub const INLINE_BYTES: usize = 8 << 10;
/// Bytes of a response that are read; the rest is cut there.
pub const RESPONSE_BYTES: usize = 64 << 20;
/// Bytes of one stored event.
pub const EVENT_BYTES: usize = 256 << 10;
/// Bytes of an operation id.
pub const OPERATION_ID_BYTES: usize = 512;
/// Bytes of one CEL expression.
pub const CEL_BYTES: usize = 4 << 10;
/// Depth of one CEL expression.
pub const CEL_DEPTH: usize = 32;
/// Items of an `each`.
pub const EACH_ITEMS: usize = 1_000;
/// Depth of a JSON document.
pub const JSON_DEPTH: usize = 64;
/// Turns between two checkpoints.
pub const CHECKPOINT_TURNS: u64 = 64;
/// Claims without a committed turn before a task goes to review.
pub const CLAIMS_WITHOUT_PROGRESS: u32 = 3;
/// Milliseconds after which *it did not* is believed for targets without a declared settle.
pub const DEFAULT_SETTLE_MS: i64 = 60_000;
/// Milliseconds by which two clocks may differ.
pub const CLOCK_ERROR_MS: i64 = 2_000;
/// Milliseconds after the STARTED commit within which the first byte must leave.
pub const SEND_WITHIN_MS: i64 = 5_000;
/// Milliseconds one attempt may take.
pub const TIMEOUT_MS: i64 = 30_000;
/// Milliseconds for which a target is asked, or a receipt is waited for, before a person is asked.
pub const PROBE_FOR_MS: i64 = 15 * 60_000;
/// Milliseconds for which a look at the target's state is good for the STARTED that follows it.
pub const PRECHECK_FRESH_MS: i64 = 60_000;
/// Milliseconds after a turn within which an owner makes progress, or loses the task.
pub const PROGRESS_MS: i64 = 300_000;
/// First pause, in milliseconds, before a waiter re-reads another task.
pub const WATCH_MS: i64 = 2_000;
/// Longest such pause.
pub const WATCH_CAP_MS: i64 = 60_000;
/// Bytes of raw answer kept as evidence.
pub const SHOWN_BYTES: usize = 2 << 10;
/// Milliseconds after an adoption during which a new submission may be one that the original has run.
pub const RESTORED_DOUBT_MS: i64 = 86_400_000;
/// Milliseconds of Retry-After that are obeyed.
pub const RETRY_AFTER_MS: i64 = 3_600_000;
