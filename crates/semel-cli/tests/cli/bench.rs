//! A folder, the binary, and sinks as processes of their own.

use serde_json::Value;
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

/// What a command printed, and its exit code.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) exit: i32,
    pub(crate) out: String,
    pub(crate) talk: String,
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// A folder of its own in which the binary runs.
pub(crate) struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_semel"));
        command.args(args).current_dir(self.dir.path()).env_clear();
        command.env("USER", "ann").env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    /// Runs to its end.
    pub(crate) fn semel(&self, args: &[&str]) -> Ran {
        ran(self.command(args).output().unwrap())
    }

    /// The same with further variables.
    pub(crate) fn semel_with(&self, env: &[(&str, &str)], args: &[&str]) -> Ran {
        ran(self.command(args).envs(env.iter().copied()).output().unwrap())
    }

    /// The same, expected to end with `exit`.
    pub(crate) fn expect(&self, exit: i32, args: &[&str]) -> Ran {
        let ran = self.semel(args);
        assert_eq!(ran.exit, exit, "{args:?}: {ran:?}");
        ran
    }

    /// A plan of one step and its contract.
    pub(crate) fn plan(&self, contract: &str) {
        self.write("tool.yaml", contract);
        self.write(
            "plan.yaml",
            "semel: 1\nname: once\ninputs: { order: { type: string } }\n\
             tools: { desk: { from: tool.yaml } }\nsteps:\n  - step: act\n    act: desk\n    \
             with: { order: \"${{ inputs.order }}\" }\n",
        );
    }

    /// A sink, listening.
    pub(crate) fn sink(&self, kind: &str) -> Sink {
        let db = self.path(&format!("{kind}.db"));
        let mut child = self
            .command(&["sink", kind, "--db", db.to_str().unwrap()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(ready["kind"], kind);
        Sink { child, address: ready["address"].as_str().unwrap().to_owned() }
    }
}

fn ran(output: Output) -> Ran {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { exit: output.status.code().unwrap_or(-1), out: text(output.stdout), talk: text(output.stderr) }
}

/// A sink's process.
pub(crate) struct Sink {
    child: Child,
    address: String,
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Sink {
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The next `times` requests go wrong like this.
    pub(crate) fn fault(&self, fault: &str, times: u32) {
        self.http("PUT", "/_control", &format!("{{\"fault\":\"{fault}\",\"times\":{times}}}"));
    }

    /// Effects that it has really committed.
    pub(crate) fn effects(&self) -> u64 {
        self.http("GET", "/_count", "")["effects"].as_u64().unwrap()
    }

    fn http(&self, method: &str, path: &str, body: &str) -> Value {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (host, length) = (&self.address, body.len());
        let head = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
        stream.write_all(format!("{head}content-length: {length}\r\n\r\n{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        serde_json::from_str(body).unwrap()
    }
}

/// The folder of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
