//! Submissions: the n-th is always the same, wherever and however often it arrives.

use crate::{
    control::Control,
    sim::{Act, Sim},
};
use semel_engine::machine::Machine;
use semel_kernel::{
    decide::Submission,
    hash::Hash,
    id::{ClientId, TaskId, Tenant},
    outcome::Stored,
};
use semel_plan::plan::PlanDoc;
use std::{collections::BTreeMap, sync::Arc};

impl Sim {
    /// The n-th submission arrives at some process; without one it comes again.
    pub(crate) fn submits(&mut self, n: u32) {
        if self.checks.is_acknowledged(n) && self.healed_at.is_some() {
            return;
        }
        self.after(60_000, Act::Submit(n));
        let lives: Vec<u64> = self.lives.iter().filter(|(_, l)| !l.draining).map(|(life, _)| *life).collect();
        let Some(life) = self.chance.people.pick(&lives).copied() else { return };
        if self.now < self.outage_until || self.lives.get(&life).is_some_and(|l| l.paused_until > self.now) {
            return;
        }
        if self.checks.is_acknowledged(n) {
            self.cover.mark("fault: submitted again");
        }
        let Some((submission, plan, digest)) = self.submission(n) else { return };
        let Some(moment) = self.moment(life) else { return };
        let Some(session) = self.lives.get(&life).map(|l| l.session.clone()) else { return };
        let id = submission.task.clone();
        if let Ok((machine, io)) =
            Machine::create(submission, (plan, BTreeMap::new()), session, digest, &moment)
        {
            let hand = self.holds(life, &id, machine, Some(n));
            self.note(|| format!("submission {n} at life {life}: {id}"));
            self.wants(life, hand, io);
        }
    }

    /// The n-th submission is always the same, wherever it arrives.
    fn submission(&self, n: u32) -> Option<(Submission, Arc<PlanDoc>, Hash)> {
        let plan = self.plan_of(n)?;
        let inputs = crate::plans::inputs(n);
        let tenant = Tenant::parse("default").ok()?;
        let client_id = ClientId::parse(&format!("client-{n}")).ok()?;
        let digest = Hash::of_parts(&[plan.kernel.hash.as_bytes(), inputs.canonical().as_bytes()]);
        let submission = Submission {
            task: TaskId::of_client(&tenant, &client_id).ok()?,
            tenant,
            client_id,
            plan: self.terms_of(&plan),
            inputs: Stored::Inline(inputs),
            epoch: 1,
            shared_epoch: 0,
            restored: None,
        };
        Some((submission, plan, digest))
    }

    /// The plan's terms; under the control without settle, the wait is gone.
    fn terms_of(&self, plan: &PlanDoc) -> semel_kernel::plan::Plan {
        let mut kernel = plan.kernel.clone();
        if self.control == Some(Control::ProbeWithoutSettle) {
            for terms in kernel.tools.values_mut() {
                terms.clock_error_ms = 0;
                terms.timeout_ms = terms.timeout_ms.min(1_000);
                if let Some(probe) = &mut terms.probe {
                    probe.settle_ms = 0;
                }
            }
        }
        kernel
    }
}
