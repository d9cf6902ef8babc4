//! The conformance suite that every store passes.
