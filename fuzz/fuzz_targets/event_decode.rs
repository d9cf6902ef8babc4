#![no_main]

#[path = "../../crates/semel-plan/tests/corpus/event_decode.rs"]
mod property;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = property::check(data);
});
