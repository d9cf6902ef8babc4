//! A text that we take for JSON is JSON, means what others read in it, and has one canonical text.

use semel_kernel::json::Json;
use serde_json::Value;

/// True when the input got as far as the property itself.
pub(crate) fn check(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let Ok(json) = Json::parse(text) else { return false };
    let canonical = json.canonical();
    let again = Json::parse(&canonical).unwrap_or_else(|e| panic!("{e}: {canonical}"));
    assert_eq!(again, json, "{canonical}");
    assert_eq!(again.canonical(), canonical);
    // We are the stricter one: what we take, serde_json takes, and reads the same in it.
    let other: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("only we take it: {e}: {text}"));
    assert!(same(&json, &other), "{canonical} is not {other}");
    let stored: Json = serde_json::from_str(&canonical).unwrap_or_else(|e| panic!("{e}: {canonical}"));
    assert_eq!(stored, json, "what is stored is read back through serde");
    true
}

fn same(ours: &Json, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Json::Null, Value::Null) => true,
        (Json::Bool(a), Value::Bool(b)) => a == b,
        // −0 is stored as 0; `==` on doubles says that they are equal.
        (Json::Num(a), Value::Number(b)) => b.as_f64().is_some_and(|b| a.as_f64() == b),
        (Json::Str(a), Value::String(b)) => a == b,
        (Json::Arr(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Obj(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => false,
    }
}
