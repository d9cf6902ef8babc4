//! Takes secrets out of what is shown. What is *judged* stays raw: a contract reads the answer as it came, and whoever
//! judges it takes out the secrets that the report carries.

pub use semel_ports::connector::MARK;
use semel_ports::{
    connector::Witnessed,
    outside::{NoSecret, Secret, Secrets},
    request::{HttpRequest, Part, Template},
};
use std::sync::Mutex;

/// Words in a header's name that make its value a secret.
const TELLTALE: [&str; 8] =
    ["authorization", "cookie", "token", "secret", "password", "api-key", "apikey", "signature"];

/// The headers, with the values of those that carry credentials marked out.
#[must_use]
pub fn redact_headers(headers: &[(String, String)]) -> Vec<(String, String)> {
    let shown = |(name, value): &(String, String)| {
        let value = if carries_credentials(name) { MARK } else { value.as_str() };
        (name.clone(), value.to_owned())
    };
    headers.iter().map(shown).collect()
}

fn carries_credentials(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    TELLTALE.iter().any(|word| name.contains(word))
}

/// The text without the known secrets, however they are escaped or encoded in it.
#[must_use]
pub fn redact_text(text: &str, known: &[Secret]) -> String {
    Witnessed::new(known.to_vec()).strict_eraser().text(text).into_owned()
}

/// The secrets that a request refers to, as far as they can be resolved, for [`redact_text`].
#[must_use]
pub fn secrets_of(request: &HttpRequest, secrets: &dyn Secrets) -> Vec<Secret> {
    let texts = request.headers.iter().map(|(_, value)| value);
    let texts = texts.chain([&request.url]).chain(request.body.as_ref());
    let parts = texts.flat_map(|Template(parts)| parts);
    let reference = |part: &Part| match part {
        Part::Secret(reference) => secrets.resolve(reference).ok(),
        Part::Text(_) | Part::Key | Part::Fence => None,
    };
    parts.filter_map(reference).collect()
}

/// Resolves, and remembers for one call what was resolved, so that its report can carry it.
pub(crate) struct Witness<'a> {
    inner: &'a dyn Secrets,
    seen: Mutex<Vec<Secret>>,
}

impl<'a> Witness<'a> {
    pub(crate) fn of(inner: &'a dyn Secrets) -> Self {
        Self { inner, seen: Mutex::default() }
    }

    pub(crate) fn witnessed(self) -> Witnessed {
        Witnessed::new(self.seen.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl Secrets for Witness<'_> {
    fn resolve(&self, reference: &str) -> Result<Secret, NoSecret> {
        let secret = self.inner.resolve(reference)?;
        self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(secret.clone());
        Ok(secret)
    }
}
