//! Moments and spans in words.

use semel_engine::view::clock::length;
use semel_kernel::time::Millis;

/// RFC 3339 in UTC, to the second.
pub(crate) fn moment(at: Millis) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map_or_else(|_| at.to_string(), |t| t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// The time of day in UTC, to the millisecond.
pub(crate) fn clock(at: Millis) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map_or_else(|_| at.to_string(), |t| t.strftime("%H:%M:%S%.3f").to_string())
}

/// A length of time in its two largest units.
pub(crate) fn span(ms: i64) -> String {
    length(ms)
}

/// How long something lasts, for a cell of a table: `now` or `12 s`.
pub(crate) fn age(at: Millis, now: Millis) -> String {
    match now.since(at) {
        ..1_000 => "now".to_owned(),
        ms => length(ms),
    }
}

/// How long ago, for a sentence: `just now` or `12 s ago`.
pub(crate) fn ago(at: Millis, now: Millis) -> String {
    match now.since(at) {
        ..1_000 => "just now".to_owned(),
        ms => format!("{} ago", length(ms)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_younger_than_a_second_is_now() {
        let at = |ms| (age(Millis(0), Millis(ms)), ago(Millis(0), Millis(ms)));
        assert_eq!(at(999), ("now".to_owned(), "just now".to_owned()));
        assert_eq!(at(12_345), ("12 s".to_owned(), "12 s ago".to_owned()));
    }
}
