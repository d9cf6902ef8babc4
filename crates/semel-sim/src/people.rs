//! People: submitters that come again, operators that pause, cancel, ask and answer, and a colleague who changes things.
//! An operator says *it happened* or *it did not* after a look at the target, so what he says is true when he says it.

use crate::{
    chance::Chance,
    plans,
    sim::{Act, Sim},
    verb::Amend,
};
use semel_kernel::{
    id::TaskId,
    input::Input,
    json::Json,
    operation::Operation,
    review::{Decision, Review, ReviewCause},
    step::Step,
    task::Task,
};
use semel_plan::plan::PlanDoc;
use std::{collections::VecDeque, sync::Arc};

/// What a person does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// An operator does something to some task.
    Something,
    /// A colleague changes a state by himself.
    Meddle,
}

impl Sim {
    /// The plan of the n-th submission.
    pub(crate) fn plan_of(&self, n: u32) -> Option<Arc<PlanDoc>> {
        let all = plans::all();
        let mut chance = Chance::of(self.knobs.seed, &format!("plan {n}"));
        let drawn = chance.pick(all).cloned();
        if self.knobs.plans.is_empty() {
            return drawn;
        }
        chance.pick(&self.knobs.plans).and_then(|at| all.get(*at)).cloned()
    }

    /// Somebody does something.
    pub(crate) fn acts_by_person(&mut self, order: Order) {
        if self.healed_at.is_some() {
            return;
        }
        match order {
            Order::Something => self.orders(),
            Order::Meddle => self.meddles(),
        }
    }

    fn meddles(&mut self) {
        let n = self.chance.people.between(0, i64::from(self.knobs.submits) - 1);
        let place = ("sets".to_owned(), format!("o{n}-a"));
        self.cover.mark("fault: a colleague changes a state");
        self.note(|| format!("a colleague changes {}", place.1));
        self.world.meddle(self.now, &place);
    }

    fn orders(&mut self) {
        let tasks = self.checks.tasks();
        let Some(id) = self.chance.people.pick(&tasks).cloned() else { return };
        let Some(task) = self.checks.task(&id).cloned() else { return };
        let Some(input) = self.some_order(&task) else { return };
        self.says(&id, input);
        if self.chance.people.happens(500) {
            let again = self.chance.people.between(1_000, 60_000);
            self.after(again, Act::Person(Order::Something));
        }
    }

    fn says(&mut self, task: &TaskId, input: Input) {
        self.note(|| format!("a person on {task}: {input:?}"));
        let facts = VecDeque::from([input]);
        self.after(1, Act::Amend(Amend { task: task.clone(), facts, turn: None, back: None }));
    }

    fn some_order(&mut self, task: &Task) -> Option<Input> {
        let (actor, reason) = ("ada".to_owned(), "simulated".to_owned());
        let reviews: Vec<Review> = task.open_reviews().cloned().collect();
        let unknown: Vec<Operation> = task.unknown_operations().cloned().collect();
        let review = self.chance.people.pick(&reviews).cloned();
        let op = self.chance.people.pick(&unknown).cloned();
        match self.chance.people.between(0, 9) {
            0 => Some(Input::Pause { actor, reason }),
            1 if task.paused.is_some() => Some(Input::Resume { actor }),
            2 if self.chance.people.happens(400) => Some(Input::Cancel { actor, reason }),
            3 | 4 => {
                let op = op?;
                let decision = self.the_truth(&op);
                Some(Input::Settle { op: op.planned.id, decision, actor, reason })
            }
            _ => {
                let review = review?;
                let decision = self.some_decision(task, &review);
                let page = Some(task.page(&review));
                Some(Input::Decide { review: review.id, decision, actor, reason, page })
            }
        }
    }

    fn some_decision(&mut self, task: &Task, review: &Review) -> Decision {
        match self.chance.people.between(0, 9) {
            0 => Decision::AskAgain,
            1 => Decision::WaitUntil { at: self.store_now().at.plus(30_000) },
            2 => Decision::WriteOff,
            3 => Decision::Abort,
            4 => Decision::Skip,
            5 => Decision::GoOn,
            _ => self.answer_to(task, review),
        }
    }

    /// What somebody says who has looked.
    fn answer_to(&self, task: &Task, review: &Review) -> Decision {
        let step: Option<&Step> = review.step.as_ref().and_then(|s| task.steps.get(s));
        match (step.and_then(|s| task.operation_of(s)), &review.cause) {
            (_, ReviewCause::NoProgress { .. } | ReviewCause::VersionMissing { .. })
            | (_, ReviewCause::Budget { .. })
            | (None, _) => Decision::GoOn,
            (Some(op), _) => self.the_truth(op),
        }
    }

    fn the_truth(&self, op: &Operation) -> Decision {
        let place = crate::check::place_of(op);
        let there = match place.0.as_str() {
            "sets" => self.world.was(&place, "ours"),
            _ => !self.world.effects(&place).is_empty(),
        };
        if there {
            let reference = format!("{}-{}-1", place.0, place.1);
            let result = Json::obj([("id", Json::str(&reference))]);
            Decision::ItHappened { reference, result }
        } else {
            Decision::ItDidNot
        }
    }

    /// After the healing every review is answered, and every pause is ended.
    pub(crate) fn answer_reviews(&mut self) {
        for id in self.checks.tasks() {
            let Some(task) = self.checks.task(&id).cloned() else { continue };
            let (actor, reason) = ("ada".to_owned(), "looked at the target".to_owned());
            if task.paused.is_some() && task.end.is_none() {
                self.says(&id, Input::Resume { actor: actor.clone() });
            }
            let reviews: Vec<Review> = task.open_reviews().cloned().collect();
            for review in reviews {
                let waited = self.store_now().at.since(review.opened_at);
                let patient = waited < 30 * 60_000;
                let decision =
                    if patient { self.answer_to(&task, &review) } else { self.last_word(&task, &review) };
                let page = Some(task.page(&review));
                let (actor, reason) = (actor.clone(), reason.clone());
                self.says(&id, Input::Decide { review: review.id, decision, actor, reason, page });
            }
        }
    }

    /// Where the truth is refused for too long, it is written off: that is what a person can always do.
    fn last_word(&mut self, task: &Task, review: &Review) -> Decision {
        self.cover.mark("a person writes off after half an hour");
        let about = review.step.as_ref().and_then(|s| task.steps.get(s));
        if about.is_some_and(|s| !s.is_settled()) { Decision::WriteOff } else { Decision::GoOn }
    }
}
