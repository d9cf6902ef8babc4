//! Whatever a file holds, reading it ends with a plan or with problems, and its hash ignores what does not matter.

use crate::plan_support::{folder, read, sound};
use proptest::prelude::*;
use semel_plan::{plan::PlanDoc, problem::Severity};

/// Pieces that plans are made of, so that random texts come near to plans.
const PIECES: [&str; 40] = [
    "semel: 1\n",
    "name: t\n",
    "steps:\n",
    "  - step: a\n",
    "    sleep: 1s\n",
    "    act: mail\n",
    "    needs: [a]\n",
    "tools:\n",
    "  mail: { from: contracts/mail.yaml }\n",
    "    with: { to: x }\n",
    "\"",
    "'",
    "${{",
    "}}",
    "{",
    "}",
    "[",
    "]",
    ": ",
    "- ",
    "\n",
    "  ",
    "\t",
    "|\n",
    ">\n",
    "&a ",
    "*a",
    "!!str ",
    "<<: ",
    "? ",
    "# c\n",
    "---\n",
    "...\n",
    "%YAML 1.2\n",
    "0x1",
    "1e999",
    "\u{feff}",
    "\u{85}",
    "ä",
    "\\u0000",
];

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        if let Err(problems) = read(&text) {
            prop_assert!(problems.iter().any(|p| p.severity == Severity::Error));
        }
    }

    #[test]
    fn any_mix_of_pieces_is_read_or_refused(at in prop::collection::vec(0..PIECES.len(), 0..60)) {
        let text: String = at.into_iter().map(|i| PIECES[i]).collect();
        if let Err(problems) = read(&text) {
            prop_assert!(!problems.is_empty());
            prop_assert!(problems.iter().all(|p| p.code.starts_with("SM4") && !p.hint.is_empty()));
        }
    }

    #[test]
    fn a_plan_with_one_character_changed_is_read_or_refused(at in 0..10_000_usize, to in any::<char>()) {
        let path = folder().join("onboard.yaml");
        let mut text: Vec<char> = std::fs::read_to_string(path).expect("the fixture").chars().collect();
        let at = at % text.len();
        text[at] = to;
        let text: String = text.into_iter().collect();
        if let Err(problems) = PlanDoc::read_text("plan.yaml", &text, &folder()) {
            prop_assert!(problems.iter().any(|p| p.severity == Severity::Error), "{text}");
        }
    }

    #[test]
    fn comments_and_key_order_do_not_change_the_hash(
        order in Just((0..PARTS.len()).collect::<Vec<_>>()).prop_shuffle(),
        comments in prop::collection::vec("[ -~]{0,20}", PARTS.len()),
    ) {
        let plain: String = PARTS.concat();
        let mixed: String = order.iter().zip(&comments).map(|(i, c)| format!("# {c}\n{}", PARTS[*i])).collect();
        prop_assert_eq!(sound(&mixed).kernel.hash, sound(&plain).kernel.hash);
    }
}

const PARTS: [&str; 6] = [
    "semel: 1\n",
    "name: t\n",
    "pins: { a: x, b: y }\n",
    "inputs: { order: { type: string } }\n",
    "tools: { mail: { from: contracts/mail.yaml } }\n",
    "steps:\n  - step: a\n    act: mail\n    with: { to: \"${{ inputs.order }}\", text: hi }\n  - step: b\n    sleep: 1s\n",
];
