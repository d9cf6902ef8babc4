//! Tidy: budgets and forbidden edges, as a test. A rule that is not checked here is an opinion.

pub mod cases;
mod edges;
mod sizes;
mod words;

use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// What tidy found.
pub struct Report {
    /// Numbers, for people.
    pub summary: String,
    /// Broken rules, each with its place.
    pub faults: Vec<String>,
}

/// The root of the workspace.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_path_buf()
}

/// Runs every rule.
#[must_use]
pub fn tidy(root: &Path) -> Report {
    let files = sources(root);
    let mut faults = Vec::new();
    let summary = sizes::check(&files, &mut faults);
    edges::check(root, &mut faults);
    words::check(root, &files, &mut faults);
    Report { summary, faults }
}

/// A Rust file of the workspace.
pub(crate) struct Source {
    /// Path from the root, with `/`.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
}

impl Source {
    /// Tests and benchmarks: they may be longer, and may panic.
    pub(crate) fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.contains("/benches/")
    }
}

fn sources(root: &Path) -> Vec<Source> {
    let hidden = |name: &str| name.starts_with('.') || name == "target";
    let walk = WalkDir::new(root).sort_by_file_name().into_iter();
    let walk = walk.filter_entry(|e| e.depth() == 0 || !hidden(&e.file_name().to_string_lossy()));
    let rust = walk.filter_map(Result::ok).filter(|e| e.path().extension().is_some_and(|x| x == "rs"));
    rust.filter_map(|e| {
        let path = e.path().strip_prefix(root).ok()?.to_string_lossy().replace('\\', "/");
        Some(Source { path, text: std::fs::read_to_string(e.path()).ok()? })
    })
    .collect()
}
