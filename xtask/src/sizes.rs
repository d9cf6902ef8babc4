//! Budgets: functions median ≤ 8 lines and p99 ≤ 70, none above 100; files ≤ 400 lines, tests and tables ≤ 800.

use crate::Source;
use syn::{spanned::Spanned as _, visit::Visit};

const MEDIAN: usize = 8;
const P99: usize = 70;
const LONGEST: usize = 100;
const FILE: usize = 400;
const TEST_FILE: usize = 800;

/// Tables: what was typed, and what can happen. A table is read by looking up, not from top to bottom.
const TABLES: [&str; 2] = ["crates/semel-cli/src/low.rs", "crates/semel-kernel/src/event.rs"];

/// Lengths of functions, from signature to closing brace.
#[derive(Default)]
struct Functions {
    lengths: Vec<(usize, String)>,
}

impl Functions {
    fn add(&mut self, name: &syn::Ident, span: proc_macro2::Span) {
        let lines = span.end().line.saturating_sub(span.start().line) + 1;
        self.lengths.push((lines, name.to_string()));
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, f: &'ast syn::ItemFn) {
        self.add(&f.sig.ident, f.sig.span().join(f.block.span()).unwrap_or_else(|| f.block.span()));
        syn::visit::visit_item_fn(self, f);
    }

    fn visit_impl_item_fn(&mut self, f: &'ast syn::ImplItemFn) {
        self.add(&f.sig.ident, f.sig.span().join(f.block.span()).unwrap_or_else(|| f.block.span()));
        syn::visit::visit_impl_item_fn(self, f);
    }
}

/// Checks all budgets and returns the numbers.
pub(crate) fn check(files: &[Source], faults: &mut Vec<String>) -> String {
    let mut all = Vec::new();
    for file in files {
        check_file(file, faults);
        if file.is_test() {
            continue;
        }
        let Ok(tree) = syn::parse_file(&file.text) else {
            faults.push(format!("{}: does not parse", file.path));
            continue;
        };
        let mut functions = Functions::default();
        functions.visit_file(&tree);
        for (lines, name) in functions.lengths {
            if lines > LONGEST {
                faults.push(format!(
                    "{}: `{name}` has {lines} lines; the longest allowed is {LONGEST}",
                    file.path
                ));
            }
            all.push(lines);
        }
    }
    all.sort_unstable();
    let at = |percent: usize| all.get(all.len().saturating_sub(1) * percent / 100).copied().unwrap_or(0);
    let (median, p90, p99) = (at(50), at(90), at(99));
    if median > MEDIAN {
        faults.push(format!("functions: the median is {median} lines, the budget {MEDIAN}"));
    }
    if p99 > P99 {
        faults.push(format!("functions: p99 is {p99} lines, the budget {P99}"));
    }
    let lines: usize = files.iter().map(|f| f.text.lines().count()).sum();
    format!(
        "{} files, {lines} lines; {} functions: median {median}, p90 {p90}, p99 {p99}",
        files.len(),
        all.len()
    )
}

fn check_file(file: &Source, faults: &mut Vec<String>) {
    let lines = file.text.lines().count();
    let table = TABLES.contains(&file.path.as_str());
    let max = if file.is_test() || table { TEST_FILE } else { FILE };
    if lines > max {
        faults.push(format!("{}: {lines} lines, the budget is {max}", file.path));
    }
}
