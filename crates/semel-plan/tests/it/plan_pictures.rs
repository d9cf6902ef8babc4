//! Pictures of a plan, and what is different between two.

use crate::plan_support::{fixture, sound};
use insta::assert_snapshot;
use semel_kernel::json::Json;
use semel_plan::{diff, graph};

#[test]
fn a_plan_as_text_mermaid_and_dot() {
    let plan = fixture("onboard.yaml").expect("it is sound");
    assert_snapshot!(graph::text(&plan.kernel));
    assert_snapshot!(graph::mermaid(&plan.kernel));
    assert_snapshot!(graph::dot(&plan.kernel));
}

#[test]
fn changes_are_told_by_step_and_field() {
    let a = sound(
        "semel: 1\nname: t\nlimits: { attempts: 5 }\nsteps: [{ step: a, sleep: 1s }, { step: b, sleep: 2s }]\n",
    );
    let b = sound(
        "semel: 1\nname: t\npins: { model: m }\nsteps: [{ step: new, sleep: 1s }, { step: a, sleep: 3s, needs: [] }, { step: b, sleep: 2s }]\n",
    );
    let shown = |c: &diff::Change| {
        let side = |v: &Option<Json>| v.as_ref().map_or_else(|| "-".to_owned(), Json::canonical);
        format!("{}: {} -> {}", c.path, side(&c.old), side(&c.new))
    };
    let lines: Vec<String> = diff::diff(&a, &b).iter().map(shown).collect();
    assert_snapshot!(lines.join("\n"));
}

#[test]
fn the_order_alone_is_a_change() {
    let text = |steps| format!("semel: 1\nname: t\nsteps: [{steps}]\n");
    let a = sound(&text("{ step: a, sleep: 1s, needs: [] }, { step: b, sleep: 1s, needs: [] }"));
    let b = sound(&text("{ step: b, sleep: 1s, needs: [] }, { step: a, sleep: 1s, needs: [] }"));
    assert_ne!(a.kernel.hash, b.kernel.hash);
    assert_eq!(diff::diff(&a, &b).iter().map(|c| c.path.as_str()).collect::<Vec<_>>(), ["order"]);
    assert_eq!(diff::diff(&a, &a), []);
}
