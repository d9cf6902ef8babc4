//! The scenarios from the field, and the tests that hold them: read from the names of tests and from `xtask/cases.tsv`.
//!
//! Invariant: a case is *passes* only when a test carries its number; what a test does not cover is said by hand in the
//! table, and what has neither test nor reason is a fault. It must not know what the scenarios are about.

use crate::{Report, Source, sources};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    path::Path,
};
use syn::visit::Visit;

const TABLE: &str = "xtask/cases.tsv";
const PAGE: &str = "docs/generated/cases.md";
const HEAD: &str = "case\ttitle\tnot yet\tmissing";

/// A line of the table.
struct Case {
    number: u32,
    title: String,
    /// Why there is no test.
    not_yet: String,
    /// What the tests leave out.
    missing: String,
}

/// Compares the committed page with the tests as they are.
#[must_use]
pub fn check(root: &Path) -> Report {
    let (page, mut faults, summary) = made(root);
    let committed = std::fs::read_to_string(root.join(PAGE)).unwrap_or_default();
    if committed != page {
        faults.push(format!(
            "{PAGE} is not what the tests say: UPDATE_GENERATED=1 cargo nextest run -p xtask rewrites it"
        ));
    }
    Report { summary, faults }
}

/// Writes the page anew; the faults of the table stay faults.
///
/// # Errors
/// When the file cannot be written.
pub fn write(root: &Path) -> std::io::Result<Report> {
    let (page, faults, summary) = made(root);
    std::fs::write(root.join(PAGE), page)?;
    Ok(Report { summary, faults })
}

fn made(root: &Path) -> (String, Vec<String>, String) {
    let mut faults = Vec::new();
    let table = std::fs::read_to_string(root.join(TABLE)).unwrap_or_default();
    let cases = read(&table, &mut faults);
    let tests = named(&sources(root));
    judge(&cases, &tests, &mut faults);
    let summary = counts(&cases, &tests);
    (page(&cases, &tests, &summary), faults, summary)
}

fn read(table: &str, faults: &mut Vec<String>) -> Vec<Case> {
    let mut lines = table.lines();
    if lines.next() != Some(HEAD) {
        faults.push(format!("{TABLE}: the first line is not `{}`", HEAD.replace('\t', " | ")));
    }
    lines.enumerate().filter_map(|(at, line)| case(at, line, faults)).collect()
}

fn case(at: usize, line: &str, faults: &mut Vec<String>) -> Option<Case> {
    let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
    let [case, title, not_yet, missing] = fields.as_slice() else {
        faults.push(format!("{TABLE}:{}: {} fields, not 4", at + 2, fields.len()));
        return None;
    };
    let number = case.strip_prefix('S').and_then(|n| n.parse().ok());
    let Some(number) = number.filter(|n| usize::try_from(*n) == Ok(at + 1)) else {
        faults.push(format!("{TABLE}:{}: `{case}` is not the next case", at + 2));
        return None;
    };
    let text = |t: &&str| (*t).to_owned();
    Some(Case { number, title: text(title), not_yet: text(not_yet), missing: text(missing) })
}

/// Tests by the numbers in their names: `s08_s52_…` is a test of both.
type Tests = BTreeMap<u32, BTreeSet<String>>;

fn named(files: &[Source]) -> Tests {
    let mut tests = Tests::new();
    for file in files {
        let Ok(tree) = syn::parse_file(&file.text) else { continue };
        let mut found = Names::default();
        found.visit_file(&tree);
        for name in found.0 {
            for number in numbers(&name) {
                tests.entry(number).or_default().insert(format!("{} `{name}`", home(&file.path)));
            }
        }
    }
    tests
}

/// `crates/semel-cli/tests/kill/points.rs` is at home in `semel-cli`.
fn home(path: &str) -> &str {
    let path = path.strip_prefix("crates/").unwrap_or(path);
    path.split('/').next().unwrap_or(path)
}

#[derive(Default)]
struct Names(Vec<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_item_fn(&mut self, f: &'ast syn::ItemFn) {
        let last = |a: &syn::Attribute| a.path().segments.last().is_some_and(|s| s.ident == "test");
        if f.attrs.iter().any(last) {
            self.0.push(f.sig.ident.to_string());
        }
        syn::visit::visit_item_fn(self, f);
    }
}

fn numbers(name: &str) -> Vec<u32> {
    let number = |part: &str| part.strip_prefix('s').filter(|d| d.len() == 2).and_then(|d| d.parse().ok());
    name.split('_').map_while(number).collect()
}

fn judge(cases: &[Case], tests: &Tests, faults: &mut Vec<String>) {
    for case in cases {
        let (number, tested) = (case.number, tests.contains_key(&case.number));
        match (tested, case.not_yet.is_empty(), case.missing.is_empty()) {
            (true, true, _) | (false, false, true) => {}
            (true, false, _) => {
                faults.push(format!("S{number:02} is `not yet` and has a test: say what is missing instead"))
            }
            (false, true, _) => faults.push(format!("S{number:02} has neither a test nor a reason")),
            (false, false, false) => faults
                .push(format!("S{number:02} is `not yet`, so all of it is missing: one reason is enough")),
        }
    }
    for (number, names) in tests.iter().filter(|(n, _)| !cases.iter().any(|c| c.number == **n)) {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        faults.push(format!("there is no case S{number:02}, but a test of it: {}", names.join(", ")));
    }
}

fn counts(cases: &[Case], tests: &Tests) -> String {
    let all = cases.len();
    let tested = cases.iter().filter(|c| tests.contains_key(&c.number));
    let (whole, partly): (Vec<&Case>, Vec<&Case>) = tested.partition(|c| c.missing.is_empty());
    let rest = all - whole.len() - partly.len();
    format!("passes {} of {all}, partly {} of {all}, not yet {rest} of {all}", whole.len(), partly.len())
}

const ABOUT: &str = "Generated from the names of tests and `xtask/cases.tsv`; do not edit. *Passes*: tests with its number hold all of it that
one machine with the embedded store can show. *Partly*: they hold some of it, and what is missing is said. The page says which
tests there are; that they are green is what their run says.\n\n";

fn page(cases: &[Case], tests: &Tests, summary: &str) -> String {
    let mut page = String::from("# Scenarios from the field\n\n");
    page.push_str(ABOUT);
    _ = writeln!(page, "{summary}.\n\n| case | title | status | tests |\n|---|---|---|---|");
    for case in cases {
        let names = tests.get(&case.number).map(|names| names.iter().cloned().collect::<Vec<_>>().join(", "));
        let status = match (&names, case.missing.is_empty()) {
            (Some(_), true) => "passes".to_owned(),
            (Some(_), false) => format!("partly (missing: {})", case.missing),
            (None, _) => format!("*not yet ({})*", case.not_yet),
        };
        _ = writeln!(
            page,
            "| S{:02} | {} | {status} | {} |",
            case.number,
            case.title,
            names.unwrap_or_default()
        );
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source { path: "crates/one/tests/it/a.rs".to_owned(), text: text.to_owned() }
    }

    fn faults(table: &str, text: &str) -> Vec<String> {
        let mut faults = Vec::new();
        let cases = read(&format!("{HEAD}\n{table}"), &mut faults);
        judge(&cases, &named(&[source(text)]), &mut faults);
        faults
    }

    #[test]
    fn a_name_may_carry_several_numbers_and_only_tests_count() {
        assert_eq!(numbers("s08_s52_late"), [8, 52]);
        assert_eq!(numbers("settles_s08"), [] as [u32; 0]);
        let tests = named(&[source("#[tokio::test]\nasync fn s01_a() {}\nfn s02_not_a_test() {}")]);
        assert_eq!(tests.keys().copied().collect::<Vec<_>>(), [1]);
        assert!(tests[&1].contains("one `s01_a`"));
    }

    #[test]
    fn a_case_has_a_test_or_a_reason_and_never_both() {
        let test = "#[test]\nfn s01_a() {}";
        assert_eq!(faults("S01\ta\t\t", test), [] as [&str; 0]);
        assert_eq!(faults("S01\ta\t\tthe other half", test), [] as [&str; 0]);
        assert_eq!(faults("S01\ta\tagents\t", ""), [] as [&str; 0]);
        assert_eq!(faults("S01\ta\t\t", "").len(), 1);
        assert_eq!(faults("S01\ta\tagents\t", test).len(), 1);
        assert_eq!(faults("S02\ta\tagents\t", "").len(), 1, "out of order");
        assert_eq!(faults("S01\ta\t\t", "#[test]\nfn s01_s02_a() {}").len(), 1, "no such case");
    }
}
