//! Many tasks, each with three intents: one keyed, one queryable, one blind. What was accepted is remembered here, what
//! was done is counted at the sink.

use crate::{
    tools::{until, upper_bound},
    world::{Ran, World},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    process::{Child, Command, Stdio},
};

const MIXED: &str = r#"
semel: 1
name: mixed
inputs: { n: { type: string } }
tools:
  keyed:
    effect: keyed
    key: [incident]
    key_window: 24h
    timeout: 3s
    send_within: 3s
    http: { method: POST, url: "{SINK}/tickets", headers: { X-Operation: "${{ operation }}" }, body: json }
    send_key_as: { header: Idempotency-Key }
  queryable:
    effect: queryable
    key: [incident]
    timeout: 3s
    send_within: 3s
    http: { method: POST, url: "{SINK}/tickets", headers: { X-Operation: "${{ operation }}" }, body: json }
    probe:
      http: { method: GET, url: "{SINK}/tickets", query: { ref: "${{ operation }}" } }
      applied: "status == 200 && body.total == 1"
      absent: "status == 200 && body.total == 0"
      many: "status == 200 && body.total > 1"
      result: "body.items[0]"
      settle: 4s
      poll: 200ms
  blind:
    effect: blind
    key: [incident]
    timeout: 3s
    send_within: 3s
    pending: "false"
    http: { method: POST, url: "{SINK}/tickets", headers: { X-Operation: "${{ operation }}" }, body: json }
steps:
  - { step: first, act: keyed, with: { incident: "k-${{ inputs.n }}" } }
  - { step: second, act: queryable, with: { incident: "q-${{ inputs.n }}" } }
  - { step: third, act: blind, with: { incident: "b-${{ inputs.n }}" } }
"#;

/// Tasks worked on at once: no more than the desk answers well within its time, or its promises are what breaks.
const SLOTS: &str = "16";

/// How often a person answers before something is wrong.
const ROUNDS: u32 = 6;

pub(crate) struct Batch {
    pub(crate) world: World,
    /// Tasks that a client was told of, by the number of their input.
    pub(crate) accepted: BTreeMap<u64, String>,
    next: u64,
}

/// Lines on their way to the store.
pub(crate) struct Feeder {
    first: u64,
    child: Child,
}

/// What came of a batch.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) tasks: u64,
    /// Effects above one, over all intents.
    pub(crate) duplicates: u64,
    /// Accepted tasks that are not there, and intents of keyed, queryable and finished blind steps without an effect.
    pub(crate) lost: u64,
    /// Blind steps that wait for a person.
    pub(crate) asked: u64,
    /// Requests beyond the first, over all intents.
    pub(crate) resent: u64,
    /// From a request to its effect, of the slowest: beyond time-out and settle it is the target that broke its promise.
    pub(crate) slowest_ms: u64,
    pub(crate) faults: Vec<String>,
}

impl Tally {
    pub(crate) fn say(&self, what: &str, trials: u64) {
        let intents = self.tasks * 3;
        eprintln!(
            "{what}; {} tasks, {intents} intents: duplicates {}, lost {}; 95 % upper bound for each: {} of the {trials} \
             trials, {} of the intents; {} blind effects asked about, {} requests sent again; the \
             slowest effect took {} ms of the 7000 that the contract allows",
            self.tasks,
            self.duplicates,
            self.lost,
            upper_bound(trials),
            upper_bound(intents),
            self.asked,
            self.resent,
            self.slowest_ms
        );
    }

    pub(crate) fn must_be_clean(&self) {
        assert!(self.duplicates == 0 && self.lost == 0 && self.faults.is_empty(), "{self:#?}");
    }
}

impl Batch {
    pub(crate) fn new() -> Self {
        Self::on(World::new("tickets"))
    }

    pub(crate) fn on(world: World) -> Self {
        world.write("mixed.yaml", MIXED);
        world.write("semel.toml", &format!("slots = {SLOTS}\n"));
        Self { world, accepted: BTreeMap::new(), next: 0 }
    }

    /// Writes a file with new lines; its name, and the number of its first line.
    fn lines(&mut self, count: u64) -> (String, u64) {
        let first = self.next;
        self.next += count;
        let text: String = (first..self.next).map(|n| format!("{{\"n\":\"{n}\"}}\n")).collect();
        let name = format!("lines-{first}.jsonl");
        self.world.write(&name, &text);
        (name, first)
    }

    /// `semel run --inputs-from` on new lines; by `more` they are waited for or not.
    pub(crate) fn feed(&mut self, count: u64, more: &[&str]) -> Feeder {
        let (name, first) = self.lines(count);
        let mut command = self.run_lines(&name, more);
        Feeder { first, child: command.spawn().unwrap() }
    }

    /// As [`Self::feed`], under another program such as `strace`.
    pub(crate) fn feed_under(&mut self, count: u64, wrapper: &[&str], more: &[&str]) -> Feeder {
        let (name, first) = self.lines(count);
        let plain = self.run_lines(&name, more);
        let mut command = under(wrapper, &plain);
        Feeder { first, child: command.spawn().unwrap() }
    }

    /// Runs lines that were given before once more: what is there is attached to.
    pub(crate) fn again(&mut self, first: u64, count: u64) -> Ran {
        self.next = first;
        let feeder = self.feed(count, &[]);
        self.take(feeder)
    }

    fn run_lines(&self, name: &str, more: &[&str]) -> Command {
        let args = [&["run", "mixed.yaml", "--json", "--quiet", "--inputs-from", name][..], more].concat();
        let mut command = self.world.command(&args, None);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// What a feeder was told counts as accepted.
    pub(crate) fn take(&mut self, feeder: Feeder) -> Ran {
        let Feeder { first, child } = feeder;
        let ran = Ran::of(&child.wait_with_output().unwrap());
        // The exit says how the tasks came out; a summary says that all of them were accepted.
        if let Ok(summary) = serde_json::from_str::<Value>(&ran.out)
            && let Some(runs) = summary["runs"].as_array()
        {
            for run in runs {
                let n = first + run["line"].as_u64().unwrap() - 1;
                self.accepted.insert(n, run["task"].as_str().unwrap().to_owned());
            }
        }
        ran
    }

    /// Works without harm until nothing is due any more. A person answers what is asked meanwhile, but for blind effects:
    /// a task that was taken up too often without progress goes on, and where the attempts ran out the person looks at
    /// the target.
    pub(crate) fn settle(&self) {
        let mut answered = 0;
        for _ in 0..ROUNDS {
            self.work_until_idle();
            let reviews = self.world.run(&["review", "list", "--json", "--limit", "100000"], None).json();
            let asked: Vec<_> =
                reviews["reviews"].as_array().unwrap().iter().filter(|r| !is_blind(r)).collect();
            if asked.is_empty() {
                break;
            }
            answered += asked.len();
            for review in asked {
                self.decide(review);
            }
        }
        if answered > 0 {
            eprintln!("{answered} questions that are not about blind effects were answered");
        }
    }

    /// Longer than anything here waits: `send_by`, time-out and settle of a queryable step after one another, and a lease.
    fn work_until_idle(&self) {
        let ran = self.world.run(&["worker", "--until-idle", "20s", "--slots", SLOTS, "--quiet"], None);
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    }

    fn decide(&self, review: &Value) {
        let id = review["id"].as_str().unwrap();
        let shown = self.world.run(&["review", "show", id, "--json"], None).json();
        let page = shown["review"]["page"].to_string();
        let (cause, question) = (review["cause"].as_str().unwrap(), review["question"].as_str().unwrap());
        let mut args = vec!["review", "decide", id, "--page", &page];
        if cause.contains("attempts ran out") {
            let target = question.split(" for ").nth(1).and_then(|rest| rest.split('?').next()).unwrap();
            let there = self.world.sink.count()["by_target"].get(target).is_some();
            args.extend(if there { &["--happened", "--ref", "seen"][..] } else { &["--did-not"] });
            args.extend(["--reason", "looked at the desk"]);
        } else {
            args.push("--go-on");
        }
        let told = self.world.run(&args, None);
        assert_eq!(told.code, Some(0), "{review}: {}{}", told.out, told.err);
    }

    pub(crate) fn tasks(&self) -> Vec<Value> {
        let ran = self.world.run(&["task", "list", "--json", "--limit", "1000000"], None);
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
        ran.json()["tasks"].as_array().unwrap().clone()
    }

    /// Every request that ever came to the sink has its attempt in the store. Nothing may have settled since: it is asked
    /// of a store as the harm left it.
    pub(crate) fn no_request_without_started(&self) {
        let ran = self.world.run(&["op", "list", "--json", "--limit", "1000000"], None);
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
        let all = ran.json();
        let started: BTreeMap<&str, u64> = (all["operations"].as_array().unwrap().iter())
            .map(|o| (o["id"].as_str().unwrap(), o["attempts"].as_u64().unwrap()))
            .collect();
        for (operation, sent) in self.sent() {
            let known = started.get(operation.as_str()).copied().unwrap_or(0);
            assert!(sent <= known, "`{operation}` was sent {sent} times, and the store knows of {known}");
        }
    }

    /// Requests that ask for an effect, by operation.
    fn sent(&self) -> BTreeMap<String, u64> {
        let count = self.world.sink.count();
        let mut sent = BTreeMap::new();
        for request in count["requests_log"].as_array().unwrap().iter().filter(|r| r["method"] == "POST") {
            *sent.entry(request["ref"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        }
        sent
    }

    /// Compares what was accepted with what is stored, and what is stored with what the sink counts.
    pub(crate) fn tally(&self) -> Tally {
        let tasks = self.tasks();
        let ids: BTreeSet<&str> = tasks.iter().map(|t| t["id"].as_str().unwrap()).collect();
        let count = self.world.sink.count();
        let by_ref = count["by_ref"].as_object().unwrap();
        let by_target = count["by_target"].as_object().unwrap();
        let mut faults = Vec::new();
        let missing = self.accepted.values().filter(|task| !ids.contains(task.as_str()));
        faults.extend(missing.map(|task| format!("{task} was accepted and is not there")));
        let mut asked = 0;
        let mut done: BTreeSet<&str> = BTreeSet::new();
        for reference in by_ref.keys() {
            let mut parts = reference.split('/');
            done.insert(&reference[..parts.next().unwrap().len() + 1 + parts.next().unwrap().len()]);
        }
        for task in &tasks {
            let id = task["id"].as_str().unwrap();
            let held = task["phase"] == "NEEDS_REVIEW" && task["unknown"] == 1;
            if task["phase"] != "COMPLETED" && !held {
                faults.push(format!("it stands still: {task}"));
            }
            asked += u64::from(held);
            let due = if held { &["first", "second"][..] } else { &["first", "second", "third"] };
            let lost = due.iter().filter(|step| !done.contains(format!("{id}/{step}").as_str()));
            faults.extend(lost.map(|step| format!("{id}/{step} has no effect")));
        }
        let lost = u64::try_from(faults.len()).unwrap();
        let twice = by_target.iter().filter(|(_, n)| n.as_u64() > Some(1));
        let twice: Vec<_> = twice.map(|(target, n)| format!("{target} has {n} effects")).collect();
        let duplicates = u64::try_from(twice.len()).unwrap();
        faults.extend(twice);
        let slowest_ms = count["slowest_ms"].as_u64().unwrap();
        let resent = self.sent().values().map(|n| n - 1).sum();
        Tally {
            tasks: u64::try_from(tasks.len()).unwrap(),
            duplicates,
            lost,
            asked,
            resent,
            slowest_ms,
            faults,
        }
    }
}

/// Whether a review is about a blind effect, which nobody can look up.
fn is_blind(review: &Value) -> bool {
    review["cause"].as_str().unwrap().contains("neither a key nor a look-up")
}

impl Feeder {
    pub(crate) fn kill(&mut self) {
        drop(self.child.kill());
    }
}

/// A worker in a process of its own; it is killed when dropped.
pub(crate) struct Worker(pub(crate) Child);

impl Worker {
    pub(crate) fn start(world: &World) -> Self {
        Self(world.spawn(&["worker", "--slots", SLOTS]))
    }

    /// Starts, and waits until other shells reach it.
    pub(crate) fn ready(world: &World) -> Self {
        let mut door = world.dir.path().join(&world.store).into_os_string();
        door.push(".sock");
        drop(std::fs::remove_file(&door));
        let worker = Self::start(world);
        until("the worker opens its door", || std::path::Path::new(&door).exists());
        worker
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.0), signal).unwrap();
    }

    /// SIGKILL; whether it was alive until then.
    pub(crate) fn kill(&mut self) -> bool {
        let alive = matches!(self.0.try_wait(), Ok(None));
        drop(self.0.kill());
        drop(self.0.wait());
        alive
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The same command, run by another program.
pub(crate) fn under(wrapper: &[&str], plain: &Command) -> Command {
    let (program, words) = wrapper.split_first().unwrap();
    let mut command = Command::new(program);
    command.args(words).arg(plain.get_program()).args(plain.get_args());
    command.current_dir(plain.get_current_dir().unwrap());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
