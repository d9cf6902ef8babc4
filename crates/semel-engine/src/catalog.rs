//! The catalog: plans and contracts by hash, read back from the artifact store and compiled once.
//!
//! Invariant: a task runs with the very documents that it pinned, or not at all.

use semel_kernel::{hash::Hash, json::Json};
use semel_plan::plan::PlanDoc;
use semel_ports::{Store, StoreError};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Compiled plans by hash.
#[derive(Default)]
pub struct Catalog {
    plans: Mutex<HashMap<Hash, Arc<PlanDoc>>>,
}

/// Plans that are kept compiled; with more, all are let go, and read back when they are needed. Each shared operation has
/// a plan of its own.
const MOST_PLANS: usize = 1_024;

/// A pinned document cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// It is not there, or this program cannot read it; the text names the version.
    #[error("{0}")]
    Missing(String),
    /// The store.
    #[error(transparent)]
    Store(StoreError),
}

impl Catalog {
    /// Keeps a plan that is at hand.
    pub fn keep(&self, plan: &Arc<PlanDoc>) {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if plans.len() >= MOST_PLANS {
            plans.clear();
        }
        plans.insert(plan.kernel.hash, Arc::clone(plan));
    }

    /// Whether a plan is at hand, so that its document is in the store.
    pub fn has(&self, hash: Hash) -> bool {
        self.cached(hash).is_some()
    }

    fn cached(&self, hash: Hash) -> Option<Arc<PlanDoc>> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner).get(&hash).cloned()
    }

    /// The plan with that hash.
    ///
    /// # Errors
    /// [`CatalogError::Missing`] when the document is not there or cannot be read by this program.
    pub async fn plan(&self, store: &dyn Store, hash: Hash) -> Result<Arc<PlanDoc>, CatalogError> {
        if let Some(plan) = self.cached(hash) {
            return Ok(plan);
        }
        let missing = |why: String| CatalogError::Missing(format!("plan {} ({why})", hash.short()));
        let bytes = store.artifact(hash).await.map_err(|e| match e {
            StoreError::NoArtifact(_) => missing("its document is not in the store".into()),
            other => CatalogError::Store(other),
        })?;
        let text = String::from_utf8(bytes).map_err(|e| missing(e.to_string()))?;
        let document = Json::parse(&text).map_err(|e| missing(e.to_string()))?;
        let plan = PlanDoc::from_document(&document).map_err(|problems| {
            missing(problems.first().map_or_else(|| "unreadable".to_owned(), |p| p.message.clone()))
        })?;
        let plan = Arc::new(plan);
        self.keep(&plan);
        Ok(plan)
    }
}
