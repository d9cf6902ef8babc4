//! What was typed. Meaning comes later.

use clap::{
    Args as ClapArgs, Parser, Subcommand,
    builder::{NonEmptyStringValueParser, RangedI64ValueParser},
};
use std::path::PathBuf;

/// Tasks or runs that one process may work on at once.
pub(crate) const MOST_AT_ONCE: i64 = 100_000;
/// Rows that one list may print.
const MOST_ROWS: i64 = 1_000_000;

/// A number of things to do at once: none would never end, and very many are a slip of the key.
fn at_once() -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=MOST_AT_ONCE)
}

/// Do it once. Prove it.
#[derive(Parser, Debug)]
#[command(name = "semel", version, about = "Do it once. Prove it.", propagate_version = true)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct Global {
    /// The store [default: ./semel.db]
    #[arg(long, global = true, env = "SEMEL_STORE", value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
    /// Print JSON for programs instead of tables for people
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say nothing but results and errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Say more: -v info, -vv debug
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// See it in a minute: three acts, real processes, real kills
    Demo(Demo),
    /// Write a plan and a contract to start from
    Init(Init),
    /// Run a plan, or attach to the run with the same inputs
    Run(Run),
    /// Work on whatever is due in the store
    Worker(Worker),
    /// What state a thing is in, how we know, and what happens next
    Why(Id),
    /// Tasks that are not finished
    Ps(Ps),
    /// Plan files
    #[command(subcommand)]
    Plan(Plan),
    /// Tasks
    #[command(subcommand)]
    Task(Task),
    /// Operations: the ledger
    #[command(subcommand)]
    Op(Op),
    /// What only a person can settle
    #[command(subcommand)]
    Review(Review),
    /// Effect contracts
    #[command(subcommand)]
    Tool(Tool),
    /// The store
    #[command(subcommand)]
    Db(Db),
    /// The history's hash chain
    #[command(subcommand)]
    Audit(Audit),
    /// Settings, and where each comes from
    #[command(subcommand)]
    Config(Config),
    /// What the history adds up to: every rate with its denominator
    Metrics(Metrics),
    /// What an error code means and what to do
    Explain {
        /// The code, such as SM2002; none lists all
        code: Option<String>,
    },
    /// Check this machine and the store
    Doctor,
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// An outside system that counts its own effects, for demos and tests
    Sink(Sink),
}

#[derive(ClapArgs, Debug)]
pub(crate) struct Demo {
    /// Go through without waiting for keys
    #[arg(long)]
    pub(crate) batch: bool,
    /// Keep the folder of the demo
    #[arg(long)]
    pub(crate) keep: bool,
    /// Only this act: 1, 2 or 3
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    pub(crate) act: Option<u8>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct Init {
    /// Folder to write to
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Address of your own endpoint
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// What the target offers: keyed, queryable, natural, none or blind
    #[arg(long, value_name = "CLASS")]
    pub(crate) effect: Option<String>,
    /// Write over files that are there
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct Run {
    /// The plan file
    pub(crate) plan: PathBuf,
    /// An input, NAME=VALUE; VALUE is text where the plan wants text, else JSON
    #[arg(long = "input", short = 'i', value_name = "NAME=VALUE")]
    pub(crate) input: Vec<String>,
    /// Inputs as an object from a file, JSON or (.yaml, .yml) YAML, or - for JSON from stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) inputs: Option<PathBuf>,
    /// Many runs: one JSON object of inputs a line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input", "inputs", "id"])]
    pub(crate) inputs_from: Option<PathBuf>,
    /// With --inputs-from: runs in flight at once
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = at_once())]
    pub(crate) in_flight: u32,
    /// What you call this run; the same id is the same run [default: plan name and inputs]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Mean it again, on purpose: a new run even if one with these inputs exists
    #[arg(long)]
    pub(crate) new_intent: bool,
    /// Submit and return; the owner of the store works on it
    #[arg(long)]
    pub(crate) detach: bool,
    /// Give up waiting after this time (the run goes on): 30s, 10m
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct Worker {
    /// Stop when nothing is due within this time: 0s, 30s
    #[arg(long, value_name = "TIME")]
    pub(crate) until_idle: Option<String>,
    /// Tasks worked on at once [default: 256, or `slots` of semel.toml]
    #[arg(long, value_name = "N", value_parser = at_once())]
    pub(crate) slots: Option<u32>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct Id {
    /// An id, or the beginning of one
    pub(crate) id: String,
}

#[derive(ClapArgs, Debug)]
#[group(id = "rows")]
pub(crate) struct List {
    /// Rows at most
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_ROWS))]
    pub(crate) limit: u32,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct Ps {
    /// Only this tenant's
    #[arg(long, value_name = "TENANT")]
    pub(crate) tenant: Option<String>,
    #[command(flatten)]
    pub(crate) list: List,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Plan {
    /// All faults at once, with line and column
    Lint {
        /// The plan file
        plan: PathBuf,
    },
    /// Steps, tools, guarantees
    Show {
        /// The plan file
        plan: PathBuf,
    },
    /// What differs between two plans
    Diff {
        /// The older plan
        old: PathBuf,
        /// The newer plan
        new: PathBuf,
    },
    /// The canonical hash
    Hash {
        /// The plan file
        plan: PathBuf,
    },
    /// The order of the steps
    Graph {
        /// The plan file
        plan: PathBuf,
        /// text, mermaid or dot
        #[arg(long, default_value = "text")]
        format: String,
    },
    /// The JSON Schema of plan files, for editors
    Schema {
        /// plan or contract
        #[arg(default_value = "plan")]
        kind: String,
    },
}

#[derive(Subcommand, Debug)]
pub(crate) enum Task {
    /// Tasks, newest first
    List {
        /// Only this phase, such as WAITING; may be repeated
        #[arg(long)]
        phase: Vec<String>,
        /// Only of this plan
        #[arg(long)]
        name: Option<String>,
        /// Only this tenant's
        #[arg(long, value_name = "TENANT")]
        tenant: Option<String>,
        #[command(flatten)]
        list: List,
    },
    /// Everything about a task
    Show(Id),
    /// Its events, then new ones as they come
    Tail {
        #[command(flatten)]
        id: Id,
        /// Do not wait for new ones
        #[arg(long)]
        no_follow: bool,
    },
    /// Wait until it has ended or needs a person
    Wait {
        #[command(flatten)]
        id: Id,
        /// Give up waiting after this time: 30s, 10m
        #[arg(long)]
        timeout: Option<String>,
    },
    /// What happened when
    Timeline(Id),
    /// What recovery does, or do it now
    Recover {
        #[command(flatten)]
        id: Id,
        /// Only say what recovery does; sends nothing, not even look-ups
        #[arg(long)]
        dry_run: bool,
    },
    /// Start nothing new, settle what is in flight, end
    Cancel {
        #[command(flatten)]
        id: Id,
        /// Why
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Start nothing new until resumed
    Pause {
        #[command(flatten)]
        id: Id,
        /// Why
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Go on after a pause
    Resume(Id),
}

#[derive(Subcommand, Debug)]
pub(crate) enum Op {
    /// Operations, last changed first
    List {
        /// Only those whose outcome is unknown
        #[arg(long)]
        unknown: bool,
        /// With --unknown: those that are written off, too
        #[arg(long, requires = "unknown")]
        all: bool,
        /// Only of this task
        #[arg(long)]
        task: Option<String>,
        #[command(flatten)]
        list: List,
    },
    /// Everything about an operation
    Show(Id),
    /// By id, key or target
    Find {
        /// An id, a key or a target, or the beginning of one
        text: String,
        #[command(flatten)]
        list: List,
    },
    /// Ask the target now
    Probe(Id),
    /// Say what you know: it happened, or it did not
    Settle {
        #[command(flatten)]
        id: Id,
        /// It happened
        #[arg(long, conflicts_with = "absent", requires = "reference")]
        happened: bool,
        /// It did not happen; refused until settled
        #[arg(long, visible_alias = "did-not")]
        absent: bool,
        /// The target's own id or another reference
        #[arg(long = "ref", id = "reference", value_name = "TEXT")]
        reference: Option<String>,
        /// Why you say so
        #[arg(long, value_parser = NonEmptyStringValueParser::new())]
        reason: String,
        /// The page version you read, where a review is open, as `review show` prints it
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
        page: Option<u64>,
    },
}

#[derive(Subcommand, Debug)]
pub(crate) enum Review {
    /// Open reviews, oldest first
    List {
        /// Decided ones too
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        list: List,
    },
    /// The question, what is known, and what to do
    Show(Id),
    /// The recovery package
    Package {
        #[command(flatten)]
        id: Id,
        /// Write it here instead of to stdout
        #[arg(long, short)]
        output: Option<PathBuf>,
    },
    /// Answer with a fact or an order
    Decide(Decide),
}

#[derive(ClapArgs, Debug)]
#[command(group = clap::ArgGroup::new("answer").required(true))]
pub(crate) struct Decide {
    /// The review, or the beginning of its id
    pub(crate) id: String,
    /// It happened (with --ref and --reason)
    #[arg(long, group = "answer", requires_all = ["reference", "reason"])]
    pub(crate) happened: bool,
    /// It did not happen; refused until settled
    #[arg(long, group = "answer", requires = "reason")]
    pub(crate) did_not: bool,
    /// Ask the target again
    #[arg(long, group = "answer")]
    pub(crate) ask_again: bool,
    /// Nothing before this time has passed (10m, 2h), or before this moment (2026-11-30T12:00:00Z)
    #[arg(long, visible_alias = "wait-until", group = "answer", value_name = "TIME")]
    pub(crate) wait: Option<String>,
    /// Go on without it; only for what is proven not applied
    #[arg(long, group = "answer", requires = "reason")]
    pub(crate) skip: bool,
    /// It stays unknown for ever; the task goes on
    #[arg(long, group = "answer", requires = "reason")]
    pub(crate) write_off: bool,
    /// Start nothing new and end
    #[arg(long, group = "answer", requires = "reason")]
    pub(crate) abort: bool,
    /// Go on as before
    #[arg(long, group = "answer")]
    pub(crate) go_on: bool,
    /// The target's own id or another reference
    #[arg(long = "ref", id = "reference", value_name = "TEXT")]
    pub(crate) reference: Option<String>,
    /// With --happened: the result for later steps, as JSON
    #[arg(long, value_name = "JSON")]
    pub(crate) result: Option<String>,
    /// Why; needed where the record moves: --happened, --did-not, --skip, --write-off, --abort
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) reason: Option<String>,
    /// The page version you read, as `review show` prints it; an answer to an older one is refused
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) page: u64,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Tool {
    /// Tools of a plan, and what we promise for each
    List {
        /// The plan file
        plan: PathBuf,
    },
    /// Faults and warnings of a contract, with reasons
    Lint {
        /// A contract or plan file
        file: PathBuf,
    },
}

#[derive(Subcommand, Debug)]
pub(crate) enum Db {
    /// Make a store
    Create {
        /// Mark it as a sandbox, where crash points may be armed
        #[arg(long)]
        sandbox: bool,
    },
    /// Check everything that can be checked
    Verify,
    /// Copy it while it is in use
    Backup {
        /// Where to
        to: PathBuf,
    },
    /// Put a backup in place; it starts paused
    Restore {
        /// The backup
        from: PathBuf,
        /// Replace the store that is there
        #[arg(long)]
        force: bool,
    },
    /// Go on with a copied or restored store under a new epoch
    Adopt {
        /// The original will never run again
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Subcommand, Debug)]
pub(crate) enum Audit {
    /// Check the hash chain of every task, offline
    Verify,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Config {
    /// Every setting, its value and its origin
    Show,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct Metrics {
    /// Only tasks accepted within this time: 12h, 7d. What is in doubt now is counted whatever its age
    #[arg(long, value_name = "TIME", conflicts_with = "prometheus")]
    pub(crate) since: Option<String>,
    /// Only tasks of this plan
    #[arg(long, value_name = "NAME")]
    pub(crate) plan: Option<String>,
    /// Print Prometheus text: counters since the beginning, from which rates over any time are made
    #[arg(long)]
    pub(crate) prometheus: bool,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct Sink {
    /// tickets, payments, sms or accounts
    pub(crate) kind: String,
    /// Where to listen; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) listen: std::net::SocketAddr,
    /// Its own database
    #[arg(long, value_name = "FILE")]
    pub(crate) db: PathBuf,
    /// For `usual-agent`, the agent of the demo's first act: the address of the ticket desk
    #[arg(long, hide = true, value_name = "URL")]
    pub(crate) desk: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory as _, error::ErrorKind};
    use std::{any::TypeId, collections::BTreeSet};

    /// How each option that takes a number is typed; the number goes to the end. With the least that is taken.
    const NUMBERS: [(&str, &[&str]); 10] = [
        ("demo --act", &["demo", "--act"]),
        ("run --in-flight", &["run", "p.yaml", "--inputs-from", "x.jsonl", "--in-flight"]),
        ("worker --slots", &["worker", "--slots"]),
        ("ps --limit", &["ps", "--limit"]),
        ("task list --limit", &["task", "list", "--limit"]),
        ("op list --limit", &["op", "list", "--limit"]),
        ("op find --limit", &["op", "find", "x", "--limit"]),
        ("op settle --page", &["op", "settle", "x", "--absent", "--reason", "seen", "--page"]),
        ("review list --limit", &["review", "list", "--limit"]),
        ("review decide --page", &["review", "decide", "rev_1", "--go-on", "--page"]),
    ];

    fn numbers(command: &clap::Command, path: &str, found: &mut BTreeSet<String>) {
        let is_number = |id| {
            let of = [
                TypeId::of::<u8>(),
                TypeId::of::<u16>(),
                TypeId::of::<u32>(),
                TypeId::of::<u64>(),
                TypeId::of::<usize>(),
                TypeId::of::<i32>(),
                TypeId::of::<i64>(),
            ];
            of.into_iter().any(|number| id == number)
        };
        let takes = |arg: &&clap::Arg| arg.get_action().takes_values();
        for arg in command.get_arguments().filter(takes).filter(|a| is_number(a.get_value_parser().type_id()))
        {
            let long = arg.get_long().unwrap_or("(a place)");
            found.insert(format!("{path} --{long}").trim().to_owned());
        }
        for sub in command.get_subcommands() {
            numbers(sub, format!("{path} {}", sub.get_name()).trim(), found);
        }
    }

    fn parsed(args: &[&str], number: &str) -> Result<Args, clap::Error> {
        Args::try_parse_from([&["semel"], args, &[number]].concat())
    }

    #[test]
    fn every_number_that_makes_no_sense_is_usage() {
        let mut found = BTreeSet::new();
        numbers(&Args::command(), "", &mut found);
        let known: BTreeSet<String> = NUMBERS.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(found, known, "an option that takes a number is not in the table");
        for (name, args) in NUMBERS {
            assert!(parsed(args, "1").is_ok(), "{name} 1");
            for number in ["0", "-1", "99999999999999999999", "1.5", "many", ""] {
                let refused = parsed(args, number).expect_err(&format!("{name} {number}"));
                assert_eq!(refused.exit_code(), 2, "{name} {number}");
                let kind = refused.kind();
                assert!(
                    matches!(
                        kind,
                        ErrorKind::ValueValidation | ErrorKind::UnknownArgument | ErrorKind::InvalidValue
                    ),
                    "{name} {number}: {kind:?}"
                );
            }
        }
        assert!(parsed(&["worker", "--slots"], "4294967295").is_err(), "beyond what one process can hold");
    }
}
