//! SQL by noun, and how values stand in columns.
//!
//! Invariant: no rule lives here; statements are short and their texts are constants, except for lists.

pub(crate) mod artifact;
pub(crate) mod checkpoint;
pub(crate) mod meta;
pub(crate) mod operation;
pub(crate) mod prepared;
pub(crate) mod review;
pub(crate) mod session;
pub(crate) mod task;
pub(crate) mod turn;

use rusqlite::{Error, Row, types::Type};
use serde::{Deserialize, Serialize, de::IntoDeserializer};
use std::str::FromStr;

/// A number as SQLite keeps it; those of ours never reach the end of its range.
pub(crate) fn int(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// A number of ours; a negative one in the file reads as 0.
pub(crate) fn uint(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

/// The stored word of an enum without data.
pub(crate) fn word<T: Serialize>(value: &T) -> rusqlite::Result<String> {
    let text = serde_json::to_string(value).map_err(|e| Error::ToSqlConversionFailure(Box::new(e)))?;
    Ok(text.trim_matches('"').to_owned())
}

fn bad(at: usize, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::FromSqlConversionFailure(at, Type::Text, Box::new(error))
}

/// The enum behind a stored word.
pub(crate) fn from_word<T: for<'de> Deserialize<'de>>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(at)?.as_str()?;
    T::deserialize(text.into_deserializer()).map_err(|e: serde::de::value::Error| bad(at, e))
}

/// The id in a column.
pub(crate) fn id<T>(row: &Row<'_>, at: usize) -> rusqlite::Result<T>
where
    T: TryFrom<String>,
    T::Error: std::error::Error + Send + Sync + 'static,
{
    T::try_from(row.get::<_, String>(at)?).map_err(|e| bad(at, e))
}

/// The id in a column that may be empty.
pub(crate) fn some_id<T>(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<T>>
where
    T: TryFrom<String>,
    T::Error: std::error::Error + Send + Sync + 'static,
{
    row.get::<_, Option<String>>(at)?.map(|text| T::try_from(text).map_err(|e| bad(at, e))).transpose()
}

/// What a column's text parses to.
pub(crate) fn parsed<T>(row: &Row<'_>, at: usize) -> rusqlite::Result<T>
where
    T: FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    row.get_ref(at)?.as_str()?.parse().map_err(|e| bad(at, e))
}

/// What a column's JSON is.
pub(crate) fn json<T: for<'de> Deserialize<'de>>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    serde_json::from_str(row.get_ref(at)?.as_str()?).map_err(|e| bad(at, e))
}

/// The first text after all texts that begin with `prefix`.
pub(crate) fn end_of(prefix: &str) -> String {
    format!("{prefix}\u{10FFFF}")
}

/// More rows than this behind a prefix are not sorted: the list's own order is walked instead, where so common a
/// prefix is met soon.
pub(crate) const NARROW: i64 = 1_000;

#[cfg(test)]
mod plans;
