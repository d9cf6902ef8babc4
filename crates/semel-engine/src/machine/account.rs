//! Under which account a request or a look-up leaves (DESIGN section 3): the first request pins it, and a change is
//! recorded before anything else is done.

use super::{Asking, Machine, Moment, turn::Making};
use semel_kernel::{
    id::OperationId,
    input::Input,
    recover::{self, Act},
    task::Task,
};
use semel_plan::contract::Refusal;

impl Machine {
    /// Records the account under which a request would leave, if that is news; `false` when it cannot be read, so that
    /// nothing may leave.
    pub(super) fn see_account(&mut self, making: &mut Making, op: &OperationId, moment: &Moment) -> bool {
        let Some(found) = making.draft.task().operations.get(op) else { return false };
        match self.accounts.get(&found.planned.tool).cloned() {
            None => true,
            Some(Ok(account)) if found.account_now.as_ref() == Some(&account) => true,
            Some(Ok(account)) => {
                self.take(making, &mut Input::AccountSeen { op: op.clone(), account }, moment, None)
            }
            Some(Err(cause)) => {
                self.cannot_write(making, op, unreadable(&cause), moment);
                false
            }
        }
    }

    /// The same before a look-up: under an account that cannot be read it would be unclear.
    pub(super) fn asks_under(
        &mut self,
        making: &mut Making,
        op: &OperationId,
        asking: Asking,
        moment: &Moment,
    ) -> bool {
        let Some(found) = making.draft.task().operations.get(op) else { return false };
        if let Some(Err(cause)) = self.accounts.get(&found.planned.tool) {
            let refusal = unreadable(cause);
            self.cannot_ask(making, op.clone(), asking, &refusal, moment);
            return false;
        }
        self.see_account(making, op, moment)
    }

    pub(super) fn cannot_write(
        &mut self,
        making: &mut Making,
        op: &OperationId,
        refusal: Refusal,
        moment: &Moment,
    ) {
        let Refusal { code, cause, fields } = refusal;
        let mut input = Input::CannotWrite { op: op.clone(), code: code.into(), cause, fields };
        self.take(making, &mut input, moment, None);
    }
}

fn unreadable(cause: &str) -> Refusal {
    let cause = format!("the label of its account: {cause}; next: make it readable");
    Refusal { code: "SM4407", cause, fields: Vec::new() }
}

/// The account may have changed since the obligation was read; then something else is due.
pub(super) fn still_begins(task: &Task, op: &OperationId, moment: &Moment) -> bool {
    let found = task.operations.get(op);
    found.is_some_and(|op| matches!(recover::act(task, op, moment.now), Act::Begin { .. }))
}
