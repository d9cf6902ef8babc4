//! The document is the plan's identity: what does not matter is gone from it, what matters changes its hash.

use crate::plan_support::{fixture, folder, sound};
use semel_plan::{diff::diff, plan::PlanDoc};

const TEXT: &str = r#"
semel: 1
name: t
inputs: { a: { type: string, default: x }, b: { type: integer } }
limits: { deadline: 90m, attempts: 5 }
pins: { model: m, schema: 1.10 }
tools: { mail: { from: contracts/mail.yaml } }
steps:
  - step: one
    sleep: 60s
  - step: two
    act: mail
    if: "${{ inputs.b > 1 }}"
    version: 1
    with: { to: "${{ inputs.a }}", text: hi }
"#;

const SAME: &str = r#"
# Another order, other quotes, comments, other spellings of the same values.
name: 't'
pins: { schema: "1.10", model: m }
steps:
  - { sleep: 1m, needs: [], step: one }
  - with:
      text: "hi" # a comment
      to: >-
        ${{ inputs.a }}
    needs: [one]
    intent: 1
    version: "1"
    if: inputs.b > 1
    act: mail
    step: two
tools:
  mail:
    http:
      send: { text: "${{ args.text }}", to: "${{ args.to }}" }
      body: json
      url: http://127.0.0.1:9/mails
      method: POST
    key: [to]
    effect: blind
limits: { attempts: 5, deadline: 1h30m }
inputs: { b: { type: integer }, a: { default: x, type: string } }
semel: 1
"#;

#[test]
fn comments_key_order_and_spelling_do_not_change_the_hash() {
    let (a, b) = (sound(TEXT), sound(SAME));
    assert_eq!(diff(&a, &b), []);
    assert_eq!(a.kernel.hash, b.kernel.hash);
    assert_eq!(a, b);
}

#[test]
fn what_matters_changes_the_hash() {
    let hash = sound(TEXT).kernel.hash;
    for (from, to) in [
        ("name: t", "name: u"),
        ("default: x", "default: y"),
        ("b > 1", "b > 2"),
        ("version: 1", "version: 2"),
        ("version: 1", "intent: 2"),
        ("text: hi", "text: ho"),
        ("1.10", "1.1"),
        ("60s", "61s"),
        ("90m", "91m"),
        ("step: two", "step: three"),
        ("    act: mail", "    needs: []\n    act: mail"),
    ] {
        assert!(TEXT.contains(from), "{from}");
        assert_ne!(sound(&TEXT.replacen(from, to, 1)).kernel.hash, hash, "{from} -> {to}");
    }
}

#[test]
fn the_document_reads_back_to_an_equal_plan() {
    for plan in [sound(TEXT), fixture("onboard.yaml").expect("it is sound")] {
        let back = PlanDoc::from_document(&plan.document).expect("what was written is sound");
        assert_eq!(back, plan);
        assert_eq!(back.kernel.hash, plan.kernel.hash);
        assert_eq!(back.contracts.len(), plan.contracts.len());
        let tools = plan.kernel.tools.values().map(|t| t.contract).collect::<Vec<_>>();
        assert_eq!(back.kernel.tools.values().map(|t| t.contract).collect::<Vec<_>>(), tools);
    }
}

#[test]
fn the_document_of_the_example_is_as_it_was() {
    let plan = fixture("onboard.yaml").expect("it is sound");
    insta::assert_snapshot!(plan.document.canonical().replace(",\"", ",\n\""));
    insta::assert_snapshot!(format!("{:#?}", plan.kernel.steps));
    assert!(plan.warnings.iter().all(|p| p.file.starts_with("contracts/")), "{:?}", plan.warnings);
}

#[test]
fn a_file_is_read_with_the_contracts_beside_it() {
    let plan = PlanDoc::read(&folder().join("onboard.yaml")).expect("it is sound");
    assert_eq!(plan, fixture("onboard.yaml").expect("it is sound"));
    let missing = PlanDoc::read(&folder().join("nothing.yaml")).expect_err("there is no such file");
    assert_eq!(missing[0].code, "SM4001");
    assert!(missing[0].message.ends_with("no such file"), "{}", missing[0].message);
}
