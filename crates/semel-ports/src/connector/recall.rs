//! Recall: a process that drains takes back what has not left yet.
//!
//! Invariant: it has no effect once the first byte was handed over; what has left is waited for.

use tokio::sync::watch;

/// Whether a call that has not left yet may still leave.
#[derive(Clone, Debug)]
pub struct Recall(Option<watch::Receiver<bool>>);

impl Recall {
    /// It comes when this turns `true`.
    #[must_use]
    pub const fn when(given: watch::Receiver<bool>) -> Self {
        Self(Some(given))
    }

    /// It never comes.
    #[must_use]
    pub const fn never() -> Self {
        Self(None)
    }

    /// It has come.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.0.as_ref().is_some_and(|given| *given.borrow())
    }

    /// Ends when it comes. One whose giver is gone never comes.
    pub async fn given(&self) {
        if let Some(given) = &self.0
            && given.clone().wait_for(|given| *given).await.is_ok()
        {
            return;
        }
        std::future::pending().await
    }
}
