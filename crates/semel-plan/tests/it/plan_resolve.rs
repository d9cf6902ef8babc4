//! What a step turns out to be: arguments, items, conditions, and refusals before anything is sent.

use crate::plan_support::{NOW, expand, fixture, json, name, settle, sound, task};
use semel_kernel::{
    event::PlannedOperation, id::StepName, json::Json, outcome::Stored, step::StepState, task::Task,
};
use semel_plan::{
    contract::Refusal,
    plan::PlanDoc,
    resolve::{Resolved, SharedCall, View},
};
use std::collections::BTreeMap;

struct Run {
    plan: PlanDoc,
    task: Task,
    inputs: Json,
    outputs: BTreeMap<StepName, Json>,
}

impl Run {
    fn of(plan: PlanDoc, inputs: &str) -> Run {
        let task = task(&plan);
        Run { plan, task, inputs: json(inputs), outputs: BTreeMap::new() }
    }

    fn resolve(&self, step: &str) -> Resolved {
        let view = View { task: &self.task, inputs: &self.inputs, outputs: &self.outputs, now: NOW };
        self.plan.resolve(&view, &name(step))
    }

    fn act(&self, step: &str) -> PlannedOperation {
        match self.resolve(step) {
            Resolved::Act { operation } => operation,
            other => panic!("{step}: {other:?}"),
        }
    }

    fn refusal(&self, step: &str) -> Refusal {
        match self.resolve(step) {
            Resolved::Refuse(refusal) => refusal,
            other => panic!("{step}: {other:?}"),
        }
    }

    fn expanded(&mut self, step: &str) -> Vec<StepName> {
        let Resolved::Each { items, .. } = self.resolve(step) else { panic!("no items") };
        expand(&mut self.task, step, &items);
        items
    }
}

const PEOPLE: &str = r#"{"order": "o/1", "people": [
    {"id": "ann", "wanted": true}, {"id": "bob b", "wanted": false}, {"id": "cy", "wanted": true}]}"#;

fn onboard() -> Run {
    let mut run = Run::of(fixture("onboard.yaml").expect("it is sound"), PEOPLE);
    run.outputs.insert(name("charge"), json(r#"{"paid": true, "id": "ch_1"}"#));
    run
}

fn each(list: &str, rest: &str) -> Run {
    let text = format!(
        "semel: 1\nname: t\ninputs: {{ list: {{ type: array }} }}\ntools: {{ mail: {{ from: contracts/mail.yaml }} }}\nsteps:\n  - step: s\n    act: mail\n    each: {{ in: \"${{{{ inputs.list }}}}\", as: p, key: \"${{{{ p }}}}\"{rest} }}\n    with: {{ to: \"${{{{ p }}}}\" }}\n"
    );
    Run::of(sound(&text), &format!("{{\"list\": {list}}}"))
}

#[test]
fn arguments_keep_their_types_and_the_target_is_encoded() {
    let operation = onboard().act("charge");
    assert_eq!(operation.id.as_str(), "tsk_1/charge/o%2F1@1");
    let Stored::Inline(args) = &operation.arguments else { panic!("inline") };
    assert_eq!(args.canonical(), r#"{"amount":100,"note":"for o/1","order":"o/1"}"#);
}

#[test]
fn every_item_gets_its_own_operation_and_its_own_arguments() {
    let mut run = onboard();
    let items = run.expanded("notify");
    assert_eq!(items, [name("notify[ann]"), name("notify[bob%20b]"), name("notify[cy]")]);
    let (ann, cy) = (run.act("notify[ann]"), run.act("notify[cy]"));
    assert_eq!(ann.target, "ann");
    assert_eq!(cy.target, "cy");
    assert_ne!(ann.id, cy.id);
    assert_ne!(ann.key, cy.key);
    let skip = run.resolve("notify[bob%20b]");
    assert_eq!(
        skip,
        Resolved::Skip { cause: "its condition is false: steps.charge.output.paid && p.wanted".to_owned() }
    );
}

#[test]
fn an_item_is_found_by_its_key_even_when_the_list_came_out_differently() {
    let mut run = onboard();
    run.expanded("notify");
    run.inputs = json(r#"{"order": "o1", "people": [{"id": "cy", "wanted": true}]}"#);
    assert_eq!(run.refusal("notify[ann]").code, "SM4137");
    assert_eq!(run.refusal("notify[nobody]").code, "SM4137");
}

#[test]
fn results_of_items_are_read_by_their_keys() {
    let mut run = onboard();
    let items = run.expanded("notify");
    run.outputs.insert(items[1].clone(), json("1"));
    settle(&mut run.task, "badge", StepState::Skipped);
    let Stored::Inline(args) = run.act("report").arguments else { panic!("inline") };
    assert_eq!(args.get("text"), Some(&Json::str("badge SKIPPED, told 3")));
}

#[test]
fn a_condition_that_is_false_skips_and_one_that_fails_refuses() {
    let run = onboard();
    let cause = "its condition is false: inputs.plan == 'full'".to_owned();
    assert_eq!(run.resolve("badge"), Resolved::Skip { cause });
    let mut run = onboard();
    run.expanded("notify");
    run.outputs.clear();
    let refusal = run.refusal("notify[ann]");
    assert_eq!(refusal.code, "SM4131");
    assert!(refusal.cause.contains("steps.charge.output.paid"), "{}", refusal.cause);
}

#[test]
fn a_condition_over_the_whole_list_is_decided_before_the_items() {
    let text = "semel: 1\nname: t\ntools: { mail: { from: contracts/mail.yaml } }\nsteps:\n  - step: s\n    act: mail\n    if: \"1 > 2\"\n    each: { in: [a], as: p, key: \"${{ p }}\" }\n    with: { to: \"${{ p }}\" }\n";
    let run = Run::of(sound(text), "{}");
    assert!(matches!(run.resolve("s"), Resolved::Skip { .. }));
}

#[test]
fn lists_that_are_too_long_name_both_numbers() {
    let refusal = each("[1, 2, 3]", ", max: 2").refusal("s");
    assert_eq!(refusal.code, "SM4135");
    assert_eq!(refusal.cause, "the list of `s` has 3 items, the limit is 2");
    let many: Vec<String> = (0..1_001).map(|i| i.to_string()).collect();
    let refusal = each(&format!("[{}]", many.join(",")), "").refusal("s");
    assert_eq!(refusal.cause, "the list of `s` has 1001 items, the limit is 1000");
}

#[test]
fn a_key_twice_an_empty_key_and_a_key_that_is_no_scalar_are_refused() {
    let twice = each(r#"["a", "b", "a"]"#, "").refusal("s");
    assert_eq!(twice.code, "SM4134");
    assert_eq!(twice.cause, "items 0 and 2 of `s` have the same key, `s[a]`");
    assert_eq!(each(r#"["a", ""]"#, "").refusal("s").code, "SM4133");
    assert_eq!(each(r#"["a", {"x": 1}]"#, "").refusal("s").code, "SM4133");
    assert_eq!(each(&format!("[\"{}\"]", "x".repeat(300)), "").refusal("s").code, "SM4133");
    assert_eq!(each("{}", "").refusal("s").code, "SM4133");
    assert!(matches!(each("[]", "").resolve("s"), Resolved::Each { items, .. } if items.is_empty()));
}

#[test]
fn a_number_and_its_text_are_the_same_key() {
    assert_eq!(each(r#"[1, "1"]"#, "").refusal("s").code, "SM4134");
}

#[test]
fn a_sleep_ends_after_its_time_and_a_computed_one_is_checked() {
    assert_eq!(onboard().resolve("pause"), Resolved::Sleep { until: NOW.plus(90_000) });
    let text = "semel: 1\nname: t\ninputs: { w: { type: string } }\nsteps: [{ step: s, sleep: \"${{ inputs.w }}\" }]\n";
    let run = |given: &str| Run::of(sound(text), given);
    assert_eq!(run(r#"{"w": "2h"}"#).resolve("s"), Resolved::Sleep { until: NOW.plus(7_200_000) });
    assert_eq!(run(r#"{"w": "30"}"#).refusal("s").code, "SM4136");
}

#[test]
fn arguments_over_the_limit_are_refused_before_anything_is_sent() {
    let mut run = onboard();
    run.inputs = Json::obj([("order", Json::Str("x".repeat(300 << 10)))]);
    let refusal = run.refusal("charge");
    assert!(refusal.cause.contains("262144"), "{}", refusal.cause);
}

#[test]
fn a_list_inside_a_text_is_refused() {
    let text = "semel: 1\nname: t\ninputs: { l: { type: array } }\ntools: { mail: { from: contracts/mail.yaml } }\nsteps: [{ step: s, act: mail, with: { to: \"a ${{ inputs.l }}\" } }]\n";
    let refusal = Run::of(sound(text), r#"{"l": [1]}"#).refusal("s");
    assert_eq!(refusal.code, "SM4132");
}

#[test]
fn an_unknown_step_is_refused() {
    assert_eq!(onboard().refusal("nothing").code, "SM4130");
    assert_eq!(onboard().refusal("nothing[x]").code, "SM4130");
    assert_eq!(onboard().refusal("charge[x]").code, "SM4130");
}

fn shared_call() -> (Run, SharedCall) {
    let mut run = onboard();
    run.inputs = json(r#"{"order": "${{ task.id }}", "plan": "full"}"#);
    let Resolved::Shared(call) = run.resolve("badge") else { panic!("not shared") };
    (run, call)
}

#[test]
fn a_tenant_scoped_tool_asks_for_a_task_of_its_own() {
    let (_, call) = shared_call();
    assert_eq!(call.tool.as_str(), "badge");
    assert_eq!(call.within_ms, 604_800_000);
    assert_eq!(call.args.canonical(), r#"{"person":"${{ task.id }}"}"#);
}

#[test]
fn the_task_of_a_shared_operation_acts_with_the_arguments_as_they_are() {
    let (run, call) = shared_call();
    let shared = run.plan.shared(&call).expect("the plan carries the tool");
    assert_eq!(PlanDoc::from_document(&shared.document).as_ref(), Ok(&shared));
    let given = shared.inputs(&json("{}")).expect("the arguments are a default");
    for inputs in [given, json("{}")] {
        let shared = Run::of(shared.clone(), &inputs.canonical());
        let operation = shared.act("badge");
        assert_eq!(operation.request_hash, call.request_hash);
        assert_eq!(operation.target, call.target);
        assert_eq!(operation.arguments, Stored::Inline(call.args.clone()));
        assert_eq!(operation.version, call.version);
    }
}

#[test]
fn no_file_can_claim_to_be_the_shared_operation_itself() {
    let text = "semel: 1\nname: t\nshared: true\nsteps: [{ step: a, sleep: 1s }]\n";
    assert!(crate::plan_support::refused(text).contains("SM4010"));
}
