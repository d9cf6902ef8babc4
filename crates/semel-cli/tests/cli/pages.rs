//! The error pages: one for every code that the source can print, and none for a code that it cannot.

use crate::bench::{Bench, repository};
use std::{collections::BTreeSet, fs, path::Path};

/// Codes in the source, tests apart.
fn codes(dir: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() && name != "tests" && name != "target" {
            codes(&path, found);
        } else if name.ends_with(".rs") && name != "pages.rs" {
            let text = fs::read_to_string(&path).unwrap();
            let starts = text.match_indices("SM").map(|(at, _)| &text[at..]);
            found.extend(starts.filter_map(code));
        }
    }
}

fn code(text: &str) -> Option<String> {
    let digits = text.get(2..6)?;
    digits.chars().all(|c| c.is_ascii_digit()).then(|| text[..6].to_owned())
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let mut source = BTreeSet::new();
    codes(&repository().join("crates"), &mut source);
    let pages: BTreeSet<String> = fs::read_dir(repository().join("docs/errors"))
        .unwrap()
        .map(|e| e.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let without: Vec<_> = source.difference(&pages).collect();
    let stale: Vec<_> = pages.difference(&source).collect();
    assert!(without.is_empty() && stale.is_empty(), "no page: {without:?}; no such code: {stale:?}");
}

#[test]
fn every_page_is_inside_the_program() {
    let bench = Bench::new();
    let json = bench.expect(0, &["explain", "--json"]).json();
    let listed: Vec<&str> =
        json["codes"].as_array().unwrap().iter().map(|c| c["code"].as_str().unwrap()).collect();
    let pages = fs::read_dir(repository().join("docs/errors")).unwrap().count();
    assert_eq!(listed.len(), pages);
    assert!(listed.is_sorted());
}

#[test]
fn a_page_is_printed_and_a_near_miss_is_helped() {
    let bench = Bench::new();
    insta::assert_snapshot!("explain_page", bench.expect(0, &["explain", "SM2002"]).out);
    assert_eq!(bench.expect(0, &["explain", "2002"]).out, bench.expect(0, &["explain", "sm2002"]).out);
    insta::assert_snapshot!("explain_near", bench.expect(2, &["explain", "SM2022"]).talk);
}
