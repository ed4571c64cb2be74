//! The files of a suite, which are PEM.

use memtest_driver::Suite;
use rustls::RootCertStore;
use rustls_pki_types::{pem::PemObject, CertificateDer, PrivateKeyDer};
use std::fmt::Display;

pub fn certificates(suite: &Suite, name: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let file = format!("{}/{name}", &*suite.certs);
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(&file).and_then(Iterator::collect);
    match found.map_err(failed(&file))? {
        none if none.is_empty() => Err(format!("{file}: no certificate in it")),
        some => Ok(some),
    }
}

pub fn roots(suite: &Suite, name: &str) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for root in certificates(suite, name)? {
        roots.add(root).map_err(failed(name))?;
    }
    Ok(roots)
}

pub fn key(suite: &Suite, name: &str) -> Result<PrivateKeyDer<'static>, String> {
    let file = format!("{}/{name}", &*suite.certs);
    PrivateKeyDer::from_pem_file(&file).map_err(failed(&file))
}

pub fn failed<E: Display>(what: impl Display) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
}
