//! `PUT /_control`: reads what a test tells a sink to do.
//!
//! Invariant: a body that is not understood in full changes nothing, so a typing error in a test
//! cannot pass as a test without a fault. It must not know what the faults do.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::fault::{Rule, Script};
use crate::http::Response;

const KEY_WINDOW: &str = "key_window_ms";

/// Applies a body to the script. An object adds one rule, or sets `key_window_ms`, or both; an array
/// replaces all rules by its own.
pub(crate) fn apply(script: &mut Script, body: &[u8]) -> Response {
    let outcome = match serde_json::from_slice(body) {
        Ok(Value::Array(rules)) => replace(script, rules),
        Ok(Value::Object(fields)) => add(script, fields),
        Ok(_) | Err(_) => Err("the body must be a JSON object or array".to_owned()),
    };
    match outcome {
        Ok(()) => Response::json(200, &json!({ "rules": script.len() })),
        Err(what) => Response::json(400, &json!({ "error": "control", "what": what })),
    }
}

fn replace(script: &mut Script, rules: Vec<Value>) -> Result<(), String> {
    let mut fresh = Script::default();
    fresh.key_window_ms = script.key_window_ms;
    for rule in rules {
        fresh.add(rule_of(rule)?)?;
    }
    *script = fresh;
    Ok(())
}

fn add(script: &mut Script, mut fields: Map<String, Value>) -> Result<(), String> {
    let window = fields.remove(KEY_WINDOW);
    let window_ms = window.as_ref().map(window_of).transpose()?;
    if !fields.is_empty() || window_ms.is_none() {
        script.add(rule_of(Value::Object(fields))?)?;
    }
    if let Some(window_ms) = window_ms {
        script.key_window_ms = window_ms;
    }
    Ok(())
}

fn window_of(value: &Value) -> Result<Option<i64>, String> {
    let window_ms = value.as_i64().filter(|ms| *ms >= 0);
    if value.is_null() || window_ms.is_some() {
        return Ok(window_ms);
    }
    Err(format!("`{KEY_WINDOW}` must be a number of milliseconds, or null for ever"))
}

fn rule_of(value: Value) -> Result<Rule, String> {
    Rule::deserialize(value).map_err(|error| error.to_string())
}
