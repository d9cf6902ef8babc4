#![no_main]

#[path = "../../crates/semel-plan/tests/corpus/canonical_json.rs"]
mod property;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = property::check(data);
});
