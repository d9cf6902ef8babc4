//! The schemas for editors agree with the readers about the fixtures.

use crate::plan_support::{folder, json};
use semel_plan::{problem::Problems, yaml};

fn value(name: &str) -> serde_json::Value {
    let text = std::fs::read_to_string(folder().join(name)).expect("the fixture is there");
    let root = yaml::parse(name, &text, &mut Problems::new()).expect("it is YAML");
    let json = root.to_json("", &mut Problems::new()).expect("it is JSON");
    serde_json::from_str(&json.canonical()).expect("it is JSON")
}

/// A schema of the crate; the reference to the other file is cut, because nothing is fetched here.
fn schema(name: &str) -> jsonschema::Validator {
    let path = folder().join("../../schemas").join(name);
    let text = std::fs::read_to_string(path).expect("the schema is there");
    json(&text);
    let text = text.replace("contract.schema.json#/$defs/inline", "#/$defs/anything");
    let mut schema: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    schema["$defs"]["anything"] = serde_json::json!({ "type": "object", "required": ["http"] });
    jsonschema::validator_for(&schema).expect("it is a schema")
}

#[test]
fn the_plan_schema_takes_the_good_and_not_the_bad() {
    let schema = schema("plan.schema.json");
    let good = value("onboard.yaml");
    let errors: Vec<String> = schema.iter_errors(&good).map(|e| e.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    assert!(!schema.is_valid(&value("bad/six.yaml")));
    for (at, wrong) in
        [("semel", "2"), ("name", "\"A B\""), ("steps", "[]"), ("more", "1"), ("limits", "{\"a\":1}")]
    {
        let mut bad = good.clone();
        bad[at] = serde_json::from_str(wrong).expect("JSON");
        assert!(!schema.is_valid(&bad), "{at}: {wrong}");
    }
}

#[test]
fn the_contract_schema_takes_the_good_and_not_the_bad() {
    let schema = schema("contract.schema.json");
    for name in ["contracts/pay.yaml", "contracts/mail.yaml", "contracts/badge.yaml"] {
        let errors: Vec<String> = schema.iter_errors(&value(name)).map(|e| e.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new(), "{name}");
    }
    for (at, wrong) in
        [("effect", "\"sometimes\""), ("key_windw", "\"1h\""), ("timeout", "30"), ("http", "{}")]
    {
        let mut bad = value("contracts/pay.yaml");
        bad[at] = serde_json::from_str(wrong).expect("JSON");
        assert!(!schema.is_valid(&bad), "{at}: {wrong}");
    }
}
