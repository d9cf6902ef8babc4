//! Durations as people write them: `250ms`, `30s`, `5m`, `2h`, `7d`, `1h30m`, or ISO 8601 `PT30S`.
//!
//! Invariant: a duration is a whole number of milliseconds, never negative, and never guessed: a bare number is
//! refused, because it does not say its unit. Months and years are refused, because they have no fixed length.

const UNITS: [(&str, i64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Reads a duration into milliseconds.
///
/// # Errors
/// A sentence that says what is wrong and how a duration is written.
pub fn parse(text: &str) -> Result<i64, String> {
    let trimmed = text.trim();
    let read = match trimmed.strip_prefix('P') {
        Some(rest) => iso(rest),
        None => sum(trimmed, &UNITS),
    };
    read.ok_or_else(|| {
        let shown: String = trimmed.chars().take(40).collect();
        format!(
            "`{shown}` is not a duration; write a whole number and a unit: 250ms, 30s, 5m, 2h, 7d or PT30S"
        )
    })
}

/// Milliseconds in the shortest form that reads back to the same number.
#[must_use]
pub fn text(ms: i64) -> String {
    let largest = UNITS.iter().find(|(_, unit)| ms != 0 && ms % unit == 0);
    largest.map_or_else(|| format!("{ms}ms"), |(name, unit)| format!("{}{name}", ms / unit))
}

fn iso(rest: &str) -> Option<i64> {
    let (days, clock) = rest.split_once('T').map_or((rest, None), |(d, c)| (d, Some(c)));
    let days_ms = if days.is_empty() { None } else { Some(sum(days, &[("D", UNITS[0].1)])?) };
    let clock_ms = clock.map(|c| sum(c, &[("H", UNITS[1].1), ("M", UNITS[2].1), ("S", UNITS[3].1)]));
    match (days_ms, clock_ms) {
        (None, None) | (_, Some(None)) => None,
        (days_ms, clock_ms) => days_ms.unwrap_or(0).checked_add(clock_ms.flatten().unwrap_or(0)),
    }
}

/// Number and unit, repeated; each unit at most once, from large to small.
fn sum(text: &str, units: &[(&str, i64)]) -> Option<i64> {
    let (mut rest, mut units, mut total) = (text, units, 0_i64);
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, next) = tail.split_at(letters);
        let at = units.iter().position(|(name, _)| *name == unit)?;
        total = total.checked_add(number.parse::<i64>().ok()?.checked_mul(units[at].1)?)?;
        (rest, units) = (next, &units[at + 1..]);
        if rest.is_empty() {
            return Some(total);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        for (text, ms) in [
            ("250ms", 250),
            ("0s", 0),
            ("30s", 30_000),
            ("5m", 300_000),
            ("2h", 7_200_000),
            ("7d", 604_800_000),
            ("1h30m", 5_400_000),
            ("PT30S", 30_000),
            ("PT1H30M", 5_400_000),
            ("P1D", 86_400_000),
            ("P1DT2H", 93_600_000),
        ] {
            assert_eq!(parse(text), Ok(ms), "{text}");
        }
    }

    #[test]
    fn refuses_what_would_be_a_guess() {
        for text in [
            "",
            "30",
            "s",
            "1.5h",
            "-5s",
            "30 s",
            "5m1h",
            "1m1m",
            "P",
            "PT",
            "P1DT",
            "P1M",
            "PT1.5S",
            "5M",
            "99999999999999999999d",
            "9223372036854775807s",
            "ä",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_short_form_reads_back() {
        for ms in [0, 1, 250, 1_000, 90_000, 3_600_000, 86_400_000, 86_400_001] {
            assert_eq!(parse(&text(ms)), Ok(ms));
        }
        assert_eq!(text(1_800_000), "30m");
    }
}
