//! What may stand where: a few words that mark a broken invariant.

use crate::Source;
use std::path::Path;
use walkdir::WalkDir;

/// A text, the paths in which it may stand, and why.
struct Rule {
    text: &'static str,
    only_in: &'static [&'static str],
    why: &'static str,
}

const RULES: [Rule; 6] = [
    Rule {
        text: concat!("Receipt::", "attest("),
        // The simulator's bad engine attests too early, and is caught for it.
        only_in: &[
            "crates/semel-store-",
            "crates/semel-ports/src/mem",
            "crates/semel-ports/src/receipt.rs",
            "crates/semel-sim/src/wire.rs",
        ],
        why: "only a store attests that a turn is durable",
    },
    Rule {
        text: concat!("INSERT", " INTO"),
        only_in: &["crates/semel-store-", "crates/semel-sinks/"],
        why: "SQL stays in stores",
    },
    Rule {
        text: concat!("std::env::", "var"),
        only_in: &["crates/semel-cli/src/system.rs"],
        why: "one place reads the environment",
    },
    Rule { text: concat!("TO", "DO"), only_in: &[], why: "say it in an issue or in docs/progress.md" },
    Rule { text: concat!("FIX", "ME"), only_in: &[], why: "say it in an issue or in docs/progress.md" },
    Rule {
        text: concat!("#[al", "low("),
        only_in: &["/tests/", "/conformance/"],
        why: "use #[expect(…, reason)]",
    },
];

/// Checks every source, and the documents for the claim that nobody can keep.
pub(crate) fn check(root: &Path, files: &[Source], faults: &mut Vec<String>) {
    for file in files.iter().filter(|f| !f.path.starts_with("xtask/")) {
        for rule in &RULES {
            let allowed = rule.only_in.iter().any(|p| file.path.contains(p));
            let test_reads_env = file.is_test() && rule.text.contains("env");
            if !allowed && !test_reads_env && file.text.contains(rule.text) {
                faults.push(format!("{}: `{}`: {}", file.path, rule.text, rule.why));
            }
        }
        check_kernel(file, faults);
        check_ignored(file, faults);
    }
    claims(root, files, faults);
}

/// The kernel is closed: `no_std` already leaves nothing to reach for; this catches a way back in.
fn check_kernel(file: &Source, faults: &mut Vec<String>) {
    if file.path.starts_with("crates/semel-kernel/src") && file.text.contains("extern crate std") {
        faults.push(format!("{}: the kernel does not link std", file.path));
    }
}

/// A test that does not run proves nothing; the body of a child process that a test starts is none.
fn check_ignored(file: &Source, faults: &mut Vec<String>) {
    let ignored = concat!("#[ig", "nore");
    let child = concat!("#[ig", "nore = \"the body of a child process\"]");
    for (n, line) in file.text.lines().enumerate() {
        if line.trim_start().starts_with(ignored) && line.trim() != child {
            faults.push(format!("{}:{}: a test that does not run proves nothing", file.path, n + 1));
        }
    }
}

/// *Exactly once* may be denied, never claimed.
fn claims(root: &Path, files: &[Source], faults: &mut Vec<String>) {
    let claim = concat!("exactly", " once");
    let denied =
        |line: &str| ["never", "assert!(!", "not ", "no ", "nobody", "deni"].iter().any(|d| line.contains(d));
    let documents = WalkDir::new(root.join("docs")).into_iter().filter_map(Result::ok);
    let documents = documents.filter(|e| e.path().extension().is_some_and(|x| x == "md"));
    let documents = documents
        .map(walkdir::DirEntry::into_path)
        .chain([root.join("README.md"), root.join("ARCHITECTURE.md")]);
    let texts = documents.filter_map(|p| Some((p.display().to_string(), std::fs::read_to_string(p).ok()?)));
    let sources =
        files.iter().filter(|f| !f.path.starts_with("xtask/")).map(|f| (f.path.clone(), f.text.clone()));
    for (path, text) in texts.chain(sources) {
        for (n, line) in text.lines().enumerate() {
            let line = line.to_lowercase();
            if line.contains(claim) && !denied(&line) {
                faults.push(format!("{path}:{}: claims `{claim}`", n + 1));
            }
        }
    }
}
