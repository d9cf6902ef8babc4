//! Whom we trust: the machine's roots, and those of a request's `ca_file`.
//!
//! Invariant: names are always verified, HTTP/1.1 is all that is offered, and no early data is sent: a byte before
//! the handshake's end would be a request byte that a middle box can repeat.

use crate::obstacle::chain;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use std::{
    collections::HashMap,
    fs::File,
    io::Read,
    sync::{Arc, Mutex, PoisonError},
};

/// Bytes of a `ca_file`.
const CA_FILE_BYTES: u64 = 4 << 20;

/// TLS settings by `ca_file`. A file is read once; a changed one is seen after a restart.
#[derive(Default)]
pub(crate) struct Trust {
    configs: Mutex<HashMap<Option<String>, Arc<ClientConfig>>>,
}

impl Trust {
    /// The settings that trust the machine's roots and those in `ca_file`. A failure is not remembered.
    pub(crate) async fn config(&self, ca_file: Option<&str>) -> Result<Arc<ClientConfig>, String> {
        let wanted = ca_file.map(str::to_owned);
        if let Some(known) = self.configs().get(&wanted) {
            return Ok(Arc::clone(known));
        }
        let path = wanted.clone();
        let built = tokio::task::spawn_blocking(move || build(path.as_deref())).await;
        let built = Arc::new(built.map_err(|e| e.to_string())??);
        self.configs().insert(wanted, Arc::clone(&built));
        Ok(built)
    }

    fn configs(&self) -> std::sync::MutexGuard<'_, HashMap<Option<String>, Arc<ClientConfig>>> {
        self.configs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn build(ca_file: Option<&str>) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(native.certs);
    if let Some(path) = ca_file {
        add_file(&mut roots, path).map_err(|e| format!("`ca_file` {path}: {e}"))?;
    }
    if roots.is_empty() {
        return Err("no trusted roots were found on this machine".to_owned());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = versions.map_err(|e| chain(&e))?.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.enable_early_data = false;
    Ok(config)
}

fn add_file(roots: &mut RootCertStore, path: &str) -> Result<(), String> {
    let mut pem = Vec::new();
    let file = File::open(path).map_err(|e| e.to_string())?;
    file.take(CA_FILE_BYTES).read_to_end(&mut pem).map_err(|e| e.to_string())?;
    let before = roots.len();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|e| chain(&e))?;
        roots.add(certificate).map_err(|e| chain(&e))?;
    }
    if roots.len() == before { Err("it holds no certificate".to_owned()) } else { Ok(()) }
}
