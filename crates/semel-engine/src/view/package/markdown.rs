//! The package as one page of Markdown, in the order in which a tired person reads.

use super::{Choice, Clocks, OperationEntry, Package, Tried};
use crate::view::clock::{utc, when};
use semel_kernel::{
    json::Json,
    time::{Millis, Now},
};

/// Characters of a raw answer that the page shows; the JSON form has all that was kept.
const SHOWN_CHARS: usize = 600;

impl Package {
    /// The page. It reads the same on paper as on a screen: signs carry the meaning, not colours.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let now = Now::steady(self.at);
        let mut page = String::new();
        self.head(&mut page, now);
        self.effects(&mut page, now);
        section(&mut page, "What was tried", self.tried.iter().map(tried).collect());
        section(&mut page, "Clocks", clocks(&self.clocks, now));
        self.advise(&mut page);
        section(&mut page, "Answers", self.choices.iter().map(choice).collect());
        section(&mut page, "Commands", self.commands.iter().map(|c| format!("`{c}`")).collect());
        self.checkpoint(&mut page);
        section(&mut page, "Operations", self.operations.iter().map(operation).collect());
        section(&mut page, "History", self.history.iter().map(|l| format!("`{l}`")).collect());
        page
    }

    fn head(&self, page: &mut String, now: Now) {
        let review = &self.review;
        push(page, &format!("# {}\n", self.question));
        push(
            page,
            &format!(
                "Review `{}`, page version {} (pass `--page {}`), as of {}.",
                review.id,
                review.page,
                review.page,
                utc(self.at)
            ),
        );
        let step =
            review.step.as_ref().map_or_else(|| "the whole task".to_owned(), |s| format!("step `{s}`"));
        push(
            page,
            &format!("Open since {}, about {step}, because {}.", when(review.opened_at, now), review.because),
        );
        if let (Some(by), Some(at), Some(answer)) =
            (&review.decided_by, review.decided_at, &review.decided_as)
        {
            push(page, &format!("Decided by {by} at {}: {answer}.", utc(at)));
        }
        let Some(rail) = &self.rail else { return };
        push(page, &format!("\n## What is proven\n\n`{rail}` (● proven, ✕ proven not, ▨ open)\n"));
        for reach in rail.reaches() {
            push(page, &format!("- {reach}"));
        }
    }

    fn effects(&self, page: &mut String, now: Now) {
        let confirmed = self.confirmed.iter().map(|c| {
            let ids = c.external_ids.iter().map(|(name, id)| format!("{name} = `{id}`"));
            let ids = ids.collect::<Vec<_>>().join(", ");
            let ids = if ids.is_empty() { "the target gave no id".to_owned() } else { ids };
            format!("`{}`: proven by {} at {}; {ids}", c.operation, c.proof, utc(c.at))
        });
        section(page, "Confirmed effects", confirmed.collect());
        let unknown = self.unknown.iter().map(|u| {
            let end = if u.written_off { "; written off" } else { "" };
            format!("`{}`: since {}; {}{end}", u.operation, when(u.since, now), u.because.join("; "))
        });
        section(page, "Unknown effects", unknown.collect());
        let absent = self.absent.iter().map(|a| format!("`{}`: {}", a.operation, a.because));
        section(page, "Effects proven absent", absent.collect());
    }

    fn advise(&self, page: &mut String) {
        push(page, &format!("\n## Recommended\n\n**Do:** {}.\n", self.advice.act));
        push(page, &format!("**Why:** {}.\n\n**What would change our mind:**\n", self.advice.why));
        for reason in &self.advice.unless {
            push(page, &format!("- {reason}"));
        }
    }

    fn checkpoint(&self, page: &mut String) {
        let at = &self.checkpoint;
        let pins = at.pins.iter().map(|(name, pin)| format!("{name} {pin}")).collect::<Vec<_>>().join(", ");
        let steps = at.steps.iter().map(|(name, state)| format!("`{name}` {}", state.word()));
        let lines = vec![
            format!("task `{}`, client id `{}`", at.task, at.client_id),
            format!("plan {} `{}`", at.plan, at.plan_hash),
            format!("version {}, {}, attempts made: {}", at.version, at.phase.word(), at.attempts),
            format!("generation {}, last owner {}", at.generation, at.session.as_deref().unwrap_or("none")),
            format!("pins: {}", if pins.is_empty() { "none" } else { &pins }),
            format!("steps: {}", steps.collect::<Vec<_>>().join(", ")),
        ];
        let held = at.held.iter().map(|line| format!("the task is {line}"));
        section(page, "Last checkpoint", lines.into_iter().chain(held).collect());
    }
}

fn push(page: &mut String, line: &str) {
    page.push_str(line);
    page.push('\n');
}

fn section(page: &mut String, title: &str, lines: Vec<String>) {
    push(page, &format!("\n## {title}\n"));
    if lines.is_empty() {
        push(page, "- none");
    }
    for line in lines {
        push(page, &format!("- {line}"));
    }
}

fn tried(tried: &Tried) -> String {
    let shown = match &tried.shown {
        Json::Null => "no raw answer".to_owned(),
        shown => format!("`{}`", cut(&shown.canonical())),
    };
    format!("{} {}: {}; {shown}", utc(tried.at), tried.what, tried.result)
}

/// A back quote would end the code span that holds the text.
fn cut(text: &str) -> String {
    let kept: String = text.chars().take(SHOWN_CHARS).collect::<String>().replace('`', "'");
    if kept.chars().count() < text.chars().count() { format!("{kept}…") } else { kept }
}

fn clocks(clocks: &Clocks, now: Now) -> Vec<String> {
    let line = |name: &str, at: Option<Millis>| {
        format!("{name}: {}", at.map_or_else(|| "none".to_owned(), |at| when(at, now)))
    };
    vec![
        line("earlier attempts are dead on our side", clocks.attempts_dead_at),
        line("settled moment (“it did not” is believed from then on)", clocks.settled_at),
        line("key window ends", clocks.key_window_ends_at),
        line("a send under this key leaves before", clocks.resend_until),
        line("approval expires", clocks.approval_expires_at),
        line("deadline of the task", clocks.deadline_at),
    ]
}

fn choice(choice: &Choice) -> String {
    let follows = match (&choice.refused, &choice.then) {
        (Some(refused), _) => format!("refused now: {refused}"),
        (None, Some(then)) => format!("then Semel {then}"),
        (None, None) => String::new(),
    };
    format!("{}: `{}`; {follows}", choice.answer, choice.command)
}

fn operation(op: &OperationEntry) -> String {
    let contract = op.contract.map_or_else(|| "?".to_owned(), |h| h.to_string());
    let guarantee = op.guarantee.map_or("?", semel_kernel::terms::Guarantee::word);
    let request = op.request.iter().map(|line| format!("\n  - `{}`", cut(line))).collect::<String>();
    format!(
        "`{}` {} {}, {}, attempts: {}\n  - tool {} (contract `{contract}`), {guarantee}\n  - key `{}` (epoch {})\n  - \
         request hash `{}`{request}",
        op.id,
        op.rail,
        op.state.word(),
        op.status.word(),
        op.attempts,
        op.tool,
        op.key,
        op.key_epoch,
        op.request_hash
    )
}
