//! The plans that are run, read once. Their contracts say no more of the simulated targets than these keep.

use semel_kernel::json::Json;
use semel_plan::plan::PlanDoc;
use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

/// Milliseconds for which a request lives on the wire, at most.
pub const WIRE_MS: i64 = 6_000;
/// Milliseconds between an effect and its showing in look-ups, at most.
pub const LAG_MS: i64 = 3_000;
/// Milliseconds for which the target `short` honours a key; its contract declares the same.
pub const SHORT_WINDOW_MS: i64 = 300_000;
/// Milliseconds for which the other keyed targets honour a key.
pub const LONG_WINDOW_MS: i64 = 86_400_000;

const HEAD: &str = r#"
semel: 1
inputs: { order: { type: string }, shared: { type: string } }
"#;

const TOOLS: &str = r#"
tools:
  read: { effect: none, key: [what], timeout: 5s, http: { method: GET, url: "http://sim/read", query: { what: "${{ args.what }}" } } }
  keyed:
    effect: keyed
    key: [what]
    key_window: 24h
    dedupe: atomic
    timeout: 5s
    send_key_as: { header: Idempotency-Key }
    key_in_use: "status == 409"
    key_reused: "status == 422"
    http: { method: POST, url: "http://sim/keyed", body: json }
  looks:
    effect: keyed
    key: [what]
    key_window: 24h
    timeout: 8s
    send_key_as: { body: key }
    key_reused: "status == 422"
    http: { method: POST, url: "http://sim/looks", body: json }
  short:
    effect: keyed
    key: [what]
    key_window: 5m
    dedupe: atomic
    timeout: 5s
    send_key_as: { header: Idempotency-Key }
    key_in_use: "status == 409"
    key_reused: "status == 422"
    http: { method: POST, url: "http://sim/short", body: json }
  both:
    effect: keyed
    key: [what]
    key_window: 24h
    dedupe: atomic
    timeout: 5s
    send_key_as: { header: Idempotency-Key }
    key_in_use: "status == 409"
    key_reused: "status == 422"
    http: { method: POST, url: "http://sim/both", body: json }
    probe: &PROBE
  asked:
    effect: queryable
    key: [what]
    timeout: 5s
    http: { method: POST, url: "http://sim/asked", body: json }
    probe: &PROBE
  stuck:
    effect: keyed
    key: [what]
    key_window: 24h
    dedupe: atomic
    refusals_stick: true
    timeout: 5s
    refusals: [{ when: "status == 503", retryable: true }]
    send_key_as: { header: Idempotency-Key }
    key_in_use: "status == 409"
    key_reused: "status == 422"
    http: { method: POST, url: "http://sim/stuck", body: json }
  blind: { effect: blind, key: [what], timeout: 5s, http: { method: POST, url: "http://sim/blind", body: json } }
  twice: { effect: blind, key: [what], timeout: 5s, on_unknown: accept_duplicate, http: { method: POST, url: "http://sim/twice", body: json } }
  loses: { effect: blind, key: [what], timeout: 5s, on_unknown: accept_loss, http: { method: POST, url: "http://sim/loses", body: json } }
  sets:
    effect: natural
    key: [what]
    timeout: 5s
    http: { method: PUT, url: "http://sim/sets", body: json }
    probe: &STATE
  common:
    effect: queryable
    key: [what]
    scope: tenant
    within: 30d
    timeout: 5s
    http: { method: POST, url: "http://sim/common", body: json }
    probe: &PROBE
"#;

const PROBE: &str = r#"
      http: { method: GET, url: "http://sim/TOOL", query: { what: "${{ args.what }}" } }
      applied: "status == 200 && body.found == 1"
      absent: "status == 200 && body.found == 0 && !body.pending"
      pending: "status == 200 && body.pending"
      many: "status == 200 && body.found > 1"
      settle: 10s
      poll: 2s
"#;

const STATE: &str = r#"
      http: { method: GET, url: "http://sim/TOOL", query: { what: "${{ args.what }}" } }
      applied: "status == 200 && body.value == 'ours'"
      absent: "status == 200 && body.value == ''"
      settle: 10s
      poll: 2s
"#;

const STEPS: &[(&str, &str)] = &[
    ("one-keyed", r#"[{ step: a, act: keyed, with: { what: "${{ inputs.order }}-a" } }]"#),
    (
        "chain",
        r#"[{ step: a, act: both, with: { what: "${{ inputs.order }}-a" } },
      { step: b, act: asked, with: { what: "${{ inputs.order }}-b", after: "${{ steps.a.output.id }}" } },
      { step: c, act: keyed, with: { what: "${{ inputs.order }}-c" } }]"#,
    ),
    ("one-asked", r#"[{ step: a, act: asked, with: { what: "${{ inputs.order }}-a" } }]"#),
    ("one-blind", r#"[{ step: a, act: blind, with: { what: "${{ inputs.order }}-a" } }]"#),
    (
        "blind-then-keyed",
        r#"[{ step: a, act: blind, with: { what: "${{ inputs.order }}-a" } },
      { step: b, act: looks, with: { what: "${{ inputs.order }}-b" } }]"#,
    ),
    (
        "branches",
        r#"[{ step: a, act: asked, needs: [], with: { what: "${{ inputs.order }}-a" } },
      { step: b, act: blind, needs: [], with: { what: "${{ inputs.order }}-b" } },
      { step: c, act: looks, needs: [], with: { what: "${{ inputs.order }}-c" } },
      { step: d, act: keyed, needs: [a, c], with: { what: "${{ inputs.order }}-d" } }]"#,
    ),
    (
        "items",
        r#"[{ step: n, each: { in: "${{ ['p', 'q', 'r'] }}", as: p, key: "${{ p }}", parallel: 2 }, act: asked,
        with: { what: "${{ inputs.order }}-${{ p }}" } },
      { step: z, act: keyed, with: { what: "${{ inputs.order }}-z" } }]"#,
    ),
    (
        "sets",
        r#"[{ step: a, act: sets, with: { what: "${{ inputs.order }}-a", value: ours } },
      { step: b, act: keyed, with: { what: "${{ inputs.order }}-b" } }]"#,
    ),
    (
        "common",
        r#"[{ step: a, act: common, with: { what: "${{ inputs.shared }}" } },
      { step: b, act: both, with: { what: "${{ inputs.order }}-b" } }]"#,
    ),
    (
        "short",
        r#"[{ step: a, act: short, with: { what: "${{ inputs.order }}-a" } },
      { step: s, sleep: 20s }, { step: b, act: stuck, with: { what: "${{ inputs.order }}-b" } }]"#,
    ),
    (
        "loose",
        r#"[{ step: r, act: read, with: { what: "${{ inputs.order }}-r" } },
      { step: a, act: twice, with: { what: "${{ inputs.order }}-a" } },
      { step: b, act: loses, with: { what: "${{ inputs.order }}-b" } },
      { step: c, act: keyed, if: "${{ inputs.order == 'never' }}", with: { what: "${{ inputs.order }}-c" } }]"#,
    ),
    (
        "equal",
        r#"[{ step: a, act: keyed, needs: [], with: { what: "${{ inputs.order }}-a" } },
      { step: b, act: keyed, needs: [], with: { what: "${{ inputs.order }}-a" } },
      { step: c, act: stuck, needs: [], with: { what: "${{ inputs.order }}-c" } }]"#,
    ),
];

/// All plans.
///
/// # Panics
/// When one of the texts above is no plan: then there is nothing to simulate.
pub fn all() -> &'static [Arc<PlanDoc>] {
    static PLANS: OnceLock<Vec<Arc<PlanDoc>>> = OnceLock::new();
    PLANS.get_or_init(|| STEPS.iter().map(|(name, steps)| Arc::new(read(name, steps))).collect())
}

#[expect(clippy::panic, reason = "a simulator without its plans has nothing to do")]
fn read(name: &str, steps: &str) -> PlanDoc {
    let text = format!("{HEAD}name: {name}\n{}\nsteps: {steps}\n", tools_of(steps));
    match PlanDoc::read_text(name, &text, Path::new(".")) {
        Ok(plan) => plan,
        Err(problems) => panic!("plan `{name}` is none: {problems:#?}\n{text}"),
    }
}

/// The tools that the steps name, with their probes written out: plan files have no anchors.
fn tools_of(steps: &str) -> String {
    let mut text = String::from("tools:\n");
    let mut wanted = false;
    let mut tool = "";
    for line in TOOLS.lines().filter(|l| l.starts_with("  ")) {
        if let Some(name) = line.strip_prefix("  ").filter(|l| !l.starts_with(' ')) {
            tool = name.split(':').next().unwrap_or_default();
            wanted = steps.contains(&format!("act: {tool}"));
        }
        if wanted {
            let line = line.replace("&PROBE", PROBE).replace("&STATE", STATE);
            text.push_str(&line.replace("TOOL", tool));
            text.push('\n');
        }
    }
    text
}

/// The inputs of the n-th submission.
#[must_use]
pub fn inputs(n: u32) -> Json {
    Json::obj([("order", Json::str(&format!("o{n}"))), ("shared", Json::str(&format!("s{}", n % 2)))])
}
