//! Secrets from the environment and from files.
//!
//! Invariant: a value is read at each use and kept by nobody here; an error names the reference, never the value.

use semel_ports::outside::{NoSecret, Secret, Secrets};
use std::{fmt, fs::File, io::Read};

/// Bytes of a secret; whatever is longer is not one.
const SECRET_BYTES: u64 = 64 << 10;

/// Looks a name up in the environment.
pub type Lookup = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Resolves `env:NAME` and `file:PATH`. One newline at the end of a value is taken off.
pub struct EnvFileSecrets {
    env: Lookup,
}

impl EnvFileSecrets {
    /// `env` looks a name up in the environment; only the composition root reads that.
    #[must_use]
    pub fn new(env: Lookup) -> Self {
        Self { env }
    }

    fn read(&self, reference: &str) -> Result<String, String> {
        match reference.split_once(':') {
            Some(("env", name)) => {
                (self.env)(name).ok_or_else(|| "no such name in the environment".to_owned())
            }
            Some(("file", path)) => read_file(path),
            Some(_) | None => Err("a reference is `env:NAME` or `file:PATH`".to_owned()),
        }
    }
}

impl Secrets for EnvFileSecrets {
    fn resolve(&self, reference: &str) -> Result<Secret, NoSecret> {
        let found = self.read(reference).and_then(|raw| checked(&raw));
        found.map(Secret::new).map_err(|cause| NoSecret { reference: reference.to_owned(), cause })
    }
}

impl fmt::Debug for EnvFileSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EnvFileSecrets(..)")
    }
}

fn read_file(path: &str) -> Result<String, String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    // A pipe would be waited for, and would give its value only once.
    if !file.metadata().map_err(|e| e.to_string())?.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(SECRET_BYTES + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
}

fn checked(raw: &str) -> Result<String, String> {
    let line = raw.strip_suffix('\n').unwrap_or(raw);
    let line = line.strip_suffix('\r').filter(|_| line.len() < raw.len()).unwrap_or(line);
    if line.is_empty() {
        return Err("it is empty".to_owned());
    }
    if line.len() as u64 > SECRET_BYTES {
        return Err(format!("it has more than {SECRET_BYTES} bytes"));
    }
    Ok(line.to_owned())
}
