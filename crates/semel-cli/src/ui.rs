//! How it looks: data on stdout, talk on stderr, colour only where it adds and never alone.

pub(crate) mod log;
pub(crate) mod progress;
pub(crate) mod table;
pub(crate) mod time;

use crate::{
    fail::{Exit, Fail},
    low::Global,
};
use console::{colors_enabled, colors_enabled_stderr};
use owo_colors::{OwoColorize as _, Style};
use semel_plan::problem::{Problem, Severity, Span};
use serde::Serialize;
use std::{
    io::{ErrorKind, Write as _},
    sync::atomic::{AtomicBool, Ordering},
};

/// Something that was to be printed could not be.
static OUTPUT_LOST: AtomicBool = AtomicBool::new(false);

/// Whether data was lost on its way to stdout.
pub(crate) fn is_output_lost() -> bool {
    OUTPUT_LOST.load(Ordering::Relaxed)
}

/// What the terminal and the options allow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ui {
    /// Print JSON.
    pub(crate) json: bool,
    /// Say nothing but results and errors.
    pub(crate) quiet: bool,
}

impl Ui {
    pub(crate) const fn of(global: &Global) -> Self {
        Self { json: global.json, quiet: global.quiet }
    }

    /// A line of data. A closed pipe is the reader's wish, not an error; anything else is told, and spoils the exit.
    pub(crate) fn data(self, text: &str) {
        let Err(e) = writeln!(std::io::stdout(), "{text}") else { return };
        if e.kind() != ErrorKind::BrokenPipe && !OUTPUT_LOST.swap(true, Ordering::Relaxed) {
            drop(writeln!(std::io::stderr(), "error[SM1011]: stdout: {e}\n  next: make room, and ask again"));
        }
    }

    /// A line of talk.
    pub(crate) fn say(self, text: &str) {
        if !self.quiet {
            drop(writeln!(std::io::stderr(), "{text}"));
        }
    }

    /// The value as JSON, for programs.
    pub(crate) fn print_json<T: Serialize>(self, value: &T) {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.data(&text),
            Err(e) => self.say(&format!("error[SM9003]: {e}")),
        }
    }

    /// JSON or text, as asked.
    pub(crate) fn show<T: Serialize>(self, value: &T, text: impl FnOnce() -> String) {
        if self.json { self.print_json(value) } else { self.data(&text()) }
    }

    /// An error: code, what happened, what to do next; every fault with its place.
    pub(crate) fn fail(self, fail: &Fail) {
        if self.json {
            self.print_json(&fail_json(fail));
            return;
        }
        let out = &mut std::io::stderr();
        for problem in &fail.problems {
            drop(writeln!(out, "{}", problem_text(problem)));
        }
        let head = format!("error[{}]:", fail.code);
        let head = painted(&head, Style::new().red().bold(), colors_enabled_stderr());
        drop(writeln!(out, "{head} {}", fail.message));
        if !fail.fields.is_empty() {
            drop(writeln!(out, "  differs in: {}", fail.fields.join(", ")));
        }
        drop(writeln!(out, "  next: {}", fail.next));
    }

    /// Warnings of a file.
    pub(crate) fn warnings(self, warnings: &[Problem]) {
        for warning in warnings {
            self.say(&problem_text(warning));
        }
    }
}

#[derive(Serialize)]
struct FailJson<'a> {
    v: u32,
    error: &'a str,
    exit: Exit,
    message: &'a str,
    next: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    fields: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<ProblemJson<'a>>,
}

/// A fault as programs see it.
#[derive(Serialize)]
pub(crate) struct ProblemJson<'a> {
    code: &'a str,
    severity: &'a str,
    file: &'a str,
    /// Absent where the fault has no place in a file.
    #[serde(skip_serializing_if = "is_zero")]
    line: u32,
    #[serde(skip_serializing_if = "is_zero")]
    column: u32,
    path: &'a str,
    message: &'a str,
    hint: &'a str,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(place: &u32) -> bool {
    *place == 0
}

fn fail_json(fail: &Fail) -> FailJson<'_> {
    FailJson {
        v: 1,
        error: &fail.code,
        exit: fail.exit,
        message: &fail.message,
        next: &fail.next,
        fields: &fail.fields,
        problems: fail.problems.iter().map(problem_json).collect(),
    }
}

/// A fault for programs.
pub(crate) fn problem_json(problem: &Problem) -> ProblemJson<'_> {
    ProblemJson {
        code: problem.code,
        severity: word(problem.severity),
        file: &problem.file,
        line: problem.span.line,
        column: problem.span.column,
        path: &problem.path,
        message: &problem.message,
        hint: &problem.hint,
    }
}

const fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// `file:line:column: error[CODE]: message` and a hint, as editors and people read it.
pub(crate) fn problem_text(problem: &Problem) -> String {
    let place = match problem.span {
        Span::NONE => problem.file.clone(),
        Span { line, column } => format!("{}:{line}:{column}", problem.file),
    };
    let head = format!("{}[{}]", word(problem.severity), problem.code);
    let hint = if problem.hint.is_empty() { String::new() } else { format!("\n    hint: {}", problem.hint) };
    let at = if problem.path.is_empty() { String::new() } else { format!(" (at {})", problem.path) };
    format!("{place}: {head}: {}{at}{hint}", problem.message)
}

/// A state word with its colour; the word itself says it all.
pub(crate) fn state(word: &str) -> String {
    let style = match word.trim_end() {
        "COMMITTED" | "COMPLETED" | "succeeded" => Style::new().green(),
        "FAILED" | "failed_final" | "failed_retryable" => Style::new().red(),
        "UNKNOWN" | "NEEDS_REVIEW" | "unknown" => Style::new().yellow().bold(),
        "STARTED" | "RUNNING" | "started" => Style::new().cyan(),
        _ => Style::new(),
    };
    painted(word, style, colors_enabled())
}

/// `1 step`, `2 steps`.
pub(crate) fn count(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// Coloured only where somebody sees it: not in a pipe, not under `NO_COLOR`.
fn painted(text: &str, style: Style, colours: bool) -> String {
    if colours { text.style(style).to_string() } else { text.to_owned() }
}
