//! `semel explain`: what an error code means and what to do. The pages are those of `docs/errors`.

mod pages;

use crate::{
    fail::{Exit, Fail},
    ui::{Ui, table::table},
};
use pages::PAGES;

pub(crate) fn run(code: Option<&str>, ui: Ui) -> Result<Exit, Fail> {
    let Some(typed) = code else { return Ok(list(ui)) };
    let code = spelled(typed);
    let (code, page) = PAGES.iter().find(|(c, _)| *c == code).ok_or_else(|| unknown(typed, &code))?;
    let json = serde_json::json!({"v": 1, "code": code, "title": title(page), "page": page});
    ui.show(&json, || page.trim_end().to_owned());
    Ok(Exit::Done)
}

fn list(ui: Ui) -> Exit {
    let all: Vec<_> =
        PAGES.iter().map(|(code, page)| serde_json::json!({"code": code, "title": title(page)})).collect();
    ui.show(&serde_json::json!({"v": 1, "codes": all}), || {
        table(
            ["CODE", "TITLE"],
            PAGES.iter().map(|(code, page)| [(*code).to_owned(), title(page).to_owned()]),
        )
    });
    Exit::Done
}

/// The heading without its code.
fn title(page: &str) -> &str {
    let heading = page.lines().next().unwrap_or_default().trim_start_matches("# ");
    heading.split_once(' ').map_or(heading, |(_, title)| title)
}

fn unknown(typed: &str, code: &str) -> Fail {
    let near = near(code);
    let next = if near.is_empty() {
        "`semel explain` lists all codes".to_owned()
    } else {
        format!("did you mean {}? `semel explain` lists all codes", near.join(" or "))
    };
    Fail::new(Exit::Usage, "SM1015", format!("there is no code `{typed}`"), next)
}

/// The code as it is written everywhere: `2002` and `sm-2002` are SM2002.
fn spelled(typed: &str) -> String {
    let digits: String = typed.chars().filter(char::is_ascii_digit).collect();
    format!("SM{digits}")
}

/// Codes that differ in one digit.
fn near(typed: &str) -> Vec<&'static str> {
    let distance = |c: &str| {
        let differing = c.chars().zip(typed.chars()).filter(|(a, b)| a != b).count();
        differing + c.len().abs_diff(typed.len())
    };
    PAGES.iter().map(|(c, _)| *c).filter(|c| distance(c) <= 1).take(4).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_codes_are_named_and_far_ones_are_not() {
        assert_eq!(near(&spelled("2022")), ["SM2002"]);
        assert!(near(&spelled("7777")).is_empty());
        assert!(near(&spelled("banana")).is_empty());
    }

    #[test]
    fn a_code_is_found_however_it_is_spelled() {
        assert_eq!([spelled("2002"), spelled("sm-2002"), spelled("SM2002")], ["SM2002", "SM2002", "SM2002"]);
    }

    #[test]
    fn a_title_is_the_heading_without_its_code() {
        assert_eq!(title("# SM2002 The store is full\n\ntext"), "The store is full");
    }

    #[test]
    fn every_page_has_its_code_and_its_three_sections_in_order() {
        for (code, page) in PAGES {
            assert!(page.starts_with(&format!("# {code} ")), "{code}");
            let sections: Vec<&str> = page.lines().filter(|l| l.starts_with("## ")).collect();
            let wanted = ["## What happened", "## What it means for your effects", "## What to do next"];
            assert_eq!(sections, wanted, "{code}");
        }
    }
}
