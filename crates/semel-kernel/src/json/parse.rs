//! The strict reader of JSON texts.
//!
//! Invariant: what it accepts, it keeps exactly; whatever two readers could understand differently
//! is refused. It never panics and never recurses deeper than the depth limit.
//! It must not know how values are written or hashed.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::error::Fault;
use super::{Json, JsonError, JsonErrorKind, Limits, MAX_DEPTH, Num};

type Parsed<T> = Result<T, Fault>;

pub(super) fn parse(text: &str, limits: Limits) -> Result<Json, JsonError> {
    let mut parser = Parser { text, offset: 0, depth_limit: limits.depth.min(MAX_DEPTH) };
    parser.whole(limits.bytes).map_err(|fault| fault.located(text))
}

struct Parser<'t> {
    text: &'t str,
    /// The next byte to read; always on a character boundary.
    offset: usize,
    depth_limit: usize,
}

impl Parser<'_> {
    fn whole(&mut self, byte_limit: usize) -> Parsed<Json> {
        if self.text.len() > byte_limit {
            return Err(self.fault(JsonErrorKind::TooLarge { limit: byte_limit }));
        }
        if self.text.starts_with('\u{feff}') {
            return Err(self.fault(JsonErrorKind::ByteOrderMark));
        }
        self.skip_space();
        let value = self.value(0)?;
        self.skip_space();
        match self.peek() {
            None => Ok(value),
            Some(_) => Err(self.fault(JsonErrorKind::TrailingText)),
        }
    }

    fn value(&mut self, depth: usize) -> Parsed<Json> {
        match self.peek() {
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => self.string().map(Json::Str),
            Some(b'-' | b'0'..=b'9') => self.number().map(Json::Num),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Parsed<Json> {
        let words = [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))];
        for (word, value) in words {
            if self.eat_word(word) {
                return Ok(value);
            }
        }
        if self.eat_word("NaN") || self.eat_word("Infinity") {
            return Err(self.fault(JsonErrorKind::NotFinite));
        }
        Err(self.unexpected("a value"))
    }

    fn array(&mut self, depth: usize) -> Parsed<Json> {
        self.open(depth)?;
        let mut items = Vec::new();
        if self.eat(b']') {
            return Ok(Json::Arr(items));
        }
        loop {
            items.push(self.value(depth).map_err(|fault| fault.within_item(items.len()))?);
            if self.closes(b']', "a comma or ]")? {
                return Ok(Json::Arr(items));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Parsed<Json> {
        self.open(depth)?;
        let mut members = BTreeMap::new();
        if self.eat(b'}') {
            return Ok(Json::Obj(members));
        }
        loop {
            let name = self.name(&members)?;
            let value = self.value(depth).map_err(|fault| fault.within_member(&name))?;
            members.insert(name, value);
            if self.closes(b'}', "a comma or }")? {
                return Ok(Json::Obj(members));
            }
        }
    }

    /// Reads a member's name and the colon, and refuses a name that the object has already.
    fn name(&mut self, members: &BTreeMap<String, Json>) -> Parsed<String> {
        let start = self.offset;
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a name in double quotes"));
        }
        let name = self.string()?;
        if members.contains_key(&name) {
            let fault = Fault::new(JsonErrorKind::DuplicateName { name: name.clone() }, start);
            return Err(fault.within_member(&name));
        }
        self.skip_space();
        self.expect(b':', "a colon")?;
        self.skip_space();
        Ok(name)
    }

    fn open(&mut self, depth: usize) -> Parsed<()> {
        if depth > self.depth_limit {
            return Err(self.fault(JsonErrorKind::TooDeep { limit: self.depth_limit }));
        }
        self.offset += 1;
        self.skip_space();
        Ok(())
    }

    /// After an item: true when the container ends here, false when another item must follow.
    fn closes(&mut self, end: u8, expected: &'static str) -> Parsed<bool> {
        self.skip_space();
        if self.eat(b',') {
            self.skip_space();
            return Ok(false);
        }
        self.expect(end, expected).map(|()| true)
    }

    /// Scans the JSON spelling first, because the double reader of `core` allows more than JSON.
    fn number(&mut self) -> Parsed<Num> {
        let start = self.offset;
        let bad = || Fault::new(JsonErrorKind::BadNumber, start);
        if self.eat(b'-') && self.eat_word("Infinity") {
            return Err(Fault::new(JsonErrorKind::NotFinite, start));
        }
        let leading_zero = self.peek() == Some(b'0');
        let digits = self.eat_digits();
        let whole_ok = digits == 1 || (digits > 1 && !leading_zero);
        let fraction_ok = !self.eat(b'.') || self.eat_digits() > 0;
        let exponent_ok = !self.eat_exponent_mark() || self.eat_digits() > 0;
        if !(whole_ok && fraction_ok && exponent_ok) {
            return Err(bad());
        }
        let text = &self.text[start..self.offset];
        let value: f64 = text.parse().map_err(|_| bad())?;
        Num::from_f64(value).map_err(|_| Fault::new(JsonErrorKind::unsafe_integer(text), start))
    }

    fn eat_exponent_mark(&mut self) -> bool {
        let found = self.eat(b'e') || self.eat(b'E');
        if found && !self.eat(b'+') {
            self.eat(b'-');
        }
        found
    }

    fn eat_digits(&mut self) -> usize {
        let rest = self.rest();
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.offset += count;
        count
    }

    fn string(&mut self) -> Parsed<String> {
        self.offset += 1;
        let mut text = String::new();
        loop {
            let run = self.offset;
            let plain = |byte: &&u8| **byte >= b' ' && **byte != b'"' && **byte != b'\\';
            self.offset += self.rest().iter().take_while(plain).count();
            text.push_str(&self.text[run..self.offset]);
            match self.peek() {
                Some(b'"') => {
                    self.offset += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(byte) => return Err(self.fault(JsonErrorKind::ControlCharacter { code: byte.into() })),
                None => return Err(self.unexpected("the closing quote")),
            }
        }
    }

    fn escape(&mut self) -> Parsed<char> {
        let start = self.offset;
        let letter = self.rest().get(1).copied();
        self.offset += 2;
        Ok(match letter {
            Some(same @ (b'"' | b'\\' | b'/')) => char::from(same),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(start),
            _ => return Err(Fault::new(JsonErrorKind::BadEscape, start)),
        })
    }

    /// Reads the digits after `\u`, and the second escape of a surrogate pair.
    fn unicode(&mut self, start: usize) -> Parsed<char> {
        let lone = || Fault::new(JsonErrorKind::LoneSurrogate, start);
        let first = self.four_hex(start)?;
        if !(0xD800..0xDC00).contains(&first) {
            return char::from_u32(first).ok_or_else(lone);
        }
        if !self.eat_word("\\u") {
            return Err(lone());
        }
        let second = self.four_hex(start)?;
        if !(0xDC00..0xE000).contains(&second) {
            return Err(lone());
        }
        char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00)).ok_or_else(lone)
    }

    fn four_hex(&mut self, start: usize) -> Parsed<u32> {
        let digits = self.rest().get(..4).unwrap_or_default();
        let value =
            digits.iter().try_fold(0, |value, byte| Some(value << 4 | char::from(*byte).to_digit(16)?));
        match value {
            Some(value) if digits.len() == 4 => {
                self.offset += 4;
                Ok(value)
            }
            Some(_) | None => Err(Fault::new(JsonErrorKind::BadEscape, start)),
        }
    }

    fn skip_space(&mut self) {
        let space = |byte: &&u8| matches!(**byte, b' ' | b'\t' | b'\n' | b'\r');
        self.offset += self.rest().iter().take_while(space).count();
    }

    fn rest(&self) -> &[u8] {
        self.text.as_bytes().get(self.offset..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.offset += usize::from(found);
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word.as_bytes());
        if found {
            self.offset += word.len();
        }
        found
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Parsed<()> {
        if self.eat(byte) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn unexpected(&self, expected: &'static str) -> Fault {
        let found = self.text.get(self.offset..).and_then(|rest| rest.chars().next());
        self.fault(match found {
            Some(found) => JsonErrorKind::Unexpected { found, expected },
            None => JsonErrorKind::UnexpectedEnd { expected },
        })
    }

    fn fault(&self, kind: JsonErrorKind) -> Fault {
        Fault::new(kind, self.offset)
    }
}
