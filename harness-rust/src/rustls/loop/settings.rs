//! What the loop was asked for, in rustls' terms: settings as those of the driver.

use crate::{fail, names};
use rustls::client::{Resumption, Tls12Resumption};
use rustls::crypto::aws_lc_rs as provider;
use rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache};
use rustls::{ClientConfig, RootCertStore, ServerConfig, ALL_VERSIONS};
use rustls_pki_types::{pem::PemObject, CertificateDer, PrivateKeyDer};
use std::{collections::HashMap, fmt::Display, str::FromStr, sync::Arc};

pub struct Arguments(pub HashMap<String, String>);

impl Arguments {
    pub fn get<'a>(&'a self, key: &str, default: &'a str) -> &'a str {
        self.0.get(key).map_or(default, |value| value)
    }

    pub fn must(&self, key: &str) -> &str {
        self.0.get(key).unwrap_or_else(|| fail(&format!("{key}= is required")))
    }

    pub fn number<T: FromStr<Err: Display>>(&self, key: &str, default: &str) -> T {
        let value = self.get(key, default);
        value.parse().unwrap_or_else(|error| fail(&format!("{key}={value}: {error}")))
    }
}

pub fn configs(given: &Arguments) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let version = ALL_VERSIONS.iter().find(|it| names::same(names::protocol(it.version), given.must("protocol")));
    let version = version.unwrap_or_else(|| fail("protocol: unknown"));
    let mut provider = provider::default_provider();
    provider.cipher_suites.retain(|it| names::same(names::cipher(it.suite()), given.must("cipher")));
    provider.kx_groups.retain(|it| names::same(names::group(it.name()), given.must("group")));
    let provider = Arc::new(provider);
    let file = |name: &str| format!("{}/{name}", given.must("certs"));
    let certificates = |name: &str| CertificateDer::pem_file_iter(file(name)).unwrap().map(Result::unwrap);
    let (resume, store) = (given.get("resume", "off") == "on", given.get("store", "off") == "on");
    let tickets = given.number("tickets", "0");

    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates("root.pem"));
    let client = ClientConfig::builder_with_provider(provider.clone()).with_protocol_versions(&[version]).unwrap();
    let mut client = client.with_root_certificates(roots).with_no_client_auth();
    client.resumption = match (resume, store) {
        (true, true) => Resumption::default().tls12_resumption(Tls12Resumption::SessionIdOnly),
        (true, false) => Resumption::default(),
        _ => Resumption::disabled(),
    };
    let server = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[version]).unwrap();
    let (chain, key) = (certificates("chain.pem").collect(), PrivateKeyDer::from_pem_file(file("key.pem")).unwrap());
    let mut server = server.with_no_client_auth().with_single_cert(chain, key).unwrap();
    server.send_tls13_tickets = tickets;
    match store {
        true => server.session_storage = ServerSessionMemoryCache::new(20_480),
        false => server.session_storage = Arc::new(NoServerSessionStorage {}),
    }
    if tickets > 0 && !store {
        server.ticketer = provider::Ticketer::new().unwrap();
    }
    (Arc::new(client), Arc::new(server))
}
