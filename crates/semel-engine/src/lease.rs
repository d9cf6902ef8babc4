//! The lease of a worker session: extended by one statement, however many tasks are held; begun anew when it was lost.
//!
//! Invariant: no correctness rests on it. Who has lost it without knowing is fenced by version and generation.

use crate::{
    engine::{Inner, locked},
    ids,
};
use semel_kernel::time::Millis;
use semel_ports::StoreError;
use std::{sync::Arc, time::Duration};

/// The lease of this life's session, as far as this process knows.
pub(crate) struct Lease {
    /// Counted from before the last renewal was asked for.
    until: Millis,
    /// A renewal was asked for in time, and the store could not write it.
    kept_waiting: bool,
}

impl Lease {
    pub(crate) const fn since(asked_at: Millis, lease_ms: i64) -> Self {
        Self { until: asked_at.plus(lease_ms), kept_waiting: false }
    }
}

/// Renews again and again.
pub(crate) async fn renew(inner: Arc<Inner>) {
    let pause = Duration::from_millis(u64::try_from(inner.options.renew_ms).unwrap_or(5_000));
    loop {
        tokio::time::sleep(pause).await;
        if let Err(e) = inner.renew().await {
            inner.refused(&e);
            tracing::warn!(code = e.code(), "the lease could not be renewed: {e}; next: {}", e.next());
        }
    }
}

impl Inner {
    /// Milliseconds that the lease has left, less its margin.
    pub(crate) fn lease_left(&self, now: Millis) -> i64 {
        locked(&self.lease).until.since(now).saturating_sub(self.options.margin_ms).max(0)
    }

    /// Extends the lease, or begins it anew where it has run out.
    pub(crate) async fn renew(&self) -> Result<(), StoreError> {
        let _alone = self.renewing.lock().await;
        let asked_at = self.store.now().at;
        let in_time = {
            let lease = locked(&self.lease);
            lease.kept_waiting || asked_at < lease.until
        };
        match self.store.renew_session(&self.session(), self.options.lease_ms).await {
            Ok(true) => self.leased(asked_at),
            Ok(false) if in_time => self.go_on().await?,
            Ok(false) => self.begin_again().await?,
            Err(e) => {
                locked(&self.lease).kept_waiting = in_time && e.passes();
                return Err(e);
            }
        }
        Ok(())
    }

    fn leased(&self, asked_at: Millis) {
        *locked(&self.lease) = Lease::since(asked_at, self.options.lease_ms);
    }

    /// The lease ran out while the store could not be written, by nobody: the renewal was asked for in time. So this is
    /// the same life, and what it has in hand stays there, unless somebody has taken it, which fences us.
    async fn go_on(&self) -> Result<(), StoreError> {
        locked(&self.lease).kept_waiting = true;
        let (session, asked_at) = (self.session(), self.store.now().at);
        tracing::warn!(%session, "the lease ran out while the store could not be written; the session goes on");
        self.store.start_session(&session, self.options.lease_ms).await?;
        self.leased(asked_at);
        self.ring();
        Ok(())
    }

    /// The lease was lost, to a suspended machine or a stopped process: this is another life. What the old one had in
    /// hand is claimable by anybody, and is fenced when somebody takes it.
    async fn begin_again(&self) -> Result<(), StoreError> {
        let session = ids::session(self.random()).map_err(|e| StoreError::Limit(e.to_string()))?;
        let asked_at = self.store.now().at;
        tracing::warn!(old = %self.session(), new = %session, "the lease was lost; going on as another session");
        self.store.start_session(&session, self.options.lease_ms).await?;
        *locked(&self.session) = session;
        self.leased(asked_at);
        self.ring();
        Ok(())
    }
}
