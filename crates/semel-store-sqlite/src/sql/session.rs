//! Worker sessions: one row for each lease.

use super::prepared::Prepared;
use semel_kernel::{id::SessionId, time::Millis};

pub(crate) fn start(sql: &mut Prepared<'_>, session: &SessionId, until: Millis) -> rusqlite::Result<()> {
    const START: &str = "INSERT INTO session VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET until = ?2";
    sql.run(START, (session.as_str(), until.0))?;
    Ok(())
}

/// `false` when the lease has expired.
pub(crate) fn renew(
    sql: &mut Prepared<'_>,
    session: &SessionId,
    until: Millis,
    now: Millis,
) -> rusqlite::Result<bool> {
    const RENEW: &str = "UPDATE session SET until = ?2 WHERE id = ?1 AND until > ?3";
    Ok(sql.run(RENEW, (session.as_str(), until.0, now.0))? == 1)
}

pub(crate) fn end(sql: &mut Prepared<'_>, session: &SessionId) -> rusqlite::Result<()> {
    sql.run("DELETE FROM session WHERE id = ?1", [session.as_str()])?;
    Ok(())
}

pub(crate) fn lives(sql: &mut Prepared<'_>, session: &SessionId, now: Millis) -> rusqlite::Result<bool> {
    const LIVES: &str = "SELECT 1 FROM session WHERE id = ?1 AND until > ?2";
    sql.get(LIVES)?.exists((session.as_str(), now.0))
}
