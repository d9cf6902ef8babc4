//! Reads and checks all lines before anything is submitted.

use crate::{
    cmd::inputs::{name_of, of_line},
    fail::{Exit, Fail},
};
use semel_kernel::json::{Json, Limits};
use semel_plan::plan::PlanDoc;
use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

/// One checked line.
#[derive(Debug)]
pub(super) struct Line {
    /// Its number, from 1.
    pub(super) number: usize,
    /// Its inputs, defaults filled in.
    pub(super) inputs: Json,
}

/// A fault of a line, and its column where that is known.
type Fault = (Option<u32>, String);

/// Lines with faults that are told; the rest would only repeat them.
const TOLD: usize = 10;

/// All lines of a file, or of stdin for `-`. Empty lines are passed over.
pub(super) fn lines(plan: &PlanDoc, path: &Path) -> Result<Vec<Line>, Fail> {
    let name = name_of(path);
    let reader: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(path).map_err(|e| Fail::io(&name, &e))?))
    };
    of(plan, &name, reader)
}

fn of(plan: &PlanDoc, name: &str, reader: impl BufRead) -> Result<Vec<Line>, Fail> {
    let (mut lines, mut faults) = (Vec::new(), Vec::new());
    for (number, text) in (1..).zip(reader.lines()) {
        let text = text.map_err(|e| Fail::io(name, &e))?;
        if text.trim().is_empty() {
            continue;
        }
        match inputs(plan, &text) {
            Ok(inputs) => lines.push(Line { number, inputs }),
            Err(found) => faults.push(told(&format!("{name}:{number}"), &found)),
        }
    }
    if faults.is_empty() { Ok(lines) } else { Err(refused(&faults)) }
}

fn inputs(plan: &PlanDoc, text: &str) -> Result<Json, Vec<Fault>> {
    let json = Json::parse_with(text, Limits::PLAN).map_err(|e| {
        let told = format!("{}, at {} ({})", e.kind, e.path, e.next());
        vec![(u32::try_from(e.column).ok(), told)]
    })?;
    of_line(plan, text, &json)
}

/// All faults of one line, each with its place.
fn told(line: &str, faults: &[Fault]) -> String {
    let told = faults.iter().map(|(column, fault)| match column {
        Some(column) => format!("{line}:{column}: {fault}"),
        None => format!("{line}: {fault}"),
    });
    told.collect::<Vec<_>>().join("\n  ")
}

fn refused(faults: &[String]) -> Fail {
    let shown: Vec<&str> = faults.iter().take(TOLD).map(String::as_str).collect();
    let more = faults.len().saturating_sub(TOLD);
    let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
    let lines =
        if faults.len() == 1 { "1 line is".to_owned() } else { format!("{} lines are", faults.len()) };
    let message = format!("{lines} not right, and nothing was submitted:\n  {}{more}", shown.join("\n  "));
    Fail::new(Exit::Usage, "SM1017", message, "mend these lines and run the same command again")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> PlanDoc {
        let text =
            "semel: 1\nname: p\ninputs: { order: { type: string } }\nsteps:\n  - step: rest\n    sleep: 1s\n";
        PlanDoc::read_text("p.yaml", text, Path::new("")).expect("a plan")
    }

    #[test]
    fn a_bad_line_is_named_by_its_number_and_no_line_is_kept() {
        let text = "{\"order\": \"a\"}\n\n{\"order\": 5}\nnonsense\n";
        let fail = of(&plan(), "x.jsonl", text.as_bytes()).expect_err("faults");
        assert_eq!(fail.code, "SM1017");
        assert!(
            fail.message.contains("x.jsonl:3:11: ") && fail.message.contains("x.jsonl:4:1: "),
            "{}",
            fail.message
        );
        assert!(!fail.message.contains("x.jsonl:1:"), "{}", fail.message);
    }

    #[test]
    fn good_lines_keep_their_numbers() {
        let lines = of(&plan(), "x", "\n{\"order\": \"a\"}\n".as_bytes()).expect("lines");
        assert_eq!(lines.iter().map(|l| l.number).collect::<Vec<_>>(), [2]);
    }
}
