//! JSON values as Semel hashes, compares and stores them.
//!
//! Invariant: every number is finite and every integral number lies within ±(2^53−1), so equal
//! values have one canonical text (RFC 8785) and different values never share one.
//! This module must not know what the values mean: no contracts, no operations, no stores.

mod canon;
mod error;
mod parse;
mod serde_impl;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

pub(crate) use canon::write_object;
pub use error::{JsonError, JsonErrorKind};

/// The greatest integer that a number may hold, 2^53−1; its negative is the least.
pub const MAX_SAFE_INTEGER: i64 = 9_007_199_254_740_991;

/// The deepest nesting of arrays and objects that the parser follows.
pub const MAX_DEPTH: usize = 64;

/// A JSON value whose numbers can all be written exactly by RFC 8785.
///
/// A field that must tell an absent value from `null` may not be an `Option<Json>` in a serde
/// struct, because serde reads `null` there as `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Num(Num),
    /// A text.
    Str(String),
    /// An ordered list; the order is part of the value.
    Arr(Vec<Json>),
    /// Named members; their order is not part of the value.
    Obj(BTreeMap<String, Json>),
}

/// A finite number that RFC 8785 can carry: any integer lies within ±(2^53−1); −0 is stored as 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Num(f64);

// A Num is never NaN, so its equality is total.
impl Eq for Num {}

impl Num {
    /// Takes a whole number.
    ///
    /// # Errors
    /// [`JsonErrorKind::UnsafeInteger`] beyond ±(2^53−1).
    pub fn from_i64(value: i64) -> Result<Num, JsonErrorKind> {
        if value.unsigned_abs() > MAX_SAFE_INTEGER.unsigned_abs() {
            return Err(JsonErrorKind::unsafe_integer(&format!("{value}")));
        }
        Ok(Num(value as f64))
    }

    /// Takes a double; −0 becomes 0.
    ///
    /// # Errors
    /// [`JsonErrorKind::NotFinite`] for NaN and infinities, [`JsonErrorKind::UnsafeInteger`] beyond
    /// ±(2^53−1), where every double is integral.
    pub fn from_f64(value: f64) -> Result<Num, JsonErrorKind> {
        if !value.is_finite() {
            return Err(JsonErrorKind::NotFinite);
        }
        if value.abs() > MAX_SAFE_INTEGER as f64 {
            return Err(JsonErrorKind::unsafe_integer(&format!("{value:e}")));
        }
        Ok(Num(if value == 0.0 { 0.0 } else { value }))
    }

    /// The number as a double; always exact.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0
    }

    /// The number as an integer, or `None` when it has a fraction.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        let whole = self.0 as i64;
        (whole as f64 == self.0).then_some(whole)
    }
}

impl From<i32> for Num {
    fn from(value: i32) -> Num {
        Num(f64::from(value))
    }
}

impl From<u32> for Num {
    fn from(value: u32) -> Num {
        Num(f64::from(value))
    }
}

/// Bounds for text that comes from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The greatest length of the text in bytes.
    pub bytes: usize,
    /// The deepest nesting; a value above [`MAX_DEPTH`] counts as [`MAX_DEPTH`].
    pub depth: usize,
}

impl Limits {
    /// The arguments of one call: 256 KiB.
    pub const ARGUMENTS: Limits = Limits { bytes: 256 << 10, depth: MAX_DEPTH };
    /// One plan: 1 MiB.
    pub const PLAN: Limits = Limits { bytes: 1 << 20, depth: MAX_DEPTH };
    /// One answer of a target: 64 MiB.
    pub const RESPONSE: Limits = Limits { bytes: 64 << 20, depth: MAX_DEPTH };
}

impl Default for Limits {
    /// The widest bounds of all, [`Limits::RESPONSE`].
    fn default() -> Limits {
        Limits::RESPONSE
    }
}

impl Json {
    /// Reads one JSON text under the default [`Limits`].
    ///
    /// # Errors
    /// A [`JsonError`] with its place for anything that is not strict JSON or that could not be
    /// written back exactly: duplicate names, unsafe integers, lone surrogates, depth above 64.
    pub fn parse(text: &str) -> Result<Json, JsonError> {
        Json::parse_with(text, Limits::default())
    }

    /// Reads one JSON text under the given limits.
    ///
    /// # Errors
    /// As [`Json::parse`].
    pub fn parse_with(text: &str, limits: Limits) -> Result<Json, JsonError> {
        parse::parse(text, limits)
    }

    /// The RFC 8785 text: no white space, names sorted by UTF-16 code units, ECMAScript numbers.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut text = String::new();
        canon::write(&mut text, self);
        text
    }

    /// The length of [`Json::canonical`] in bytes, without building it.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        let mut size = canon::Size(0);
        canon::write(&mut size, self);
        size.0
    }

    /// A text value.
    #[must_use]
    pub fn str(text: &str) -> Json {
        Json::Str(text.to_owned())
    }

    /// A whole number.
    ///
    /// # Errors
    /// [`JsonErrorKind::UnsafeInteger`] beyond ±(2^53−1); nothing is clamped or rounded.
    pub fn int(value: i64) -> Result<Json, JsonErrorKind> {
        Num::from_i64(value).map(Json::Num)
    }

    /// An object with the given members; a later member replaces an earlier one of its name.
    #[must_use]
    pub fn obj<N: Into<String>>(members: impl IntoIterator<Item = (N, Json)>) -> Json {
        Json::Obj(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    /// The member `key` of an object; `None` when it is absent or this is no object.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.as_obj()?.get(key)
    }

    /// Follows names through objects and decimal indices through arrays; an empty path is `self`.
    #[must_use]
    pub fn at(&self, path: &[&str]) -> Option<&Json> {
        path.iter().try_fold(self, |value, segment| match value {
            Json::Obj(members) => members.get(*segment),
            Json::Arr(items) => items.get(array_index(segment)?),
            Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) => None,
        })
    }

    /// The text, if this is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Json::Str(text) = self { Some(text) } else { None }
    }

    /// The whole number, if this is one; 1.5 and "1" are not.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        if let Json::Num(number) = self { number.as_i64() } else { None }
    }

    /// The number, if this is one.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        if let Json::Num(number) = self { Some(number.as_f64()) } else { None }
    }

    /// The truth value, if this is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if let Json::Bool(truth) = self { Some(*truth) } else { None }
    }

    /// The items, if this is an array.
    #[must_use]
    pub fn as_arr(&self) -> Option<&[Json]> {
        if let Json::Arr(items) = self { Some(items) } else { None }
    }

    /// The members, if this is an object.
    #[must_use]
    pub fn as_obj(&self) -> Option<&BTreeMap<String, Json>> {
        if let Json::Obj(members) = self { Some(members) } else { None }
    }

    /// Whether this is `null`; an absent member is not.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Json::Null)
    }

    /// The JSON word for the kind of value, for messages: `null`, `boolean`, `number`, `string`,
    /// `array` or `object`.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Num(_) => "number",
            Json::Str(_) => "string",
            Json::Arr(_) => "array",
            Json::Obj(_) => "object",
        }
    }
}

/// Only the canonical decimal spelling is an index, so that one place has one path.
fn array_index(segment: &str) -> Option<usize> {
    let index: usize = segment.parse().ok()?;
    (format!("{index}") == segment).then_some(index)
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::str(text)
    }
}

impl From<String> for Json {
    fn from(text: String) -> Json {
        Json::Str(text)
    }
}

impl From<bool> for Json {
    fn from(truth: bool) -> Json {
        Json::Bool(truth)
    }
}

impl From<i32> for Json {
    fn from(value: i32) -> Json {
        Json::Num(value.into())
    }
}

impl From<u32> for Json {
    fn from(value: u32) -> Json {
        Json::Num(value.into())
    }
}

impl From<Num> for Json {
    fn from(number: Num) -> Json {
        Json::Num(number)
    }
}

impl From<Vec<Json>> for Json {
    fn from(items: Vec<Json>) -> Json {
        Json::Arr(items)
    }
}

impl From<BTreeMap<String, Json>> for Json {
    fn from(members: BTreeMap<String, Json>) -> Json {
        Json::Obj(members)
    }
}
