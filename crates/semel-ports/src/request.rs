//! A frozen request: stored with the first STARTED and resent byte for byte. Only the parts that are declared to be
//! filled in at send (the key of a grown key epoch, the fencing token, secrets) are left open.
//!
//! Invariant: no secret is ever part of it, only its reference.

use crate::outside::{NoSecret, Secrets};
use serde::{Deserialize, Serialize};

/// One part of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Fixed text.
    Text(String),
    /// The operation's key.
    Key,
    /// The fencing token, `epoch.counter`.
    Fence,
    /// A secret, by reference.
    Secret(String),
}

/// A text with open parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Template(pub Vec<Part>);

/// What is filled in at send.
pub struct Fills<'a> {
    /// The operation's key.
    pub key: &'a str,
    /// The fencing token.
    pub fence: &'a str,
    /// Resolves references.
    pub secrets: &'a dyn Secrets,
}

impl Template {
    /// A fixed text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self(vec![Part::Text(text.into())])
    }

    /// The text as it is sent.
    ///
    /// # Errors
    /// [`NoSecret`] when a reference cannot be resolved; nothing is sent then.
    pub fn fill(&self, fills: &Fills<'_>) -> Result<String, NoSecret> {
        let mut out = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Key => out.push_str(fills.key),
                Part::Fence => out.push_str(fills.fence),
                Part::Secret(reference) => out.push_str(fills.secrets.resolve(reference)?.expose()),
            }
        }
        Ok(out)
    }

    /// The text as it is shown: open parts by their names.
    #[must_use]
    pub fn shown(&self) -> String {
        let show = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Key => "{key}".to_owned(),
            Part::Fence => "{fence}".to_owned(),
            Part::Secret(reference) => format!("{{secret {reference}}}"),
        };
        self.0.iter().map(show).collect()
    }
}

/// An HTTP request, frozen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpRequest {
    /// `GET`, `POST`, …
    pub method: String,
    /// The whole address.
    pub url: Template,
    /// Header names in lower case, in order.
    pub headers: Vec<(String, Template)>,
    /// The body, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Template>,
    /// A PEM file with further trusted roots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<String>,
}
