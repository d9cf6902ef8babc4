//! `require` and `if_match`: what the target's state must be before a send, which of the four a refusal is, and the
//! version that the request names.
//!
//! Invariant: the order in which the conditions are tried is fixed, because the order of keys is not part of a
//! contract's hash; what cannot be evaluated does not hold.

use super::expr::{rule, wrong};
use crate::{
    cel::Program,
    http::HttpSpec,
    problem::Problems,
    yaml::{Fields, Value},
};
use semel_kernel::outcome::RefusalKind;

/// The conditions that name a refusal, in the order in which they are tried.
const NAMED: [(&str, RefusalKind, &str); 4] = [
    ("duplicate", RefusalKind::Duplicate, "require.duplicate"),
    ("stale", RefusalKind::Stale, "require.stale"),
    ("changed", RefusalKind::Changed, "require.changed"),
    ("illegal", RefusalKind::Illegal, "require.illegal"),
];

/// What the target's state must be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Require {
    /// It allows the act, unless a named condition holds.
    holds: Option<Program>,
    named: Vec<(RefusalKind, &'static str, Program)>,
    /// It was written as a map.
    is_map: bool,
}

/// Where the version of the object stands in the answer of the look before the send.
#[derive(Clone, Debug)]
pub(crate) enum IfMatch {
    /// In its `ETag` header.
    Etag,
    /// Where the rule says.
    Rule(Program),
}

impl Require {
    /// Which of the four refuses, if one does. `verdict` says whether a rule holds; `None` when it cannot be told.
    pub(crate) fn refusal(
        &self,
        mut verdict: impl FnMut(&'static str, &Program) -> Option<bool>,
    ) -> Option<RefusalKind> {
        let mut in_doubt = false;
        for (kind, path, rule) in &self.named {
            match verdict(path, rule) {
                Some(true) => return Some(*kind),
                Some(false) => {}
                None => in_doubt = true,
            }
        }
        let holds = self.holds.as_ref().is_none_or(|rule| verdict(self.path_of_holds(), rule) == Some(true));
        (in_doubt || !holds).then_some(RefusalKind::Illegal)
    }

    /// Its rules, each with its path in the document.
    pub(super) fn all(&self) -> impl Iterator<Item = (String, &Program)> {
        let holds = self.holds.iter().map(|rule| (self.path_of_holds().to_owned(), rule));
        self.named.iter().map(|(_, path, rule)| ((*path).to_owned(), rule)).chain(holds)
    }

    const fn path_of_holds(&self) -> &'static str {
        if self.is_map { "require.holds" } else { "require" }
    }
}

impl IfMatch {
    pub(super) const fn rule(&self) -> Option<&Program> {
        match self {
            Self::Etag => None,
            Self::Rule(rule) => Some(rule),
        }
    }
}

/// One expression that must hold, or a map of named conditions.
pub(super) fn require(f: &mut Fields<'_>, problems: &mut Problems) -> Option<Require> {
    let Value::Map(members) = &f.node("require")?.value else {
        return rule(f, "require", problems)
            .map(|holds| Require { holds: Some(holds), ..Require::default() });
    };
    let mut map = f.map("require", problems)?;
    let holds = rule(&mut map, "holds", problems);
    let mut named = Vec::new();
    for (key, kind, path) in NAMED {
        named.extend(rule(&mut map, key, problems).map(|rule| (kind, path, rule)));
    }
    map.finish(problems);
    if members.is_empty() {
        let hint = "add `holds:`, or a condition that names a refusal: duplicate, stale, changed, illegal";
        return wrong(f, "SM4209", "require", "`require` says nothing", hint, problems);
    }
    Some(Require { holds, named, is_map: true })
}

/// `true` for the ETag header, or a rule that gives the version.
pub(super) fn if_match(
    f: &mut Fields<'_>,
    http: Option<&HttpSpec>,
    problems: &mut Problems,
) -> Option<IfMatch> {
    let found = match &f.node("if_match")?.value {
        Value::Bool(false) => return None,
        Value::Bool(true) => IfMatch::Etag,
        Value::Null | Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => {
            IfMatch::Rule(rule(f, "if_match", problems)?)
        }
    };
    if http.is_some_and(|http| http.headers.iter().any(|(name, _)| name == "if-match")) {
        let hint = "leave one of them out";
        return wrong(f, "SM4203", "if_match", "`http.headers` has an If-Match already", hint, problems);
    }
    Some(found)
}

/// Both look at the answer of the probe, so there must be one.
pub(super) fn check(f: &mut Fields<'_>, problems: &mut Problems) {
    if f.has("probe") {
        return;
    }
    for key in ["require", "if_match"] {
        let said = f.node(key).is_some_and(|node| !matches!(node.value, Value::Bool(false)));
        if said {
            let message = format!("`{key}` asks the probe, and there is none");
            wrong::<()>(f, "SM4209", key, &message, "add `probe:`", problems);
        }
    }
}
