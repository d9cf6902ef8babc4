//! Lost: what was acknowledged to a submitter is there.

use super::{Check, Checks};
use crate::verb::at_once;
use semel_kernel::id::{ClientId, Tenant};
use semel_ports::{Store as _, mem::MemStore};

impl Checks {
    /// The n-th submission was acknowledged.
    pub fn acknowledged(&mut self, n: u32) {
        self.acknowledged.insert(n);
    }

    /// The n-th submission was acknowledged.
    #[must_use]
    pub fn is_acknowledged(&self, n: u32) -> bool {
        self.acknowledged.contains(&n)
    }

    pub(super) fn all_is_there(&mut self, now: i64, store: &MemStore) {
        let Ok(tenant) = Tenant::parse("default") else { return };
        let asked: Vec<u32> = self.acknowledged.iter().copied().collect();
        for n in asked {
            let Ok(client) = ClientId::parse(&format!("client-{n}")) else { return };
            let found = at_once(store.find_client(&tenant, &client)).ok().flatten();
            if found.is_none_or(|(task, _)| self.task(&task).is_none()) {
                self.broken(now, Check::Lost, format!("submission {n} was acknowledged and is not there"));
            }
        }
    }
}
