//! One step of a random sequence. Numbers are picks: they are taken modulo what there is, so that every sequence can
//! be played and shrunk.

use crate::conformance::story::{Fate, Word};
use proptest::{collection, prelude::*, sample::select};

/// A pick among what there is.
pub(super) type Pick = u8;

/// When a task is looked at next, as a pick.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    Now,
    Later,
    Never,
}

/// What is wrong with a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    None,
    Version,
    Generation,
    Task,
    Size,
}

/// What comes along with a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extra {
    pub(super) checkpoint: bool,
    pub(super) body: Option<Pick>,
}

/// A step.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Advance(i64),
    StartSession,
    RenewSession(Pick),
    EndSession(Pick),
    Create { client: Pick, fresh: bool, owner: Option<Pick>, when: When, large: bool },
    Claim { session: Pick, limit: u32 },
    ClaimTask { session: Pick, task: Pick },
    Release { task: Pick, stale: bool, when: When },
    Work { task: Pick, fate: Fate, park: Option<When>, flaw: Flaw, extra: Extra },
    Say { task: Pick, word: Word, flaw: Flaw },
    FindTurn { task: Pick, turn: Pick },
    History { task: Pick, after: u64 },
    FindClient(Pick),
    PutArtifact(Pick),
    Artifact(Pick),
    Tasks { filter: Pick, skip: u32, limit: u32 },
    Operations { filter: Pick, skip: u32, limit: u32 },
    CountOperations { filter: Pick, most: u32 },
    Reviews { filter: Pick, skip: u32, limit: u32 },
}

/// Sequences of steps, long enough for tasks to end.
pub(super) fn sequences() -> impl Strategy<Value = Vec<Op>> {
    collection::vec(op(), 20..120)
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        2 => select(vec![0, 1, 999, 1_000, 14_999, 15_000, 60_000, 300_000]).prop_map(Op::Advance),
        3 => Just(Op::StartSession),
        2 => any::<Pick>().prop_map(Op::RenewSession),
        1 => any::<Pick>().prop_map(Op::EndSession),
        4 => create(),
        5 => (any::<Pick>(), 0..4_u32).prop_map(|(session, limit)| Op::Claim { session, limit }),
        4 => (any::<Pick>(), any::<Pick>()).prop_map(|(session, task)| Op::ClaimTask { session, task }),
        2 => release(),
        24 => work(),
        8 => say(),
        2 => (any::<Pick>(), any::<Pick>()).prop_map(|(task, turn)| Op::FindTurn { task, turn }),
        1 => (any::<Pick>(), 0..12_u64).prop_map(|(task, after)| Op::History { task, after }),
        1 => any::<Pick>().prop_map(Op::FindClient),
        1 => any::<Pick>().prop_map(Op::PutArtifact),
        2 => any::<Pick>().prop_map(Op::Artifact),
        3 => list(),
    ]
}

fn when() -> impl Strategy<Value = When> {
    prop_oneof![2 => Just(When::Now), 2 => Just(When::Later), 1 => Just(When::Never)]
}

fn flaw() -> impl Strategy<Value = Flaw> {
    prop_oneof![
        16 => Just(Flaw::None),
        1 => Just(Flaw::Version),
        1 => Just(Flaw::Generation),
        1 => Just(Flaw::Task),
        1 => Just(Flaw::Size),
    ]
}

fn create() -> impl Strategy<Value = Op> {
    let large = prop::bool::weighted(0.05);
    let parts = (0..6_u8, any::<bool>(), prop::option::of(any::<Pick>()), when(), large);
    parts.prop_map(|(client, fresh, owner, when, large)| Op::Create { client, fresh, owner, when, large })
}

fn release() -> impl Strategy<Value = Op> {
    (any::<Pick>(), prop::bool::weighted(0.3), when()).prop_map(|(task, stale, when)| Op::Release {
        task,
        stale,
        when,
    })
}

fn work() -> impl Strategy<Value = Op> {
    let fate = select(vec![Fate::Applied, Fate::Applied, Fate::Refused, Fate::Busy, Fate::Lost]);
    let park = prop::option::weighted(0.2, when());
    let extra = (prop::bool::weighted(0.2), prop::option::weighted(0.2, any::<Pick>()))
        .prop_map(|(checkpoint, body)| Extra { checkpoint, body });
    let parts = (any::<Pick>(), fate, park, flaw(), extra);
    parts.prop_map(|(task, fate, park, flaw, extra)| Op::Work { task, fate, park, flaw, extra })
}

fn say() -> impl Strategy<Value = Op> {
    (any::<Pick>(), select(Word::ALL.to_vec()), flaw()).prop_map(|(task, word, flaw)| Op::Say {
        task,
        word,
        flaw,
    })
}

fn list() -> impl Strategy<Value = Op> {
    let parts = (any::<Pick>(), 0..3_u32, 0..5_u32);
    prop_oneof![
        parts.clone().prop_map(|(filter, skip, limit)| Op::Tasks { filter, skip, limit }),
        parts.clone().prop_map(|(filter, skip, limit)| Op::Operations { filter, skip, limit }),
        parts.clone().prop_map(|(filter, _, most)| Op::CountOperations { filter, most }),
        parts.prop_map(|(filter, skip, limit)| Op::Reviews { filter, skip, limit }),
    ]
}
