//! Percent-encoding of the components of readable ids.
//!
//! Invariant: one component has one encoding and one encoding has one component, so ids that are
//! joined from encoded components with `/`, `@`, `#` or `~` collide only if they are equal.
//! It must not know which components an id has.

use alloc::string::String;
use alloc::vec::Vec;

const HEX_DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// `~` is unreserved in RFC 3986 but marks epochs in ids, so it is encoded too.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')
}

/// Encodes all bytes but `A–Z a–z 0–9 - . _` as `%` and two upper-case hex digits.
#[must_use]
pub fn encode(component: &str) -> String {
    let mut encoded = String::with_capacity(component.len());
    for byte in component.bytes() {
        if is_plain(byte) {
            encoded.push(char::from(byte));
        } else {
            let digits = [HEX_DIGITS[usize::from(byte >> 4)], HEX_DIGITS[usize::from(byte & 15)]];
            encoded.push('%');
            encoded.extend(digits.map(char::from));
        }
    }
    encoded
}

/// Reads back exactly what [`encode`] writes; any other text is `None`, also one that a lenient
/// reader would take, such as `%41` or `%2f`.
#[must_use]
pub fn decode(encoded: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => bytes.push(hex_digit(rest.next()?)? << 4 | hex_digit(rest.next()?)?),
            plain => bytes.push(plain),
        }
    }
    let component = String::from_utf8(bytes).ok()?;
    (encode(&component) == encoded).then_some(component)
}

fn hex_digit(digit: u8) -> Option<u8> {
    HEX_DIGITS.iter().position(|known| *known == digit).and_then(|value| u8::try_from(value).ok())
}
