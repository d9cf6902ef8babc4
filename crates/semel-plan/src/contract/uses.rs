//! What a contract reads: its rules by place, the arguments it uses, the secrets it refers to.
//!
//! Invariant: every rule and every template of a contract is named here, so that nobody who asks overlooks one.

use super::{AnswerRules, Contract, IfMatch, ProbeRules, Require};
use crate::{
    cel::Program,
    http::{BodyKind, HttpSpec},
    template::{Template, Tree},
};

impl AnswerRules {
    /// Its rules, each with its path in the document.
    pub(super) fn all(&self) -> Vec<(String, &Program)> {
        let named = [
            ("success", &self.success),
            ("pending", &self.pending),
            ("handle", &self.handle),
            ("replayed", &self.replayed),
            ("key_in_use", &self.key_in_use),
            ("key_reused", &self.key_reused),
            ("result", &self.result),
            ("limits.cost.answer", &self.cost),
        ];
        let refusals =
            self.refusals.iter().enumerate().map(|(i, one)| (format!("refusals[{i}].when"), &one.when));
        present(named).chain(refusals).collect()
    }
}

impl ProbeRules {
    /// Its rules, each with its path in the document; `require` and `if_match` stand beside the probe.
    pub(super) fn all(&self) -> Vec<(String, &Program)> {
        let asked = self.answers("probe");
        let second = self.confirm.iter().flat_map(|confirm| confirm.rules.answers("probe.confirm"));
        let version = self.if_match.iter().filter_map(IfMatch::rule).map(|r| ("if_match".to_owned(), r));
        let asked = asked.chain(second);
        asked.chain(self.require.iter().flat_map(Require::all)).chain(version).collect()
    }
}

fn present<'a, const N: usize>(
    named: [(&'static str, &'a Option<Program>); N],
) -> impl Iterator<Item = (String, &'a Program)> {
    named.into_iter().filter_map(|(name, rule)| Some((name.to_owned(), rule.as_ref()?)))
}

impl ProbeRules {
    /// The rules over its answer, each with its path under `at`.
    fn answers<'a>(&'a self, at: &'static str) -> impl Iterator<Item = (String, &'a Program)> {
        let named = [
            ("applied", &self.applied),
            ("absent", &self.absent),
            ("pending", &self.pending),
            ("many", &self.many),
            ("result", &self.result),
        ];
        present(named).map(move |(name, rule)| (format!("{at}.{name}"), rule))
    }
}

impl Contract {
    /// Every request that it makes: the effect's, the look-up's, the confirming one's.
    fn requests(&self) -> impl Iterator<Item = &HttpSpec> {
        let probe = self.probe.as_ref();
        let second = probe.and_then(|probe| probe.confirm.as_ref()).map(|confirm| &confirm.rules.http);
        [Some(&self.http), probe.map(|probe| &probe.http), second].into_iter().flatten()
    }

    /// Where the version that a request names is read, if it names one.
    pub(crate) fn if_match(&self) -> Option<&IfMatch> {
        self.probe.as_ref().and_then(|probe| probe.if_match.as_ref())
    }

    /// The expressions of all requests and rules.
    fn programs(&self) -> Vec<&Program> {
        let probe = self.probe.as_ref();
        let rules = self.rules.all().into_iter().chain(probe.map(ProbeRules::all).unwrap_or_default());
        let asked = self.requests().flat_map(of_request);
        rules.map(|(_, rule)| rule).chain(asked).collect()
    }

    /// Whether a call of it does anything with the argument: sends it, asks with it, judges by it, is identified by
    /// it; or says that it is not important.
    pub(crate) fn uses_argument(&self, name: &str) -> bool {
        let sends_all = self.http.send.is_none() && self.http.body != BodyKind::None;
        let rules = &self.fields;
        let identifies = rules.identity.iter().any(|field| field == name);
        let unimportant = rules.cosmetic.contains(name) || rules.volatile.contains(name);
        sends_all || identifies || unimportant || self.programs().into_iter().any(|p| reads(p, name))
    }

    pub(super) fn secret_references(&self) -> Vec<String> {
        let auth = self.requests().filter_map(|http| http.auth.as_ref());
        let mut found: Vec<String> = auth.map(|auth| auth.secret.clone()).collect();
        found.dedup();
        found
    }
}

fn of_request(http: &HttpSpec) -> Vec<&Program> {
    let named = http.query.iter().chain(&http.headers).map(|(_, template)| template);
    let texts = named.chain([&http.url]).flat_map(Template::programs).map(|(program, _)| program);
    texts.chain(http.send.iter().flat_map(Tree::programs).map(|(_, program)| program)).collect()
}

/// Whether an expression reads the argument; one that reads all of them, or computes a name, may read this one.
fn reads(program: &Program, argument: &str) -> bool {
    let of_args = program.names().iter().filter_map(|name| name.strip_prefix("args"));
    of_args.into_iter().any(|rest| match rest.strip_prefix('.') {
        None => rest.is_empty(),
        Some(path) => {
            path.strip_prefix(argument).is_some_and(|deeper| deeper.is_empty() || deeper.starts_with('.'))
        }
    })
}
