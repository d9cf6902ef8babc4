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

/// Gives every committed input of a target to its property; a panic names the file. At least `least` of them must get
/// as far as the property itself: a corpus that is refused at the door holds nothing.
fn replay(target: &str, least: usize, property: fn(&[u8]) -> bool) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut reached = 0;
    for file in files {
        let data = std::fs::read(&file).unwrap();
        let done = std::panic::catch_unwind(|| property(&data));
        let Ok(got) = done else { panic!("{} breaks the property", file.display()) };
        reached += usize::from(got);
    }
    assert!(reached >= least, "{target}: {reached} inputs reach the property");
}

#[test]
fn plan_texts() {
    replay("plan_text", 8, plan_text::check);
}

#[test]
fn canonical_json_texts() {
    replay("canonical_json", 10, canonical_json::check);
}

#[test]
fn event_sequences() {
    replay("event_decode", 3, event_decode::check);
}

#[test]
fn contract_expressions() {
    replay("contract_expr", 20, contract_expr::check);
}

#[test]
fn http_answers() {
    replay("http_answer", 15, http_answer::check);
}
