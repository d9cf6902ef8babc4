//! `semel doctor`: one line for each check, with a fix where something is not as it should be.
//!
//! Invariant: nothing is changed; where nobody owns the store it is owned for a moment, as every command does, so that
//! what durability needs is read back by the connection that writes.

mod machine;

use crate::{
    cmd::why::degraded_words,
    config::Config,
    fail::{Exit, Fail},
    ui::{Ui, count, time},
    wire,
};
use semel_engine::command::Reply;
use semel_kernel::task::Phase;
use semel_ports::{OperationFilter, Page, ReviewFilter, Store, TaskFilter};
use serde::Serialize;

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Level {
    /// As it should be.
    Ok,
    /// Somebody should look.
    Warn,
    /// Nothing can be sent, or what was promised is in danger.
    Fail,
}

/// One check.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    name: &'static str,
    level: Level,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Check {
    fn ok(name: &'static str, text: impl Into<String>) -> Self {
        Self { name, level: Level::Ok, text: text.into(), fix: None }
    }

    fn warn(name: &'static str, text: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, level: Level::Warn, text: text.into(), fix: Some(fix.into()) }
    }

    fn fail(name: &'static str, text: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, level: Level::Fail, text: text.into(), fix: Some(fix.into()) }
    }

    fn line(&self) -> String {
        let word = match self.level {
            Level::Ok => "ok",
            Level::Warn => "warn",
            Level::Fail => "FAIL",
        };
        let fix = self.fix.as_ref().map_or_else(String::new, |fix| format!("\n      fix: {fix}"));
        format!("{word:<4}  {:<11} {}{fix}", self.name, self.text)
    }
}

pub(crate) async fn run(config: &Config, ui: Ui) -> Result<Exit, Fail> {
    let mut checks = vec![Check::ok("program", format!("semel {}", env!("CARGO_PKG_VERSION")))];
    checks.extend(store(config).await);
    checks.extend([machine::disk(&config.store), machine::cores()]);
    let worst = checks.iter().map(|c| c.level).fold(Level::Ok, worse);
    ui.show(&serde_json::json!({"v": 1, "level": worst, "checks": checks}), || {
        checks.iter().map(Check::line).collect::<Vec<_>>().join("\n")
    });
    Ok(if worst == Level::Fail { Exit::Verification } else { Exit::Done })
}

const fn worse(a: Level, b: Level) -> Level {
    match (a, b) {
        (Level::Fail, _) | (_, Level::Fail) => Level::Fail,
        (Level::Warn, _) | (_, Level::Warn) => Level::Warn,
        (Level::Ok, Level::Ok) => Level::Ok,
    }
}

async fn store(config: &Config) -> Vec<Check> {
    let path = config.store.display();
    let reader = match wire::read(config).await {
        Ok(reader) => reader,
        Err(fail) if fail.code == "SM2010" => {
            return vec![Check::warn("store", format!("there is none at {path}"), fail.next)];
        }
        Err(fail) => return vec![Check::fail("store", fail.message, fail.next)],
    };
    let mut checks = vec![Check::ok("store", format!("{path} opens, epoch {}", reader.info().epoch))];
    checks.extend(owner(config).await);
    checks.push(machine::mode(&config.store));
    checks.push(machine::clock(reader.now()));
    let worked_on = wire::has_owner(config).await;
    checks.extend(waiting(reader.as_ref(), worked_on).await);
    checks.push(unknown(reader.as_ref(), worked_on).await);
    checks.push(reviews(reader.as_ref()).await);
    checks
}

/// Who owns it, and that the connection which writes has read its own settings back.
async fn owner(config: &Config) -> Vec<Check> {
    let durable = "WAL and synchronous=2 (FULL), read back by the connection that writes";
    if let Some(Reply::Pong { pid, trouble, .. }) = wire::owner_says(config).await {
        let owner = match trouble {
            Some(trouble) => Check::fail("owner", degraded_words(&trouble), trouble.next),
            None => Check::ok("owner", format!("process {pid} owns it and answers at its door")),
        };
        return vec![owner, Check::ok("durability", format!("{durable} before it owned the store"))];
    }
    match wire::open(&config.store) {
        Ok(store) => {
            let free = Check::ok("owner", "nobody works on it now");
            let mut checks = vec![free, Check::ok("durability", durable)];
            if let Some(why) = store.info().held {
                let fix = "semel db adopt, if the original will never run again";
                checks.push(Check::fail("held", format!("nothing is sent: {why}"), fix));
            }
            checks
        }
        Err(e @ semel_ports::StoreError::Owned(_)) => {
            let text = format!("{e}, and nobody answers at its door");
            vec![Check::warn("owner", text, "commands of other shells are refused until it ends")]
        }
        Err(e) => vec![Check::fail("durability", e.to_string(), e.next())],
    }
}

/// Unknown for longer than this is worth a look.
const OLD_MS: i64 = 10 * 60 * 1_000;

/// Tasks that could go on while nobody works on them.
async fn waiting(store: &dyn Store, worked_on: bool) -> Option<Check> {
    if worked_on {
        return None;
    }
    let phases = vec![Phase::Created, Phase::Ready, Phase::Running, Phase::Waiting];
    let filter = TaskFilter { phases, ..TaskFilter::default() };
    match store.tasks(&filter, Page { skip: 0, limit: 1_000 }).await {
        Ok(rows) if rows.is_empty() => None,
        Ok(rows) => {
            let open = count(u64::try_from(rows.len()).unwrap_or(u64::MAX), "open task");
            Some(Check::warn("work", format!("nobody works on {open} now"), "semel worker"))
        }
        Err(e) => Some(Check::fail("work", e.to_string(), e.next())),
    }
}

async fn unknown(store: &dyn Store, worked_on: bool) -> Check {
    let filter = OperationFilter { unknown: true, ..OperationFilter::default() };
    let rows = match store.operations(&filter, Page { skip: 0, limit: 1_000 }).await {
        Ok(rows) => rows,
        Err(e) => return Check::fail("unknown", e.to_string(), e.next()),
    };
    let now = store.now().at;
    let old = rows.iter().filter(|r| now.since(r.changed_at) > OLD_MS).count();
    let oldest = rows.iter().map(|r| r.changed_at).min().map_or_else(String::new, |at| time::age(at, now));
    match (rows.len(), old) {
        (0, _) => Check::ok("unknown", "no operation is in doubt"),
        (n, 0) if worked_on => {
            Check::ok("unknown", format!("{n} in doubt, the oldest for {oldest}; they are being settled"))
        }
        (n, 0) => {
            let text = format!("{n} in doubt, the oldest for {oldest}, and nobody settles them now");
            Check::warn("unknown", text, "semel op list --unknown, then semel worker")
        }
        (n, old) => {
            let text = format!("{old} of {n} in doubt for more than 10 min, the oldest for {oldest}");
            Check::warn("unknown", text, "semel op list --unknown")
        }
    }
}

async fn reviews(store: &dyn Store) -> Check {
    match store.reviews(&ReviewFilter::default(), Page { skip: 0, limit: 1_000 }).await {
        Ok(rows) if rows.is_empty() => Check::ok("reviews", "none is open"),
        Ok(rows) if rows.len() == 1 => Check::warn("reviews", "1 waits for a person", "semel review list"),
        Ok(rows) => Check::warn("reviews", format!("{} wait for a person", rows.len()), "semel review list"),
        Err(e) => Check::fail("reviews", e.to_string(), e.next()),
    }
}
