//! JSON Schema, behind one door.
//!
//! Invariant: a schema is compiled once, when its contract is read, and never fetches anything: a reference to
//! elsewhere is refused.

use jsonschema::{PatternOptions, Validator};
use semel_kernel::json::Json;
use std::sync::Arc;

/// Violations that are told; the rest would only repeat them.
const MOST_TOLD: usize = 5;

/// Steps a pattern may take before it counts as not matching.
const PATTERN_STEPS: usize = 100_000;

/// A compiled schema.
#[derive(Clone, Debug)]
pub struct Schema(Arc<Validator>);

/// One violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where in the value, as `/lines/2/sku`; empty for the value itself.
    pub path: String,
    /// What is wrong, without the value, which may be secret.
    pub message: String,
}

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// A sentence: it is no schema, or it refers to another document.
    pub fn compile(schema: &Json) -> Result<Schema, String> {
        let patterns = PatternOptions::fancy_regex().backtrack_limit(PATTERN_STEPS);
        let options = jsonschema::options().offline().with_pattern_options(patterns);
        let built = options.build(&to_serde(schema)).map_err(|e| e.masked().to_string())?;
        Ok(Schema(Arc::new(built)))
    }

    /// The first violations of a value; empty when it fits.
    #[must_use]
    pub fn violations(&self, value: &Json) -> Vec<Violation> {
        let value = to_serde(value);
        let told = self.0.iter_errors(&value).take(MOST_TOLD);
        told.map(|e| Violation { path: e.instance_path().to_string(), message: e.masked().to_string() })
            .collect()
    }
}

fn to_serde(json: &Json) -> serde_json::Value {
    match json {
        Json::Null => serde_json::Value::Null,
        Json::Bool(truth) => (*truth).into(),
        Json::Num(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().into(),
        },
        Json::Str(text) => text.as_str().into(),
        Json::Arr(items) => items.iter().map(to_serde).collect(),
        Json::Obj(members) => members.iter().map(|(k, v)| (k.clone(), to_serde(v))).collect(),
    }
}
