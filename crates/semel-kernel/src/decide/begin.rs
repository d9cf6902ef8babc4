//! Begin: STARTED is recorded. Only the durable commit of this event releases the call (DESIGN section 7).

use super::Draft;
use crate::{
    event::{Event, Why},
    id::OperationId,
    input::Ctx,
    operation::{Attempt, Judgement, Operation},
    outcome::Stored,
    recover::{self, Act},
    reject::Reject,
    review::ReviewCause,
    terms::Terms,
    time::Millis,
};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

impl Draft {
    pub(super) fn begin(
        &mut self,
        op: &OperationId,
        request: Option<Stored>,
        lease_left_ms: i64,
        next_key: String,
        ctx: Ctx,
    ) -> Result<(), Reject> {
        if lease_left_ms <= 0 {
            return Err(Reject::Illegal("the lease is over; nothing new is begun".into()));
        }
        let found = self.operation(op)?;
        let terms = self.terms_of(op)?;
        let why = match recover::act(&self.task, found, ctx.now) {
            Act::Begin { why } => why,
            other => return Err(Reject::Illegal(format!("`{op}` may not begin now: {other:?}"))),
        };
        if found.request.is_some() == request.is_some() {
            return Err(Reject::Illegal(format!(
                "`{op}`: the request is frozen at the first attempt, and only there"
            )));
        }
        let new_epoch = needs_new_epoch(found, terms, why);
        let event = Event::StepStarted {
            step: found.step.clone(),
            op: op.clone(),
            attempt: found.last_number().saturating_add(1),
            why,
            generation: self.task.generation,
            send_by: send_by(found, terms, lease_left_ms, ctx),
            timeout_ms: terms.timeout_ms,
            key_epoch: found.key_epoch.saturating_add(u32::from(new_epoch)),
            key: if new_epoch { next_key } else { found.key().to_string() },
            request,
        };
        self.record(event, ctx)
    }
}

impl Draft {
    /// Recorded only when it is news, so asking twice adds nothing.
    pub(super) fn account_seen(&mut self, op: &OperationId, account: String, ctx: Ctx) -> Result<(), Reject> {
        self.not_ended()?;
        if self.operation(op)?.account_now.as_ref() == Some(&account) {
            return Ok(());
        }
        self.record(Event::AccountSeen { op: op.clone(), account }, ctx)
    }

    /// Known: nothing was sent, and nothing will be. Where the original of a restored store may have sent it, a person is
    /// asked instead.
    pub(super) fn cannot_write(
        &mut self,
        op: &OperationId,
        code: String,
        cause: String,
        fields: Vec<String>,
        ctx: Ctx,
    ) -> Result<(), Reject> {
        let found = self.operation(op)?;
        let (step, judged) = (found.step.clone(), found.judge());
        if judged == Judgement::Unsent {
            return self.record(Event::StepFailed { step, code, cause, fields, refusal: None }, ctx);
        }
        self.need_person(ReviewCause::VersionMissing { what: cause }, ctx)
    }
}

/// Short, fixed, never extended. A keyed send after the first also ends before the key's window closes.
fn send_by(op: &Operation, terms: &Terms, lease_left_ms: i64, ctx: Ctx) -> Millis {
    let normal = ctx.now.at.plus(terms.send_within_ms.min(lease_left_ms).max(0));
    op.resend_until(terms, ctx.now).map_or(normal, |until| normal.min(until))
}

/// The key epoch grows only where refusals stick to the key, only after every attempt is proven not applied, and only
/// when the target has refused the current key: while it has not, the key protects from a doubt that was wrong.
fn needs_new_epoch(op: &Operation, terms: &Terms, why: Why) -> bool {
    let refused = |a: &Attempt| a.refused && a.key == op.key();
    terms.refusals_stick && why == Why::Retry && op.attempts.iter().any(refused)
}
