//! Tables for people: aligned, no frames, colour codes not counted; a cell that is cut says so.

use console::measure_text_width;

/// Spaces between two columns.
const GAP: usize = 2;

/// A table with a head line.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut lines: Vec<[String; N]> = vec![head.map(str::to_owned)];
    lines.extend(rows);
    let mut widths = [0; N];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = measure_text_width(cell).max(*width);
        }
    }
    lines.iter().map(|line| padded(line, &widths)).collect::<Vec<_>>().join("\n")
}

fn padded(line: &[String], widths: &[usize]) -> String {
    let mut text = String::new();
    for (cell, width) in line.iter().zip(widths) {
        text.push_str(cell);
        text.push_str(&" ".repeat((width + GAP).saturating_sub(measure_text_width(cell))));
    }
    text.trim_end().to_owned()
}

/// A text of one line and at most `most` characters; a cut is marked.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let kept: String = line.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Characters that an id keeps in a table, where they tell it from the others.
const ID: usize = 10;

/// Ids cut to a length at which they are still told apart: commands take the beginning of an id.
pub(crate) struct ShortIds {
    length: usize,
}

impl ShortIds {
    /// For the ids of one table.
    pub(crate) fn of<'a>(ids: impl Iterator<Item = &'a str>) -> Self {
        let mut ids: Vec<&str> = ids.collect();
        ids.sort_unstable();
        ids.dedup();
        let shared = |pair: &[&str]| match pair {
            [a, b] => a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count(),
            _ => 0,
        };
        let longest = ids.windows(2).map(shared).max().unwrap_or(0);
        Self { length: ID.max(longest + 1) }
    }

    /// The beginning of an id.
    pub(crate) fn cut<'a>(&self, id: &'a str) -> &'a str {
        id.char_indices().nth(self.length).map_or(id, |(at, _)| id.get(..at).unwrap_or(id))
    }

    /// An operation's id with the beginning of its task's.
    pub(crate) fn operation(&self, id: &str) -> String {
        id.split_once('/').map_or_else(|| id.to_owned(), |(task, rest)| format!("{}/{rest}", self.cut(task)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_whatever_the_cells_are_coloured() {
        let rows =
            [["\u{1b}[32mCOMMITTED\u{1b}[0m".to_owned(), "x".to_owned()], ["●".to_owned(), "y".to_owned()]];
        let text = table(["STATE", "NOTE"], rows);
        let plain: Vec<String> = text.lines().map(|l| console::strip_ansi_codes(l).into_owned()).collect();
        assert_eq!(plain, ["STATE      NOTE", "COMMITTED  x", "●          y"]);
    }

    #[test]
    fn a_cut_is_marked_and_line_breaks_are_gone() {
        assert_eq!(cut("one\ntwo", 20), "one two");
        assert_eq!(cut("abcdef", 4), "abc…");
    }

    #[test]
    fn ids_keep_as_much_as_tells_them_apart() {
        let ids = ["tsk_aaaaaaaaaa1bc", "tsk_aaaaaaaaaa2bc", "opt_bbbbbbbbbbbbb"];
        let short = ShortIds::of(ids.into_iter());
        assert_eq!(ids.map(|id| short.cut(id)), ["tsk_aaaaaaaaaa1", "tsk_aaaaaaaaaa2", "opt_bbbbbbbbbbb"]);
        assert_eq!(
            ShortIds::of([ids[0]].into_iter()).operation("tsk_aaaaaaaaaa1bc/act/7@1"),
            "tsk_aaaaaa/act/7@1"
        );
    }
}
