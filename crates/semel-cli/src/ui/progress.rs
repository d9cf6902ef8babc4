//! Progress on long work: a bar on a terminal, plain lines elsewhere, nothing when quiet.

use super::Ui;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar over `total` things.
pub(crate) fn bar(ui: Ui, total: u64, what: &str) -> ProgressBar {
    styled(ui, Some(total), "{msg} {pos}/{len} [{bar:30}] {per_sec} eta {eta}", what)
}

/// A running count, where nobody knows how many there are.
pub(crate) fn count(ui: Ui, what: &str) -> ProgressBar {
    styled(ui, None, "{msg} {pos} {per_sec}", what)
}

fn styled(ui: Ui, total: Option<u64>, template: &str, what: &str) -> ProgressBar {
    let target =
        if ui.quiet || ui.json { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(total, target);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(what.to_owned());
    bar
}
