//! Generation: an owner's turn is durable only under the token that the store holds; recorded tokens grow.

use super::{Check, Checks};
use semel_kernel::{event::Event, id::TaskId, time::Generation};
use semel_ports::Authority;

impl Checks {
    /// A turn became durable; `held` was the store's token right before.
    pub fn wrote(&mut self, now: i64, id: &TaskId, authority: &Authority, held: Option<Generation>) {
        if let (Authority::Owner(mine), Some(held)) = (authority, held)
            && *mine != held
        {
            let what = format!("a turn of {id} under {mine} became durable while the token is {held}");
            self.broken(now, Check::Generation, what);
        }
    }

    /// Called after each event that was folded.
    pub(super) fn grows(&mut self, now: i64, id: &TaskId, event: &Event) {
        let Event::LeaseAcquired { generation, .. } = event else { return };
        let before = self.mirrors.get(id).map(|m| m.task.generation);
        if before.is_some_and(|before| *generation <= before) {
            let what = format!("{id} is taken under {generation}, which does not grow");
            self.broken(now, Check::Generation, what);
        }
    }
}
