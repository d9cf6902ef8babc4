//! The RFC 8785 text of a value.
//!
//! Invariant: equal values have equal texts, and the text depends on nothing but the value: not on
//! the order of a map, not on the features of another crate. It must not know about hashing.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Json, Num};

/// Where canonical text goes; unlike `fmt::Write` it cannot fail.
pub(crate) trait Sink {
    /// Takes the next piece.
    fn put(&mut self, piece: &str);
}

impl Sink for String {
    fn put(&mut self, piece: &str) {
        self.push_str(piece);
    }
}

/// Counts bytes instead of keeping them.
pub(super) struct Size(pub(super) usize);

impl Sink for Size {
    fn put(&mut self, piece: &str) {
        self.0 += piece.len();
    }
}

pub(super) fn write(sink: &mut impl Sink, value: &Json) {
    match value {
        Json::Null => sink.put("null"),
        Json::Bool(true) => sink.put("true"),
        Json::Bool(false) => sink.put("false"),
        Json::Num(number) => write_number(sink, *number),
        Json::Str(text) => write_text(sink, text),
        Json::Arr(items) => write_array(sink, items),
        Json::Obj(members) => write_object(sink, members),
    }
}

fn write_number(sink: &mut impl Sink, number: Num) {
    sink.put(ryu_js::Buffer::new().format(number.as_f64()));
}

fn write_array(sink: &mut impl Sink, items: &[Json]) {
    sink.put("[");
    for (index, item) in items.iter().enumerate() {
        separate(sink, index);
        write(sink, item);
    }
    sink.put("]");
}

/// Writes an object; names are sorted by UTF-16 code units, which is not the order of the map: it
/// puts U+1F600 before U+FB33.
pub(crate) fn write_object(sink: &mut impl Sink, members: &BTreeMap<String, Json>) {
    let mut sorted: Vec<(&String, &Json)> = members.iter().collect();
    sorted.sort_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16()));
    sink.put("{");
    for (index, (name, value)) in sorted.into_iter().enumerate() {
        separate(sink, index);
        write_text(sink, name);
        sink.put(":");
        write(sink, value);
    }
    sink.put("}");
}

fn separate(sink: &mut impl Sink, index: usize) {
    if index > 0 {
        sink.put(",");
    }
}

/// Writes a text with the fewest escapes; runs without one are copied whole.
fn write_text(sink: &mut impl Sink, text: &str) {
    sink.put("\"");
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c < ' ' || c == '"' || c == '\\') {
        let (run, special) = rest.split_at(at);
        let (escaped, after) = special.split_at(1);
        sink.put(run);
        write_escape(sink, escaped);
        rest = after;
    }
    sink.put(rest);
    sink.put("\"");
}

fn write_escape(sink: &mut impl Sink, one: &str) {
    match one {
        "\"" => sink.put("\\\""),
        "\\" => sink.put("\\\\"),
        "\u{8}" => sink.put("\\b"),
        "\t" => sink.put("\\t"),
        "\n" => sink.put("\\n"),
        "\u{c}" => sink.put("\\f"),
        "\r" => sink.put("\\r"),
        other => {
            sink.put("\\u00");
            sink.put(&crate::hash::hex(other.as_bytes()));
        }
    }
}
