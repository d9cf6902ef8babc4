//! Canonical JSON, hashes, keys and id components against frozen vectors and properties.
//!
//! `ok.jsonl` was computed by a JavaScript engine and `opid.jsonl` by Python, not by this code.

use std::collections::BTreeMap;
use std::fmt::Debug;

use proptest::prelude::*;
use semel_kernel::hash::{Hash, base32_lower, operation_key, operation_key_uuid, request_hash};
use semel_kernel::json::{Json, JsonErrorKind, Limits, MAX_DEPTH, MAX_SAFE_INTEGER, Num};
use semel_kernel::percent;
use serde_json::Value;

const OK: &str = include_str!("../../../../fixtures/canon/ok.jsonl");
const REJECT: &str = include_str!("../../../../fixtures/canon/reject.jsonl");
const OPID: &str = include_str!("../../../../fixtures/opid.jsonl");

fn lines(fixture: &str) -> Vec<Value> {
    fixture.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'v>(line: &'v Value, field: &str) -> &'v str {
    line[field].as_str().unwrap()
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|error| panic!("{text:.200}: {error}"))
}

/// The hash of a request whose only material field has this value.
fn request(material: &str) -> Hash {
    request_hash(&members(r#"{"account":"a-1"}"#), &members(material))
}

fn members(text: &str) -> BTreeMap<String, Json> {
    json(text).as_obj().unwrap().clone()
}

/// The name of the variant, as the fixtures write it.
fn variant(kind: &impl Debug) -> String {
    format!("{kind:?}").chars().take_while(|c| c.is_alphanumeric()).collect()
}

#[test]
fn accepted_texts_have_the_frozen_canonical_text() {
    let lines = lines(OK);
    assert!(lines.len() > 500, "the fixture was cut");
    for line in &lines {
        let value = json(text(line, "in"));
        assert_eq!(value.canonical(), text(line, "out"), "{line}");
        assert_eq!(value.size_bytes(), text(line, "out").len(), "{line}");
        assert_eq!(json(&value.canonical()), value, "{line}");
    }
}

#[test]
fn refused_texts_are_refused_for_the_frozen_reason() {
    let lines = lines(REJECT);
    assert!(lines.len() > 150, "the fixture was cut");
    for line in &lines {
        match Json::parse(text(line, "in")) {
            Ok(value) => panic!("{line} was read as {value:?}"),
            Err(error) => assert_eq!(variant(&error.kind), text(line, "kind"), "{line}"),
        }
    }
}

#[test]
fn s26_key_order_space_and_escapes_keep_the_hash_and_array_order_does_not() {
    let pairs = [
        (r#"{"a":{"x":1,"y":[{"p":1,"q":2}]},"b":2}"#, r#"{"b":2,"a":{"y":[{"q":2,"p":1}],"x":1}}"#, true),
        (r#"{"a":[1,2],"b":"x y"}"#, " {\n\t\"a\" : [ 1 ,\r\n2 ] , \"b\":\"x y\" } ", true),
        (r#"{"né":"€/😀\"\n"}"#, r#"{"n\u00E9":"\u20ac\/\uD83D\uDE00\u0022\u000a"}"#, true),
        (r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#, false),
        (r#"{"b":"x y"}"#, r#"{"b":"x  y"}"#, false),
    ];
    for (left, right, same) in pairs {
        assert_eq!(request(left) == request(right), same, "{left} and {right}");
    }
}

#[test]
fn s27_spellings_of_a_number_agree_and_other_kinds_differ() {
    let hash = |value: &str| request(&format!(r#"{{"n":{value}}}"#));
    for spelling in ["1.0", "1e0", "10e-1", "0.1E+1"] {
        assert_eq!(hash("1"), hash(spelling), "{spelling}");
    }
    for spelling in ["-0", "-0.0", "0e9", "-0E-9"] {
        assert_eq!(hash("0"), hash(spelling), "{spelling}");
    }
    assert_ne!(hash("1"), hash(r#""1""#));
    assert_ne!(request("{}"), hash("null"));
    let twice = Json::parse(r#"{"n":1,"n":1}"#).unwrap_err();
    assert_eq!(twice.kind, JsonErrorKind::DuplicateName { name: "n".into() });
}

#[test]
fn s27_neighbours_of_the_greatest_integer_never_share_a_hash() {
    for text in ["9007199254740992", "9007199254740993", "9007199254740993.0", "9.007199254740993e15"] {
        let refused = Json::parse(text).unwrap_err();
        assert_eq!(refused.kind, JsonErrorKind::UnsafeInteger { text: text.into() });
    }
    assert_ne!(json("9007199254740991"), json("9007199254740990"));
}

#[test]
fn identity_and_material_are_told_apart() {
    let (x, y) = (members(r#"{"x":1}"#), members(r#"{"y":2}"#));
    assert_ne!(request_hash(&x, &y), request_hash(&y, &x));
    assert_ne!(request_hash(&x, &members("{}")), request_hash(&members("{}"), &x));
    let whole = Json::obj([("material", Json::Obj(y.clone())), ("identity", Json::Obj(x.clone()))]);
    assert_eq!(request_hash(&x, &y), Hash::of(whole.canonical().as_bytes()));
}

#[test]
fn refusals_say_where_and_what_to_do() {
    let error = Json::parse("{\"a\":[1,2,0,\n {\"é\":\"ü\", \"b\":9007199254740993}]}").unwrap_err();
    assert_eq!((error.line, error.column, error.path.as_str()), (2, 16, "$.a[3].b"));
    assert_eq!(
        error.to_string(),
        "the number 9007199254740993 lies beyond ±9007199254740991 and cannot be kept exactly, at \
         $.a[3].b (line 2, column 16); next: write large ids and exact amounts as a text \
         (\"9007199254740993\"), or money in minor units"
    );
    let odd = Json::parse("{\"a b\":{\"\":{\"x\\n\":[tru]}}}").unwrap_err();
    assert_eq!(odd.path, r#"$["a b"][""]["x\n"][0]"#);
    let twice = Json::parse("{\"a\":{\"k\":1,\n\"k\":2}}").unwrap_err();
    assert_eq!((twice.line, twice.column, twice.path.as_str()), (2, 1, "$.a.k"));
    let long = Json::parse(&"9".repeat(5_000)).unwrap_err();
    assert!(long.to_string().len() < 400, "{long}");
}

#[test]
fn codes_are_distinct_and_hints_are_given() {
    let mut codes = BTreeMap::new();
    for line in lines(REJECT) {
        let error = Json::parse(text(&line, "in")).unwrap_err();
        let before = codes.insert(error.code(), variant(&error.kind));
        assert!(before.is_none_or(|kind| kind == variant(&error.kind)), "{}", error.code());
        assert!(!error.next().is_empty());
    }
    assert_eq!(codes.len(), 12, "all kinds but TooLarge: {codes:?}");
}

#[test]
fn limits_count_bytes_and_nesting() {
    let limits = Limits { bytes: 4, depth: 2 };
    assert_eq!(Json::parse_with("[[]]", limits), Ok(Json::Arr(vec![Json::Arr(vec![])])));
    let large = Json::parse_with("[[] ]", limits).unwrap_err();
    assert_eq!((large.kind.clone(), large.code()), (JsonErrorKind::TooLarge { limit: 4 }, "SM1801"));
    let deep = Json::parse_with("[[[]]]", Limits { bytes: 9, ..limits }).unwrap_err();
    assert_eq!(deep.kind, JsonErrorKind::TooDeep { limit: 2 });
    let endless = Limits { bytes: usize::MAX, depth: usize::MAX };
    let deep = Json::parse_with(&"[".repeat(1_000_000), endless).unwrap_err();
    assert_eq!(deep.kind, JsonErrorKind::TooDeep { limit: MAX_DEPTH });
}

#[test]
fn numbers_are_never_clamped_or_rounded() {
    assert_eq!(Json::int(MAX_SAFE_INTEGER).unwrap().as_i64(), Some(MAX_SAFE_INTEGER));
    assert_eq!(Json::int(-MAX_SAFE_INTEGER).unwrap().as_i64(), Some(-MAX_SAFE_INTEGER));
    for beyond in [MAX_SAFE_INTEGER + 1, -MAX_SAFE_INTEGER - 1, i64::MAX, i64::MIN] {
        let refused = Json::int(beyond).unwrap_err();
        assert_eq!(refused, JsonErrorKind::UnsafeInteger { text: beyond.to_string() });
    }
    for beyond in [9_007_199_254_740_992.0, -1e300, f64::MAX] {
        assert_eq!(variant(&Num::from_f64(beyond).unwrap_err()), "UnsafeInteger");
    }
    for none in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(Num::from_f64(none), Err(JsonErrorKind::NotFinite));
    }
    assert!(Num::from_f64(-0.0).unwrap().as_f64().is_sign_positive());
    assert_eq!(Num::from_f64(1.5).unwrap().as_i64(), None);
}

#[test]
fn accessors_answer_only_for_their_kind() {
    let value = json(r#"{"a":[{"b":"x"},null,true],"n":1.5,"i":-3}"#);
    assert_eq!(value.at(&["a", "0", "b"]).and_then(Json::as_str), Some("x"));
    for wrong in [["a", "00"], ["a", "+0"], ["a", "3"], ["a", "-1"], ["n", "0"], ["b", "a"]] {
        assert_eq!(value.at(&wrong), None, "{wrong:?}");
    }
    assert_eq!(value.at(&[]), Some(&value));
    assert_eq!(value.get("i").and_then(Json::as_i64), Some(-3));
    assert_eq!(value.get("n").and_then(Json::as_i64), None);
    assert_eq!(value.get("n").and_then(Json::as_f64), Some(1.5));
    assert_eq!(value.at(&["a", "2"]).and_then(Json::as_bool), Some(true));
    assert!(value.at(&["a", "1"]).is_some_and(Json::is_null));
    assert_eq!(value.get("a").and_then(Json::as_arr).map(<[Json]>::len), Some(3));
    assert_eq!(value.get("a").map(Json::kind_name), Some("array"));
    assert_eq!(value.as_str(), None);
}

#[test]
fn serde_reads_as_strictly_as_the_parser() {
    for text in ["9007199254740992", "-9007199254740993", "18446744073709551615", "1e300", r#"{"a":1,"a":1}"#]
    {
        assert!(serde_json::from_str::<Json>(text).is_err(), "{text}");
    }
    assert_eq!(serde_json::from_str::<Json>("[-0.0,1.0,9007199254740991]").unwrap(), {
        Json::Arr(vec![0.into(), 1.into(), Json::int(MAX_SAFE_INTEGER).unwrap()])
    });
    assert_eq!(serde_json::to_string(&json("[1.0,-0.0,0.5]")).unwrap(), "[1,0,0.5]");
}

#[test]
fn hashes_have_one_text() {
    let abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let hash = Hash::of(b"abc");
    assert_eq!((hash.to_string(), format!("{hash:?}")), (abc.into(), abc.into()));
    assert_eq!(abc.parse(), Ok(hash));
    assert_eq!(hash.short(), "ba7816bf");
    assert_eq!(serde_json::to_string(&hash).unwrap(), format!("\"{abc}\""));
    assert_eq!(serde_json::from_str::<Hash>(&format!("\"{abc}\"")).unwrap(), hash);
    let upper = abc.replace('b', "B");
    for wrong in ["", "sha256:", &abc[7..], &abc[..70], &format!("{abc}0"), &upper, &abc.replace('a', "g")] {
        assert!(wrong.parse::<Hash>().is_err(), "{wrong}");
    }
}

#[test]
fn parts_cannot_lend_bytes_to_each_other() {
    assert_ne!(Hash::of_parts(&[b"ab", b"c"]), Hash::of_parts(&[b"a", b"bc"]));
    assert_ne!(Hash::of_parts(&[b"", b"a"]), Hash::of_parts(&[b"a", b""]));
    assert_eq!(Hash::of_parts(&[b"hi"]), Hash::of(b"\0\0\0\0\0\0\0\x02hi"));
}

#[test]
fn base32_follows_rfc_4648() {
    let vectors = [
        ("", ""),
        ("f", "my"),
        ("fo", "mzxq"),
        ("foo", "mzxw6"),
        ("foob", "mzxw6yq"),
        ("fooba", "mzxw6ytb"),
        ("foobar", "mzxw6ytboi"),
    ];
    for (plain, encoded) in vectors {
        assert_eq!(base32_lower(plain.as_bytes()), encoded);
    }
}

#[test]
fn operation_keys_are_frozen() {
    let lines = lines(OPID);
    assert!(lines.len() > 15, "the fixture was cut");
    for line in &lines {
        let epoch = u32::try_from(line["epoch"].as_u64().unwrap()).unwrap();
        let (tenant, id) = (text(line, "tenant"), text(line, "operation_id"));
        assert_eq!(operation_key(tenant, id, epoch), text(line, "key"), "{line}");
        assert_eq!(operation_key_uuid(tenant, id, epoch), text(line, "uuid"), "{line}");
    }
}

#[test]
fn components_keep_the_marks_of_ids_out() {
    assert_eq!(percent::encode("a/b@1#2~3%[é]-._Z9"), "a%2Fb%401%232%7E3%25%5B%C3%A9%5D-._Z9");
    for wrong in ["%", "%4", "%2f", "%41", "%GG", "a/b", "~", "é", "%C3", "%+1", "%FF"] {
        assert_eq!(percent::decode(wrong), None, "{wrong}");
    }
}

/// Doubles of every size that Semel carries, and whole numbers, each often.
fn number() -> impl Strategy<Value = Json> {
    let whole = (-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).prop_map(|value| Json::int(value).unwrap());
    let double = any::<f64>().prop_filter_map("unsafe", |value| Num::from_f64(value).ok().map(Json::Num));
    let middle = (-1e6..1e6_f64).prop_map(|value| Json::Num(Num::from_f64(value).unwrap()));
    prop_oneof![any::<i32>().prop_map(Json::from), whole, double, middle]
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-c]{0,2}",
        "[\u{0}-\u{20}\"\\\\/\u{7f}-\u{a0}\u{e000}\u{ffff}\u{10000}]{0,4}"
    ]
}

fn value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        number(),
        any_text().prop_map(Json::from)
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::Arr),
            prop::collection::btree_map(any_text(), inner, 0..6).prop_map(Json::Obj),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn canonical_text_reads_back_equal_and_is_a_fixpoint(value in value()) {
        let text = value.canonical();
        let read = Json::parse(&text).unwrap();
        prop_assert_eq!(&read, &value);
        prop_assert_eq!(read.canonical(), text);
    }

    #[test]
    fn stored_values_read_back_equal(value in value()) {
        let stored = serde_json::to_string(&value).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Json>(&stored).unwrap(), &value);
        prop_assert_eq!(&Json::parse(&stored).unwrap(), &value);
    }

    #[test]
    fn different_values_have_different_texts(left in value(), right in value()) {
        prop_assert_eq!(left == right, left.canonical() == right.canonical());
    }

    #[test]
    fn any_text_is_refused_or_means_the_same_to_serde_json(text in any::<String>()) {
        if let Ok(value) = Json::parse(&text) {
            prop_assert_eq!(serde_json::from_str::<Json>(&text).unwrap(), value);
        }
    }

    #[test]
    fn broken_json_is_read_or_refused(value in value(), cut in any::<prop::sample::Index>(), put in any_text()) {
        let text = value.canonical();
        let mut at = cut.index(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let broken = format!("{}{put}{}", &text[..at], &text[at..]);
        if let Err(error) = Json::parse(&broken) {
            prop_assert!(error.line >= 1 && error.column >= 1 && error.path.starts_with('$'));
        }
        prop_assert!(at == text.len() || !matches!(value, Json::Arr(_) | Json::Obj(_)) || Json::parse(&text[..at]).is_err());
    }

    #[test]
    fn json_like_text_is_refused_or_means_the_same_to_serde_json(text in "[\\[\\]{}:, \"\\\\u0-9dDaeE+.tnl-]{0,24}") {
        if let Ok(value) = Json::parse(&text) {
            prop_assert_eq!(serde_json::from_str::<Json>(&text).unwrap(), value);
        }
    }

    #[test]
    fn components_read_back_and_are_plain(component in any_text()) {
        let encoded = percent::encode(&component);
        prop_assert!(encoded.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._%".contains(&byte)));
        prop_assert_eq!(percent::decode(&encoded), Some(component));
    }

    #[test]
    fn what_decodes_encodes_to_itself(encoded in "([a-f~/@-]|%[0-9A-Fa-f]{2}){0,6}") {
        if let Some(component) = percent::decode(&encoded) {
            prop_assert_eq!(percent::encode(&component), encoded);
        }
    }
}
