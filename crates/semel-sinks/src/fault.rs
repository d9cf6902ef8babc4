//! The faults a sink can be told to show, and the script that says when.
//!
//! Invariant: a script lives in memory only, and each request takes at most one rule from it.
//! It must not know sockets or tables.

use std::collections::VecDeque;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::handles::Acceptance;
use crate::http::{Request, Response};

/// What goes wrong with one request. "Before" has no effect, "after" has its effect committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fault {
    #[default]
    None,
    Refuse(u16),
    Status500Before,
    Status500After,
    ResetBefore,
    ResetAfter,
    HalfAnswer,
    Garbage,
    SlowBefore(u64),
    SlowAfter(u64),
    Accept202,
    Redirect302,
    OkButFalse,
    ReadLag(u64),
    DontKnow,
    LookupMany,
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = text.split_once(':').map_or((text, None), |(name, ms)| (name, Some(ms)));
        let ms = || number.and_then(|ms| ms.parse().ok()).ok_or(format!("`{name}` needs :MILLISECONDS"));
        match (name, number) {
            ("slow_before", _) => Ok(Self::SlowBefore(ms()?)),
            ("slow_after", _) => Ok(Self::SlowAfter(ms()?)),
            ("read_lag", _) => Ok(Self::ReadLag(ms()?)),
            (_, None) => plain(name).ok_or_else(|| format!("no fault is called `{name}`")),
            (_, Some(_)) => Err(format!("`{name}` takes no number")),
        }
    }
}

fn plain(name: &str) -> Option<Fault> {
    if let Some(status) = name.strip_prefix("refuse_") {
        return status.parse().ok().filter(|status| (400..600).contains(status)).map(Fault::Refuse);
    }
    Some(match name {
        "none" => Fault::None,
        "status_500_before" => Fault::Status500Before,
        "status_500_after" => Fault::Status500After,
        "reset_before" => Fault::ResetBefore,
        "reset_after" => Fault::ResetAfter,
        "half_answer" => Fault::HalfAnswer,
        "garbage" => Fault::Garbage,
        "accept_202" => Fault::Accept202,
        "redirect_302" => Fault::Redirect302,
        "ok_but_false" => Fault::OkButFalse,
        "dont_know" => Fault::DontKnow,
        "lookup_many" => Fault::LookupMany,
        _ => return None,
    })
}

impl Fault {
    /// Whether the fault is about looking things up; such a fault meets GET unless told otherwise,
    /// all others meet everything but GET.
    fn is_of_lookups(self) -> bool {
        matches!(self, Self::ReadLag(_) | Self::DontKnow | Self::LookupMany)
    }
}

/// How an answer leaves the sink.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// As it is.
    Whole(Response),
    /// With a length larger than what is sent.
    Half(Response),
    /// After a while.
    Late(Response, Duration),
    /// As bytes that are not HTTP.
    Garbage,
    /// Not at all: the connection is reset.
    Reset,
}

/// Which requests a rule meets; a field left out meets all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Match {
    /// `*` meets every method.
    method: Option<String>,
    /// The start of the path.
    path: Option<String>,
    /// The idempotency key.
    key: Option<String>,
}

/// One rule of the script, as sent to `/_control`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    #[serde(deserialize_with = "fault_from_text")]
    fault: Fault,
    /// How many requests the rule meets; without it, all.
    times: Option<u32>,
    #[serde(default, rename = "match")]
    meets: Match,
    retry_after_s: Option<u64>,
    #[serde(default)]
    commit_after_ms: u32,
    /// How accepted work ends.
    #[serde(default)]
    handle_state: HandleEnd,
}

/// How work accepted with `202` ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HandleEnd {
    #[default]
    Succeeded,
    Failed,
}

fn fault_from_text<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Fault, D::Error> {
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}

impl Rule {
    fn meets(&self, request: &Request) -> bool {
        let method = request.head.method.as_str();
        let by_method = match self.meets.method.as_deref() {
            Some("*") => true,
            Some(wanted) => wanted.eq_ignore_ascii_case(method),
            None => self.fault.is_of_lookups() == (method == "GET"),
        };
        let by_path = self.meets.path.as_deref().is_none_or(|start| request.path().starts_with(start));
        let by_key =
            self.meets.key.is_none() || self.meets.key.as_deref() == request.head.header("idempotency-key");
        by_method && by_path && by_key
    }

    /// The reply of a fault that strikes before anything is done.
    pub(crate) fn before(&self, request: &Request) -> Option<Reply> {
        let response = match self.fault {
            Fault::Refuse(status) => Response::error(status, "refused"),
            Fault::Status500Before => Response::error(500, "internal"),
            Fault::Redirect302 => {
                Response::error(302, "moved").with("Location", format!("/redirected{}", request.head.target))
            }
            Fault::OkButFalse => Response::json(200, &json!({ "ok": false })),
            Fault::DontKnow => Response::error(503, "unavailable"),
            Fault::ResetBefore => return Some(Reply::Reset),
            Fault::None
            | Fault::Status500After
            | Fault::ResetAfter
            | Fault::HalfAnswer
            | Fault::Garbage
            | Fault::SlowBefore(_)
            | Fault::SlowAfter(_)
            | Fault::Accept202
            | Fault::ReadLag(_)
            | Fault::LookupMany => return None,
        };
        Some(Reply::Whole(match self.retry_after_s {
            Some(seconds) => response.with("Retry-After", seconds.to_string()),
            None => response,
        }))
    }

    /// How the answer of what was done leaves.
    pub(crate) fn after(&self, response: Response) -> Reply {
        match self.fault {
            Fault::Status500After => Reply::Whole(Response::error(500, "internal")),
            Fault::ResetAfter => Reply::Reset,
            Fault::HalfAnswer => Reply::Half(response),
            Fault::Garbage => Reply::Garbage,
            Fault::SlowAfter(ms) => Reply::Late(response, Duration::from_millis(ms)),
            Fault::LookupMany => Reply::Whole(doubled(response)),
            Fault::None
            | Fault::Refuse(_)
            | Fault::Status500Before
            | Fault::ResetBefore
            | Fault::SlowBefore(_)
            | Fault::Accept202
            | Fault::Redirect302
            | Fault::OkButFalse
            | Fault::ReadLag(_)
            | Fault::DontKnow => Reply::Whole(response),
        }
    }

    /// How long the request waits before it is worked on.
    pub(crate) fn delay(&self) -> Option<Duration> {
        if let Fault::SlowBefore(ms) = self.fault { Some(Duration::from_millis(ms)) } else { None }
    }

    /// How young an effect must be for lookups to miss it; `None` when they see all.
    pub(crate) fn read_lag_ms(&self) -> Option<i64> {
        if let Fault::ReadLag(ms) = self.fault { i64::try_from(ms).ok() } else { None }
    }

    /// How the request is accepted, when it is not done at once.
    pub(crate) fn acceptance(&self) -> Option<Acceptance> {
        let fails = self.handle_state == HandleEnd::Failed;
        let acceptance = Acceptance { commit_after_ms: i64::from(self.commit_after_ms), fails };
        (self.fault == Fault::Accept202).then_some(acceptance)
    }
}

/// A listing that reports two where there may be fewer.
fn doubled(response: Response) -> Response {
    let Ok(mut body) = serde_json::from_slice::<Value>(&response.body) else { return response };
    let Some(items) = body.get_mut("items").and_then(Value::as_array_mut) else { return response };
    items.truncate(2);
    while items.len() < 2 {
        let mut other = items.first().cloned().unwrap_or_else(|| json!({}));
        other["id"] = json!(format!("other-{}", items.len() + 1));
        items.push(other);
    }
    body["total"] = json!(2);
    Response::json(response.status, &body)
}

/// The rules in force.
#[derive(Debug, Default)]
pub(crate) struct Script {
    counted: VecDeque<Rule>,
    lasting: Vec<Rule>,
    /// How long keys are remembered; `None` means for ever.
    pub(crate) key_window_ms: Option<i64>,
}

impl Script {
    /// Adds a rule. Counted rules go before lasting ones; a lasting rule takes the place of one that
    /// meets the same requests; a lasting `none` that meets all ends the script.
    ///
    /// # Errors
    /// A sentence when the rule could never meet a request.
    pub(crate) fn add(&mut self, rule: Rule) -> Result<(), &'static str> {
        match rule.times {
            Some(0) => return Err("`times` must be 1 or more; leave it out for always"),
            Some(_) => self.counted.push_back(rule),
            None if rule.fault == Fault::None && rule.meets == Match::default() => self.clear_rules(),
            None => {
                let lookups = rule.fault.is_of_lookups();
                let same = |old: &Rule| old.meets == rule.meets && old.fault.is_of_lookups() == lookups;
                self.lasting.retain(|old| !same(old));
                self.lasting.push(rule);
            }
        }
        Ok(())
    }

    /// Drops all rules and keeps the key window.
    pub(crate) fn clear_rules(&mut self) {
        self.counted.clear();
        self.lasting.clear();
    }

    /// How many rules are in force.
    pub(crate) fn len(&self) -> usize {
        self.counted.len() + self.lasting.len()
    }

    /// The first rule that meets the request, used up by one; else a rule without a fault.
    pub(crate) fn take(&mut self, request: &Request) -> Rule {
        let Some(at) = self.counted.iter().position(|rule| rule.meets(request)) else {
            return self.lasting.iter().find(|rule| rule.meets(request)).cloned().unwrap_or_default();
        };
        let rule = self.counted[at].clone();
        match rule.times {
            Some(left @ 2..) => self.counted[at].times = Some(left - 1),
            Some(_) | None => drop(self.counted.remove(at)),
        }
        rule
    }
}
