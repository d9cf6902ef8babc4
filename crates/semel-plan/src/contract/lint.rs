//! Warns of contracts that may not mean what they say. Errors are the reader's.
//!
//! Invariant: a warning says what will happen, not only what is unusual.

use super::{Contract, call::Names, call::answer_vars};
use crate::{
    cel::Program,
    duration,
    http::KeyPlace,
    problem::{At, Problems, Span},
};
use semel_kernel::{json::Json, terms::Effect};

/// Names that tell our effect from the others at the target.
const OURS: [&str; 4] = ["args", "key", "operation", "handle"];

pub(super) fn lint(contract: &Contract, problems: &mut Problems) {
    let mut lint = Lint { contract, problems };
    lint.effect();
    lint.key_window();
    lint.success();
    lint.pending();
    lint.probe();
    lint.undo();
    lint.key_place();
    lint.reference();
    lint.rules();
    lint.retry();
    lint.confirm();
}

struct Lint<'a> {
    contract: &'a Contract,
    problems: &'a mut Problems,
}

impl Lint<'_> {
    fn warn(&mut self, code: &'static str, key: &str, message: &str, hint: &str) {
        let source = &self.contract.source;
        let outer = key.split(['.', '[']).next().unwrap_or(key);
        let found = source.spans.get(key).or_else(|| source.spans.get(outer));
        let span: Span = found.copied().unwrap_or(source.span);
        self.problems.warn(code, At { file: &source.file, span, path: key }, message, hint);
    }

    fn declares(&self, key: &str) -> bool {
        self.contract.source.spans.contains_key(key)
    }

    fn effect(&mut self) {
        let terms = &self.contract.terms;
        if !self.declares("effect") {
            let message =
                "`effect` is missing, so the tool is treated as blind: after a lost answer a person is asked";
            self.warn(
                "SM4309",
                "effect",
                message,
                "say what a repeated request does: none, natural, keyed, queryable or blind",
            );
        }
        if terms.irreversible && terms.effect == Effect::Blind {
            let message = "irreversible, and the target offers neither a key nor a look-up: when an answer is lost, nobody can find out whether it happened but a person";
            self.warn(
                "SM4303",
                "undo",
                message,
                "find a key or a look-up at the target, or accept that each lost answer becomes a review",
            );
        }
    }

    /// The first attempt must be dead before it is sent again, and the second must time out and settle before the
    /// window, less its margin, closes.
    fn key_window(&mut self) {
        let terms = &self.contract.terms;
        let Some(window) = terms.key_window_ms else { return };
        let first = terms.send_within_ms + terms.timeout_ms;
        let second = terms.timeout_ms + terms.settle_ms() + terms.clock_error_ms;
        let needed = first + second + terms.key_margin_ms();
        if terms.effect == Effect::Keyed && window <= needed {
            let message = format!(
                "a key window of {} leaves no time to send again: two time-outs, settle and margin take {}",
                duration::text(window),
                duration::text(needed)
            );
            self.warn(
                "SM4306",
                "key_window",
                &message,
                "shorten `timeout` or `probe.settle`, or treat the tool as queryable or blind",
            );
        }
    }

    fn success(&mut self) {
        let Some(success) = &self.contract.rules.success else { return };
        let everything = [200, 302, 404, 422, 500, 503].into_iter().all(|status| holds(success, status));
        if everything {
            let message =
                "`success` holds for every status, also for 500: a failed request would be taken for applied";
            self.warn("SM4307", "success", message, "compare `status` in it, such as `status == 200 && …`");
        }
    }

    fn pending(&mut self) {
        let rules = &self.contract.rules;
        let Some(success) = rules.success.as_ref().filter(|_| rules.pending.is_none()) else { return };
        if holds(success, 202) && !holds(success, 200) {
            let message = "`success` waits for 202, but 202 means that the target still works on it, unless `pending` says otherwise";
            self.warn("SM4312", "success", message, "add `pending: \"false\"` if 202 means done");
        }
    }

    fn probe(&mut self) {
        let Some(probe) = &self.contract.probe else { return };
        match &probe.absent {
            None => {
                let message = "the probe says `applied` but never `absent`: what did not happen is never proven so, and is asked about until a person decides";
                self.warn("SM4308", "probe", message, "add `absent:`, such as `status == 404`");
            }
            Some(absent) if [500, 503, 401, 429].into_iter().any(|status| holds(absent, status)) => {
                let message = "`absent` holds for a look-up that itself failed; such answers are taken for unclear, whatever it says";
                self.warn(
                    "SM4310",
                    "probe.absent",
                    message,
                    "begin it with `status == 200 &&` or `status == 404`",
                );
            }
            Some(_) => {}
        }
    }

    /// A look-up whose address names our effect can only find that one. A filter can be ignored by the target, which
    /// then shows the effects of others.
    fn reference(&mut self) {
        let Some(probe) = &self.contract.probe else { return };
        let Some(applied) = probe.applied.as_ref().filter(|rule| !names_ours(rule)) else { return };
        let mut address = probe.http.url.programs().flat_map(|(program, _)| program.names());
        if address.any(|name| self.names_one(name)) {
            return;
        }
        let message = format!(
            "`applied` (`{}`) compares nothing with our call, so an effect of somebody else, or an error in a 200, would be taken for ours and ours would never be sent",
            applied.source()
        );
        let hint = "compare what was sent, such as `type(body) == list && body.exists_one(o, o.reference == args.reference)`; `key` and `operation` can be compared too, or stand in the address";
        self.warn("SM4313", "probe.applied", &message, hint);
    }

    /// Whether a name is different for every effect; an argument is when it is part of the identity.
    fn names_one(&self, name: &str) -> bool {
        let mut parts = name.split('.');
        match (parts.next(), parts.next()) {
            (Some("args"), Some(field)) => self.contract.fields.identity.iter().any(|key| key == field),
            (Some(root), _) => root != "args" && OURS.contains(&root),
            (None, _) => false,
        }
    }

    /// Rules that read an answer of another shape in a way that nobody meant.
    fn rules(&mut self) {
        let contract = self.contract;
        let asked = contract.probe.as_ref().map(|probe| probe.all()).unwrap_or_default();
        // The result is taken only when `applied` held, which has looked at the shape.
        for (path, rule) in asked.iter().filter(|(path, _)| !path.ends_with(".result")) {
            let habits = rule.habits();
            if habits.walked.contains("body") && !habits.typed.contains("body") {
                let message = format!(
                    "`{}` takes the body for a list, but a map has a size and members too: `{{}}` would count as empty and `{{ error: … }}` as one found",
                    rule.source()
                );
                self.warn("SM4314", path, &message, "begin it with `type(body) == list &&`");
            }
        }
        for (path, rule) in contract.rules.all().iter().chain(&asked) {
            if rule.habits().against_text.contains("status") {
                let message = format!(
                    "`{}` compares `status`, which is a number, with a text: they are never equal",
                    rule.source()
                );
                self.warn("SM4315", path, &message, "write the number, such as `status == 200`");
            }
        }
    }

    /// The same question to the same source confirms nothing.
    fn confirm(&mut self) {
        let Some(probe) = &self.contract.probe else { return };
        let Some(confirm) = probe.confirm.as_ref().filter(|confirm| confirm.rules.http == probe.http) else {
            return;
        };
        let again = if confirm.applied { "is there" } else { "is absent" };
        let message = format!(
            "`confirm` asks the very same question as the probe: a source that is wrong is wrong twice, and what it says {again} counts as confirmed"
        );
        self.warn(
            "SM4318",
            "probe.confirm",
            &message,
            "ask another source, such as a ledger or the listing by another key",
        );
    }

    /// A status in `retry.on` that nothing declares to have changed nothing for now.
    fn retry(&mut self) {
        let rules = &self.contract.rules;
        let listed = rules.retry_on.iter().flatten().copied();
        let never: Vec<u16> = listed.filter(|status| *status != 429 && !self.may_pass(*status)).collect();
        for status in never {
            let message = format!(
                "`retry.on` lists {status}, but nothing says that such an answer has changed nothing and may pass: it is never tried again because of it"
            );
            let hint = "if the target does nothing then, declare it: `refusals: [{ when: status == …, retryable: true }]`; else leave it out";
            self.warn("SM4317", "retry.on", &message, hint);
        }
    }

    /// A declared refusal may hold for some answer of that status.
    fn may_pass(&self, status: u16) -> bool {
        let mut passing = self.contract.rules.refusals.iter().filter(|one| one.retryable);
        passing.any(|one| {
            let any_status = !one.when.names().iter().any(|name| name == "status");
            any_status
                || one.when.source().contains(&status.to_string())
                || holds(&one.when, u32::from(status))
        })
    }

    fn key_place(&mut self) {
        let usual = matches!(&self.contract.key_place, Some(KeyPlace::Header(_)));
        if usual && !self.declares("send_key_as") {
            let message = "`send_key_as` is missing, so the key goes into the header Idempotency-Key; a target that looks elsewhere does not see it, and a repeat is a second effect";
            let hint = "say so: `send_key_as: { header: Idempotency-Key }`, or the header, `query:` or `body:` field that the target reads";
            self.warn("SM4316", "effect", message, hint);
        }
    }

    fn undo(&mut self) {
        if self.declares("undo") && !self.contract.terms.irreversible {
            let message = "undo is kept with the contract, but not yet run by itself: where it is needed, a person is asked";
            self.warn("SM4311", "undo", message, "nothing; this is so that nobody relies on it");
        }
    }
}

/// Whether a rule reads a name that says which effect is asked for.
fn names_ours(rule: &Program) -> bool {
    let root = |name: &String| name.split('.').next().unwrap_or_default().to_owned();
    rule.names().iter().map(root).any(|root| OURS.contains(&root.as_str()))
}

/// Whether a rule holds for an empty answer of that status.
fn holds(rule: &Program, status: u32) -> bool {
    let (status, empty) = (Json::from(status), Json::obj::<String>([]));
    let seen = super::Seen { args: &empty, key: "", operation: "", task: "", handle: None };
    let names = Names::of(&seen);
    let vars = answer_vars([("status", &status), ("headers", &empty), ("body", &empty)], &names.vars(&seen));
    rule.holds(&vars).unwrap_or(false)
}
