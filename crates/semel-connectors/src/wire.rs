//! The wire: one request over one connection, with every byte counted.
//!
//! Invariant: a connection is driven by the call that holds it and by nobody else. So when a call gives up, nothing
//! of ours can still write, and the count it reports is final.

pub(crate) mod dial;
pub(crate) mod exchange;
pub(crate) mod gauge;
pub(crate) mod link;
pub(crate) mod pool;
pub(crate) mod prepare;
pub(crate) mod socket;
pub(crate) mod tls;
