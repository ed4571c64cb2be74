//! A suite in the terms of rustls 0.24.

use crate::files::{certificates, failed, key, roots};
use crate::names::{choose, cipher, protocol, same};
use crate::{resumption, CRYPTOGRAPHY};
use memtest_driver::Suite;
use rustls::crypto::{CryptoProvider, Identity};
use rustls::server::{Tls13Tickets, WebPkiClientVerifier};
use rustls::{enums::ProtocolVersion, ClientConfig, ServerConfig};
use std::sync::Arc;

/// Exactly what the suite names: one protocol, one cipher, and the role's groups. The protocol follows from the cipher.
pub fn offer(suite: &Suite, groups: &str) -> Result<Arc<CryptoProvider>, String> {
    let mut it = CRYPTOGRAPHY;
    let of = |version| same(protocol(version), &suite.protocol);
    if !of(ProtocolVersion::TLSv1_2) && !of(ProtocolVersion::TLSv1_3) {
        return Err("does TLSv1.2 and TLSv1.3 only".into());
    }
    let asked = |version, name| of(version) && same(cipher(name), &suite.cipher);
    it.tls12_cipher_suites.to_mut().retain(|it| asked(ProtocolVersion::TLSv1_2, it.common.suite));
    it.tls13_cipher_suites.to_mut().retain(|it| asked(ProtocolVersion::TLSv1_3, it.common.suite));
    if it.tls12_cipher_suites.is_empty() && it.tls13_cipher_suites.is_empty() {
        return Err("does not have this cipher".into());
    }
    it.kx_groups = choose(&it.kx_groups, groups, |it| it.name())?.into();
    Ok(Arc::new(it))
}

fn identity(suite: &Suite, name: &str) -> Result<Arc<Identity<'static>>, String> {
    Identity::from_cert_chain(certificates(suite, name)?).map(Arc::new).map_err(failed(name))
}

pub fn client(suite: &Suite) -> Result<ClientConfig, String> {
    let builder =
        ClientConfig::builder(offer(suite, &suite.client_groups)?).with_root_certificates(roots(suite, "root.pem")?);
    let mut config = match &*suite.auth {
        "mutual" => {
            let (identity, key) = (identity(suite, "client-chain.pem")?, key(suite, "client-key.pem")?);
            builder.with_client_auth_cert(identity, key).map_err(failed("client-chain.pem"))?
        }
        _ => builder.with_no_client_auth().map_err(failed("client"))?,
    };
    config.resumption = resumption::of_client(suite);
    Ok(config)
}

pub fn server(suite: &Suite) -> Result<ServerConfig, String> {
    let builder = ServerConfig::builder(offer(suite, &suite.group)?);
    let builder = match &*suite.auth {
        "mutual" => {
            let trusted = Arc::new(roots(suite, "client-root.pem")?);
            let verifier = WebPkiClientVerifier::builder(trusted, &CRYPTOGRAPHY).build();
            builder.with_client_cert_verifier(Arc::new(verifier.map_err(failed("client-root.pem"))?))
        }
        _ => builder.with_no_client_auth(),
    };
    let builder = builder.with_single_cert(identity(suite, "chain.pem")?, key(suite, "key.pem")?);
    let mut config = builder.map_err(failed("chain.pem"))?;
    if let Ok(tickets) = suite.tickets.try_into() {
        config.send_tls13_tickets = Tls13Tickets { default: tickets, max: tickets };
        // else the library's own number
    }
    if resumption::by_ticketer(suite) {
        config.ticketer = Some(CRYPTOGRAPHY.ticketer_factory.ticketer().map_err(failed("tickets"))?);
    }
    resumption::of_server(&mut config, suite);
    Ok(config)
}

/// All that the provider has: each needs a name.
#[cfg(test)]
pub fn offered() -> (Vec<rustls::crypto::CipherSuite>, Vec<rustls::crypto::kx::NamedGroup>) {
    let tls12 = CRYPTOGRAPHY.tls12_cipher_suites.iter().map(|it| it.common.suite).collect::<Vec<_>>();
    let tls13 = CRYPTOGRAPHY.tls13_cipher_suites.iter().map(|it| it.common.suite);
    (tls12.into_iter().chain(tls13).collect(), CRYPTOGRAPHY.kx_groups.iter().map(|it| it.name()).collect())
}

/// Whether a server keeps its sessions, and whether it seals tickets.
#[cfg(test)]
pub fn issuing(suite: &Suite) -> [bool; 2] {
    let config = server(suite).unwrap();
    [config.session_storage.can_cache(), config.ticketer.is_some()]
}

/// The first flight of a client.
#[cfg(test)]
pub fn hello(suite: &Suite) -> Vec<u8> {
    let mut hello = Vec::new();
    let config = Arc::new(client(suite).unwrap());
    config.connect("localhost".try_into().unwrap()).build(&mut hello).unwrap();
    hello
}
