//! A handshake that did resume is told from a full one, at both ends.

use super::{cryptography, trusting};
use crate::{buffered::End, Told};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion};
use rustls_pki_types::{pem::PemObject, CertificateDer, PrivateKeyDer};
use std::sync::Arc;

const CERTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../memtest/certs/rsa-2048");

fn certificates(name: &str) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_file_iter(format!("{CERTS}/{name}")).unwrap().map(Result::unwrap).collect()
}

/// With stores and a ticketer, unlike a suite's.
fn configs(version: &'static SupportedProtocolVersion) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let provider = Arc::new(cryptography());
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates("root.pem"));
    let client = ClientConfig::builder_with_provider(provider.clone()).with_protocol_versions(&[version]).unwrap();
    let client = trusting(client, roots, provider.clone()).unwrap().with_no_client_auth();
    let server = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[version]).unwrap();
    let key = PrivateKeyDer::from_pem_file(format!("{CERTS}/key.pem")).unwrap();
    let mut server = server.with_no_client_auth().with_single_cert(certificates("chain.pem"), key).unwrap();
    server.ticketer = crate::provider::Ticketer::new().unwrap();
    (Arc::new(client), Arc::new(server))
}

fn carry<A: End, B: End>(from: &mut Told<A>, to: &mut Told<B>) {
    let mut flight = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut flight).unwrap();
    }
    let mut rest = &flight[..];
    while !rest.is_empty() {
        to.read_tls(&mut rest).unwrap();
        to.process().unwrap();
    }
}

/// Of the client and of the server.
fn resumed(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> [bool; 2] {
    let mut client = Told::from(ClientConnection::connection(client.clone()).unwrap());
    let mut server = Told::from(ServerConnection::connection(server.clone()).unwrap());
    assert_eq!([client.resumed(), server.resumed()], [false; 2], "nothing is known yet");
    for _ in 0..3 {
        carry(&mut client, &mut server);
        carry(&mut server, &mut client);
    }
    assert!(!client.is_handshaking() && !server.is_handshaking());
    [client.resumed(), server.resumed()]
}

#[test]
fn the_second_of_two_connections_is_resumed_and_told_so() {
    for version in rustls::ALL_VERSIONS {
        let (client, server) = configs(version);
        assert_eq!(resumed(&client, &server), [false; 2], "{version:?}");
        assert_eq!(resumed(&client, &server), [true; 2], "{version:?}");
        assert_eq!(resumed(&configs(version).0, &server), [false; 2], "{version:?}: another client");
    }
}
