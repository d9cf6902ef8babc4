//! Plans that several scenarios run. Patience is short, so that what is unknown becomes known soon.

pub(crate) const KEYED: &str = r#"
semel: 1
name: keyed
tools:
  create:
    effect: keyed
    key: [incident]
    key_window: 24h
    dedupe: atomic
    timeout: 700ms
    send_within: 700ms
    http: { method: POST, url: "{SINK}/tickets", body: json }
steps:
  - step: create
    act: create
    with: { incident: gw-1, title: down }
"#;

pub(crate) const QUERYABLE: &str = r#"
semel: 1
name: queryable
tools:
  create:
    effect: queryable
    key: [incident]
    timeout: 700ms
    send_within: 700ms
    http: { method: POST, url: "{SINK}/tickets", headers: { X-Operation: "${{ operation }}" }, body: json }
    probe:
      http: { method: GET, url: "{SINK}/tickets", query: { ref: "${{ operation }}" } }
      applied: "status == 200 && body.total == 1"
      absent: "status == 200 && body.total == 0"
      many: "status == 200 && body.total > 1"
      result: "body.items[0]"
      settle: 1s
      poll: 200ms
steps:
  - step: create
    act: create
    with: { incident: gw-1, title: down }
"#;

pub(crate) const BLIND: &str = r#"
semel: 1
name: blind
tools:
  send:
    effect: blind
    key: [to]
    timeout: 700ms
    send_within: 700ms
    http: { method: POST, url: "{SINK}/messages", body: json }
steps:
  - step: send
    act: send
    with: { to: "+1555", text: down }
"#;

/// The keyed tool with steps of one's own.
pub(crate) fn keyed_steps(steps: &str) -> String {
    let (head, _) = KEYED.split_once("steps:").unwrap();
    format!("{head}steps:\n{steps}")
}

/// Steps one after the other, each about an incident of its own name.
pub(crate) fn chain(names: &[&str]) -> String {
    keyed_steps(
        &names
            .iter()
            .map(|n| format!("  - {{ step: {n}, act: create, with: {{ incident: {n}, title: down }} }}\n"))
            .collect::<String>(),
    )
}
