//! What a plain scalar means: the YAML 1.2 core schema, less everything that surprises.
//!
//! Invariant: what looks like a number is one that is kept exactly, or it is refused; it never becomes a text silently.

use super::Value;
use semel_kernel::json::{Json, Num};

/// Why a scalar is refused.
pub(super) struct Refused {
    /// What is wrong.
    pub(super) message: String,
    /// What to write.
    pub(super) hint: String,
}

fn refused(message: String, hint: impl Into<String>) -> Refused {
    Refused { message, hint: hint.into() }
}

/// The value of a scalar that was written without quotes.
pub(super) fn plain(raw: &str) -> Result<Value, Refused> {
    match raw {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Value::Bool(false)),
        _ => {}
    }
    if is_special(raw) {
        let message = format!("`{raw}` is a number that JSON does not have");
        return Err(refused(message, format!("write \"{raw}\" for the text, or null for no value")));
    }
    if is_radix(raw) {
        let message =
            format!("`{}` is a hexadecimal or octal number to some readers and a text to others", cut(raw));
        return Err(refused(message, format!("write it in decimal, or quote it: \"{}\"", cut(raw))));
    }
    if !is_number(raw) {
        return Ok(Value::Text(raw.to_owned()));
    }
    number(raw).map(|_| Value::Number(raw.to_owned()))
}

/// The number that is written as `raw`, exactly.
pub(super) fn number(raw: &str) -> Result<Num, Refused> {
    let unsigned = raw.trim_start_matches(['+', '-']);
    let whole = unsigned.split(['.', 'e', 'E']).next().unwrap_or("");
    if whole.len() > 1 && whole.starts_with('0') {
        let message = format!("`{}` has leading zeros, which some readers take for octal", cut(raw));
        return Err(refused(
            message,
            format!("quote it if it is an id: \"{}\"; else drop the zeros", cut(raw)),
        ));
    }
    let parsed = Json::parse(&json_spelling(raw)).map_err(|e| e.kind);
    match parsed {
        Ok(Json::Num(number)) => Ok(number),
        Ok(_) => Err(refused(format!("`{}` is not a number", cut(raw)), "write a decimal number")),
        Err(kind) => {
            let hint = format!("quote it if it is an id: \"{}\"; money goes in minor units", cut(raw));
            Err(refused(kind.to_string(), hint))
        }
    }
}

/// JSON has no leading `+`, no `.5` and no `1.`; YAML has.
fn json_spelling(raw: &str) -> String {
    let (sign, digits) = match raw.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", raw.strip_prefix('+').unwrap_or(raw)),
    };
    let (mantissa, exponent) = digits.find(['e', 'E']).map_or((digits, ""), |at| digits.split_at(at));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}{exponent}")
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, as the core schema has it.
fn is_number(raw: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let body = raw.strip_prefix(['-', '+']).unwrap_or(raw);
    let (mantissa, exponent) = body.split_once(['e', 'E']).map_or((body, None), |(m, e)| (m, Some(e)));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent = exponent.map(|e| e.strip_prefix(['-', '+']).unwrap_or(e));
    let counted = digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty());
    counted && exponent.is_none_or(|e| !e.is_empty() && digits(e))
}

fn is_special(raw: &str) -> bool {
    let body = raw.strip_prefix(['-', '+']).unwrap_or(raw);
    matches!(body, ".inf" | ".Inf" | ".INF") || matches!(raw, ".nan" | ".NaN" | ".NAN")
}

fn is_radix(raw: &str) -> bool {
    let body = raw.strip_prefix(['-', '+']).unwrap_or(raw);
    let of = |prefix: &str, digit: fn(char) -> bool| {
        body.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.chars().all(digit))
    };
    of("0x", |c| c.is_ascii_hexdigit()) || of("0X", |c| c.is_ascii_hexdigit()) || of("0o", |c| c.is_digit(8))
}

/// The beginning of a scalar, for messages.
pub(super) fn cut(raw: &str) -> String {
    raw.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(raw: &str) -> Option<Value> {
        plain(raw).ok()
    }

    #[test]
    fn the_core_schema_without_surprises() {
        for raw in ["0", "-12", "+3", "1.10", ".5", "2.", "1e3", "9007199254740991"] {
            assert_eq!(value(raw), Some(Value::Number(raw.to_owned())), "{raw}");
        }
        for raw in
            ["yes", "no", "on", "1_000", "12:30", "1.2.3", "-", "+", ".", "e3", "1e", "0xzz", "v1", "0b1"]
        {
            assert_eq!(value(raw), Some(Value::Text(raw.to_owned())), "{raw}");
        }
        for raw in ["0x1F", "0o17", ".inf", "-.INF", ".nan", "007", "-00.5", "9007199254740993", "1e400"] {
            assert_eq!(value(raw), None, "{raw}");
        }
    }

    #[test]
    fn odd_spellings_keep_their_value() {
        for (raw, canonical) in [("+3", "3"), (".5", "0.5"), ("2.", "2"), ("-.5e1", "-5"), ("-0", "0")] {
            let number = number(raw).unwrap_or_else(|r| panic!("{raw}: {}", r.message));
            assert_eq!(Json::Num(number).canonical(), canonical, "{raw}");
        }
    }
}
