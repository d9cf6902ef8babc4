//! `semel task show`: everything about a task.

use crate::cmd::{
    find,
    follow::{self, Shared, phase_text},
    why::{Health, health},
};
use crate::{
    config::Config,
    fail::{Exit, Fail},
    ui::{
        self, Ui,
        table::{ShortIds, cut, table},
        time,
    },
    wire,
};
use semel_engine::view::{Rail, Standstill, standstill, why_task};
use semel_kernel::{
    oblige,
    operation::Operation,
    outcome::Stored,
    task::Task,
    time::{Millis, Now},
};
use semel_ports::projection;
use serde::Serialize;

/// Characters of the inputs that are shown; `--json` shows all.
const INPUTS: usize = 160;
/// Characters of a question in a table; `review show` has all of it.
pub(crate) const QUESTION: usize = 40;

pub(super) async fn run(config: &Config, id: &str, ui: Ui) -> Result<Exit, Fail> {
    let store = wire::read(config).await?;
    let store = store.as_ref();
    let id = find::task(config, store, id).await?;
    let loaded = store.load(&id).await?;
    let row = (loaded.claims, loaded.session.clone());
    let task = loaded.into_task()?;
    let (now, shared) = (store.now(), follow::shared(store, &task).await?);
    let history = store.history(&id, 0).await?;
    let standstill = standstill(&task, &history, row, now);
    let health = health(config, &task, ui).await;
    let json = json(&task, &shared, (&health, standstill.as_ref()), now);
    ui.show(&json, || text(&task, &shared, standstill.as_ref(), now));
    Ok(Exit::Done)
}

/// An operation as tables show it.
#[derive(Serialize)]
struct OperationJson {
    #[serde(flatten)]
    row: projection::OperationRow,
    rail: String,
    key_left_ms: Option<i64>,
}

fn json(
    task: &Task,
    shared: &Shared,
    (health, standstill): (&Health, Option<&Standstill>),
    now: Now,
) -> serde_json::Value {
    let rows = projection::of(task, 0);
    let operations = rows.operations.into_iter().filter_map(|row| {
        let op = task.operations.get(&row.id)?;
        Some(OperationJson { row, rail: Rail::of(task, op).full(), key_left_ms: key_left(task, op, now) })
    });
    let operations: Vec<_> = operations.collect();
    let steps: Vec<_> = task.steps_in_order().map(|s| follow::step_report(task, s, shared)).collect();
    serde_json::json!({
        "v": 1,
        "task": rows.task,
        "plan": task.plan.hash,
        "inputs": task.inputs,
        "generation": task.generation,
        "session": task.session,
        "worked_on": health.worked_on,
        "degraded": health.degraded,
        "no_progress": standstill,
        "steps": steps,
        "operations": operations,
        "reviews": rows.reviews,
        "pins": task.plan.pins,
        "written_off": task.written_off(),
        "why": why_task(task, now),
    })
}

fn text(task: &Task, shared: &Shared, standstill: Option<&Standstill>, now: Now) -> String {
    let mut parts = vec![header(task, now), follow::steps_table(task, shared, now.at)];
    if !task.operations.is_empty() {
        parts.push(operations(task, now));
    }
    if !task.reviews.is_empty() {
        parts.push(reviews(task, now.at));
    }
    if !task.plan.pins.is_empty() {
        parts.push(table(["PIN", "VERSION"], task.plan.pins.iter().map(|(n, v)| [n.clone(), v.clone()])));
    }
    parts.extend(standstill.map(ToString::to_string));
    let mut why = why_task(task, now);
    // A page does not send its reader to itself.
    why.next.retain(|next| !next.starts_with("semel task show "));
    parts.push(why.to_string().trim_end().to_owned());
    parts.join("\n\n")
}

fn header(task: &Task, now: Now) -> String {
    let inputs = match &task.inputs {
        Stored::Inline(json) => cut(&json.canonical(), INPUTS),
        Stored::Artifact(at) => format!("{} bytes, kept as {}", at.bytes, at.hash.short()),
    };
    let mut lines = vec![
        format!("{} {}", task.id, phase_text(oblige::phase(task), task.written_off().len())),
        format!("  plan        {} {}", task.plan.name, task.plan.hash),
        format!("  client id   {} of tenant {}", task.client_id, task.tenant),
        format!("  inputs      {inputs}"),
        format!("  created     {} ({})", time::moment(task.created_at), time::ago(task.created_at, now.at)),
        format!("  version     {}, generation {}, owner {}", task.version, task.generation, owner(task)),
    ];
    lines.extend(order("cancelling", task.cancelling.as_ref()));
    lines.extend(order("paused", task.paused.as_ref()));
    lines.join("\n")
}

fn owner(task: &Task) -> String {
    task.session.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)
}

fn order(word: &str, order: Option<&semel_kernel::task::Order>) -> Option<String> {
    let order = order?;
    let why = if order.reason.is_empty() { String::new() } else { format!(": {}", order.reason) };
    Some(format!("  {word:<11} since {} by {}{why}", time::moment(order.at), order.actor))
}

fn operations(task: &Task, now: Now) -> String {
    let short = ShortIds::of([task.id.as_str()].into_iter());
    table(
        ["OPERATION", "STATUS", "GUARANTEE", "ATTEMPTS", "KEY LEFT", "①–⑦"],
        task.operations.values().map(|op| {
            let guarantee = task.terms(&op.planned).map_or("-", |t| t.guarantee().word());
            [
                short.operation(op.planned.id.as_str()),
                ui::state(op.status().word()),
                guarantee.to_owned(),
                op.made().to_string(),
                left(key_left(task, op, now)),
                Rail::of(task, op).strip(),
            ]
        }),
    )
}

/// Milliseconds until which the same request under the same key may still be sent; `None` where no window binds it.
pub(crate) fn key_left(task: &Task, op: &Operation, now: Now) -> Option<i64> {
    let until = op.resend_until(task.terms(&op.planned)?, now)?;
    Some(until.since(now.at).max(0))
}

/// The same in words.
pub(crate) fn left(ms: Option<i64>) -> String {
    ms.map_or_else(|| "-".to_owned(), |ms| if ms == 0 { "over".to_owned() } else { time::span(ms) })
}

fn reviews(task: &Task, now: Millis) -> String {
    table(
        ["REVIEW", "STEP", "OPENED", "DECIDED", "QUESTION"],
        task.reviews.iter().map(|r| {
            let decided = r.decided.as_ref();
            [
                r.id.to_string(),
                r.step.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
                time::ago(r.opened_at, now),
                decided.map_or_else(|| "no".to_owned(), |d| format!("by {}", d.actor)),
                cut(&r.question, QUESTION),
            ]
        }),
    )
}
