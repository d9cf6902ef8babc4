//! The ways in which a text can be written on its way through a target: as it is, escaped, or encoded.
//!
//! Invariant: nothing here looks further than a few bytes beyond the character at hand, so that no answer makes the
//! search slow. This module must not know which texts are secret.

/// The most backslashes before one character, as of JSON in JSON.
const MOST_BACKSLASHES: usize = 8;
/// The most rounds of percent-encoding.
const MOST_ROUNDS: usize = 4;
/// The most bytes of an HTML entity.
const ENTITY_BYTES: usize = 10;

const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The bytes that `needle` takes at the beginning of `text`. Where the text was cut with `…`, its first `least`
/// characters are enough.
pub(super) fn said(needle: &[char], text: &str, least: usize) -> Option<usize> {
    spelled(needle, text, least, plain).or_else(|| spelled(needle, text, least, escaped))
}

fn spelled(
    needle: &[char],
    text: &str,
    least: usize,
    written: fn(char, &str) -> Option<usize>,
) -> Option<usize> {
    let mut rest = text;
    for (at, wanted) in needle.iter().enumerate() {
        match written(*wanted, rest) {
            Some(bytes) => rest = rest.get(bytes..)?,
            None if at >= least && rest.starts_with('…') => break,
            None => return None,
        }
    }
    Some(text.len() - rest.len())
}

fn plain(wanted: char, text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    first.eq_ignore_ascii_case(&wanted).then(|| first.len_utf8())
}

fn escaped(wanted: char, text: &str) -> Option<usize> {
    let bytes = match text.bytes().next()? {
        b'%' => percent(wanted, text),
        b'\\' => backslash(wanted, text),
        b'&' => entity(wanted, text),
        b'+' if wanted == ' ' => Some(1),
        _ => None,
    };
    bytes.or_else(|| plain(wanted, text))
}

/// `%2F`, and `%252F` when it was encoded twice.
fn percent(wanted: char, text: &str) -> Option<usize> {
    let mut utf8 = [0; 4];
    let mut rest = text;
    for byte in wanted.encode_utf8(&mut utf8).bytes() {
        rest = rest.strip_prefix('%')?;
        for _ in 0..MOST_ROUNDS {
            // What follows the `25` of a percent sign would have to be two digits again.
            let Some(inner) = rest.strip_prefix("25").filter(|inner| hex_number(inner, 2).is_some()) else {
                break;
            };
            rest = inner;
        }
        if hex_number(rest, 2)? != u32::from(byte) {
            return None;
        }
        rest = rest.get(2..)?;
    }
    Some(text.len() - rest.len())
}

/// `\n`, `\/`, `\u00e9`, as in JSON, and the same inside a JSON text.
fn backslash(wanted: char, text: &str) -> Option<usize> {
    let rest = after_backslashes(text)?;
    if let Some(rest) = unicode(wanted, text) {
        return Some(text.len() - rest.len());
    }
    let letter = match wanted {
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '\\' => return text.starts_with("\\\\").then_some(2),
        other => other,
    };
    rest.strip_prefix(letter).map(|rest| text.len() - rest.len())
}

fn unicode(wanted: char, text: &str) -> Option<&str> {
    let mut units = [0; 2];
    let mut rest = text;
    for unit in wanted.encode_utf16(&mut units) {
        rest = after_backslashes(rest)?.strip_prefix('u')?;
        if hex_number(rest, 4)? != u32::from(*unit) {
            return None;
        }
        rest = rest.get(4..)?;
    }
    Some(rest)
}

fn after_backslashes(text: &str) -> Option<&str> {
    let count = text.bytes().take(MOST_BACKSLASHES).take_while(|byte| *byte == b'\\').count();
    text.get(count..).filter(|_| count > 0)
}

/// `&amp;`, `&#38;` or `&#x26;`.
fn entity(wanted: char, text: &str) -> Option<usize> {
    let end = text.bytes().take(ENTITY_BYTES).position(|byte| byte == b';')?;
    let meant = match text.get(1..end)? {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        number => numbered(number.strip_prefix('#')?)?,
    };
    (meant == wanted).then_some(end + 1)
}

fn numbered(number: &str) -> Option<char> {
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    char::from_u32(code.ok()?)
}

fn hex_number(text: &str, digits: usize) -> Option<u32> {
    u32::from_str_radix(text.get(..digits)?, 16).ok()
}

/// The bytes in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> Vec<char> {
    let digits = |byte: &u8| [u32::from(byte >> 4), u32::from(byte & 15)];
    bytes.iter().flat_map(digits).filter_map(|digit| char::from_digit(digit, 16)).collect()
}

/// The bytes in base64, without padding.
pub(super) fn base64(bytes: &[u8]) -> Vec<char> {
    bytes.chunks(3).flat_map(group).collect()
}

fn group(chunk: &[u8]) -> impl Iterator<Item = char> + '_ {
    let byte = |at: usize| chunk.get(at).map_or(0, |byte| usize::from(*byte));
    let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    (0..=chunk.len()).map(move |at| char::from(SIGNS[bits >> (18 - 6 * at) & 63]))
}

/// `user:password` and `password` of their base64 form, when it is one.
pub(super) fn pair(text: &str) -> Option<(String, String)> {
    let both = String::from_utf8(from_base64(text)?).ok()?;
    let (_, password) = both.split_once(':')?;
    let password = password.to_owned();
    Some((both, password))
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_usize, 0);
    for sign in text.trim_end_matches('=').bytes() {
        bits = bits << 6 & 0xffff | SIGNS.iter().position(|known| *known == sign)?;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 0xff) as u8);
        }
    }
    Some(bytes)
}
