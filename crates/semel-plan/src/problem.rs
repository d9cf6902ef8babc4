//! What is wrong with a plan or a contract, where, and what to do about it.
//!
//! Invariant: a reader never stops at its first problem; all are collected and told at once. This module must not
//! know what is being read.

use std::fmt;

/// A place in a file, counted from 1; line 0 is a document that was read back from the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl Span {
    /// The place of a document that has no file.
    pub const NONE: Span = Span { line: 0, column: 0 };

    /// The place of byte `offset` of `text`, when the text begins here and its further lines are indented alike.
    #[must_use]
    pub fn inside(self, text: &str, offset: usize) -> Span {
        if self == Span::NONE {
            return self;
        }
        let before: &str = text.get(..offset).unwrap_or(text);
        let lines = before.matches('\n').count() as u32;
        let columns = before.rsplit('\n').next().unwrap_or(before).chars().count() as u32;
        Span { line: self.line + lines, column: self.column + columns }
    }
}

/// Whether a problem stands in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The document is refused.
    Error,
    /// The document is accepted; somebody should know.
    Warning,
}

impl Severity {
    /// The word shown to people.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Stable code, `SM4xxx`.
    pub code: &'static str,
    /// Whether it stands in the way.
    pub severity: Severity,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What to do about it.
    pub hint: String,
    /// The file, as it was named by the caller.
    pub file: String,
    /// Where in the file.
    pub span: Span,
    /// Where in the document: `steps[2].with`; empty for the whole of it.
    pub path: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.span != Span::NONE {
            write!(f, ":{}:{}", self.span.line, self.span.column)?;
        }
        write!(f, ": {}[{}]: {}", self.severity.word(), self.code, self.message)?;
        if !self.path.is_empty() {
            write!(f, " (at {})", self.path)?;
        }
        write!(f, "\n  next: {}", self.hint)
    }
}

/// A place, as a reader passes it on.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// The file.
    pub file: &'a str,
    /// Where in the file.
    pub span: Span,
    /// Where in the document.
    pub path: &'a str,
}

/// Nobody reads more than this at once, and a hostile file could hold very many.
const MOST: usize = 1_000;

/// The problems found so far, up to a thousand.
#[derive(Clone, Debug, Default)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records something that stands in the way.
    pub fn error(
        &mut self,
        code: &'static str,
        at: At<'_>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.add(Severity::Error, code, at, (message.into(), hint.into()));
    }

    /// Records something that somebody should know.
    pub fn warn(
        &mut self,
        code: &'static str,
        at: At<'_>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.add(Severity::Warning, code, at, (message.into(), hint.into()));
    }

    fn add(&mut self, severity: Severity, code: &'static str, at: At<'_>, (message, hint): (String, String)) {
        if self.is_full() || self.is_unreadable(at) {
            return;
        }
        let (file, path) = (at.file.to_owned(), at.path.to_owned());
        self.0.push(Problem { code, severity, message, hint, file, span: at.span, path });
    }

    /// What could not even be read is told once; that it also has the wrong type helps nobody.
    fn is_unreadable(&self, at: At<'_>) -> bool {
        let same = |p: &&Problem| p.span == at.span && p.code.starts_with("SM400") && p.file == at.file;
        at.span != Span::NONE && self.0.iter().any(|p| same(&p))
    }

    /// Takes over a problem that was found elsewhere.
    pub fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    /// Takes over problems that were found elsewhere.
    pub fn extend(&mut self, problems: impl IntoIterator<Item = Problem>) {
        self.0.extend(problems);
    }

    /// Whether one of them stands in the way.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|p| p.severity == Severity::Error)
    }

    /// Whether further ones would not be kept, so that nobody need look for them.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.0.len() >= MOST
    }

    /// The number of those that stand in the way.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.0.iter().filter(|p| p.severity == Severity::Error).count()
    }

    /// In the order in which they were found.
    #[must_use]
    pub fn as_slice(&self) -> &[Problem] {
        &self.0
    }

    /// In the order of the file; problems of one place keep the order in which they were found.
    #[must_use]
    pub fn into_vec(mut self) -> Vec<Problem> {
        self.0.sort_by(|a, b| (&a.file, a.span).cmp(&(&b.file, b.span)));
        self.0
    }
}

/// The candidate that was probably meant by `word`, if one is close enough.
#[must_use]
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = (word.chars().count() / 3).clamp(1, 3);
    let scored = candidates.into_iter().map(|c| (distance(word, c), c));
    scored.filter(|(d, c)| *d <= most && *d < c.chars().count()).min().map(|(_, c)| c)
}

/// `did you mean …?` when something is close, else what there is.
#[must_use]
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(found) = closest(word, candidates.clone()) {
        return format!("did you mean `{found}`?");
    }
    let all: Vec<&str> = candidates.into_iter().collect();
    if all.is_empty() {
        return "there is none to choose from; remove it".to_owned();
    }
    let (shown, more) = (all.iter().take(24).copied().collect::<Vec<_>>().join(", "), all.len() > 24);
    format!("use one of: {shown}{}", if more { ", …" } else { "" })
}

/// Edits (insert, delete, replace, swap of neighbours) that turn one word into the other; long words are cut, because
/// only near ones matter.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        assert_eq!(closest("nedes", ["needs", "step", "with"]), Some("needs"));
        assert_eq!(closest("wiht", ["needs", "step", "with"]), Some("with"));
        assert_eq!(closest("banana", ["needs", "step", "with"]), None);
        assert_eq!(closest("x", ["y"]), None);
    }

    #[test]
    fn a_place_inside_a_text_counts_lines_and_characters() {
        let start = Span { line: 3, column: 5 };
        assert_eq!(start.inside("äb${{", 3), Span { line: 3, column: 7 });
        assert_eq!(start.inside("one\ntwo", 5), Span { line: 4, column: 6 });
        assert_eq!(Span::NONE.inside("abc", 2), Span::NONE);
    }
}
