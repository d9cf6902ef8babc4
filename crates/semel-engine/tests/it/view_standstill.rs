//! A task that does not move is told from one that waits, and its step is named.

use crate::view_world::{MINUTE, SECOND, World, blind, plan, sleeping, terms};
use semel_engine::view::{Standstill, standstill};
use semel_kernel::{
    id::SessionId,
    terms::{Effect, OnUnknown},
};

fn seen(world: &World, claims: u32, owner: Option<&str>) -> Option<Standstill> {
    let owner = owner.map(|id| SessionId::parse(id).unwrap());
    standstill(&world.task, &world.history, (claims, owner), world.now())
}

const OWNER: Option<&str> = Some("ses_w1");

#[test]
fn s65_taken_up_and_not_moving_is_told_with_its_step() {
    let world = World::started(terms(Effect::Keyed));
    assert_eq!(seen(&world, 1, OWNER), None, "one claim may be at work right now");
    let told = seen(&world, 2, None).unwrap();
    let first = world.task.order.first().unwrap();
    assert_eq!((told.step.as_ref(), told.claims), (Some(first), 2));
    assert_eq!(told.event, world.task.version, "STARTED was progress");
    let again = seen(&world.skip_time(SECOND).claim(), 2, OWNER).unwrap();
    assert_eq!((again.event, again.since), (told.event, told.since), "being taken up is none");
    let text = again.to_string();
    assert!(text.contains("taken up 2 times since") && text.contains("ses_w1 has it in hand"), "{text}");
}

#[test]
fn s11_held_past_the_progress_deadline_is_told_with_its_step() {
    let world = World::started(blind(OnUnknown::Review));
    assert_eq!(seen(&world, 1, OWNER), None);
    let late = world.skip_time(6 * MINUTE);
    let told = seen(&late, 1, OWNER).unwrap();
    assert!(told.to_string().starts_with("No progress since ") && told.step.is_some(), "{told}");
    assert_eq!(seen(&late, 0, None), None, "nobody holds it: it waits");
}

#[test]
fn what_waits_for_a_person_or_its_time_is_not_standing_still() {
    assert_eq!(seen(&World::new(plan(terms(Effect::Keyed))).pause(), 3, OWNER), None);
    assert_eq!(seen(&World::new(sleeping()).skip_time(6 * MINUTE), 0, None), None);
}
