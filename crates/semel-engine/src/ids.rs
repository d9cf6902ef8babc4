//! Ids that are made, not derived: time-ordered for tasks, random for turns and sessions.

use semel_kernel::{
    id::{BadId, SessionId, TaskId, TurnId},
    time::Millis,
};

/// Base 32 with an alphabet whose text order is the number's order, so that ids sort by time.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";

fn text(bits: u128, digits: u32) -> String {
    let digit = |i: u32| {
        let at = (bits >> (5 * i)) & 31;
        char::from(ALPHABET.get(usize::try_from(at).unwrap_or(0)).copied().unwrap_or(b'0'))
    };
    (0..digits).rev().map(digit).collect()
}

/// `tsk_` and 26 digits: 48 bits of time, then 80 random bits, as in a UUID of version 7.
///
/// # Errors
/// Never in practice; [`BadId`] keeps the one way in.
pub fn task(at: Millis, random: u128) -> Result<TaskId, BadId> {
    let time = u128::try_from(at.0.max(0)).unwrap_or(0) << 80;
    TaskId::parse(&format!("tsk_{}", text(time | (random >> 48), 26)))
}

/// A turn id, random.
///
/// # Errors
/// Never in practice; [`BadId`] keeps the one way in.
pub fn turn(random: u128) -> Result<TurnId, BadId> {
    TurnId::parse(&text(random, 26))
}

/// A session id, random: a new life is a new session whatever the worker is called.
///
/// # Errors
/// Never in practice; [`BadId`] keeps the one way in.
pub fn session(random: u128) -> Result<SessionId, BadId> {
    SessionId::parse(&format!("ses_{}", text(random, 26)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_ids_sort_by_time() {
        let early = task(Millis(1_000), u128::MAX).unwrap();
        let late = task(Millis(1_001), 0).unwrap();
        assert!(early.as_str() < late.as_str());
        assert_eq!(early.as_str().len(), 30);
    }
}
