//! Content hashes, request hashes and the keys that targets see.
//!
//! Invariant: the bytes that are hashed are fixed by `fixtures/`; a change here gives every stored
//! operation another key and so a second effect. It must not know what a tenant or a task is.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::json::{self, Json};

const PREFIX: &str = "sha256:";
const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";
const BASE32_DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The number of hash bytes in an operation key: 160 bits.
const KEY_BYTES: usize = 20;

/// A SHA-256 hash, written `sha256:` and 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The hash of the bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Hash {
        Hash(Sha256::digest(bytes).into())
    }

    /// The hash of several parts, each after its length as eight bytes, most significant first, so
    /// that no part can lend bytes to its neighbour.
    #[must_use]
    pub fn of_parts(parts: &[&[u8]]) -> Hash {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        Hash(hasher.finalize().into())
    }

    /// The 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first eight hex digits, for people; never for comparison.
    #[must_use]
    pub fn short(&self) -> String {
        hex(&self.0[..4])
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{PREFIX}{}", hex(&self.0)))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is no hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no hash; next: write sha256: and 64 lower-case hex digits")]
pub struct HashParseError;

impl HashParseError {
    /// The stable code, `SM1821`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "SM1821"
    }
}

impl FromStr for Hash {
    type Err = HashParseError;

    /// Reads exactly what `Display` writes, so that one hash has one text.
    fn from_str(text: &str) -> Result<Hash, HashParseError> {
        let digits = text.strip_prefix(PREFIX).ok_or(HashParseError)?.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return Err(HashParseError);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = hex_digit(pair[0])? << 4 | hex_digit(pair[1])?;
        }
        Ok(Hash(bytes))
    }
}

fn hex_digit(digit: u8) -> Result<u8, HashParseError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(HashParseError),
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hash, D::Error> {
        deserializer.deserialize_str(HashVisitor)
    }
}

struct HashVisitor;

impl Visitor<'_> for HashVisitor {
    type Value = Hash;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256: and 64 lower-case hex digits")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Hash, E> {
        text.parse().map_err(E::custom)
    }
}

/// Lower-case hex digits, two a byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from(HEX_DIGITS[usize::from(nibble & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// RFC 4648 base32 in lower case without padding.
#[must_use]
pub fn base32_lower(bytes: &[u8]) -> String {
    bytes.chunks(5).flat_map(base32_group).collect()
}

/// Up to five bytes as up to eight digits; missing bits are zero.
fn base32_group(group: &[u8]) -> impl Iterator<Item = char> + use<> {
    let bits = (0..5).fold(0_u64, |bits, at| bits << 8 | u64::from(group.get(at).copied().unwrap_or(0)));
    let digits = (group.len() * 8).div_ceil(5);
    (0..digits).map(move |at| char::from(BASE32_DIGITS[(bits >> (35 - 5 * at)) as usize & 31]))
}

/// The hash that tells a retry from another request under the same operation id: SHA-256 over the
/// RFC 8785 text of `{"identity": …, "material": …}`.
#[must_use]
pub fn request_hash(identity: &BTreeMap<String, Json>, material: &BTreeMap<String, Json>) -> Hash {
    let mut text = String::from("{\"identity\":");
    json::write_object(&mut text, identity);
    text.push_str(",\"material\":");
    json::write_object(&mut text, material);
    text.push('}');
    Hash::of(text.as_bytes())
}

/// The key a target sees: 32 base32 characters, the same for every attempt of one operation in one
/// key epoch.
#[must_use]
pub fn operation_key(tenant: &str, operation_id: &str, key_epoch: u32) -> String {
    let hash = operation_hash(tenant, operation_id, key_epoch);
    base32_lower(&hash.0[..KEY_BYTES])
}

/// The key as a UUIDv8 (RFC 9562) of the same hash, for targets that take only UUIDs.
#[must_use]
pub fn operation_key_uuid(tenant: &str, operation_id: &str, key_epoch: u32) -> String {
    let mut bytes = operation_hash(tenant, operation_id, key_epoch).0;
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let fields = [&bytes[..4], &bytes[4..6], &bytes[6..8], &bytes[8..10], &bytes[10..16]];
    fields.map(hex).join("-")
}

fn operation_hash(tenant: &str, operation_id: &str, key_epoch: u32) -> Hash {
    let epoch = key_epoch.to_string();
    Hash::of_parts(&[tenant.as_bytes(), operation_id.as_bytes(), epoch.as_bytes()])
}
