//! Texts with what differs from run to run put into words, so that they can be compared.

use serde_json::Value;

/// Ids, moments, lengths of time, hashes, keys and ports become their names; columns close up.
pub(crate) fn shown(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let words: Vec<String> = quick(line).split(' ').map(word).collect();
        closed(&spans(&words))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A machine that is slower sees `1 s` where this one sees `now`.
fn quick(line: &str) -> String {
    let line = line.replace("(now)", "(1 s ago)").replace("just now", "1 s ago");
    let line = line.replace("  now  ", "  1 s  ");
    line.strip_suffix("  now").map_or(line.clone(), |head| format!("{head}  1 s"))
}

fn word(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let inside = out.ends_with(|c: char| c.is_ascii_alphanumeric());
        let found = if inside { None } else { special(rest) };
        let (name, length) = found.unwrap_or((None, first.len_utf8()));
        match name {
            Some(name) => out.push_str(name),
            None => out.push(first),
        }
        rest = &rest[length..];
    }
    out
}

/// The name and the length of what a text begins with, if it is one of those.
fn special(text: &str) -> Option<(Option<&'static str>, usize)> {
    let run = |from: usize, test: fn(char) -> bool| text[from..].chars().take_while(|c| test(*c)).count();
    let id = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    for (prefix, name, least) in [("tsk_", "TASK", 6), ("ses_", "SESSION", 16), ("once:", "once:INPUTS", 8)] {
        if text.starts_with(prefix) && run(prefix.len(), id) >= least {
            return Some((Some(name), prefix.len() + run(prefix.len(), id)));
        }
    }
    if text.starts_with("rev_") && run(4, id) == 10 {
        return Some((Some("REVIEW"), 14));
    }
    if text.starts_with("sha256:") && run(7, |c| c.is_ascii_hexdigit()) == 64 {
        return Some((Some("sha256:HASH"), 71));
    }
    if text.starts_with("127.0.0.1:") {
        return Some((Some("ADDRESS"), 10 + run(10, |c| c.is_ascii_digit())));
    }
    let moment = run(0, |c| c.is_ascii_digit() || "-T:.Z".contains(c));
    if moment >= 20 && text[..moment].ends_with('Z') {
        return Some((Some("MOMENT"), moment));
    }
    let clock = |(at, c): (usize, char)| match at {
        2 | 5 => c == ':',
        8 => c == '.',
        _ => c.is_ascii_digit(),
    };
    if text.len() >= 12 && text.chars().take(12).enumerate().all(clock) {
        return Some((Some("CLOCK"), 12));
    }
    let whole = run(0, id);
    let hash = text.chars().take(whole).all(|c| c.is_ascii_hexdigit());
    if whole == 8 && hash {
        return Some((Some("SHORT"), 8));
    }
    let key = text.chars().take(whole).all(|c| !"0189".contains(c));
    (whole == 32 && key).then_some((Some("KEY"), 32))
}

/// `12 s`, `1 min 3 s`, `4 m 10 s` and the like.
fn spans(words: &[String]) -> String {
    let unit = |w: &String| {
        ["ms", "s", "m", "min", "h", "d"].contains(&w.trim_end_matches([')', ',', '.', ';', ':']))
    };
    let number = |w: &String| {
        !w.trim_start_matches('(').is_empty() && w.trim_start_matches('(').chars().all(|c| c.is_ascii_digit())
    };
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let pair = words.get(at..at + 2).filter(|p| number(&p[0]) && unit(&p[1]));
        let Some([count, unit]) = pair else {
            out.push(words[at].clone());
            at += 1;
            continue;
        };
        let open = if count.starts_with('(') { "(" } else { "" };
        let close: String = unit.chars().filter(|c| !c.is_ascii_alphabetic()).collect();
        match out.last_mut().filter(|last| last.ends_with("SPAN")) {
            Some(last) => last.push_str(&close),
            None => out.push(format!("{open}SPAN{close}")),
        }
        at += 2;
    }
    out.join(" ")
}

/// Two spaces between columns, whatever their width; the indentation stays.
fn closed(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let mut text = line.trim().to_owned();
    while text.contains("   ") {
        text = text.replace("   ", "  ");
    }
    format!("{}{text}", " ".repeat(indent))
}

/// JSON for comparing: texts as above, and the numbers that are moments or lengths of time gone.
pub(crate) fn shown_json(value: &Value) -> String {
    let mut value = value.clone();
    strip(&mut value);
    shown(&serde_json::to_string_pretty(&value).unwrap())
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let timed =
                    name == "at" || name.ends_with("_at") || name == "key_left_ms" || name == "send_by";
                if timed && member.is_number() {
                    *member = Value::from("MOMENT");
                }
                strip(member);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn what_differs_from_run_to_run_gets_a_name() {
    let text = "tsk_01k8mr50r8v8nbj3rkgph5lebe/act  12 s ago (in 1 min 36 s), 2026-11-30T18:23:23.522Z";
    assert_eq!(shown(text), "TASK/act  SPAN ago (in SPAN), MOMENT");
    assert_eq!(shown("19:31:06.371  act"), "CLOCK  act");
    assert_eq!(shown("  a      b"), "  a  b");
    assert_eq!(shown("tsk_rkgph5  once:ab12cd34e  now"), "TASK  once:INPUTS  SPAN");
    assert_eq!(shown("rev_rkgph5lebe_1 127.0.0.1:4711/x"), "REVIEW_1 ADDRESS/x");
}
