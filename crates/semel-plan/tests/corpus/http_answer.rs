//! Whatever a target answers, the judge comes to a verdict; what is no full answer proves nothing, unless nothing left.
//!
//! An input is one line of words, `CONTRACT KIND STATUS BYTES FLAGS`, then header lines, an empty line and the body.

use semel_kernel::{
    json::Json,
    outcome::{Finding, Outcome, UnknownCause},
};
use semel_plan::{
    contract::{Contract, Seen},
    problem::Problems,
    yaml,
};
use semel_ports::connector::{Answer, Report, Transport};
use std::sync::LazyLock;

const CONTRACTS: [&str; 4] = [
    "tool: pay\neffect: keyed\nkey: [order]\nkey_window: 24h\nsend_key_as: { header: Idempotency-Key }\n\
     http: { method: POST, url: 'https://pay.example/charges', body: json }\n\
     replayed: \"'idempotent-replayed' in headers\"\nkey_in_use: 'status == 409'\nkey_reused: 'status == 422'\n",
    "tool: desk\neffect: queryable\nkey: [order]\nsuccess: 'status == 201 && body.id != \"\"'\nresult: body\n\
     refusals: [{ when: 'status == 400', final: true }, { when: 'status == 429', final: false }]\n\
     http: { method: POST, url: 'https://desk.example/t', body: json }\n\
     probe:\n  http: { method: GET, url: 'https://desk.example/t' }\n  applied: 'body.total == 1'\n  \
     absent: 'body.total == 0'\n  many: 'body.total > 1'\n  result: 'body.items[0]'\n  settle: 2s\n  poll: 500ms\n",
    "tool: sms\neffect: blind\nkey: [order]\npending: 'false'\n\
     http: { method: POST, url: 'https://sms.example/m', body: form }\n",
    "tool: look\neffect: none\nkey: [order]\nhttp: { method: GET, url: 'https://desk.example/t' }\n",
];

static READ: LazyLock<Vec<Contract>> = LazyLock::new(|| CONTRACTS.map(contract).into());

fn contract(text: &str) -> Contract {
    let mut problems = Problems::new();
    let node = yaml::parse("tool.yaml", text, &mut problems).expect("YAML");
    let read = Contract::read(&node, "tool.yaml", &mut problems);
    assert!(!problems.has_errors(), "{:?}", problems.as_slice());
    read.expect("a contract")
}

/// True when the input got as far as the property itself.
pub(crate) fn check(data: &[u8]) -> bool {
    let (head, rest) = split(data);
    let head = String::from_utf8_lossy(head);
    let mut words = head.split(' ').map(|word| word.parse::<u64>().unwrap_or(0));
    let mut word = || words.next().unwrap_or(0);
    let contract = &READ[(word() % READ.len() as u64) as usize];
    let kind = word();
    let status = u16::try_from(word() % 1_000).unwrap_or(0);
    let (bytes_out, flags) = (word(), word());
    let transport = transport(kind, status, flags, rest);
    let report = Report::new(transport, bytes_out, (flags / 8) as i64);
    let args = Json::obj([("order", Json::str("o1"))]);
    let handle = Json::str("h1");
    let handle = (flags & 2 != 0).then_some(&handle);
    let seen = Seen { args: &args, key: "k1", operation: "tsk_1/a/o1@1", task: "tsk_1", handle };
    judged(contract, &report, &seen)
}

fn split(data: &[u8]) -> (&[u8], &[u8]) {
    let at = data.iter().position(|b| *b == b'\n').unwrap_or(data.len());
    (&data[..at], data.get(at + 1..).unwrap_or_default())
}

fn transport(kind: u64, status: u16, flags: u64, rest: &[u8]) -> Transport {
    let detail = || String::from_utf8_lossy(rest).into_owned();
    let lost = |cause| Transport::Lost { cause, detail: detail() };
    match kind % 8 {
        1 => Transport::NotSent { cause: detail() },
        2 => lost(UnknownCause::Timeout),
        3 => lost(UnknownCause::Lost),
        4 => lost(UnknownCause::Garbled),
        _ => {
            let (mut headers, mut body) = (Vec::new(), rest);
            loop {
                let (line, more) = split(body);
                body = more;
                let line = String::from_utf8_lossy(line);
                let Some((name, value)) = line.split_once(':') else { break };
                headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
            }
            let body = body.to_vec();
            Transport::Answered(Answer { status, headers, body, truncated: flags & 1 != 0 })
        }
    }
}

fn judged(contract: &Contract, report: &Report, seen: &Seen<'_>) -> bool {
    let (outcome, shown) = contract.outcome(report, seen);
    let stored = serde_json::to_string(&outcome).expect("an outcome can be stored");
    let again: Outcome = serde_json::from_str(&stored).unwrap_or_else(|e| panic!("{e}: {stored}"));
    assert_eq!(again, outcome);
    assert_eq!(Json::parse(&shown.canonical()).ok().as_ref(), Some(&shown));
    let answered = matches!(report.transport, Transport::Answered(_));
    match &outcome {
        Outcome::NotApplied { sent: false, .. } => assert!(
            report.bytes_out == 0 && !answered,
            "bytes left, and it is said that nothing was sent: {report:?}"
        ),
        Outcome::Applied { .. } | Outcome::NotApplied { .. } | Outcome::Pending { .. } => {
            assert!(answered, "no answer came, and something is proven: {outcome:?}");
        }
        Outcome::Unknown { .. } | Outcome::Contradiction { .. } => {}
    }
    let (finding, _) = contract.finding(report, seen);
    if !answered {
        assert!(matches!(finding, Finding::Unclear { .. }), "a look-up without an answer: {finding:?}");
    }
    drop(contract.requirement(report, seen));
    answered
}
