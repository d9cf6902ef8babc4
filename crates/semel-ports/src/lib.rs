//! The traits the shell is written against, and what crosses them.
//!
//! Invariant: only a store, after a durable commit, can attest a [`Receipt`]; only a receipt mints a [`CallPermit`];
//! a connector sends only with a permit. So *STARTED is durable before the first byte* is a matter of types.

#[cfg(feature = "conformance")]
pub mod conformance;
pub mod connector;
pub mod error;
pub mod mem;
pub mod outside;
pub mod projection;
pub mod receipt;
pub mod request;
pub mod store;
pub mod turn;

pub use connector::{Answer, Connector, Question, Recall, Report, Transport};
pub use error::{CommitError, StoreError};
pub use outside::{Entropy, Secrets};
pub use projection::{OperationRow, Projection, ReviewRow, TaskRow};
pub use receipt::{CallPermit, Receipt};
pub use request::{HttpRequest, Part, Template};
pub use store::{
    Claim, Created, Creation, Loaded, OperationFilter, Page, ReviewFilter, Store, StoreInfo, TaskFilter,
};
pub use turn::{Artifact, Authority, Due, Turn};
