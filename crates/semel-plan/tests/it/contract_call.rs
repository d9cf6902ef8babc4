//! Operations and requests: identity, hash, key, and that an argument stays in its place.

use crate::contract_support::{Caller, contract, json, keyed, refused};
use semel_kernel::{event::PlannedOperation, json::Json, outcome::Stored};
use semel_plan::contract::Contract;
use semel_ports::{
    outside::{NoSecret, Secret, Secrets},
    request::{Fills, HttpRequest},
};

fn plan(contract: &Contract, args: &str) -> PlannedOperation {
    let args = json(args);
    contract.operation(&Caller::new().call(&args)).unwrap_or_else(|e| panic!("{e:?}"))
}

fn request(contract: &Contract, args: &str) -> Result<HttpRequest, String> {
    let args = json(args);
    contract.request(&Caller::new().call(&args), "k1k1k1k1", None).map_err(|e| e.cause)
}

struct Vault;

impl Secrets for Vault {
    fn resolve(&self, reference: &str) -> Result<Secret, NoSecret> {
        Ok(Secret::new(format!("<{reference}>")))
    }
}

/// The request as it is sent, one line a part.
fn sent(request: &HttpRequest) -> String {
    let fills = Fills { key: "KEY", fence: "1.2", secrets: &Vault };
    let fill = |t: &semel_ports::request::Template| t.fill(&fills).unwrap();
    let headers = request.headers.iter().map(|(n, t)| format!("{n}: {}\n", fill(t)));
    let body = request.body.as_ref().map(fill).unwrap_or_default();
    format!("{} {}\n{}{body}", request.method, fill(&request.url), headers.collect::<String>())
        .replace(concat!("user-agent: semel/", env!("CARGO_PKG_VERSION"), "\n"), "")
        .replace("accept: application/json\n", "")
}

#[test]
fn an_operation_is_fixed_by_its_call() {
    let op = plan(
        &keyed("cosmetic: [note]\nvolatile: [token]"),
        r#"{"order":"o 1","amount":5,"note":"x","token":"t"}"#,
    );
    assert_eq!(op.id.as_str(), "tsk_1/charge/o%201@1");
    assert_eq!((op.target.as_str(), op.version.as_str(), op.intent, op.key_epoch), ("o%201", "1", 1, 0));
    assert_eq!(op.key.len(), 32);
    assert_eq!(op.fields.keys().collect::<Vec<_>>(), ["amount"]);
    assert!(matches!(op.arguments, Stored::Inline(Json::Obj(_))));
    let uuid = plan(&keyed("key_format: uuid"), r#"{"order":"o 1"}"#);
    assert_eq!((uuid.key.len(), &uuid.key[14..15]), (36, "8"));
}

/// S18, S20: what changes the hash, what changes the id, and what changes neither.
#[test]
fn identity_material_cosmetic_volatile() {
    let contract = keyed("cosmetic: [note]\nvolatile: [token]");
    let first = plan(&contract, r#"{"order":"o1","card":"a","note":"x","token":"t1"}"#);
    let retried = plan(&contract, r#"{"order":"o1","card":"a","note":"y","token":"t2"}"#);
    assert_eq!(
        (&first.id, &first.key, first.request_hash),
        (&retried.id, &retried.key, retried.request_hash)
    );
    let other_card = plan(&contract, r#"{"order":"o1","card":"b","note":"x","token":"t1"}"#);
    assert_eq!((&first.id, &first.key), (&other_card.id, &other_card.key));
    assert_ne!(first.request_hash, other_card.request_hash);
    let differing: Vec<_> = first
        .fields
        .iter()
        .filter(|(k, v)| other_card.fields.get(*k) != Some(v))
        .map(|(k, _)| k.as_str())
        .collect();
    assert_eq!(differing, ["card"]);
    assert_ne!(first.id, plan(&contract, r#"{"order":"o2","card":"a"}"#).id);
}

/// S26, S27, through the whole operation.
#[test]
fn equal_values_have_equal_hashes_and_no_others() {
    let contract = keyed("");
    let hash = |args: &str| plan(&contract, args).request_hash;
    for (a, b) in [
        (r#"{"order":"o","a":{"x":1,"y":[1,2]}}"#, "{ \"a\" : {\"y\":[1, 2],\"x\":1},\n\"order\":\"o\"}"),
        (r#"{"order":"o","a":"é/"}"#, "{\"order\":\"o\",\"a\":\"\\u00e9\\/\"}"),
        (r#"{"order":"o","a":1}"#, r#"{"order":"o","a":1.0}"#),
        (r#"{"order":"o","a":1}"#, r#"{"order":"o","a":1e0}"#),
        (r#"{"order":"o","a":0}"#, r#"{"order":"o","a":-0.0}"#),
    ] {
        assert_eq!(hash(a), hash(b), "{a} {b}");
    }
    for (a, b) in [
        (r#"{"order":"o","a":[1,2]}"#, r#"{"order":"o","a":[2,1]}"#),
        (r#"{"order":"o","a":1}"#, r#"{"order":"o","a":"1"}"#),
        (r#"{"order":"o","a":null}"#, r#"{"order":"o"}"#),
        (r#"{"order":1}"#, r#"{"order":"1"}"#),
    ] {
        assert_ne!(hash(a), hash(b), "{a} {b}");
    }
    assert!(Json::parse(r#"{"a":1,"a":1}"#).is_err());
}

#[test]
fn two_identity_fields_never_collide() {
    let contract = contract("tool: t\nkey: [a, b]\nhttp: { method: POST, url: https://x.example/ }");
    assert_ne!(
        plan(&contract, r#"{"a":"1,2","b":"3"}"#).target,
        plan(&contract, r#"{"a":"1","b":"2,3"}"#).target
    );
    assert_eq!(contract.identity(&json(r#"{"a":7,"b":true}"#)).unwrap(), ["7", "true"]);
}

#[test]
fn identity_must_name_something_exactly() {
    for (args, part) in [
        ("{}", "it is absent"),
        (r#"{"order":""}"#, "empty text"),
        (r#"{"order":null}"#, "it is null"),
        (r#"{"order":["o"]}"#, "it is array"),
        (r#"{"order":0.1}"#, "not exact"),
    ] {
        let refusal = refused(&keyed(""), &json(args));
        assert_eq!((refusal.code, refusal.fields.as_slice()), ("SM4404", ["order".to_owned()].as_slice()));
        assert!(refusal.cause.contains(part), "{}", refusal.cause);
    }
    let long = refused(&keyed(""), &json(&format!("{{\"order\":\"{}\"}}", "x".repeat(600))));
    assert_eq!(long.code, "SM4405");
}

/// S61: refused when planned, with field, size and limit, before schema, hash or anything else.
#[test]
fn arguments_that_are_too_large_are_named() {
    let contract = keyed("input: { type: object, properties: { blob: { type: integer } } }");
    let args = Json::obj([("order", Json::str("o1")), ("blob", Json::Str("x".repeat(10 << 20)))]);
    let refusal = refused(&contract, &args);
    assert_eq!((refusal.code, refusal.fields), ("SM4401", vec!["blob".to_owned()]));
    for part in ["10485784 bytes", "limit is 262144", "`blob` with 10485762 bytes"] {
        assert!(refusal.cause.contains(part), "{part}: {}", refusal.cause);
    }
    let caller = Caller::new();
    assert_eq!(contract.request(&caller.call(&args), "k", None).unwrap_err().code, "SM4401");
}

#[test]
fn arguments_are_checked_against_the_schema() {
    let contract = keyed(
        "input: { type: object, additionalProperties: false, properties: { order: { type: string, pattern: \"^o\" } } }",
    );
    assert!(contract.digest(&json(r#"{"order":"o1"}"#)).is_ok());
    let refusal = refused(&contract, &json(r#"{"order":"hunter2"}"#));
    assert_eq!((refusal.code, refusal.fields), ("SM4403", vec!["order".to_owned()]));
    assert!(!refusal.cause.contains("hunter2"), "{}", refusal.cause);
    assert_eq!(refused(&contract, &json(r#"{"order":"o1","x":1}"#)).code, "SM4403");
    assert_eq!(refused(&contract, &json("[1]")).code, "SM4402");
    let many = (0..65).map(|i| format!("\"a{i}\":1")).collect::<Vec<_>>().join(",");
    assert_eq!(refused(&keyed(""), &json(&format!("{{{many}}}"))).code, "SM4402");
}

#[test]
fn a_request_says_what_the_contract_says_and_nothing_more() {
    assert_eq!(
        sent(&request(&keyed(""), r#"{"order":"o1","amount":5}"#).unwrap()),
        "POST https://pay.example/v1/charges\ncontent-type: application/json\nidempotency-key: KEY\n{\"amount\":5,\"order\":\"o1\"}"
    );
    let form = contract(
        "tool: pay\neffect: keyed\nkey_window: 24h\nsend_key_as: { header: X-Key }\nfence: { header: X-Fence }\nhttp:\n  method: post\n  url: https://pay.example/v1/${{ args.order }}/charges\n  query: { page: 1, q: \"a ${{ args.order }}\", none: \"${{ args.none }}\" }\n  headers: { X-Task: \"${{ task }}\" }\n  auth: { secret: env:PAY_KEY }\n  body: form\n  send: { amount: \"${{ args.amount }}\", meta: { ids: [1, \"${{ args.order }}\"], none: null }, ref: \"r-${{ key }}\" }\n",
    );
    assert_eq!(
        sent(&request(&form, r#"{"order":"o/1","amount":5,"none":null}"#).unwrap()),
        "POST https://pay.example/v1/o%2F1/charges?none_absent".replace("none_absent", "page=1&q=a%20o%2F1")
            + "\nauthorization: Bearer <env:PAY_KEY>\ncontent-type: application/x-www-form-urlencoded\nx-fence: 1.2\nx-key: KEY\nx-task: tsk_1\namount=5&meta%5Bids%5D%5B0%5D=1&meta%5Bids%5D%5B1%5D=o%2F1&ref=r-KEY"
    );
}

#[test]
fn key_and_secret_places() {
    let with = |more: &str, http: &str| {
        contract(&format!(
            "tool: t\neffect: keyed\nkey_window: 24h\n{more}\nhttp: {{ method: POST, url: \"https://x.example/a?b=c\"{http} }}"
        ))
    };
    let of = |more: &str, http: &str| sent(&request(&with(more, http), r#"{"a":1}"#).unwrap());
    let json_type = "\ncontent-type: application/json\n";
    assert_eq!(
        of("send_key_as: { body: ref }", ""),
        format!("POST https://x.example/a?b=c{json_type}{{\"a\":1,\"ref\":\"KEY\"}}")
    );
    assert_eq!(of("send_key_as: { query: k }", ", body: none"), "POST https://x.example/a?b=c&k=KEY\n");
    assert_eq!(of("", ", body: none, send: { k: \"${{ key }}\" }"), "POST https://x.example/a?b=c\n");
    assert_eq!(
        of("send_key_as: { query: k }", ", body: none, auth: { secret: \"file:/k\", as: query sig }"),
        "POST https://x.example/a?b=c&k=KEY&sig=<file:/k>\n"
    );
    assert_eq!(
        of("send_key_as: { query: k }", ", body: none, auth: { secret: \"env:A\", as: header X-Api }"),
        "POST https://x.example/a?b=c&k=KEY\nx-api: <env:A>\n"
    );
    assert_eq!(
        of("send_key_as: { query: k }", ", body: none, auth: { secret: \"env:A\", as: { header: X-Api } }"),
        "POST https://x.example/a?b=c&k=KEY\nx-api: <env:A>\n"
    );
    assert_eq!(
        of("send_key_as: { query: k }", ", body: none, auth: { secret: \"env:A\", as: basic }"),
        "POST https://x.example/a?b=c&k=KEY\nauthorization: Basic <env:A>\n"
    );
}

/// No secret and no key is written into what is stored.
#[test]
fn a_frozen_request_holds_references_only() {
    let contract = keyed("send_key_as: { body: ref }");
    let frozen = request(&contract, r#"{"order":"o1"}"#).unwrap();
    assert!(!serde_json::to_string(&frozen).unwrap().contains("k1k1k1k1"));
}

#[test]
fn an_argument_cannot_leave_its_place() {
    let url = contract(
        "tool: t\nhttp: { method: DELETE, url: \"https://x.example/users/${{ args.id }}\", headers: { X-Id: \"${{ args.id }}\" } }",
    );
    for id in ["", ".", ".."] {
        let cause = request(&url, &format!("{{\"id\":\"{id}\"}}")).unwrap_err();
        assert!(cause.contains("would change the address"), "{cause}");
    }
    for (id, part) in [("a\\r\\nX-Evil: 1", "cannot carry"), ("ä", "cannot carry")] {
        let cause = request(&url, &format!("{{\"id\":\"{id}\"}}")).unwrap_err();
        assert!(cause.contains(part), "{cause}");
    }
    assert!(request(&url, r#"{"id":null}"#).unwrap_err().contains("cannot stand inside a text"));
    assert!(request(&url, "{}").unwrap_err().contains("there is no field `id`"));
    assert_eq!(
        request(&url, r#"{"id":"a?b=c#d/../e"}"#).unwrap().url.shown(),
        "https://x.example/users/a%3Fb%3Dc%23d%2F..%2Fe"
    );
    let whole = contract("tool: t\nhttp: { method: GET, url: \"${{ args.url }}\" }");
    assert_eq!(
        request(&whole, r#"{"url":"https://y.example/a?b=c"}"#).unwrap().url.shown(),
        "https://y.example/a?b=c"
    );
    for bad in ["file:///etc/passwd", "https://y.example/a b", "https://y.example/#x", ""] {
        assert!(request(&whole, &format!("{{\"url\":\"{bad}\"}}")).is_err(), "{bad}");
    }
}
