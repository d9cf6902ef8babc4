//! JSON to CEL and back.
//!
//! Invariant: a whole JSON number becomes a signed CEL integer at every depth, and nothing comes back that canonical
//! JSON could not keep exactly.

use cel::{
    Value,
    common::{
        types::{CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString},
        value::Val,
    },
    objects::Key,
};
use semel_kernel::json::{Json, MAX_DEPTH, Num};
use std::collections::{BTreeMap, HashMap};

/// The value as CEL sees it; texts are borrowed.
pub(super) fn to_cel<'v>(json: &'v Json) -> Box<dyn Val + 'v> {
    match json {
        Json::Null => Box::new(CelNull),
        Json::Bool(truth) => Box::new(CelBool::from(*truth)),
        Json::Num(number) => match number.as_i64() {
            Some(whole) => Box::new(CelInt::from(whole)),
            None => Box::new(CelDouble::from(number.as_f64())),
        },
        Json::Str(text) => Box::new(CelString::from(text.as_str())),
        Json::Arr(items) => Box::new(CelList::from(items.iter().map(to_cel).collect::<Vec<_>>())),
        Json::Obj(members) => {
            let entries = members.iter().map(|(name, value)| (CelMapKey::from(name.as_str()), to_cel(value)));
            Box::new(CelMap::from(entries.collect::<HashMap<_, _>>()))
        }
    }
}

/// The result of an expression as JSON.
pub(super) fn from_cel(value: &Value) -> Result<Json, String> {
    from_cel_at(value, 0)
}

fn from_cel_at(value: &Value, depth: usize) -> Result<Json, String> {
    if depth > MAX_DEPTH {
        return Err(format!("the result is nested deeper than {MAX_DEPTH}"));
    }
    match value {
        Value::Null => Ok(Json::Null),
        Value::Bool(truth) => Ok(Json::Bool(*truth)),
        Value::Int(whole) => Num::from_i64(*whole).map(Json::Num).map_err(|e| e.to_string()),
        Value::UInt(whole) => uint(*whole),
        Value::Float(double) => Num::from_f64(*double).map(Json::Num).map_err(|e| e.to_string()),
        Value::String(text) => Ok(Json::str(text)),
        Value::List(items) => {
            items.iter().map(|i| from_cel_at(i, depth + 1)).collect::<Result<_, _>>().map(Json::Arr)
        }
        Value::Map(map) => {
            let members = map.map.iter().map(|(key, v)| Ok((name(key)?, from_cel_at(v, depth + 1)?)));
            members.collect::<Result<BTreeMap<_, _>, String>>().map(Json::Obj)
        }
        Value::Bytes(_) | Value::Function(..) | Value::Opaque(_) | Value::Struct(_) => {
            Err(format!("the result is {}, which JSON cannot hold", value.type_of()))
        }
    }
}

fn uint(whole: u64) -> Result<Json, String> {
    let signed = i64::try_from(whole).map_err(|_| format!("{whole} lies beyond ±9007199254740991"))?;
    Num::from_i64(signed).map(Json::Num).map_err(|e| e.to_string())
}

fn name(key: &Key) -> Result<String, String> {
    match key {
        Key::String(text) => Ok(text.as_str().to_owned()),
        Key::Int(_) | Key::Uint(_) | Key::Bool(_) => Err(format!("the map key {key} is not a text")),
    }
}
