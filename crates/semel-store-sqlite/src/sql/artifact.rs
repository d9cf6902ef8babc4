//! Bodies by their hash.

use super::prepared::Prepared;
use rusqlite::{Connection, OptionalExtension};
use semel_kernel::hash::Hash;
use semel_ports::Artifact;

pub(crate) fn put(sql: &mut Prepared<'_>, artifact: &Artifact) -> rusqlite::Result<()> {
    const PUT: &str = "INSERT INTO artifact VALUES (?1, ?2) ON CONFLICT (hash) DO NOTHING";
    sql.run(PUT, (artifact.hash.as_bytes(), &artifact.bytes))?;
    Ok(())
}

pub(crate) fn get(conn: &Connection, hash: &Hash) -> rusqlite::Result<Option<Vec<u8>>> {
    let query = "SELECT bytes FROM artifact WHERE hash = ?1";
    conn.query_row(query, [hash.as_bytes()], |r| r.get(0)).optional()
}
