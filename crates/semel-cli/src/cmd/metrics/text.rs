//! Metrics for people: a table in which no rate stands without what it was counted from.

use super::{Shown, Unit, counts, rates};
use crate::ui::{count, table::table, time};
use semel_engine::metrics::{Chosen, Measured, Rate, rate::CERTAINTY};

pub(super) fn of(measured: &Measured, chosen: &Chosen) -> String {
    let mut rows: Vec<[String; 3]> = rates(measured).iter().map(row).collect();
    let counted = counts(measured).map(|(name, n)| [name.to_owned(), n.to_string(), noun(name).to_owned()]);
    rows.extend(counted);
    let oldest = measured.oldest_unknown_ms().map_or_else(|| "none".to_owned(), time::span);
    rows.push(["oldest_unknown".to_owned(), oldest, "age of the oldest operation in doubt".to_owned()]);
    let table = table(["METRIC", "VALUE", "COUNTED"], rows);
    format!("{table}\n\n{}", scope(measured, chosen))
}

fn row(shown: &Shown) -> [String; 3] {
    let Rate { numerator, denominator } = shown.rate;
    let Some(value) = shown.rate.value() else {
        let none = format!("none yet ({numerator} of {denominator})");
        return [shown.name.to_owned(), none, shown.among.to_owned()];
    };
    let value = match shown.unit {
        Unit::Share => percent(value),
        Unit::Ms => time::span(rounded(value)),
        Unit::Each => format!("{value:.2}"),
    };
    let bound = shown.rate.upper_bound().filter(|_| shown.bounded);
    let bound = bound.map_or_else(String::new, |b| format!(", at most {} at {CERTAINTY} %", percent(b)));
    let among = match shown.unit {
        Unit::Share => format!("{numerator} of {denominator} {}{bound}", shown.among),
        Unit::Ms | Unit::Each => format!("{} in {denominator} {}", top(shown), shown.among),
    };
    [shown.name.to_owned(), value, among]
}

/// The numerator, in its unit.
fn top(shown: &Shown) -> String {
    let n = shown.rate.numerator;
    match shown.unit {
        Unit::Share | Unit::Each => n.to_string(),
        Unit::Ms => time::span(i64::try_from(n).unwrap_or(i64::MAX)),
    }
}

fn rounded(ms: f64) -> i64 {
    ms.round() as i64
}

/// Never so rounded that little becomes nothing, or nearly all becomes all.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        _ if share <= 0.0 => "0 %".to_owned(),
        _ if share >= 1.0 => "100 %".to_owned(),
        _ if percent < 0.01 => "under 0.01 %".to_owned(),
        _ if percent < 10.0 => format!("{percent:.2} %"),
        _ if percent > 99.9 => "over 99.9 %".to_owned(),
        _ => format!("{percent:.1} %"),
    }
}

fn noun(name: &str) -> &'static str {
    match name {
        "unknown_now" => "operations in doubt now",
        "written_off" => "operations that stay unknown for ever",
        "leases_lost" => "take-ups that found an attempt of an earlier owner under way",
        "late_writes_rejected" => "answers that came after their owner was fenced off",
        "reviews_opened" => "questions to a person",
        "recoveries_started" => "recoveries, those under way among them",
        _ => "requests recorded as STARTED",
    }
}

fn scope(measured: &Measured, chosen: &Chosen) -> String {
    let plan = chosen.filter.name.as_ref().map_or_else(String::new, |name| format!(" of plan `{name}`"));
    let since = chosen.since.map_or_else(String::new, |at| format!(" accepted since {}", time::moment(at)));
    let old = if chosen.since.is_some() { "; what is in doubt now, whatever its age" } else { "" };
    let unseen = measured.tally.effects.saturating_sub(measured.tally.effects_checked);
    let unseen = if unseen == 0 {
        String::new()
    } else {
        let all = measured.tally.effects;
        format!(
            "\n{unseen} of {all} proven effects were checked by nobody else: a duplicate of those is not seen"
        )
    };
    format!("counted over {}{plan}{since}{old}{unseen}", count(measured.tally.tasks, "task"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_never_rounds_to_none_or_to_all() {
        for (share, text) in [
            (0.0, "0 %"),
            (0.000_01, "under 0.01 %"),
            (0.000_5, "0.05 %"),
            (0.25, "25.0 %"),
            (0.999_9, "over 99.9 %"),
            (1.0, "100 %"),
        ] {
            assert_eq!(percent(share), text, "{share}");
        }
    }

    #[test]
    fn few_checks_allow_much_and_the_table_says_how_much() {
        let duplicates = |numerator, denominator| {
            let rate = Rate { numerator, denominator };
            row(&Shown { name: "x", rate, unit: Unit::Share, among: "checked effects", bounded: true })
        };
        assert_eq!(duplicates(0, 0), ["x", "none yet (0 of 0)", "checked effects"]);
        let none = ["x", "0 %", "0 of 100 checked effects, at most 2.95 % at 95 %"];
        assert_eq!(duplicates(0, 100), none);
        let five = ["x", "5.00 %", "5 of 100 checked effects, at most 10.2 % at 95 %"];
        assert_eq!(duplicates(5, 100), five);
    }
}
