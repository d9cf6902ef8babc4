//! Reads `probe` and `probe.confirm`: how the target is asked, and what its answers mean.
//!
//! Invariant: a look-up changes nothing, can find something, and a second source can say what it must confirm.

use super::{
    Confirm, ProbeRules,
    expr::{QUESTION, rule, word, wrong},
    terms,
};
use crate::{http, problem::Problems, yaml::Fields};

/// Which answers of the first source must be confirmed: applied, absent.
const ON: [(&str, (bool, bool)); 3] =
    [("absent", (false, true)), ("applied", (true, false)), ("both", (true, true))];

pub(super) fn probe(f: &mut Fields<'_>, problems: &mut Problems) -> Option<ProbeRules> {
    let mut probe = f.map("probe", problems)?;
    let rules = rules(&mut probe, problems);
    let confirm = confirm(&mut probe, problems);
    terms::probe_keys(&mut probe);
    probe.finish(problems);
    Some(ProbeRules { confirm, ..rules? })
}

fn confirm(probe: &mut Fields<'_>, problems: &mut Problems) -> Option<Confirm> {
    let mut second = probe.map("confirm", problems)?;
    let (applied, absent) = word(&mut second, "on", &ON, (false, true), problems);
    let rules = rules(&mut second, problems);
    if absent && !(second.has("absent") && probe.has("absent")) {
        let message = "an *absent* is to be confirmed, and one of the two look-ups never says it";
        let hint = "add `absent:` to both, or say `on: applied`";
        wrong::<()>(&mut second, "SM4209", "absent", message, hint, problems);
    }
    second.finish(problems);
    Some(Confirm { rules: Box::new(rules?), applied, absent })
}

/// The request, and the rules over its answer.
fn rules(probe: &mut Fields<'_>, problems: &mut Problems) -> Option<ProbeRules> {
    let http = http::read(probe, &QUESTION, problems);
    if let Some(spec) =
        http.as_ref().filter(|spec| !matches!(spec.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "POST"))
    {
        let message = format!("a probe changes nothing, and {} does", spec.method);
        wrong::<()>(probe, "SM4205", "http", &message, "use GET, or POST for a search", problems);
    }
    let rules = ["applied", "absent", "pending", "many", "result"].map(|key| rule(probe, key, problems));
    let [applied, absent, pending, many, result] = rules;
    if !probe.has("applied") {
        let hint = "add `applied:`, an expression over status, headers and body";
        wrong::<()>(probe, "SM4209", "applied", "the probe cannot find anything", hint, problems);
    }
    let (require, if_match, confirm) = (None, None, None);
    Some(ProbeRules { http: http?, applied, absent, pending, many, result, require, if_match, confirm })
}
