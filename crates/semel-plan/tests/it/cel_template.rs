//! Templates: types are kept, only scalars stand inside text, and broken ones say where.

use semel_kernel::json::Json;
use semel_plan::template::{Template, Tree};

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn resolve(text: &str, v: &str) -> String {
    let v = json(v);
    match Template::parse(text) {
        Err(error) => format!("!! {}@{}", error.message, error.offset),
        Ok(template) => template.resolve(&[("v", &v)]).map_or_else(|e| format!("! {e}"), |j| j.canonical()),
    }
}

#[test]
fn values() {
    for (text, v, expected) in [
        ("plain", "1", "\"plain\""),
        ("${{ v }}", "[1,2]", "[1,2]"),
        ("${{v}}", "null", "null"),
        (" ${{ v }}", "7", "\" 7\""),
        ("a ${{ v }} b ${{ v + 1 }}", "7", "\"a 7 b 8\""),
        ("${{ v }}${{ v }}", "true", "\"truetrue\""),
        ("${{ {'a': {'b': v}} }}", "1", r#"{"a":{"b":1}}"#),
        ("${{ '}}' + v }}", "\"x\"", "\"}}x\""),
        ("$ {{ v }} $${v}", "1", "\"$ {{ v }} $${v}\""),
        ("a ${{ v }}", "[1]", "! `v`: its value is array and cannot stand inside a text"),
        ("a ${{ v }}", "null", "! `v`: its value is null and cannot stand inside a text"),
        ("${{ v.x }}", "{}", "! `v.x`: there is no field `x`"),
        ("a ${{ v", "1", "!! `${{` has no `}}`@2"),
        ("${{ v }", "1", "!! `${{` has no `}}`@0"),
        ("${{ 'a }}", "1", "!! `${{` has no `}}`@0"),
        ("${{}}", "1", "!! the expression is empty@3"),
    ] {
        assert_eq!(resolve(text, v), expected, "{text}");
    }
}

#[test]
fn a_broken_expression_is_located_in_the_whole_text() {
    let error = Template::parse("äb ${{  v + nope() }}").unwrap_err();
    assert_eq!(&"äb ${{  v + nope() }}"[error.offset..=error.offset], "(");
}

#[test]
fn trees_keep_their_shape_and_tell_all_errors() {
    let tree = Tree::parse(&json(r#"{"a":["${{ v }}",1],"b":"x${{ v }}","${{ v }}":null}"#)).unwrap();
    let v = json("2");
    assert_eq!(tree.resolve(&[("v", &v)]).unwrap().canonical(), r#"{"${{ v }}":null,"a":[2,1],"b":"x2"}"#);
    let paths: Vec<String> = tree.programs().into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["a[0]", "b"]);
    let errors = Tree::parse(&json(r#"{"a":["${{ + }}"],"b":"${{"}"#)).unwrap_err();
    assert_eq!(errors.iter().map(|e| e.path.as_str()).collect::<Vec<_>>(), ["a[0]", "b"]);
    let failed = tree.resolve(&[]).unwrap_err();
    assert!(failed.starts_with("a[0]: "), "{failed}");
}
