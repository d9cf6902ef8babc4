//! How a process comes by its tasks and keeps them: claims, and the renewal of its lease, as the engine's scheduler does.

use crate::{
    life::{LEASE_MS, RENEW_MS, SLOTS, Step},
    sim::{Act, Sim},
    verb::at_once,
};
use semel_engine::{
    catalog::CatalogError,
    machine::{Completion, Machine, to_person},
};
use semel_kernel::{id::SessionId, limit, review::ReviewCause, task::Task};
use semel_ports::{Claim, Store as _};
use std::collections::BTreeMap;

impl Sim {
    /// Looks for due tasks, as the engine's scheduler does.
    pub(crate) fn claims(&mut self, life: u64) {
        let Some(found) = self.lives.get(&life) else { return };
        if found.draining {
            return;
        }
        let free = SLOTS.saturating_sub(found.hands.len());
        let session = found.session.clone();
        if self.now < self.outage_until {
            self.after(500, Act::Inside(life, Step::Claim));
            return;
        }
        if free > 0 {
            if self.dies_at(life, "claim.before_commit") {
                return;
            }
            let claims = at_once(self.store.claim(&session, u32::try_from(free).unwrap_or(1)));
            if self.dies_at(life, "claim.after_commit") {
                return;
            }
            for claim in claims.unwrap_or_default() {
                self.takes(life, &claim);
            }
        }
        let due = at_once(self.store.next_due()).ok().flatten();
        let rest = due.map_or(60_000, |at| at.since(self.store_now().at).clamp(20, 60_000));
        let rest = if free == 0 { rest.max(500) } else { rest };
        self.after(rest, Act::Inside(life, Step::Claim));
    }

    /// Everybody looks again soon.
    pub(crate) fn ring(&mut self) {
        let lives: Vec<u64> = self.lives.keys().copied().collect();
        for life in lives {
            self.after(5, Act::Inside(life, Step::Claim));
        }
    }

    fn takes(&mut self, life: u64, claim: &Claim) {
        let loaded = at_once(self.store.load(&claim.task));
        let task = match loaded.and_then(semel_ports::Loaded::into_task) {
            Ok(task) => task,
            Err(e) => return self.checks.cannot_load(self.now, &claim.task, &e.to_string()),
        };
        self.cover.mark("claim");
        self.note(|| format!("life {life} takes {} under {}", claim.task, claim.generation));
        if claim.claims > limit::CLAIMS_WITHOUT_PROGRESS {
            let cause = ReviewCause::NoProgress { claims: claim.claims };
            return self.gives_to_person(life, claim, task, cause);
        }
        let Some(found) = self.lives.get(&life) else { return };
        let plan = match at_once(found.catalog.plan(self.store.as_ref(), task.plan.hash)) {
            Ok(plan) => plan,
            Err(CatalogError::Missing(what)) => {
                return self.gives_to_person(life, claim, task, ReviewCause::VersionMissing { what });
            }
            Err(CatalogError::Store(_)) => return,
        };
        let machine =
            Machine::claimed(task, (plan, BTreeMap::new()), found.session.clone(), claim.generation);
        let hand = self.holds(life, &claim.task, machine, None);
        self.feed(life, hand, Completion::Tick);
    }

    fn gives_to_person(&mut self, life: u64, claim: &Claim, task: Task, cause: ReviewCause) {
        let Some(session) = self.lives.get(&life).map(|l| l.session.clone()) else { return };
        let Some(moment) = self.moment(life) else { return };
        drop(self.write(to_person(task, session, claim.generation, cause, &moment)));
    }

    pub(crate) fn renews(&mut self, life: u64) {
        self.after(RENEW_MS, Act::Inside(life, Step::Renew));
        let lost = self.chance.store.happens(self.faults.renewal_lost);
        if lost || self.now < self.outage_until {
            return;
        }
        let now = self.store_now().at;
        let number = self.number();
        let Some(found) = self.lives.get_mut(&life) else { return };
        match at_once(self.store.renew_session(&found.session, LEASE_MS)) {
            Ok(true) => found.lease_until = now.plus(LEASE_MS),
            Ok(false) => {
                let Ok(session) = SessionId::parse(&format!("ses_{number}")) else { return };
                drop(at_once(self.store.start_session(&session, LEASE_MS)));
                found.session = session;
                found.lease_until = now.plus(LEASE_MS);
                self.cover.mark("lease lost");
                self.note(|| format!("life {life} goes on as another session"));
                self.after(1, Act::Inside(life, Step::Claim));
            }
            Err(_) => {}
        }
    }
}
