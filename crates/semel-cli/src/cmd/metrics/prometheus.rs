//! Prometheus text exposition, version 0.0.4: counters and gauges, from which rates over any time are made there.
//!
//! Invariant: names carry base units and counters end in `_total`; a sample that has no value is left out.

use semel_engine::metrics::Measured;

/// The text, with a line feed after every line.
pub(super) fn text(measured: &Measured, plan: Option<&str>) -> String {
    let mut page = Page { text: String::new(), plan: plan.map(escaped) };
    let tally = &measured.tally;
    page.counter("tasks", "Tasks accepted.", tally.tasks);
    page.counter("tasks_taken_up", "Tasks that an owner has taken up at least once.", tally.tasks_taken_up);
    page.counter("tasks_escalated", "Tasks about which a person was asked.", tally.tasks_escalated);
    page.counter("reviews_opened", "Reviews opened.", tally.reviews_opened);
    page.head("operations_total", "counter", "Operations with an effect, sent, by guarantee.");
    for (guarantee, n) in &tally.operations {
        page.sample("operations_total", &[("guarantee", guarantee)], &n.to_string());
    }
    page.counter("attempts", "Requests recorded as STARTED.", tally.attempts);
    page.counter(
        "ambiguous_operations",
        "Operations whose outcome was in doubt at some time.",
        tally.ambiguous_operations,
    );
    page.counter("effects", "Operations with a proven effect, natural ones apart.", tally.effects);
    page.counter("effects_checked", "Effects confirmed by an independent source.", tally.effects_checked);
    page.counter("effects_duplicated", "Checked effects found more than once.", tally.effects_duplicated);
    page.counter("written_off_operations", "Operations written off: unknown for ever.", tally.written_off);
    page.counter("recoveries_started", "Recoveries begun.", tally.recoveries_started);
    page.counter("recoveries_finished", "Recoveries ended.", tally.recoveries_finished);
    page.recovery_time(tally.recovery_ms, tally.recoveries_succeeded);
    page.counter("replays", "Times that a task was taken up again.", tally.replays);
    page.counter("leases_lost", "Take-ups that found an attempt of an earlier owner.", tally.leases_lost);
    page.counter(
        "late_writes_rejected",
        "Answers that came after their owner was fenced off.",
        tally.late_writes_rejected,
    );
    page.gauge("unknown_operations", "Operations in doubt now.", &tally.unknown_now.to_string());
    if let Some(ms) = measured.oldest_unknown_ms() {
        let age = seconds(u64::try_from(ms).unwrap_or(0));
        page.gauge("oldest_unknown_age_seconds", "Age of the oldest operation in doubt.", &age);
    }
    page.text
}

struct Page {
    text: String,
    /// The plan to which the counts are narrowed, escaped: a label of every sample.
    plan: Option<String>,
}

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.text.push_str(&format!("# HELP semel_{name} {help}\n# TYPE semel_{name} {kind}\n"));
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: &str) {
        let own = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
        let plan = self.plan.iter().map(|plan| format!("plan=\"{plan}\""));
        let all: Vec<String> = plan.chain(own).collect();
        let labels = if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) };
        self.text.push_str(&format!("semel_{name}{labels} {value}\n"));
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        let name = format!("{name}_total");
        self.head(&name, "counter", help);
        self.sample(&name, &[], &value.to_string());
    }

    fn gauge(&mut self, name: &str, help: &str, value: &str) {
        self.head(name, "gauge", help);
        self.sample(name, &[], value);
    }

    /// A summary without quantiles: the mean over any time is the growth of the sum over that of the count.
    fn recovery_time(&mut self, ms: u64, count: u64) {
        self.head("recovery_duration_seconds", "summary", "Time that successful recoveries took.");
        self.sample("recovery_duration_seconds_sum", &[], &seconds(ms));
        self.sample("recovery_duration_seconds_count", &[], &count.to_string());
    }
}

/// Milliseconds as seconds, to the last digit.
fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1_000, ms % 1_000)
}

/// The value of a label: a backslash, a quote and a line feed are escaped.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_seconds_are_exact() {
        assert_eq!(escaped("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
        assert_eq!([seconds(0), seconds(1_050), seconds(60_001)], ["0.000", "1.050", "60.001"]);
    }
}
