//! What the fields of a contract lead to: refusals by the target's state, and what they are called.

use semel_kernel::event::Why;
use semel_kernel::operation::Judgement;
use semel_kernel::outcome::{Finding, RefusalKind};
use semel_kernel::review::ReviewCause;
use semel_kernel::terms::{Effect, Terms};

use crate::story::{CLOCK, DEAD, Story, lost, probed, stale, terms};

// --- require and If-Match --------------------------------------------------------------------------------------

#[test]
fn a_refusal_says_which_of_the_four_it_was() {
    for (kind, code, words) in [
        (RefusalKind::Duplicate, "SM3006", "duplicate"),
        (RefusalKind::Stale, "SM3008", "stale version"),
        (RefusalKind::Changed, "SM3006", "changed by others"),
        (RefusalKind::Illegal, "SM3006", "illegal in this state"),
    ] {
        let mut story = Story::one(Terms { require: true, ..probed(Effect::Keyed) });
        story.forbid("a", Finding::Absent, kind).expect_failed("a", code);
        let step = story.step("a");
        assert_eq!(step.refusal, Some(kind));
        assert_eq!(step.cause, format!("{words}: `require` does not hold: absent"));
        assert_eq!(story.started("a"), 0);
    }
}

/// A history of before the kinds has none, and reads as it did.
#[test]
fn a_refusal_without_a_kind_reads_as_before() {
    let mut story = Story::one(Terms { require: true, ..probed(Effect::Keyed) });
    story.precheck("a", Finding::Absent, false).expect_failed("a", "SM3006");
    assert_eq!(
        (story.step("a").refusal, story.step("a").cause.as_str()),
        (None, "`require` does not hold: absent")
    );
}

#[test]
fn a_refused_compare_and_set_is_final_and_named() {
    let mut story = Story::one(Terms { require: true, ..probed(Effect::Keyed) });
    story
        .precheck("a", Finding::Absent, true)
        .begin("a")
        .answer("a", 1, stale())
        .expect_failed("a", "SM3008");
    assert_eq!((story.step("a").refusal, story.started("a")), (Some(RefusalKind::Stale), 1));
}

/// Our own first request may be what made the version stale: the second answer says nothing about it.
#[test]
fn a_stale_version_after_a_lost_answer_proves_nothing_about_the_first_attempt() {
    let mut story = Story::one(Terms { require: true, probe: None, ..terms(Effect::Keyed) });
    story.precheck("a", Finding::Absent, true).begin("a").at(100).answer("a", 1, lost());
    story.tick_at(DEAD + CLOCK).tick_at(2 * DEAD).expect_begin("a", Why::SameKey).begin("a");
    story.answer("a", 2, stale()).expect_judged("a", Judgement::Unknown);
    assert_eq!(story.step("a").refusal, None);
    for attempt in 3..=5 {
        story.tick_at(attempt * 4 * DEAD).begin("a").answer("a", u32::try_from(attempt).unwrap(), stale());
    }
    story.expect_review(&ReviewCause::AttemptsExhausted);
}

#[test]
fn the_version_is_that_of_the_last_look() {
    let mut story = Story::one(Terms { require: true, ..probed(Effect::Keyed) });
    let look = |story: &mut Story, tag: &str| {
        let look = semel_kernel::outcome::Look {
            tag: Some(tag.into()),
            ..semel_kernel::outcome::Look::answered(true)
        };
        let (op, shown) = (story.op_id("a"), semel_kernel::json::Json::Null);
        story.give(semel_kernel::input::Input::Prechecked { op, finding: Finding::Absent, look, shown });
    };
    look(&mut story, "v1");
    assert_eq!(story.op("a").tag(), Some("v1"));
    look(&mut story, "v2");
    assert_eq!(story.op("a").tag(), Some("v2"));
    // After a send the look is used up.
    story.begin("a");
    assert_eq!(story.op("a").tag(), None);
}
