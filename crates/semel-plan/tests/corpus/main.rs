//! What fuzzing holds, and the inputs it was found with, replayed on stable Rust.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a property that does not hold fails by panicking"
)]

mod canonical_json;
mod contract_expr;
mod event_decode;
mod http_answer;
mod plan_text;

use std::path::PathBuf;

/// Gives every committed input of a target to its property; a panic names the file.
fn replay(target: &str, property: fn(&[u8])) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 5, "the corpus of {target} is not there");
    for file in files {
        let data = std::fs::read(&file).unwrap();
        let done = std::panic::catch_unwind(|| property(&data));
        assert!(done.is_ok(), "{} breaks the property", file.display());
    }
}

#[test]
fn plan_texts() {
    replay("plan_text", plan_text::check);
}

#[test]
fn canonical_json_texts() {
    replay("canonical_json", canonical_json::check);
}

#[test]
fn event_sequences() {
    replay("event_decode", event_decode::check);
}

#[test]
fn contract_expressions() {
    replay("contract_expr", contract_expr::check);
}

#[test]
fn http_answers() {
    replay("http_answer", http_answer::check);
}
