//! An in-memory store: the reference model that every real store is compared with.
