//! The failure window, row by row (DESIGN section 4), against servers that really do it: one attempt each, through the
//! real connector, the real contract and the real kernel.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod rows;
mod world;
