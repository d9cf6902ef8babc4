//! The stage: a folder of its own, the plans, and the processes that are killed on it.

use super::desk::Sink;
use crate::fail::Fail;
use std::{
    path::{Path, PathBuf},
    process::Stdio,
};
use tokio::{
    process::{Child, Command},
    sync::mpsc,
};

/// The files of the demo; they lie in `examples/incident` too.
const FILES: [(&str, &str); 7] = [
    ("by-key.yaml", include_str!("../../../../../examples/incident/by-key.yaml")),
    ("by-probe.yaml", include_str!("../../../../../examples/incident/by-probe.yaml")),
    ("sms.yaml", include_str!("../../../../../examples/incident/sms.yaml")),
    ("contracts/look.yaml", include_str!("../../../../../examples/incident/contracts/look.yaml")),
    (
        "contracts/create_ticket_by_key.yaml",
        include_str!("../../../../../examples/incident/contracts/create_ticket_by_key.yaml"),
    ),
    (
        "contracts/create_ticket_by_probe.yaml",
        include_str!("../../../../../examples/incident/contracts/create_ticket_by_probe.yaml"),
    ),
    ("contracts/send_sms.yaml", include_str!("../../../../../examples/incident/contracts/send_sms.yaml")),
];

/// The folder and the program.
pub(crate) struct Stage {
    dir: PathBuf,
    program: PathBuf,
    keep: bool,
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.keep {
            drop(std::fs::remove_dir_all(&self.dir));
        }
    }
}

impl Stage {
    /// Makes the folder and writes the plans.
    pub(crate) fn set(keep: bool) -> Result<Self, Fail> {
        let program = std::env::current_exe().map_err(|e| Fail::io("finding this program", &e))?;
        let dir = std::env::temp_dir().join(format!("semel-demo-{}", std::process::id()));
        let stage = Self { dir, program, keep };
        std::fs::create_dir_all(stage.path("contracts")).map_err(|e| Fail::io("making a folder", &e))?;
        for (name, text) in FILES {
            std::fs::write(stage.path(name), text).map_err(|e| Fail::io(name, &e))?;
        }
        Ok(stage)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    fn start(&self, args: &[&str], store: &str) -> Result<Actor, Fail> {
        let child = Command::new(&self.program)
            .args(args)
            .env("SEMEL_STORE", self.path(store))
            .env("NO_COLOR", "1")
            .env_remove("SEMEL_CHAOS")
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|e| Fail::io("starting a process", &e))?;
        Ok(Actor { child })
    }

    /// The agent of the first act: checkpoint after each step, retry on resume.
    pub(crate) fn usual_agent(&self, desk: &Sink) -> Result<Actor, Fail> {
        self.start(&["sink", "usual-agent", "--db", "checkpoint.json", "--desk", desk.address()], "unused.db")
    }

    /// Semel, running a plan of the demo.
    pub(crate) fn semel_run(&self, plan: &str, sink: &Sink) -> Result<Actor, Fail> {
        self.semel_run_for(plan, sink, &format!("gw-{plan}"))
    }

    /// The same, for another incident.
    pub(crate) fn semel_run_for(&self, plan: &str, sink: &Sink, what: &str) -> Result<Actor, Fail> {
        let file = format!("{plan}.yaml");
        let (address, name) = if plan == "sms" { ("gateway", "to") } else { ("desk", "incident") };
        let address = format!("{address}={}", sink.address());
        let name = format!("{name}={what}");
        self.start(&["run", &file, "--input", &address, "--input", &name], "semel.db")
    }

    /// What Semel says of the task that was just killed, read from the store without owning it.
    pub(crate) async fn why(&self, plan: &str) -> Result<Vec<String>, Fail> {
        let step = if plan == "sms" { "warn" } else { "create_ticket" };
        let listed = self.start(&["op", "list", "--limit", "1", "--json"], "semel.db")?.finish().await?;
        let id = listed.out.split('"').find(|t| t.contains(&format!("/{step}/"))).unwrap_or(step).to_owned();
        Ok(self.start(&["why", &id], "semel.db")?.finish().await?.out.lines().map(str::to_owned).collect())
    }

    /// What the recovery package of the open review recommends.
    pub(crate) async fn recommendation(&self) -> Result<Vec<String>, Fail> {
        let listed = self.start(&["review", "list", "--json"], "semel.db")?.finish().await?;
        let id = listed.out.split('"').find(|t| t.starts_with("rev_")).map(str::to_owned);
        let Some(id) = id else { return Ok(Vec::new()) };
        let package = self.start(&["review", "package", &id], "semel.db")?.finish().await?.out;
        let title = package.lines().take(1);
        let advice = package.lines().skip_while(|l| !l.to_lowercase().contains("recommended")).take(8);
        let lines = title.chain(advice).filter(|l| !l.trim().is_empty());
        Ok(lines.flat_map(|l| fold(l, 70)).collect())
    }
}

/// Folds a line at blanks.
fn fold(line: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        let last = lines.last_mut().filter(|l| l.chars().count() + word.chars().count() < width);
        match last {
            Some(last) if last.is_empty() => last.push_str(word),
            Some(last) => {
                last.push(' ');
                last.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A process on the stage.
pub(crate) struct Actor {
    child: Child,
}

/// How a process ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) talk: String,
}

impl Ended {
    /// The lines that tell how the task was recovered: from the recovery on, without times.
    pub(crate) fn telling(&self) -> Vec<String> {
        let lines = self.talk.lines().skip_while(|l| !l.contains("RECOVERY")).map(str::trim_start);
        let lines = lines.take_while(|l| !l.contains("RECOVERED"));
        let bare = lines.map(|l| l.split_once("  ").map_or(l, |(_, rest)| rest).trim_end());
        bare.flat_map(|line| {
            // Step and word stand in columns; only the text behind them is folded.
            let at = line.char_indices().nth(26).map_or(line.len(), |(at, _)| at);
            let (columns, text) = line.split_at(at);
            let parts = fold(text.trim(), 46).into_iter().enumerate();
            parts
                .map(|(n, part)| format!("{:<26} {part}", if n == 0 { columns } else { "" }))
                .collect::<Vec<_>>()
        })
        .collect()
    }
}

impl Actor {
    /// SIGKILL: no handler runs, nothing is flushed.
    pub(crate) async fn kill(&mut self) -> Result<(), Fail> {
        self.child.kill().await.map_err(|e| Fail::io("killing a process", &e))
    }

    pub(crate) async fn wait(&mut self) -> Result<Option<i32>, Fail> {
        Ok(self.child.wait().await.map_err(|e| Fail::io("waiting for a process", &e))?.code())
    }

    pub(crate) async fn finish(self) -> Result<Ended, Fail> {
        let output =
            self.child.wait_with_output().await.map_err(|e| Fail::io("waiting for a process", &e))?;
        Ok(Ended {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            talk: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

/// Keys that the viewer presses.
pub(crate) fn keys() -> mpsc::UnboundedReceiver<char> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let term = console::Term::stderr();
        while let Ok(key) = term.read_char() {
            if sender.send(key).is_err() {
                return;
            }
        }
    });
    receiver
}
