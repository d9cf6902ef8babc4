//! Moments and spans in words.

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

/// `850 ms`, `12 s`, `4 m 10 s`, `3 h 2 m`, `5 d 1 h`.
pub(crate) fn span(ms: i64) -> String {
    let s = ms / 1_000;
    match ms {
        ..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{s} s"),
        60_000..3_600_000 => format!("{} m {} s", s / 60, s % 60),
        3_600_000..86_400_000 => format!("{} h {} m", s / 3_600, s / 60 % 60),
        _ => format!("{} d {} h", s / 86_400, s / 3_600 % 24),
    }
}

/// How long ago.
pub(crate) fn ago(at: Millis, now: Millis) -> String {
    span(now.since(at).max(0))
}
