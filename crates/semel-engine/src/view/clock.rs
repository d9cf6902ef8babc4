//! Moments and lengths of time in words: RFC 3339 in UTC, and "in 12 s".
//!
//! Invariant: a pure function of its arguments; a moment that no date can name is said to be none, never clamped to a
//! wrong one.

use semel_kernel::time::{Millis, Now};

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// From here on milliseconds are noise.
const FAR_AHEAD_MS: i64 = 10 * SECOND_MS;
const FAR_BACK_MS: i64 = -FAR_AHEAD_MS;

/// The first and the last moment that RFC 3339 can write, in milliseconds since 1970.
const FIRST_MS: i64 = -62_167_219_200_000;
const LAST_MS: i64 = 253_402_300_799_999;

/// The moment as RFC 3339 in UTC; milliseconds only where there are any.
#[must_use]
pub fn utc(at: Millis) -> String {
    if at.0 > LAST_MS {
        return "no date".to_owned();
    }
    if at.0 < FIRST_MS {
        return "before any date".to_owned();
    }
    let (year, month, day) = civil(at.0.div_euclid(DAY_MS));
    let rest = at.0.rem_euclid(DAY_MS);
    let (hour, minute) = (rest / HOUR_MS, rest % HOUR_MS / MINUTE_MS);
    let (second, milli) = (rest % MINUTE_MS / SECOND_MS, rest % SECOND_MS);
    let fraction = if milli == 0 { String::new() } else { format!(".{milli:03}") };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// Year, month and day of a day number counted from 1970-01-01, in the proleptic Gregorian calendar.
///
/// Years are counted from March, so that the leap day is the last of its year and needs no case of its own.
fn civil(day_number: i64) -> (i64, i64, i64) {
    let shifted = day_number + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + 400 * era + i64::from(month <= 2), month, day)
}

/// A length of time in its two largest units; the sign is dropped.
#[must_use]
pub fn length(ms: i64) -> String {
    let ms = ms.saturating_abs();
    match ms {
        0..SECOND_MS => format!("{ms} ms"),
        SECOND_MS..MINUTE_MS => format!("{} s", ms / SECOND_MS),
        MINUTE_MS..HOUR_MS => pair(ms, (MINUTE_MS, "min"), (SECOND_MS, "s")),
        HOUR_MS..DAY_MS => pair(ms, (HOUR_MS, "h"), (MINUTE_MS, "min")),
        _ => pair(ms, (DAY_MS, "d"), (HOUR_MS, "h")),
    }
}

fn pair(ms: i64, great: (i64, &str), small: (i64, &str)) -> String {
    let rest = ms % great.0 / small.0;
    let head = format!("{} {}", ms / great.0, great.1);
    if rest == 0 { head } else { format!("{head} {rest} {}", small.1) }
}

/// The moment as seen from the present: "in 12 s", "12 s ago", "now".
#[must_use]
pub fn relative(at: Millis, now: Now) -> String {
    let ahead = at.since(now.at);
    match ahead {
        -999..SECOND_MS => "now".to_owned(),
        SECOND_MS.. => format!("in {}", length(ahead)),
        _ => format!("{} ago", length(ahead)),
    }
}

/// The moment and how far it is: `2026-11-30T02:14:31Z (in 12 s)`.
#[must_use]
pub fn when(at: Millis, now: Now) -> String {
    if at.0 > LAST_MS || at.0 < FIRST_MS {
        return utc(at);
    }
    format!("{} ({})", utc(rounded(at, now)), relative(at, now))
}

/// Far moments are told to the second: the past ones down, and the coming ones up, so that nothing is said to be
/// possible before it is.
const fn rounded(at: Millis, now: Now) -> Millis {
    let (ahead, rest) = (at.since(now.at), at.0.rem_euclid(SECOND_MS));
    match ahead {
        _ if rest == 0 => at,
        ..=FAR_BACK_MS => at.plus(-rest),
        FAR_AHEAD_MS.. => at.plus(SECOND_MS - rest),
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let text = |ms| utc(Millis(ms));
        assert_eq!(text(0), "1970-01-01T00:00:00Z");
        assert_eq!(text(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(text(951_782_400_000), "2000-02-29T00:00:00Z");
        assert_eq!(text(951_868_800_000), "2000-03-01T00:00:00Z");
        assert_eq!(text(1_796_004_871_250), "2026-11-30T02:14:31.250Z");
        assert_eq!(text(FIRST_MS), "0000-01-01T00:00:00Z");
        assert_eq!(text(LAST_MS), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn what_no_date_can_name_is_said_to_be_none() {
        assert_eq!(utc(Millis::MAX), "no date");
        assert_eq!(utc(Millis::MIN), "before any date");
        assert_eq!(when(Millis::MAX, Now::steady(Millis(0))), "no date");
    }

    #[test]
    fn lengths_have_at_most_two_units() {
        let cases = [
            (0, "0 ms"),
            (999, "999 ms"),
            (12_000, "12 s"),
            (270_000, "4 min 30 s"),
            (3_600_000, "1 h"),
            (86_340_000, "23 h 59 min"),
            (-273_600_000, "3 d 4 h"),
        ];
        for (ms, words) in cases {
            assert_eq!(length(ms), words);
        }
        assert_eq!(relative(Millis(5_000), Now::steady(Millis(17_000))), "12 s ago");
        assert_eq!(relative(Millis(17_000), Now::steady(Millis(5_000))), "in 12 s");
        assert_eq!(relative(Millis(5_999), Now::steady(Millis(5_000))), "now");
    }

    #[test]
    fn far_moments_have_no_milliseconds_and_a_coming_one_is_not_told_too_early() {
        let now = Now::steady(Millis(60_000));
        assert_eq!(when(Millis(61_250), now), "1970-01-01T00:01:01.250Z (in 1 s)");
        assert_eq!(when(Millis(80_250), now), "1970-01-01T00:01:21Z (in 20 s)");
        assert_eq!(when(Millis(40_250), now), "1970-01-01T00:00:40Z (19 s ago)");
    }
}
