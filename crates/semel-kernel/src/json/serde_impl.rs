//! Json inside types that serde stores, such as events.
//!
//! Invariant: a value that was written is read back equal, and reading is as strict as the parser
//! about numbers and duplicate names. Depth is the reader's own limit here (128 in `serde_json`),
//! so that a value which grew a few levels inside an event can still be read back.
//! Doubles survive only if `serde_json` has its feature `float_roundtrip`.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::{Json, JsonErrorKind, Num};

impl Serialize for Num {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.as_i64() {
            Some(whole) => serializer.serialize_i64(whole),
            None => serializer.serialize_f64(self.as_f64()),
        }
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(truth) => serializer.serialize_bool(*truth),
            Json::Num(number) => number.serialize(serializer),
            Json::Str(text) => serializer.serialize_str(text),
            Json::Arr(items) => serializer.collect_seq(items),
            Json::Obj(members) => serializer.collect_map(members),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value with integers within ±9007199254740991")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_none<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        Json::deserialize(deserializer)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Json, E> {
        Ok(Json::Bool(truth))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Json, E> {
        number(Num::from_i64(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Json, E> {
        let kept = i64::try_from(value).map_err(|_| unsafe_integer(value));
        number(kept.and_then(Num::from_i64))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Json, E> {
        number(Num::from_f64(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::str(text))
    }

    fn visit_string<E>(self, text: String) -> Result<Json, E> {
        Ok(Json::Str(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Json::Arr(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut members = BTreeMap::new();
        while let Some((name, value)) = access.next_entry::<String, Json>()? {
            if members.contains_key(&name) {
                return Err(de::Error::custom(JsonErrorKind::DuplicateName { name }));
            }
            members.insert(name, value);
        }
        Ok(Json::Obj(members))
    }
}

fn unsafe_integer(value: u64) -> JsonErrorKind {
    JsonErrorKind::unsafe_integer(&alloc::format!("{value}"))
}

fn number<E: de::Error>(read: Result<Num, JsonErrorKind>) -> Result<Json, E> {
    read.map(Json::Num).map_err(E::custom)
}
