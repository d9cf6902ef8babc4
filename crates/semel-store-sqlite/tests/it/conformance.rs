//! The suite that every store passes, and random sequences beside the reference model.

use crate::support::Home;
use semel_ports::conformance::{Factory, Fresh};
use semel_store_sqlite::SqliteStore;
use std::sync::Mutex;

/// Stores in folders of their own; the folders live as long as this does.
struct Folders(Mutex<Vec<Home>>);

impl Folders {
    fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl Factory for Folders {
    type S = SqliteStore;

    fn fresh(&self) -> Fresh<SqliteStore> {
        let home = Home::new();
        let (store, time) = (home.open(), home.time.clone());
        self.0.lock().unwrap().push(home);
        Fresh { store, advance: Box::new(move |ms| time.advance(ms)) }
    }
}

semel_ports::conformance_tests!(Folders::new());
