//! A suite in rustls' terms: the names that suites.toml speaks are OpenSSL's, the files are PEM.

use crate::{provider, Rustls};
use memtest_driver::{Driver, Suite};
use rustls::pki_types::{pem::PemObject, CertificateDer, PrivateKeyDer};
use rustls::{
    crypto::CryptoProvider, CipherSuite, NamedGroup, ProtocolVersion, SupportedProtocolVersion, ALL_VERSIONS,
};
use std::{ffi::CStr, fmt::Display, sync::Arc};

/// Exactly what the suite names: one protocol, one cipher, one group.
pub fn offer(suite: &Suite) -> Result<(Arc<CryptoProvider>, &'static SupportedProtocolVersion), String> {
    let missing = |what: &str, name: &str| format!("no {what} {name} in {}", Rustls::VERSION.to_string_lossy());
    let version = ALL_VERSIONS.iter().find(|it| same(protocol(it.version), &suite.protocol));
    let version = version.ok_or("does TLSv1.2 and TLSv1.3 only")?;
    let mut provider = provider::default_provider();
    provider.cipher_suites.retain(|it| it.version() == *version && same(cipher(it.suite()), &suite.cipher));
    provider.kx_groups.retain(|it| same(group(it.name()), &suite.group));
    if provider.cipher_suites.is_empty() {
        return Err(missing(&format!("{} cipher", &*suite.protocol), &suite.cipher));
    }
    if provider.kx_groups.is_empty() {
        return Err(missing("group", &suite.group));
    }
    Ok((Arc::new(provider), version))
}

pub fn certificates(suite: &Suite, name: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let file = format!("{}/{name}", &*suite.certs);
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(&file).and_then(Iterator::collect);
    match found.map_err(failed(&file))? {
        none if none.is_empty() => Err(format!("{file}: no certificate in it")),
        some => Ok(some),
    }
}

pub fn key(suite: &Suite) -> Result<PrivateKeyDer<'static>, String> {
    let file = format!("{}/key.pem", &*suite.certs);
    PrivateKeyDer::from_pem_file(&file).map_err(failed(&file))
}

pub fn failed<E: Display>(what: impl Display) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
}

pub fn protocol(it: ProtocolVersion) -> &'static CStr {
    match it {
        ProtocolVersion::TLSv1_2 => c"TLSv1.2",
        ProtocolVersion::TLSv1_3 => c"TLSv1.3",
        _ => c"unknown",
    }
}

pub fn cipher(it: CipherSuite) -> &'static CStr {
    match it {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => c"TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_AES_256_GCM_SHA384 => c"TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => c"TLS_CHACHA20_POLY1305_SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => c"ECDHE-RSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => c"ECDHE-RSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => c"ECDHE-RSA-CHACHA20-POLY1305",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => c"ECDHE-ECDSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => c"ECDHE-ECDSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => c"ECDHE-ECDSA-CHACHA20-POLY1305",
        _ => c"unknown",
    }
}

pub fn group(it: NamedGroup) -> &'static CStr {
    match it {
        NamedGroup::X25519 => c"X25519",
        NamedGroup::secp256r1 => c"secp256r1",
        NamedGroup::secp384r1 => c"secp384r1",
        NamedGroup::MLKEM768 => c"MLKEM768",
        NamedGroup::MLKEM1024 => c"MLKEM1024",
        NamedGroup::X25519MLKEM768 => c"X25519MLKEM768",
        NamedGroup::secp256r1MLKEM768 => c"SecP256r1MLKEM768",
        _ => c"unknown",
    }
}

/// Names are compared without regard to case.
fn same(name: &CStr, other: &str) -> bool {
    name.to_bytes().eq_ignore_ascii_case(other.as_bytes())
}

/// A suite that rustls offers and these tables forget could be neither asked for nor recognised.
#[cfg(test)]
mod tests {
    use super::provider::default_provider;

    #[test]
    fn every_cipher_and_group_of_the_provider_has_a_name() {
        for offered in default_provider().cipher_suites {
            assert_ne!(super::cipher(offered.suite()), c"unknown", "{offered:?}");
        }
        for offered in default_provider().kx_groups {
            assert_ne!(super::group(offered.name()), c"unknown", "{:?}", offered.name());
        }
    }
}
