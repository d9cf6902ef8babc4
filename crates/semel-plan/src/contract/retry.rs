//! `retry.on`: which answers that are proven to have changed nothing, and may pass later, are tried again.
//!
//! Invariant: it only takes away. What is unknown stays unknown whatever is listed, and what was never sent is tried
//! again as `offline` says.

use crate::{
    problem::{At, Problems},
    yaml::{Fields, Node, Value},
};

/// The word for requests of which no byte left; it may stand in the list, and changes nothing.
const NOT_SENT: &str = "not_sent";
/// Words for what proves nothing.
const UNKNOWN: [&str; 5] = ["timeout", "time_out", "lost", "reset", "unknown"];

/// The statuses that are listed; `None` when every answer that may pass is tried again.
pub(super) fn on(f: &mut Fields<'_>, problems: &mut Problems) -> Option<Vec<u16>> {
    f.node("retry")?.as_map()?;
    let mut retry = f.map("retry", problems)?;
    let items = retry.list("on", problems)?;
    let path = retry.path_of("on");
    let read = |(i, node): (usize, &Node)| {
        if node.as_text() == Some(NOT_SENT) {
            return None;
        }
        let path = format!("{path}[{i}]");
        let found = status(node, &path);
        if found.is_none() {
            let at = At { file: f.file(), span: node.span, path: &path };
            problems.error("SM4203", at, refused(node), "list statuses such as 429, or `not_sent`");
        }
        found
    };
    Some(items.iter().enumerate().filter_map(read).collect())
}

fn status(node: &Node, path: &str) -> Option<u16> {
    let Value::Number(_) = &node.value else { return None };
    let number = node.to_json(path, &mut Problems::new())?.as_i64()?;
    u16::try_from(number).ok().filter(|status| (100..600).contains(status))
}

fn refused(node: &Node) -> String {
    match node.as_text() {
        Some(word) if UNKNOWN.contains(&word) => {
            format!("`{word}` proves nothing, so it is reconciled and never simply tried again")
        }
        Some(_) | None => "this is no status of an answer".to_owned(),
    }
}
