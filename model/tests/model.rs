//! The page of the model, and whether the model gets anywhere at all.

use semel_model::{
    page::{Ends, IMPLIED, TRIALS, page, try_out},
    rule::Rule,
    scenario,
};
use std::{collections::BTreeSet, fs, path::PathBuf};

/// Every state of every world, every rule switched off, every assumption broken.
#[test]
fn the_committed_page_is_what_the_model_finds() {
    let text = page().unwrap();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/generated/model.md");
    if update_is_asked() {
        fs::write(&path, &text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "docs/generated/model.md differs; run with UPDATE_GENERATED=1 and look at the diff"
    );
}

#[expect(clippy::disallowed_methods, reason = "a test that writes a committed file must be asked to")]
fn update_is_asked() -> bool {
    std::env::var("UPDATE_GENERATED").is_ok_and(|v| v == "1")
}

#[test]
fn every_rule_is_tried() {
    let tried: BTreeSet<Rule> = TRIALS.iter().chain(&IMPLIED).flat_map(|t| t.off.iter().copied()).collect();
    assert_eq!(tried, BTreeSet::from(Rule::ALL));
}

/// A world in which nothing is ever committed, repeated or asked would hold every property.
#[test]
fn the_worlds_get_everywhere() {
    let all = Ends { first: true, again: true, failed: true, review: true };
    let never_failed = Ends { failed: false, ..all };
    for world in scenario::ALL {
        // It neither refuses nor can be asked, so nothing of it is ever proven not to have happened.
        let expected = if world == scenario::CHECK_THEN_WRITE { never_failed } else { all };
        assert_eq!(try_out(world, &[]).unwrap().ends, expected, "{}", world.name);
    }
}
