//! A suite in the terms of rustls before 0.24.

use crate::files::{certificates, failed, key};
use crate::names::{cipher, group, protocol, same};
use crate::provider;
use memtest_driver::Suite;
use rustls::{client::Resumption, crypto::CryptoProvider, server::NoServerSessionStorage};
use rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion, ALL_VERSIONS};
use std::sync::Arc;

/// Exactly what the suite names: one protocol, one cipher, one group.
pub fn offer(suite: &Suite) -> Result<(Arc<CryptoProvider>, &'static SupportedProtocolVersion), String> {
    let version = ALL_VERSIONS.iter().find(|it| same(protocol(it.version), &suite.protocol));
    let version = version.ok_or("does TLSv1.2 and TLSv1.3 only")?;
    let mut provider = crate::cryptography();
    provider.cipher_suites.retain(|it| it.version() == *version && same(cipher(it.suite()), &suite.cipher));
    provider.kx_groups.retain(|it| same(group(it.name()), &suite.group));
    if provider.cipher_suites.is_empty() {
        return Err("does not have this cipher".into());
    }
    if provider.kx_groups.is_empty() {
        return Err("does not have this group".into());
    }
    Ok((Arc::new(provider), version))
}

pub fn client(suite: &Suite) -> Result<ClientConfig, String> {
    let (provider, version) = offer(suite)?;
    let mut roots = RootCertStore::empty();
    for root in certificates(suite, "root.pem")? {
        roots.add(root).map_err(failed("root.pem"))?;
    }
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_protocol_versions(&[version]);
    let builder = builder.map_err(failed("client"))?;
    let mut config = crate::trusting(builder, roots, provider).map_err(failed("root.pem"))?.with_no_client_auth();
    // By default there is a store, and every handshake here is to be a full one.
    config.resumption = Resumption::disabled();
    Ok(config)
}

pub fn server(suite: &Suite) -> Result<ServerConfig, String> {
    let (provider, version) = offer(suite)?;
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[version]);
    let builder = builder.map_err(failed("server"))?.with_no_client_auth();
    let config = builder.with_single_cert(certificates(suite, "chain.pem")?, key(suite)?);
    let mut config = config.map_err(failed("chain.pem"))?;
    config.send_tls13_tickets = suite.tickets as usize;
    if suite.tickets > 0 {
        config.ticketer = provider::Ticketer::new().map_err(failed("tickets"))?;
    }
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(config)
}

/// All that the provider has: each needs a name.
#[cfg(test)]
pub fn offered() -> (Vec<rustls::CipherSuite>, Vec<rustls::NamedGroup>) {
    let it = crate::cryptography();
    (it.cipher_suites.iter().map(|it| it.suite()).collect(), it.kx_groups.iter().map(|it| it.name()).collect())
}
