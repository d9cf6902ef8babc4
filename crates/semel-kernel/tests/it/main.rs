//! What the kernel promises, through its public interface only.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod canon;
mod chance;
mod classes;
mod fields;
mod gate;
mod golden;
mod history;
mod people;
mod plans;
mod prop;
mod story;
mod table;
mod word;
