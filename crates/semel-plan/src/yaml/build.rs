//! From parser events to nodes.
//!
//! Invariant: the text is read to its end, to the first break of the grammar, or to a limit; whatever else is wrong is
//! recorded and reading goes on, so that one run tells all problems.

use super::{Key, Node, Value, join, scalar};
use crate::problem::{At, Problems, Span};
use saphyr_parser::{Event, Parser, ScalarStyle, Span as RawSpan};
use semel_kernel::limit;
use std::collections::BTreeMap;

/// Problems after which a file is taken for something that is no plan at all.
const MOST_PROBLEMS: usize = 100;

/// Reads one YAML document. What is wrong goes to `problems` with its place; `None` when nothing could be read.
pub fn parse(file: &str, text: &str, problems: &mut Problems) -> Option<Node> {
    let mut build = Build { file, stack: Vec::new(), root: None, documents: 0, problems };
    if !build.accepts(text) {
        return None;
    }
    build.read(text)?;
    let root = build.root.filter(|node| !node.is_null());
    if root.is_none() {
        let at = At { file, span: Span { line: 1, column: 1 }, path: "" };
        problems.error("SM4003", at, "the file is empty", "write the document into it");
    }
    root
}

/// A container that is not closed yet.
enum Open {
    List { span: Span, items: Vec<Node> },
    Map { span: Span, members: Vec<(Key, Node)>, seen: BTreeMap<String, Span>, key: Option<Key> },
}

/// Reading cannot go on; why has been recorded.
struct Stop;

struct Build<'a> {
    file: &'a str,
    stack: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    problems: &'a mut Problems,
}

impl Build<'_> {
    fn error(&mut self, code: &'static str, span: Span, message: &str, hint: &str) {
        let path = self.path();
        self.problems.error(code, At { file: self.file, span, path: &path }, message, hint);
    }

    /// Where the next value belongs: the open members and list places.
    fn path(&self) -> String {
        self.stack.iter().fold(String::new(), |path, open| match open {
            Open::List { items, .. } => format!("{path}[{}]", items.len()),
            Open::Map { key: Some(key), .. } => join(&path, &key.text),
            Open::Map { key: None, .. } => path,
        })
    }

    /// The limits, and the characters that the grammar does not know; a NUL would end the text silently.
    fn accepts(&mut self, text: &str) -> bool {
        if text.len() > limit::PLAN_BYTES {
            let message = format!("the file has {} bytes, the limit is {}", text.len(), limit::PLAN_BYTES);
            self.error("SM4002", Span { line: 1, column: 1 }, &message, "move large texts into artifacts");
            return false;
        }
        let strange = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{85}');
        let Some(at) = text.find(strange) else { return true };
        let span = Span { line: 1, column: 1 }.inside(text, at);
        self.error(
            "SM4003",
            span,
            "a control character stands in the file",
            "remove it, or write \"\\u00XX\"",
        );
        false
    }

    fn read(&mut self, text: &str) -> Option<()> {
        let mut parser = Parser::new_from_str(text);
        while let Some(next) = parser.next_event() {
            let taken = match next {
                Ok((event, span)) => self.event(event, span),
                Err(refused) => {
                    let mark = refused.marker();
                    let span = Span { line: mark.line() as u32, column: mark.col() as u32 + 1 };
                    self.broken(span, refused.info());
                    Err(Stop)
                }
            };
            taken.ok()?;
            if self.problems.errors() > MOST_PROBLEMS {
                return None;
            }
        }
        Some(())
    }

    fn broken(&mut self, span: Span, info: &str) {
        if info.contains("unknown anchor") {
            self.refuse_anchor(span);
        } else {
            let message = format!("this is not YAML: {info}");
            self.error(
                "SM4003",
                span,
                &message,
                "look at the indentation, quotes and brackets before this place",
            );
        }
    }

    fn refuse_anchor(&mut self, span: Span) {
        let hint = "write the value out where it is needed";
        self.error("SM4005", span, "anchors and aliases (`&name`, `*name`) are not allowed", hint);
    }

    fn event(&mut self, event: Event<'_>, raw: RawSpan) -> Result<(), Stop> {
        let span = Span { line: raw.start.line() as u32, column: raw.start.col() as u32 + 1 };
        match event {
            Event::DocumentStart(_) => self.document(span),
            Event::Alias(_) => {
                self.refuse_anchor(span);
                self.take(Node { span, value: Value::Null })
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_extras(span, anchor, tag.is_some());
                self.scalar(&text, style, span)
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse_extras(span, anchor, tag.is_some());
                self.open(span, Open::List { span, items: Vec::new() })
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_extras(span, anchor, tag.is_some());
                self.open(span, Open::Map { span, members: Vec::new(), seen: BTreeMap::new(), key: None })
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    fn document(&mut self, span: Span) -> Result<(), Stop> {
        self.documents += 1;
        if self.documents == 1 {
            return Ok(());
        }
        self.error("SM4004", span, "a second document begins here", "keep one document in one file");
        Err(Stop)
    }

    fn refuse_extras(&mut self, span: Span, anchor: usize, tag: bool) {
        if anchor != 0 {
            self.refuse_anchor(span);
        }
        if tag {
            self.error("SM4005", span, "tags (`!name`) are not allowed", "quote what is meant as a text");
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, span: Span) -> Result<(), Stop> {
        if let Some(Open::Map { key: None, .. }) = self.stack.last() {
            self.name(text, style, span);
            return Ok(());
        }
        let node = match style {
            ScalarStyle::Plain => self.plain(text, span),
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
                Node { span: Span { column: span.column + 1, ..span }, value: Value::Text(text.to_owned()) }
            }
            ScalarStyle::Literal | ScalarStyle::Folded => {
                Node { span: above(span, text), value: Value::Text(text.to_owned()) }
            }
        };
        self.take(node)
    }

    /// A refused scalar stays as a text, so that what stands around it can still be read.
    fn plain(&mut self, text: &str, span: Span) -> Node {
        let value = scalar::plain(text).unwrap_or_else(|refused| {
            self.error("SM4008", span, &refused.message, &refused.hint);
            Value::Text(text.to_owned())
        });
        Node { span, value }
    }

    fn name(&mut self, text: &str, style: ScalarStyle, span: Span) {
        if text == "<<" && style == ScalarStyle::Plain {
            let hint = "write the keys out where they are needed";
            self.error("SM4005", span, "merge keys (`<<`) are not allowed", hint);
        }
        let Some(Open::Map { seen, key, .. }) = self.stack.last_mut() else { return };
        *key = Some(Key { text: text.to_owned(), span });
        let first = *seen.entry(text.to_owned()).or_insert(span);
        if first != span {
            let message = format!("the key `{}` stands here for the second time", scalar::cut(text));
            self.error(
                "SM4006",
                span,
                &message,
                &format!("keep one of them; the first is in line {}", first.line),
            );
        }
    }

    fn open(&mut self, span: Span, open: Open) -> Result<(), Stop> {
        if let Some(Open::Map { key: None, .. }) = self.stack.last() {
            self.error(
                "SM4009",
                span,
                "a key must be a word, not a list or a map",
                "quote it, or write a word",
            );
            return Err(Stop);
        }
        if self.stack.len() >= limit::JSON_DEPTH {
            let message = format!("lists and maps are nested deeper than {}", limit::JSON_DEPTH);
            self.error("SM4007", span, &message, "flatten the value, or pass it as a text");
            return Err(Stop);
        }
        self.stack.push(open);
        Ok(())
    }

    fn close(&mut self) -> Result<(), Stop> {
        match self.stack.pop() {
            Some(Open::List { span, items }) => self.take(Node { span, value: Value::List(items) }),
            Some(Open::Map { span, members, .. }) => self.take(Node { span, value: Value::Map(members) }),
            None => Err(Stop),
        }
    }

    /// Puts a finished node where it belongs; of two members of one name the first stays.
    fn take(&mut self, node: Node) -> Result<(), Stop> {
        match self.stack.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { members, key, seen, .. }) => match key.take() {
                Some(key) if seen.get(&key.text) == Some(&key.span) => members.push((key, node)),
                Some(_) => {}
                None => {
                    self.error("SM4009", node.span, "a key must be a word", "write a word before the colon");
                    return Err(Stop);
                }
            },
        }
        Ok(())
    }
}

/// A block text is placed at its first character, but its empty first lines belong to it too.
fn above(span: Span, text: &str) -> Span {
    let empty = text.len() - text.trim_start_matches('\n').len();
    Span { line: span.line.saturating_sub(empty as u32).max(1), ..span }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span_of(text: &str, keys: &[&str]) -> (u32, u32) {
        let root = parse("f", text, &mut Problems::new()).expect("it is read");
        let node = keys.iter().fold(&root, |node, key| node.get(key).expect("the key is there"));
        (node.span.line, node.span.column)
    }

    #[test]
    fn texts_begin_at_their_first_character() {
        let text = "a: plain\nb: \"quoted\"\nc: |\n\n    block\n    more\nd: >-\n  folded\ne: { f: 'x' }\n";
        assert_eq!(span_of(text, &["a"]), (1, 4));
        assert_eq!(span_of(text, &["b"]), (2, 5));
        assert_eq!(span_of(text, &["c"]), (4, 5));
        assert_eq!(span_of(text, &["d"]), (8, 3));
        assert_eq!(span_of(text, &["e", "f"]), (9, 10));
    }
}
