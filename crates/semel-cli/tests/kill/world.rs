//! A folder, a sandbox store, and a sink of its own: the world of one test.

use serde_json::Value;
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
};

pub(crate) struct World {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) sink: Sink,
    /// Where the store is, seen from `dir`.
    pub(crate) store: PathBuf,
}

pub(crate) struct Sink {
    child: Child,
    pub(crate) address: String,
}

impl Drop for Sink {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(crate) struct Ran {
    pub(crate) killed: bool,
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(output: &Output) -> Self {
        Self {
            killed: output.status.signal() == Some(9),
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|e| panic!("not JSON ({e}): {}\n{}", self.out, self.err))
    }
}

pub(crate) fn semel() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_semel"));
    command.env_remove("SEMEL_CHAOS").env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

impl World {
    pub(crate) fn new(kind: &str) -> Self {
        Self::at(kind, "semel.db".into())
    }

    /// A world whose store lies elsewhere, on a disk of its own for example.
    pub(crate) fn at(kind: &str, store: PathBuf) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let sink = Sink::start(kind, dir.path().join("sink.db"));
        let world = Self { dir, sink, store };
        let made = world.run(&["db", "create", "--sandbox"], None);
        assert_eq!(made.code, Some(0), "{}", made.err);
        world
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let text = text.replace("{SINK}", &self.sink.address);
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn command(&self, args: &[&str], chaos: Option<&str>) -> Command {
        let mut command = semel();
        command.args(args).current_dir(self.dir.path()).env("SEMEL_STORE", &self.store);
        if let Some(point) = chaos {
            command.env("SEMEL_CHAOS", point);
        }
        command
    }

    pub(crate) fn run(&self, args: &[&str], chaos: Option<&str>) -> Ran {
        Ran::of(&self.command(args, chaos).output().unwrap())
    }

    pub(crate) fn spawn(&self, args: &[&str]) -> Child {
        self.command(args, None).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Runs without chaos until the task stands still, as a supervisor would.
    pub(crate) fn settle(&self, args: &[&str]) -> Ran {
        self.run(args, None)
    }

    pub(crate) fn verify(&self) {
        let verified = self.run(&["db", "verify"], None);
        assert_eq!(verified.code, Some(0), "db verify: {}{}", verified.out, verified.err);
        let audited = self.run(&["audit", "verify"], None);
        assert_eq!(audited.code, Some(0), "audit verify: {}{}", audited.out, audited.err);
    }

    /// Every event of every task, as text.
    pub(crate) fn events(&self) -> String {
        let tasks = self.run(&["task", "list", "--json"], None);
        let mut all = String::new();
        for id in tasks.out.split('"').filter(|t| t.starts_with("tsk_") || t.starts_with("opt_")) {
            all.push_str(&self.run(&["task", "tail", "--no-follow", "--json", id], None).out);
        }
        all
    }
}

impl Sink {
    fn start(kind: &str, db: PathBuf) -> Self {
        let mut child = semel()
            .args(["sink", kind, "--db"])
            .arg(db)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let address = format!("http://{}", ready["address"].as_str().unwrap());
        Self { child, address }
    }

    fn call(&self, method: &str, path: &str, body: &str) -> Value {
        let host = self.address.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let body = text.split_once("\r\n\r\n").map(|(_, b)| b).unwrap_or_default();
        serde_json::from_str(body).unwrap_or(Value::Null)
    }

    /// Replaces the faults that the sink plays.
    pub(crate) fn faults(&self, rules: &Value) {
        self.call("PUT", "/_control", &rules.to_string());
    }

    pub(crate) fn count(&self) -> Value {
        self.call("GET", "/_count", "")
    }

    /// Effects really made.
    pub(crate) fn effects(&self) -> u64 {
        self.call("GET", "/_effects", "")["effects"].as_u64().unwrap()
    }

    /// Requests that ask for the effect, with key and digest of their body.
    pub(crate) fn posts(&self) -> Vec<(String, String)> {
        let count = self.count();
        let log = count["requests_log"].as_array().unwrap();
        let posts = log
            .iter()
            .filter(|r| r["method"] == "POST" || (r["method"] == "PUT" && r["path"] != "/_control"));
        posts.map(|r| (r["key"].to_string(), r["body_sha256"].to_string())).collect()
    }
}
