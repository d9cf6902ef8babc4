//! What came of many lines: counts with their denominators, and one exit code.

use super::lanes::Outcome;
use crate::cmd::follow::phase_text;
use crate::{
    fail::Exit,
    ui::{self, table::table},
};
use semel_kernel::{id::TaskId, task::Phase};
use serde::Serialize;

/// The whole of it.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    v: u32,
    lines: usize,
    attached: usize,
    unknown: usize,
    written_off: usize,
    phases: Vec<Count>,
    /// Every line and its task.
    runs: Vec<Row>,
    /// The runs were not waited for.
    detached: bool,
    /// The exit code.
    pub(super) exit: Exit,
}

#[derive(Debug, Serialize)]
struct Count {
    phase: Phase,
    lines: usize,
}

#[derive(Debug, Serialize)]
struct Row {
    line: usize,
    task: TaskId,
    phase: Phase,
    unknown: usize,
    written_off: usize,
    exit: Exit,
    attached: bool,
}

/// Rows of lines that did not complete; `--json` has all of them.
const SHOWN: usize = 20;

impl Summary {
    /// Sums up; `detached` runs were not waited for.
    pub(super) fn of(outcomes: &[Outcome], detached: bool) -> Self {
        let count = |test: &dyn Fn(&Outcome) -> bool| outcomes.iter().filter(|o| test(o)).count();
        let phases = Phase::ALL.into_iter().map(|phase| Count { phase, lines: count(&|o| o.phase == phase) });
        let runs = outcomes.iter().map(|o| Row {
            line: o.line,
            task: o.task.clone(),
            phase: o.phase,
            unknown: o.unknown,
            written_off: o.written_off,
            exit: o.exit,
            attached: o.attached,
        });
        Self {
            v: 1,
            lines: outcomes.len(),
            attached: count(&|o| o.attached),
            unknown: count(&|o| o.unknown > 0),
            written_off: count(&|o| o.written_off > 0),
            phases: phases.filter(|c| c.lines > 0).collect(),
            runs: runs.collect(),
            detached,
            exit: if detached { Exit::Done } else { exit(outcomes) },
        }
    }

    pub(super) fn text(&self) -> String {
        let all = self.lines;
        let share = |n: usize| format!("{n} of {all}");
        let mut rows: Vec<[String; 2]> =
            self.phases.iter().map(|c| [ui::state(c.phase.word()), share(c.lines)]).collect();
        rows.push(["with an unknown outcome".to_owned(), share(self.unknown)]);
        if self.written_off > 0 {
            rows.push(["with something written off".to_owned(), share(self.written_off)]);
        }
        rows.push(["attached to an earlier run".to_owned(), share(self.attached)]);
        let counts = table(["PHASE", "LINES"], rows);
        let open: Vec<&Row> = self.runs.iter().filter(|r| r.exit != Exit::Done && !self.detached).collect();
        if open.is_empty() {
            return counts;
        }
        let rows = open.iter().take(SHOWN).map(|r| {
            let phase = phase_text(r.phase, r.written_off);
            [r.line.to_string(), r.task.to_string(), phase, r.unknown.to_string()]
        });
        let more = open.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!("\nand {more} more; --json shows all") } else { String::new() };
        format!("{counts}\n\n{}{more}", table(["LINE", "TASK", "PHASE", "UNKNOWN"], rows))
    }
}

/// The gravest of all: unknown before waiting for a person before known failure before still running.
fn exit(outcomes: &[Outcome]) -> Exit {
    let order = [Exit::Unknown, Exit::Person, Exit::Conflict, Exit::Failed, Exit::Running];
    let any = |exit: &Exit| outcomes.iter().any(|o| o.exit == *exit);
    if outcomes.iter().any(|o| o.unknown > 0 && !matches!(o.exit, Exit::Running)) {
        return Exit::Unknown;
    }
    match order.into_iter().find(any) {
        Some(Exit::Conflict) => Exit::Failed,
        Some(exit) => exit,
        None => Exit::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(line: usize, phase: Phase, exit: Exit, unknown: usize) -> Outcome {
        let task = TaskId::parse(&format!("tsk_{line}")).expect("an id");
        Outcome { line, task, attached: line == 1, phase, exit, unknown, written_off: 0 }
    }

    #[test]
    fn one_unknown_among_many_decides_the_exit() {
        let all = [
            outcome(1, Phase::Completed, Exit::Done, 0),
            outcome(2, Phase::Failed, Exit::Failed, 0),
            outcome(3, Phase::NeedsReview, Exit::Unknown, 1),
        ];
        assert_eq!(Summary::of(&all, false).exit, Exit::Unknown);
        assert_eq!(Summary::of(&all[..2], false).exit, Exit::Failed);
        assert_eq!(Summary::of(&all[..1], false).exit, Exit::Done);
    }

    #[test]
    fn counts_have_their_denominators() {
        let all = [outcome(1, Phase::Completed, Exit::Done, 0), outcome(2, Phase::Failed, Exit::Failed, 0)];
        let text = Summary::of(&all, false).text();
        assert!(text.contains("1 of 2") && text.contains("0 of 2"), "{text}");
        assert!(text.contains("tsk_2") && !text.contains("tsk_1"), "{text}");
    }
}
