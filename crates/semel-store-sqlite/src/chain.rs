//! The hash chain of a task's events (DESIGN section 8).
//!
//! `chain(n) = SHA-256(chain(n-1), task, seq, at, schema, SHA-256(event json))`, each part after its length. It runs
//! over events; a turn's row keeps the chain after its last one. The stored text is hashed, never a re-encoding, so an
//! upcast cannot break a chain. It proves edits, removals and swaps; what it cannot prove is that the end was cut off
//! together with the task's row.

use semel_kernel::{hash::Hash, id::TaskId, time::Millis};

/// Head of a chain.
pub(crate) type Link = [u8; 32];

/// The chain before the first event.
pub(crate) const START: Link = [0; 32];

/// What of an event is not in its body.
pub(crate) struct Header<'a> {
    pub(crate) task: &'a TaskId,
    pub(crate) seq: u64,
    pub(crate) at: Millis,
    pub(crate) schema: u32,
}

/// The chain after one more event, whose stored text has the hash `body`.
pub(crate) fn next(previous: &Link, header: &Header<'_>, body: &Hash) -> Link {
    let parts: [&[u8]; 6] = [
        previous,
        header.task.as_str().as_bytes(),
        &header.seq.to_be_bytes(),
        &header.at.0.to_be_bytes(),
        &header.schema.to_be_bytes(),
        body.as_bytes(),
    ];
    *Hash::of_parts(&parts).as_bytes()
}

/// The chain after all events of a turn; the header is that of the first.
pub(crate) fn extend<'h>(
    previous: Link,
    first: &Header<'_>,
    bodies: impl IntoIterator<Item = &'h Hash>,
) -> Link {
    let link = |(link, seq): (Link, u64), body: &'h Hash| {
        let header = Header { seq, ..*first };
        (next(&link, &header, body), seq.saturating_add(1))
    };
    bodies.into_iter().fold((previous, first.seq), link).0
}

/// Joins event texts into the stored JSON array, one event a line. An event's text holds no raw line break, so it can
/// be cut out again byte by byte.
pub(crate) fn join(events: &[String]) -> String {
    format!("[{}]", events.join(",\n"))
}

/// The texts of the events of a stored turn; `None` when it is not of that form.
pub(crate) fn split(stored: &str) -> Option<impl Iterator<Item = &str>> {
    Some(stored.strip_prefix('[')?.strip_suffix(']')?.split(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(events: &[(u64, &str)]) -> Link {
        let task = TaskId::parse("tsk_a").expect("an id");
        events.iter().fold(START, |link, (seq, text)| {
            let header = Header { task: &task, seq: *seq, at: Millis(5), schema: 1 };
            next(&link, &header, &Hash::of(text.as_bytes()))
        })
    }

    #[test]
    fn every_edit_changes_the_chain() {
        let whole = chain(&[(1, "a"), (2, "b"), (3, "c")]);
        assert_ne!(whole, chain(&[(1, "a"), (2, "B"), (3, "c")]), "edited");
        assert_ne!(whole, chain(&[(1, "a"), (3, "c")]), "removed");
        assert_ne!(whole, chain(&[(1, "b"), (2, "a"), (3, "c")]), "swapped");
    }

    #[test]
    fn a_turn_is_the_chain_of_its_events() {
        let task = TaskId::parse("tsk_a").expect("an id");
        let first = Header { task: &task, seq: 1, at: Millis(5), schema: 1 };
        let bodies = [Hash::of(b"a"), Hash::of(b"b")];
        assert_eq!(extend(START, &first, &bodies), chain(&[(1, "a"), (2, "b")]));
    }

    #[test]
    fn texts_come_back_byte_by_byte() {
        let events = vec![r#"{"a":"x,\ny"}"#.to_owned(), r#"{"b":[1,2]}"#.to_owned()];
        let stored = join(&events);
        assert_eq!(split(&stored).expect("it is of the form").collect::<Vec<_>>(), events);
    }
}
