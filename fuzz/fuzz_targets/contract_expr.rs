#![no_main]

use std::sync::Once;

#[path = "../../crates/semel-plan/tests/corpus/contract_expr.rs"]
mod property;

static HOOK: Once = Once::new();

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    // The CEL crate may panic and is caught, which is what production does; libFuzzer's own hook would end the process
    // before that. A panic that is not caught still ends it.
    HOOK.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    let _ = property::check(data);
});
