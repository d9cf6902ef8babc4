//! Prepared statements of the writer's connection, kept by their text.

use rusqlite::{Connection, Statement};
use std::collections::{HashMap, hash_map::Entry};

/// A connection with its prepared statements.
pub(crate) struct Prepared<'c> {
    pub(crate) conn: &'c Connection,
    kept: HashMap<&'static str, Statement<'c>>,
}

impl<'c> Prepared<'c> {
    pub(crate) fn new(conn: &'c Connection) -> Self {
        Self { conn, kept: HashMap::new() }
    }

    /// The statement with that text, prepared once.
    pub(crate) fn get(&mut self, sql: &'static str) -> rusqlite::Result<&mut Statement<'c>> {
        match self.kept.entry(sql) {
            Entry::Occupied(found) => Ok(found.into_mut()),
            Entry::Vacant(free) => Ok(free.insert(self.conn.prepare(sql)?)),
        }
    }

    /// Runs the statement; the number of rows that it changed.
    pub(crate) fn run(
        &mut self,
        sql: &'static str,
        params: impl rusqlite::Params,
    ) -> rusqlite::Result<usize> {
        self.get(sql)?.execute(params)
    }
}
