//! Expressions: numbers, missing fields, limits, and that nothing which is refused is run.

use proptest::prelude::*;
use semel_kernel::json::Json;
use semel_plan::cel::Program;

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

/// Evaluates `source` with `v` bound to a JSON text; the result is canonical JSON or `! error`.
fn eval(source: &str, v: &str) -> String {
    let v = json(v);
    match Program::compile(source) {
        Err(error) => format!("!! {error}"),
        Ok(program) => program.eval(&[("v", &v)]).map_or_else(|e| format!("! {e}"), |json| json.canonical()),
    }
}

#[test]
fn numbers_are_signed_at_every_depth() {
    for (source, v, expected) in [
        ("v + 1", "41", "42"),
        ("v - 200", "100", "-100"),
        ("v.a[0].b + 1", r#"{"a":[{"b":1}]}"#, "2"),
        ("v.map(x, x * -1)", "[1,2]", "[-1,-2]"),
        ("5 / 2", "0", "2"),
        ("v * 1.5", "0.5", "0.75"),
        ("v == 1", "1.0", "true"),
        ("v == 1.0", "1", "true"),
        ("v", "[1,{\"a\":null}]", "[1,{\"a\":null}]"),
        ("{'b': v, 'a': 1}", "2", r#"{"a":1,"b":2}"#),
        ("size(v)", "\"äb\"", "2"),
        ("1u + 1u", "0", "2"),
        ("'a' + string(v)", "7", "\"a7\""),
        ("v[\"a-b\"]", r#"{"a-b":1}"#, "1"),
        ("has(v.a) && v.a == 1", "{}", "false"),
    ] {
        assert_eq!(eval(source, v), expected, "{source}");
    }
}

#[test]
fn what_is_missing_or_does_not_fit_is_an_error() {
    for (source, v, expected) in [
        ("v.paid", "{}", "! there is no field `paid`"),
        ("v.paid == true", "{}", "! there is no field `paid`"),
        ("!v.paid", "{}", "! there is no field `paid`"),
        ("w.paid", "{}", "! there is no name `w`"),
        ("v[3]", "[1]", "! an index lies outside of its list"),
        ("1 / v", "0", "! division by zero"),
        (
            "9007199254740991 + v",
            "1",
            "! the number 9007199254740992 lies beyond ±9007199254740991 and cannot be kept exactly",
        ),
        ("9223372036854775807 + v", "1", "! `add` cannot be applied to int and int"),
        ("b'abc'", "0", "! the result is bytes, which JSON cannot hold"),
        ("{1: 2}", "0", "! the map key 1 is not a text"),
        ("v.map(k, k)", r#"{"a":1,"b":2}"#, "! map and filter take a list; a map has no order"),
        ("v.all(k, k != '')", r#"{"a":1,"b":2}"#, "true"),
    ] {
        assert_eq!(eval(source, v), expected, "{source}");
    }
}

#[test]
fn errors_never_repeat_values() {
    let said = eval("v.a + v.b", r#"{"a":{"token":"hunter2"},"b":1}"#);
    assert!(said.starts_with("! "), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
    let said = eval("v.a[v.b]", r#"{"a":["hunter2"],"b":{"x":"hunter3"}}"#);
    assert!(said.starts_with("! ") && !said.contains("hunter"), "{said}");
}

#[test]
fn only_true_and_false_hold() {
    let one = json("1");
    let rule = Program::compile("v").unwrap();
    assert!(rule.holds(&[("v", &one)]).is_err());
    assert_eq!(rule.holds(&[("v", &Json::Bool(false))]), Ok(false));
}

#[test]
fn what_does_not_compile_says_where() {
    for (source, offset, part) in [
        ("", 0, "empty"),
        ("  ", 0, "empty"),
        ("a ==", 4, "unexpected"),
        ("'ä' + ) b", 7, "unexpected"),
        ("a.matches('x')", 9, "no function `matches`"),
        ("now()", 3, "no function `now`"),
        ("a.?b", 0, ""),
        ("Foo{a: 1}", 3, "message types"),
    ] {
        let error = Program::compile(source).expect_err(source);
        assert!(error.message.contains(part), "{source}: {error}");
        if !part.is_empty() {
            assert_eq!(error.offset, offset, "{source}: {error}");
        }
    }
}

#[test]
fn free_names_are_listed_with_their_paths() {
    let names = |source: &str| Program::compile(source).unwrap().names().iter().cloned().collect::<Vec<_>>();
    assert_eq!(names("steps.x.output.a == inputs.b"), ["inputs.b", "steps.x.output.a"]);
    assert_eq!(names("steps['a-b'].state"), ["steps.a-b.state"]);
    assert_eq!(names("inputs.l.exists(i, i.id == key)"), ["inputs.l", "key"]);
    assert_eq!(names("has(a.b) ? a.b : 1"), ["a.b"]);
    assert_eq!(names("type(a) == string"), ["a"]);
    assert_eq!(names("l.map(x, x).filter(y, y > x)"), ["l", "x"]);
    assert!(names("1 + 2").is_empty());
}

#[test]
fn size_depth_and_nesting_are_bounded() {
    let refused = |source: &str, part: &str| {
        let error = Program::compile(source).expect_err(&source[..source.len().min(40)]);
        assert!(error.message.contains(part), "{error}");
    };
    refused(&format!("'{}'", "a".repeat(4096)), "4098 bytes, more than 4096");
    refused(&format!("{}1{}", "(".repeat(40), ")".repeat(40)), "nested deeper than 32");
    refused(&format!("1{}", " + 1".repeat(40)), "nested deeper than 32");
    refused(&format!("1{}", "+1".repeat(255)), "nested deeper than 32");
    refused(&format!("{}1", "a?b:".repeat(127)), "");
    assert!(Program::compile(&format!("{}1", "-".repeat(255))).is_ok());
    refused(&format!("a{}", "[0]".repeat(60)), "nested deeper than 32");
    refused(&format!("{}a", "!".repeat(3000)), "operators");
    refused("l.map(a, l.map(b, l.map(c, 1)))", "nested deeper than 2");
    assert!(Program::compile("l.map(a, l.map(b, 1))").is_ok());
    assert!(Program::compile(&format!("1{}", " + 1".repeat(20))).is_ok());
    assert!(Program::compile(&format!("a{}", " && a".repeat(60))).is_ok());
}

/// None of these may run: each would take minutes, or gigabytes.
#[test]
fn a_bomb_is_refused_before_it_runs() {
    let thousand = format!("[{}]", vec!["1"; 1_000].join(","));
    let text = format!("{{\"s\":{:?},\"l\":{thousand}}}", "x".repeat(200_000));
    for (source, v) in [
        ("v.map(a, v.map(b, a * b)).size() > 0", &thousand),
        ("v.all(a, v.exists(b, a == b))", &thousand),
        ("v.all(a, a in v) && v.all(a, v.all(b, a in v))", &thousand),
        ("v.l.map(i, v.s + v.s)", &text),
        ("v.l.map(i, [v.s, v.s])", &text),
        ("(v + v + v + v).all(a, v.all(b, true))", &thousand),
    ] {
        let said = eval(source, v);
        assert!(said.ends_with("it was not run"), "{source}: {said}");
    }
    let doubling = format!("v{}.size()", ".map(x, [x, x])".repeat(24));
    assert!(eval(&doubling, "[1]").ends_with("it was not run"), "{}", eval(&doubling, "[1]"));
    let growing = format!("[v]{}.size()", ".map(x, x + x)".repeat(20));
    assert!(eval(&growing, &thousand).ends_with("it was not run"), "{}", eval(&growing, &thousand));
}

#[test]
fn honest_work_over_large_lists_runs() {
    let items =
        (0..5_000).map(|i| format!("{{\"id\":\"o{i}\",\"paid\":true}}")).collect::<Vec<_>>().join(",");
    let v = format!("[{items}]");
    assert_eq!(eval("v.exists(i, i.id == 'o4999' && i.paid)", &v), "true");
    assert_eq!(eval("v.filter(i, i.id == 'o17').size()", &v), "1");
    assert_eq!(eval("v.map(i, i.id)[4]", &v), "\"o4\"");
}

/// What the estimate lets through ends by itself; this is the dearest of it.
#[test]
fn the_dearest_permitted_evaluation_ends() {
    let v = format!("[{}]", vec!["1"; 310].join(","));
    assert_eq!(eval("v.all(a, v.all(b, a == b || a != b))", &v), "true");
    let texts = format!("[{}]", vec![format!("\"{}\"", "x".repeat(1_000)); 5_000].join(","));
    assert_eq!(eval("v.map(a, a + a + a).filter(a, a.contains('y')).size()", &texts), "0");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,60}") {
        drop(Program::compile(&text).map(|p| p.eval(&[])));
    }

    #[test]
    fn near_expressions_never_panic(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "v", ".a", "[0]", "(", ")", "{", "}", "'x'", "1", "1.5", "u", " + ", " - ", " ? ", " : ", ".map(", "x, ",
                " && ", "||", "!", "-", "\"", "\\", "r'", "b'", "'''", ".?", "[", "]", "in ", "has(", "@", "`", "0x", "e9",
            ]),
            0..24,
        ),
    ) {
        let source = parts.concat();
        let v = json("[1,{\"a\":[2]}]");
        drop(Program::compile(&source).map(|p| p.eval(&[("v", &v)])));
    }
}
