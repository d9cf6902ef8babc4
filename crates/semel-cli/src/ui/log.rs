//! Logs go to stderr. No payload is ever logged; hashes and ids are.

use crate::{low::Global, system::variable};
use tracing_subscriber::EnvFilter;

/// Starts logging: errors only, unless asked for more by `-v` or `SEMEL_LOG`.
pub(crate) fn start(global: &Global) {
    let level = match global.verbose {
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    let filter = variable("SEMEL_LOG").unwrap_or_else(|| level.to_owned());
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("error"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        .compact()
        .finish();
    drop(tracing::subscriber::set_global_default(subscriber));
}
