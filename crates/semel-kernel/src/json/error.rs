//! Why a JSON text or number was refused, with a stable code and the way out.
//!
//! Invariant: a message never repeats more than a short excerpt of a refused number, and names are
//! escaped, so that no input can forge a log line. This module must not know who reads it.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use core::fmt;

/// The number of characters of a refused number that a message repeats.
const EXCERPT_CHARS: usize = 40;

/// What is wrong with a JSON text or number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonErrorKind {
    /// The text is longer than allowed.
    #[error("the text is longer than {limit} bytes")]
    TooLarge {
        /// The greatest length in bytes.
        limit: usize,
    },
    /// Arrays and objects are nested deeper than allowed.
    #[error("arrays and objects are nested deeper than {limit}")]
    TooDeep {
        /// The deepest nesting allowed.
        limit: usize,
    },
    /// The text ends inside a value.
    #[error("the text ends where {expected} should be")]
    UnexpectedEnd {
        /// What should have followed.
        expected: &'static str,
    },
    /// Another character stands where the grammar allows none.
    #[error("{found:?} stands where {expected} should be")]
    Unexpected {
        /// The character that was found.
        found: char,
        /// What should have stood there.
        expected: &'static str,
    },
    /// More text follows the value.
    #[error("more text follows the value")]
    TrailingText,
    /// The text begins with U+FEFF.
    #[error("the text begins with a byte order mark")]
    ByteOrderMark,
    /// A number is not spelled as JSON spells numbers.
    #[error("a number is not spelled as JSON spells numbers")]
    BadNumber,
    /// NaN or an infinity.
    #[error("NaN and Infinity are not JSON numbers")]
    NotFinite,
    /// An integer beyond ±(2^53−1), which would be rounded to another one.
    #[error("the number {text} lies beyond ±9007199254740991 and cannot be kept exactly")]
    UnsafeInteger {
        /// The number as written, or its beginning.
        text: String,
    },
    /// A control character stands unescaped inside a text.
    #[error("the control character U+{code:04X} stands unescaped in a text")]
    ControlCharacter {
        /// The code point.
        code: u32,
    },
    /// A backslash is followed by something that JSON does not know.
    #[error("an escape is not one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX")]
    BadEscape,
    /// A `\u` escape gives one half of a surrogate pair.
    #[error("a \\u escape gives half a surrogate pair, which is no character")]
    LoneSurrogate,
    /// Two members of one object have the same name.
    #[error("the name {name:?} appears twice in one object")]
    DuplicateName {
        /// The name.
        name: String,
    },
}

impl JsonErrorKind {
    pub(super) fn unsafe_integer(text: &str) -> JsonErrorKind {
        let mut excerpt: String = text.chars().take(EXCERPT_CHARS).collect();
        if excerpt.len() < text.len() {
            excerpt.push('…');
        }
        JsonErrorKind::UnsafeInteger { text: excerpt }
    }

    /// The stable code, `SM1801` to `SM1813`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            JsonErrorKind::TooLarge { .. } => "SM1801",
            JsonErrorKind::TooDeep { .. } => "SM1802",
            JsonErrorKind::UnexpectedEnd { .. } => "SM1803",
            JsonErrorKind::Unexpected { .. } => "SM1804",
            JsonErrorKind::TrailingText => "SM1805",
            JsonErrorKind::ByteOrderMark => "SM1806",
            JsonErrorKind::BadNumber => "SM1807",
            JsonErrorKind::NotFinite => "SM1808",
            JsonErrorKind::UnsafeInteger { .. } => "SM1809",
            JsonErrorKind::ControlCharacter { .. } => "SM1810",
            JsonErrorKind::BadEscape => "SM1811",
            JsonErrorKind::LoneSurrogate => "SM1812",
            JsonErrorKind::DuplicateName { .. } => "SM1813",
        }
    }

    /// What to do about it, in a few words.
    #[must_use]
    pub fn next(&self) -> &'static str {
        match self {
            JsonErrorKind::TooLarge { .. } => "send less, or pass large content as an artifact",
            JsonErrorKind::TooDeep { .. } => "flatten the value, or pass it as a text",
            JsonErrorKind::UnexpectedEnd { .. } => "send the whole value; was it cut off?",
            JsonErrorKind::Unexpected { .. } => {
                "write strict JSON: double quotes, no comments, no trailing commas"
            }
            JsonErrorKind::TrailingText => "send one value in one text",
            JsonErrorKind::ByteOrderMark => "save the text as UTF-8 without a byte order mark",
            JsonErrorKind::BadNumber => {
                "write numbers as 0, -12, 0.5 or 1e-3; no leading zeros or bare points"
            }
            JsonErrorKind::NotFinite => "use null or a text for a value that is no number",
            JsonErrorKind::UnsafeInteger { .. } => {
                "write large ids and exact amounts as a text (\"9007199254740993\"), or money in minor units"
            }
            JsonErrorKind::ControlCharacter { .. } => "write it as \\n, \\t or \\u00XX",
            JsonErrorKind::BadEscape => "escape the backslash itself as \\\\",
            JsonErrorKind::LoneSurrogate => "write both halves of the pair, or the character itself",
            JsonErrorKind::DuplicateName { .. } => "keep one of the two members",
        }
    }
}

/// Why a JSON text was refused, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}, at {path} (line {line}, column {column}); next: {}", kind.next())]
pub struct JsonError {
    /// What is wrong.
    pub kind: JsonErrorKind,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The place inside the value, such as `$.a[3].b`.
    pub path: String,
}

impl JsonError {
    /// The stable code of the kind.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// What to do about it, in a few words.
    #[must_use]
    pub fn next(&self) -> &'static str {
        self.kind.next()
    }
}

/// A refusal on its way out of the parser; each enclosing container puts its segment in front.
pub(super) struct Fault {
    kind: JsonErrorKind,
    offset: usize,
    path: String,
}

impl Fault {
    pub(super) fn new(kind: JsonErrorKind, offset: usize) -> Fault {
        Fault { kind, offset, path: String::new() }
    }

    pub(super) fn within_item(self, index: usize) -> Fault {
        let path = format!("[{index}]{}", self.path);
        Fault { path, ..self }
    }

    pub(super) fn within_member(self, name: &str) -> Fault {
        let path = format!("{}{}", Member(name), self.path);
        Fault { path, ..self }
    }

    /// Finishes with line and column, counted in the text that was parsed.
    pub(super) fn located(self, text: &str) -> JsonError {
        let before = text.get(..self.offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        JsonError {
            kind: self.kind,
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
            path: "$".to_owned() + &self.path,
        }
    }
}

/// One step of a path: `.name` for plain names, `["…"]` with escapes for others.
struct Member<'n>(&'n str);

impl fmt::Display for Member<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let named = !self.0.is_empty() && !self.0.starts_with(|c: char| c.is_ascii_digit());
        if named && self.0.chars().all(plain) {
            write!(f, ".{}", self.0)
        } else {
            write!(f, "[{:?}]", self.0)
        }
    }
}
