//! The exact commands that are offered, all in one place; their nouns and verbs are those of DESIGN section 17.
//!
//! Invariant: every id is written so that a shell passes it on unchanged.

use semel_kernel::{
    id::{OperationId, ReviewId, TaskId},
    review::{Decision, Review},
    task::Task,
};

use super::clock;

/// The text as a shell passes it on unchanged: item names carry brackets, which shells expand.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./@%:,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

pub(crate) fn task(verb: &str, id: &TaskId) -> String {
    format!("semel task {verb} {id}")
}

pub(crate) fn dry_run(id: &TaskId) -> String {
    format!("semel task recover {id} --dry-run")
}

pub(crate) fn why(id: &TaskId) -> String {
    format!("semel why {id}")
}

pub(crate) fn worker() -> String {
    "semel worker".to_owned()
}

pub(crate) fn explain(code: &str) -> String {
    format!("semel explain {code}")
}

pub(crate) fn op(verb: &str, id: &OperationId) -> String {
    format!("semel op {verb} {}", quoted(id.as_str()))
}

pub(crate) fn settle_happened(id: &OperationId) -> String {
    format!("{} --happened --ref REFERENCE --reason REASON", op("settle", id))
}

pub(crate) fn settle_did_not(id: &OperationId) -> String {
    format!("{} --did-not --reason REASON", op("settle", id))
}

pub(crate) fn review(verb: &str, id: &ReviewId) -> String {
    format!("semel review {verb} {id}")
}

/// The whole answer, with the version of the page that it is read from; what moves the record wants a reason.
pub(crate) fn decide(task: &Task, asked: &Review, decision: &Decision) -> String {
    let flags = match decision {
        Decision::ItHappened { reference, .. } => {
            format!("--happened --ref {} --reason REASON", quoted(reference))
        }
        Decision::ItDidNot => "--did-not --reason REASON".to_owned(),
        Decision::AskAgain => "--ask-again".to_owned(),
        Decision::WaitUntil { at } => format!("--wait-until {}", clock::utc(*at)),
        Decision::Skip => "--skip --reason REASON".to_owned(),
        Decision::WriteOff => "--write-off --reason REASON".to_owned(),
        Decision::Abort => "--abort --reason REASON".to_owned(),
        Decision::GoOn => "--go-on".to_owned(),
    };
    format!("{} {flags} --page {}", review("decide", &asked.id), task.page(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_passes_ids_on_unchanged() {
        assert_eq!(quoted("tsk_1/charge/o-1%2F2@1"), "tsk_1/charge/o-1%2F2@1");
        assert_eq!(quoted("tsk_1/notify[ann]/ann@1#2"), "'tsk_1/notify[ann]/ann@1#2'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
