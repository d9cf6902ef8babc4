//! Tests of the ports: the conformance suite on the in-memory store, what that store offers to tests alone, and whether
//! the suite finds what is wrong with a store.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod crooked;
mod faults_are_found;
mod mem;
mod memory_conforms;
