//! The usual agent, honestly built: it writes and syncs a checkpoint after each step, and resumes after the last one.
//! That is what many frameworks do, and it is not enough.

use crate::fail::{Exit, Fail};
use semel_connectors::{EnvFileSecrets, HttpConnector, HttpOptions};
use semel_ports::{Connector as _, HttpRequest, Question, Template, Transport};
use std::{
    fs::{File, OpenOptions},
    io::{Read as _, Write as _},
    path::Path,
    sync::Arc,
};

const STEPS: [&str; 3] = ["analyse", "create_ticket", "notify"];

/// Runs, or resumes, the three steps.
pub(crate) async fn run(checkpoint: &Path, desk: &str) -> Result<Exit, Fail> {
    let done = load(checkpoint)?;
    for (n, step) in STEPS.iter().enumerate().skip(done) {
        act(step, desk).await?;
        save(checkpoint, n + 1)?;
    }
    Ok(Exit::Done)
}

async fn act(step: &str, desk: &str) -> Result<(), Fail> {
    if step != "create_ticket" {
        return Ok(());
    }
    let http =
        HttpConnector::new(Arc::new(EnvFileSecrets::new(Box::new(|_: &str| None))), HttpOptions::default());
    let request = HttpRequest {
        method: "POST".to_owned(),
        url: Template::text(format!("{desk}/tickets")),
        headers: vec![("content-type".to_owned(), Template::text("application/json"))],
        body: Some(Template::text(r#"{"incident":"gw-usual","title":"Gateway down"}"#)),
        ca_file: None,
    };
    let question = Question { request, key: String::new(), fence: String::new(), timeout_ms: 30_000 };
    match http.ask(question).await.transport {
        Transport::Answered(_) => Ok(()),
        Transport::NotSent { cause } | Transport::Lost { detail: cause, .. } => {
            Err(Fail::new(Exit::Failed, "SM1016", cause, "run the demo again"))
        }
    }
}

fn load(path: &Path) -> Result<usize, Fail> {
    let mut text = String::new();
    match File::open(path).and_then(|mut f| f.read_to_string(&mut text)) {
        Ok(_) => Ok(text.trim().parse().unwrap_or(0)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(e) => Err(Fail::io("the checkpoint", &e)),
    }
}

fn save(path: &Path, done: usize) -> Result<(), Fail> {
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).open(path);
    let file = file.as_mut().map_err(|e| Fail::io("the checkpoint", e))?;
    file.write_all(done.to_string().as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(|e| Fail::io("the checkpoint", &e))
}
