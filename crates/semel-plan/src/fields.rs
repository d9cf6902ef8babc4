//! Which argument names what: identity, material, cosmetic, volatile (DESIGN section 3).
//!
//! Invariant: an argument that nobody classified is material, so a changed argument is noticed unless the contract
//! says that it does not matter.

use semel_kernel::{
    hash::{Hash, request_hash},
    id::target_of,
    json::Json,
};
use std::collections::{BTreeMap, BTreeSet};

/// Fields of one list, and arguments of one call.
pub const MOST_FIELDS: usize = 64;

/// What a contract says about the arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldRules {
    /// In the id, in this order.
    pub identity: Vec<String>,
    /// In neither id nor hash: wording, notes.
    pub cosmetic: BTreeSet<String>,
    /// In neither, and different at every send: tokens.
    pub volatile: BTreeSet<String>,
}

/// What identifies one call: its target, its hash, and a digest of each material field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// Identity fields, encoded and joined; empty when the contract has none.
    pub target: String,
    /// SHA-256 over identity and material fields.
    pub request_hash: Hash,
    /// Short digest of each material field, to name the differing ones later.
    pub fields: BTreeMap<String, String>,
}

/// Why an identity field cannot name a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadIdentity {
    /// The field.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

impl FieldRules {
    /// The values of the identity fields as texts, in the contract's order.
    ///
    /// # Errors
    /// The first field that is absent, empty, not a scalar, or a number with a fraction.
    pub fn identity_of(&self, args: &BTreeMap<String, Json>) -> Result<Vec<String>, BadIdentity> {
        let text = |field: &String| {
            identity_text(args.get(field)).map_err(|message| BadIdentity { field: field.clone(), message })
        };
        self.identity.iter().map(text).collect()
    }

    /// What identifies a call with these arguments.
    ///
    /// # Errors
    /// As [`FieldRules::identity_of`].
    pub fn digest(&self, args: &BTreeMap<String, Json>) -> Result<Digest, BadIdentity> {
        let target = target_of(&self.identity_of(args)?);
        let (mut identity, mut material) = (BTreeMap::new(), BTreeMap::new());
        for (name, value) in args {
            if self.identity.contains(name) {
                identity.insert(name.clone(), value.clone());
            } else if !self.cosmetic.contains(name) && !self.volatile.contains(name) {
                material.insert(name.clone(), value.clone());
            }
        }
        let short = |value: &Json| Hash::of(value.canonical().as_bytes()).short();
        let fields = material.iter().map(|(name, value)| (name.clone(), short(value))).collect();
        Ok(Digest { target, request_hash: request_hash(&identity, &material), fields })
    }
}

fn identity_text(value: Option<&Json>) -> Result<String, String> {
    match value {
        None => Err("it is absent".to_owned()),
        Some(Json::Str(text)) if text.is_empty() => Err("it is an empty text".to_owned()),
        Some(Json::Str(text)) => Ok(text.clone()),
        Some(Json::Bool(truth)) => Ok(truth.to_string()),
        Some(Json::Num(number)) => number.as_i64().map(|whole| whole.to_string()).ok_or_else(|| {
            "it is a number with a fraction, which is not exact; write it as a text or in minor units"
                .to_owned()
        }),
        Some(other @ (Json::Null | Json::Arr(_) | Json::Obj(_))) => {
            Err(format!("it is {}, not a text, a whole number or a truth value", other.kind_name()))
        }
    }
}
