//! Metrics for programs: every rate as value, numerator and denominator; `null` where there is nothing to divide by.

use super::{Shown, Unit, counts, rates};
use semel_engine::metrics::{Chosen, Measured};
use serde_json::{Map, Value, json};

pub(super) fn of(measured: &Measured, chosen: &Chosen) -> Value {
    let metrics: Map<String, Value> =
        rates(measured).iter().map(|shown| (shown.name.to_owned(), rate(shown))).collect();
    let counts: Map<String, Value> =
        counts(measured).iter().map(|(name, n)| ((*name).to_owned(), Value::from(*n))).collect();
    json!({
        "v": 1,
        "measured_at": measured.at,
        "plan": chosen.filter.name,
        "since_at": chosen.since,
        "metrics": metrics,
        "counts": counts,
        "operations": measured.tally.operations,
        "oldest_unknown_ms": measured.oldest_unknown_ms(),
    })
}

fn rate(shown: &Shown) -> Value {
    let unit = match shown.unit {
        Unit::Share => "ratio",
        Unit::Ms => "ms",
        Unit::Each => "count",
    };
    let mut value = json!({
        "value": shown.rate.value(),
        "unit": unit,
        "numerator": shown.rate.numerator,
        "denominator": shown.rate.denominator,
        "among": shown.among,
    });
    if let (true, Some(members)) = (shown.bounded, value.as_object_mut()) {
        members.insert("upper_bound_95".to_owned(), shown.rate.upper_bound().into());
    }
    value
}
