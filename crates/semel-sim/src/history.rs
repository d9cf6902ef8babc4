//! The history of a run, for people: events without what everybody knows.

/// One event, cut to what can be read at a glance.
#[must_use]
pub fn line(text: &str) -> String {
    let most = 220;
    let short: String = text.chars().take(most).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}
