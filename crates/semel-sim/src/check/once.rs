//! Once: the business intent has at most one effect, whatever it was called on the way. Counted at the target.

use super::{Check, Checks};
use crate::world::{Sent, World, may_repeat};

impl Checks {
    /// Something happened to a target.
    pub fn happened(&mut self, now: i64, world: &World, sent: &Sent) {
        let place = (sent.path.clone(), sent.what.clone());
        let effects = world.effects(&place);
        if effects.len() > 1 && !may_repeat(&sent.path) {
            let times: Vec<String> = effects.iter().map(|e| format!("{} ms", e.at)).collect();
            let what = format!("{} happened {} times: {}", sent.what, effects.len(), times.join(", "));
            self.broken(now, Check::Once, format!("{}: {what}", sent.path));
        }
    }
}
