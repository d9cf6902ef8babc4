//! The model and the other store, side by side.
//!
//! Invariant: both are asked the same, in the same order, at the same time. Which turn comes next is decided on what
//! the model shows; the other store is only compared.

use super::{
    Seen,
    call::Call,
    op::{Extra, Flaw, Op, Pick, When},
};
use crate::{
    conformance::{
        Factory,
        bench::{self, ALL},
        limits::pause_of,
        story::{self, ACME, Fate, Order, Word},
    },
    mem::{Coordination, MemStore},
    store::{Creation, OperationFilter, Page, ReviewFilter, Store, TaskFilter},
    turn::{Artifact, Authority, Due, Turn},
};
use semel_kernel::{
    hash::Hash,
    id::{SessionId, TaskId, Tenant, TurnId},
    input::Input,
    json::Json,
    limit,
    task::{Phase, Task},
    time::{Generation, Millis},
};

pub(super) struct Pair<S> {
    model: MemStore,
    other: S,
    advance: Box<dyn Fn(i64) + Send + Sync>,
    sessions: Vec<SessionId>,
    tasks: Vec<TaskId>,
    turns: Vec<(TaskId, TurnId)>,
    serial: u32,
}

impl<S: Store> Pair<S> {
    pub(super) fn of<F: Factory<S = S>>(factory: &F) -> Self {
        let fresh = factory.fresh();
        let model = MemStore::new(fresh.store.now().at.0);
        model.set_epoch(fresh.store.info().epoch);
        Self {
            model,
            other: fresh.store,
            advance: fresh.advance,
            sessions: Vec::new(),
            tasks: Vec::new(),
            turns: Vec::new(),
            serial: 0,
        }
    }

    /// Plays one step; one that makes no sense here is passed over.
    pub(super) async fn step(&mut self, op: &Op, seen: &mut Seen) -> Result<(), String> {
        if let Op::Advance(ms) = op {
            self.model.advance(*ms);
            (self.advance)(*ms);
        }
        let Some(call) = self.call(op).await else { return Ok(()) };
        self.keep(&call);
        self.ask(&call, seen).await?;
        if let Call::Commit(turn) = &call
            && turn.checkpoint.is_some()
            && self.model.find_turn(&turn.task, &turn.turn).await == Ok(true)
        {
            seen.insert("checkpoint yes".to_owned());
        }
        self.compare_lists(seen).await?;
        match call.task() {
            Some(task) => self.compare_task(&task, seen).await,
            None => Ok(()),
        }
    }

    /// What later picks may choose from.
    fn keep(&mut self, call: &Call) {
        let turn = match call {
            Call::Create(creation) => &creation.turn,
            Call::Commit(turn) => &**turn,
            Call::StartSession(session) => return self.sessions.push(session.clone()),
            Call::RenewSession(_)
            | Call::EndSession(_)
            | Call::FindTurn(..)
            | Call::Claim(..)
            | Call::ClaimTask(..)
            | Call::Release(..)
            | Call::NextDue
            | Call::Load(_)
            | Call::History(..)
            | Call::FindClient(..)
            | Call::PutArtifact(_)
            | Call::Artifact(_)
            | Call::Tasks(..)
            | Call::Operations(..)
            | Call::CountOperations(..)
            | Call::Reviews(..) => return,
        };
        self.turns.push((turn.task.clone(), turn.turn.clone()));
        if matches!(call, Call::Create(_)) && !self.tasks.contains(&turn.task) {
            self.tasks.push(turn.task.clone());
        }
    }

    async fn ask(&self, call: &Call, seen: &mut Seen) -> Result<(), String> {
        let (ours, theirs) = (call.on(&self.model).await, call.on(&self.other).await);
        seen.insert(format!("{} {}", call.verb(), ours.kind));
        same(call.verb(), &ours, &theirs)
    }

    async fn compare_lists(&self, seen: &mut Seen) -> Result<(), String> {
        same("now", &self.model.now().at, &self.other.now().at)?;
        let all = ReviewFilter { decided: true, ..ReviewFilter::default() };
        for call in [
            Call::NextDue,
            Call::Tasks(TaskFilter::default(), ALL),
            Call::Operations(OperationFilter::default(), ALL),
            Call::Reviews(all, ALL),
        ] {
            self.ask(&call, seen).await?;
        }
        Ok(())
    }

    pub(super) async fn compare_all(&self, seen: &mut Seen) -> Result<(), String> {
        for task in &self.tasks {
            self.compare_task(task, seen).await?;
        }
        Ok(())
    }

    /// Everything of one task, and that its rows are those of its history. A dead owner may be shown or not.
    async fn compare_task(&self, task: &TaskId, seen: &mut Seen) -> Result<(), String> {
        self.ask(&Call::Load(task.clone()), seen).await?;
        self.ask(&Call::History(task.clone(), 0), seen).await?;
        let (Ok(ours), Ok(theirs)) = (self.model.load(task).await, self.other.load(task).await) else {
            return Ok(());
        };
        if self.model.coordination(task).is_some_and(|c| c.live || c.session.is_none()) {
            same("owner", &ours.session, &theirs.session)?;
        }
        let folded = bench::folded(&self.model.history(task, 0).await.unwrap());
        same("loaded task", &ours.into_task(), &Ok(folded.clone()))?;
        same("loaded task", &theirs.into_task(), &Ok(folded.clone()))?;
        same("rows and fold", &bench::rows(&self.model, task).await, &Some(bench::expected(&folded)))?;
        if folded.end.is_some() {
            seen.insert("ended yes".to_owned());
        }
        if !folded.reviews.is_empty() {
            seen.insert("review yes".to_owned());
        }
        Ok(())
    }

    async fn call(&mut self, op: &Op) -> Option<Call> {
        let call = match *op {
            Op::Advance(_) => Call::NextDue,
            Op::StartSession => Call::StartSession(self.new_session()),
            Op::RenewSession(pick) => Call::RenewSession(self.session(pick)),
            Op::EndSession(pick) => Call::EndSession(self.session(pick)),
            Op::Create { client, fresh, owner, when, large } => {
                Call::Create(Box::new(self.creation(client, fresh, owner, when, large)))
            }
            Op::Claim { session, limit } => Call::Claim(self.session(session), limit),
            Op::ClaimTask { session, task } => Call::ClaimTask(self.session(session), self.task(task)),
            Op::Release { task, stale, when } => self.release(task, stale, when)?,
            Op::Work { task, fate, park, flaw, extra } => {
                let turn = self.work(task, fate, park, extra).await?;
                Call::Commit(Box::new(spoilt(turn, flaw)))
            }
            Op::Say { task, word, flaw } => Call::Commit(Box::new(spoilt(self.say(task, word).await?, flaw))),
            Op::FindTurn { task, turn } => self.find_turn(task, turn)?,
            Op::History { task, after } => Call::History(self.task(task), after),
            Op::FindClient(pick) => {
                let order = Order::nth(u32::from(pick % 8));
                Call::FindClient(order.tenant, order.client)
            }
            Op::PutArtifact(pick) => Call::PutArtifact(body(pick)),
            Op::Artifact(pick) => Call::Artifact(Hash::of(&body(pick))),
            Op::Tasks { filter, skip, limit } => Call::Tasks(self.task_filter(filter), Page { skip, limit }),
            Op::Operations { filter, skip, limit } => {
                Call::Operations(self.operation_filter(filter), Page { skip, limit })
            }
            Op::CountOperations { filter, most } => {
                Call::CountOperations(self.operation_filter(filter), most)
            }
            Op::Reviews { filter, skip, limit } => {
                Call::Reviews(self.review_filter(filter), Page { skip, limit })
            }
        };
        Some(call)
    }

    fn next_serial(&mut self) -> u32 {
        self.serial += 1;
        self.serial
    }

    fn new_session(&mut self) -> SessionId {
        SessionId::parse(&format!("s{}", self.next_serial())).unwrap()
    }

    /// One of the last four sessions, or one that never was.
    fn session(&self, pick: Pick) -> SessionId {
        let last = self.sessions.iter().rev().nth(usize::from(pick % 5));
        last.filter(|_| pick % 5 < 4).cloned().unwrap_or_else(|| SessionId::parse("never").unwrap())
    }

    /// One of the tasks, or one that never was.
    fn task(&self, pick: Pick) -> TaskId {
        let n = usize::from(pick) % (self.tasks.len() + 1);
        self.tasks.get(n).cloned().unwrap_or_else(|| Order::nth(9_999).task)
    }

    fn turn_id(&mut self) -> TurnId {
        TurnId::parse(&format!("t{}", self.next_serial())).unwrap()
    }

    fn moment(&self, when: When) -> Option<Millis> {
        let now = self.model.now().at;
        match when {
            When::Now => Some(now),
            When::Later => Some(now.plus(1_000)),
            When::Never => None,
        }
    }

    fn creation(
        &mut self,
        client: Pick,
        fresh: bool,
        owner: Option<Pick>,
        when: When,
        large: bool,
    ) -> Creation {
        let serial = self.next_serial();
        let n = u32::from(client);
        let text = if large { "x".repeat(limit::EVENT_BYTES) } else { format!("input {serial}") };
        let task = Order::nth(if fresh { 100 + serial } else { n }).task;
        let timeout_ms = if fresh { 2 * limit::PROGRESS_MS } else { limit::TIMEOUT_MS };
        let order = Order { task, inputs: Json::str(&text), timeout_ms, ..Order::nth(n) };
        let (epoch, now) = (self.model.info().epoch, self.model.now());
        let mut draft = order.submit(epoch, now);
        let generation = Generation { epoch, counter: 1 };
        let owner = owner.map(|pick| self.session(pick));
        if let Some(session) = owner.clone() {
            draft.take(Input::Claimed { session, generation }, story::ctx(now)).unwrap();
        }
        let (authority, due) = match owner {
            Some(_) => (Authority::Owner(generation), Due::Held),
            None => (Authority::Anyone, Due::Park(self.moment(when))),
        };
        let (mut turn, _) = Turn::close(draft, self.turn_id(), authority, now.at, due);
        turn.owner = owner;
        Creation { turn, digest: order.digest() }
    }

    /// Whether a task whose owner is dead can still be released is nobody's promise, so it is not asked.
    fn release(&self, task: Pick, stale: bool, when: When) -> Option<Call> {
        let task = self.task(task);
        let unknown = Generation { epoch: self.model.info().epoch, counter: 1 };
        let found = self.model.coordination(&task);
        let present = found.as_ref().map_or(unknown, |c| c.generation);
        let dead = found.is_some_and(|c| c.session.is_some() && !c.live);
        let old = Generation { counter: present.counter.wrapping_sub(1) % 1_000, ..present };
        let generation = if stale { old } else { present };
        let version = if stale { 1 } else { u64::MAX };
        (stale || !dead).then(|| Call::Release(task, generation, version, self.moment(when)))
    }

    /// One of the tasks that were claimed and not given back, dead owners' ones too.
    fn owned(&self, pick: Pick) -> Option<(TaskId, SessionId, Coordination)> {
        let owned = self.tasks.iter().filter_map(|task| {
            let found = self.model.coordination(task)?;
            Some((task.clone(), found.session.clone()?, found))
        });
        let owned: Vec<_> = owned.collect();
        owned.get(usize::from(pick).checked_rem(owned.len())?).cloned()
    }

    async fn loaded(&self, task: &TaskId) -> Option<Task> {
        self.model.load(task).await.ok()?.into_task().ok()
    }

    async fn work(&mut self, pick: Pick, fate: Fate, park: Option<When>, extra: Extra) -> Option<Turn> {
        let (task, session, found) = self.owned(pick)?;
        let now = self.model.now();
        let draft = story::work(self.loaded(&task).await?, (&session, found.generation), now, fate)?;
        let due = park.map_or(Due::Held, |when| Due::Park(self.moment(when)));
        let authority = Authority::Owner(found.generation);
        let (mut turn, after) = Turn::close(draft, self.turn_id(), authority, now.at, due);
        turn.checkpoint = extra.checkpoint.then(|| Box::new(after));
        turn.artifacts = extra.body.map(|pick| Artifact::of(body(pick))).into_iter().collect();
        Some(turn)
    }

    async fn say(&mut self, pick: Pick, word: Word) -> Option<Turn> {
        let task = self.task(pick);
        let now = self.model.now();
        let draft = story::say(self.loaded(&task).await?, word, now)?;
        Some(Turn::close(draft, self.turn_id(), Authority::Anyone, now.at, Due::Wake).0)
    }

    fn find_turn(&self, task: Pick, turn: Pick) -> Option<Call> {
        let n = usize::from(turn).checked_rem(self.turns.len())?;
        let (own, turn) = self.turns.get(n)?.clone();
        Some(Call::FindTurn(if task.is_multiple_of(4) { self.task(task / 4) } else { own }, turn))
    }

    fn task_filter(&self, pick: Pick) -> TaskFilter {
        let phases =
            [vec![], vec![Phase::Completed, Phase::Failed], vec![Phase::NeedsReview, Phase::Running]];
        let prefixes = [None, Some("tsk_".to_owned()), Some(self.task(pick / 8).to_string())];
        let names = [None, None, Some("two-mails".to_owned()), Some("no-such-plan".to_owned())];
        TaskFilter {
            phases: nth(&phases, pick),
            prefix: nth(&prefixes, pick / 3),
            name: nth(&names, pick / 9),
            tenant: nth(&[None, Some(ACME), Some("nobody")], pick / 27).map(|t| Tenant::parse(t).unwrap()),
        }
    }

    fn operation_filter(&self, pick: Pick) -> OperationFilter {
        let tasks = [None, Some(self.task(pick / 8))];
        let texts = [None, Some("first@".to_owned()), Some(self.task(pick / 8).to_string())];
        OperationFilter {
            unknown: pick % 3 == 1,
            written_off: pick % 3 == 2,
            task: nth(&tasks, pick / 2),
            find: nth(&texts, pick / 4),
        }
    }

    fn review_filter(&self, pick: Pick) -> ReviewFilter {
        let tasks = [None, Some(self.task(pick / 8))];
        let prefixes = [None, Some("rev_".to_owned()), Some("rev_tsk_0001".to_owned())];
        ReviewFilter { decided: pick % 2 == 1, task: nth(&tasks, pick / 2), prefix: nth(&prefixes, pick / 4) }
    }
}

fn nth<T: Clone + Default>(choices: &[T], pick: Pick) -> T {
    choices.iter().cycle().nth(usize::from(pick)).cloned().unwrap_or_default()
}

fn body(pick: Pick) -> Vec<u8> {
    vec![pick % 8; usize::from(pick % 8)]
}

/// A turn that must be refused, or the turn as it is.
fn spoilt(mut turn: Turn, flaw: Flaw) -> Turn {
    match (flaw, &turn.authority) {
        (Flaw::None, _) | (Flaw::Generation, Authority::Anyone) => {}
        (Flaw::Version, _) => turn.base = turn.base.saturating_sub(1),
        (Flaw::Generation, Authority::Owner(generation)) => {
            turn.authority = Authority::Owner(generation.next());
        }
        (Flaw::Task, _) => turn.task = Order::nth(9_999).task,
        (Flaw::Size, _) => {
            let small = turn.events.clone();
            pause_of(&mut turn, limit::EVENT_BYTES + 1);
            turn.events.splice(0..0, small);
        }
    }
    turn
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, ours: &T, theirs: &T) -> Result<(), String> {
    if ours == theirs {
        return Ok(());
    }
    Err(format!("{what}: the model says {ours:?}, the other {theirs:?}"))
}
