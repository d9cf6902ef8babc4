//! An expression compiles or is refused with its place; one that compiles gives the same result each time, and never
//! takes the process with it.

use semel_kernel::json::Json;
use semel_plan::cel::Program;

const ARGS: &str = r#"{"amount":12,"flag":true,"items":[3,1,2],"name":"ä b","nested":{"list":[{"id":1},{"id":2}]},"none":null,"price":1.5}"#;
const BODY: &str = r#"{"error":{"code":"duplicate"},"id":"ch_1","items":[{"ref":"k1"}],"total":1}"#;
const HEADERS: &str = r#"{"content-type":"application/json","retry-after":"2"}"#;

/// True when the input got as far as the property itself.
pub(crate) fn check(data: &[u8]) -> bool {
    let Ok(source) = std::str::from_utf8(data) else { return false };
    let program = match Program::compile(source) {
        Ok(program) => program,
        Err(error) => {
            assert!(!error.message.is_empty() && error.offset <= source.len(), "{error:?}");
            return false;
        }
    };
    assert_eq!(program.source(), source);
    let [args, body, headers] = [ARGS, BODY, HEADERS].map(|text| Json::parse(text).expect("JSON"));
    let (status, key) = (Json::from(200_u32), Json::str("k1"));
    let vars = [
        ("v", &args),
        ("args", &args),
        ("body", &body),
        ("headers", &headers),
        ("status", &status),
        ("key", &key),
    ];
    let first = program.eval(&vars);
    assert_eq!(first, program.eval(&vars), "the same inputs give the same result");
    if let (Ok(truth), Ok(result)) = (program.holds(&vars), &first) {
        assert_eq!(Some(truth), result.as_bool());
    }
    // With nothing to read there is an error, never a false answer about what is missing.
    drop(program.eval(&[]));
    first.is_ok()
}
