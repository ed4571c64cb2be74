//! A suite in the terms of rustls before 0.24.

use crate::files::{certificates, failed, key, roots};
use crate::names::{choose, cipher, protocol, same};
use crate::{provider, resumption};
use memtest_driver::Suite;
use rustls::{crypto::CryptoProvider, server::WebPkiClientVerifier};
use rustls::{ClientConfig, ServerConfig, SupportedProtocolVersion, ALL_VERSIONS};
use std::sync::Arc;

/// Exactly what the suite names: one protocol, one cipher, and the role's groups.
pub fn offer(suite: &Suite, groups: &str) -> Result<(Arc<CryptoProvider>, &'static SupportedProtocolVersion), String> {
    let version = ALL_VERSIONS.iter().find(|it| same(protocol(it.version), &suite.protocol));
    let version = version.ok_or("does TLSv1.2 and TLSv1.3 only")?;
    let mut provider = crate::cryptography();
    provider.cipher_suites.retain(|it| it.version() == *version && same(cipher(it.suite()), &suite.cipher));
    if provider.cipher_suites.is_empty() {
        return Err("does not have this cipher".into());
    }
    provider.kx_groups = choose(&provider.kx_groups, groups, |it| it.name())?;
    Ok((Arc::new(provider), version))
}

pub fn client(suite: &Suite) -> Result<ClientConfig, String> {
    let (provider, version) = offer(suite, &suite.client_groups)?;
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_protocol_versions(&[version]);
    let builder = builder.map_err(failed("client"))?;
    let builder = crate::trusting(builder, roots(suite, "root.pem")?, provider).map_err(failed("root.pem"))?;
    let mut config = match &*suite.auth {
        "mutual" => builder
            .with_client_auth_cert(certificates(suite, "client-chain.pem")?, key(suite, "client-key.pem")?)
            .map_err(failed("client-chain.pem"))?,
        _ => builder.with_no_client_auth(),
    };
    config.resumption = resumption::of_client(suite);
    Ok(config)
}

pub fn server(suite: &Suite) -> Result<ServerConfig, String> {
    let (provider, version) = offer(suite, &suite.group)?;
    let builder = ServerConfig::builder_with_provider(provider.clone()).with_protocol_versions(&[version]);
    let builder = builder.map_err(failed("server"))?;
    let builder = match &*suite.auth {
        "mutual" => {
            let trusted = Arc::new(roots(suite, "client-root.pem")?);
            let verifier = WebPkiClientVerifier::builder_with_provider(trusted, provider).build();
            builder.with_client_cert_verifier(verifier.map_err(failed("client-root.pem"))?)
        }
        _ => builder.with_no_client_auth(),
    };
    let config = builder.with_single_cert(certificates(suite, "chain.pem")?, key(suite, "key.pem")?);
    let mut config = config.map_err(failed("chain.pem"))?;
    if let Ok(tickets) = suite.tickets.try_into() {
        config.send_tls13_tickets = tickets; // else the library's own number
    }
    if resumption::by_ticketer(suite) {
        config.ticketer = provider::Ticketer::new().map_err(failed("tickets"))?;
    }
    resumption::of_server(&mut config, suite);
    Ok(config)
}

/// All that the provider has: each needs a name.
#[cfg(test)]
pub fn offered() -> (Vec<rustls::CipherSuite>, Vec<rustls::NamedGroup>) {
    let it = crate::cryptography();
    (it.cipher_suites.iter().map(|it| it.suite()).collect(), it.kx_groups.iter().map(|it| it.name()).collect())
}

/// Whether a server keeps its sessions, and whether it seals tickets.
#[cfg(test)]
pub fn issuing(suite: &Suite) -> [bool; 2] {
    let config = server(suite).unwrap();
    [config.session_storage.can_cache(), config.ticketer.enabled()]
}

/// The first flight of a client.
#[cfg(test)]
pub fn hello(suite: &Suite) -> Vec<u8> {
    let config = Arc::new(client(suite).unwrap());
    let mut hello = Vec::new();
    let mut connection = rustls::ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
    connection.write_tls(&mut hello).unwrap();
    hello
}
