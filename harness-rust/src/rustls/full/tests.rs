//! A handshake that did resume is told from a full one, at both ends.

use super::{cryptography, trusting};
use crate::{buffered::End, Told};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion};
use rustls_pki_types::{pem::PemObject, CertificateDer, PrivateKeyDer};
use std::{sync::Arc, thread};

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

struct Pair(Told<ClientConnection>, Told<ServerConnection>);

impl Pair {
    fn new(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Self {
        let client = Told::from(ClientConnection::new(client.clone(), "localhost".try_into().unwrap()).unwrap());
        let server = Told::from(ServerConnection::new(server.clone()).unwrap());
        assert_eq!([client.resumed(), server.resumed()], [false; 2], "nothing is known yet");
        Self(client, server)
    }

    fn step(&mut self) {
        carry(&mut self.0, &mut self.1);
        carry(&mut self.1, &mut self.0);
    }

    /// Of the client and of the server.
    fn resumed(&self) -> [bool; 2] {
        assert!(!self.0.is_handshaking() && !self.1.is_handshaking());
        [self.0.resumed(), self.1.resumed()]
    }
}

const STEPS: usize = 3;

fn resumed(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> [bool; 2] {
    let mut pair = Pair::new(client, server);
    (0..STEPS).for_each(|_| pair.step());
    pair.resumed()
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

#[test]
fn what_is_seen_of_one_connection_is_not_told_of_another_on_the_same_thread() {
    for version in rustls::ALL_VERSIONS {
        let (client, server) = configs(version);
        resumed(&client, &server);
        let others = [0; 2].map(|_| configs(version).0);
        let mut pairs = [&others[0], &client, &others[1]].map(|it| Pair::new(it, &server));
        for _ in 0..STEPS {
            pairs.iter_mut().for_each(Pair::step);
        }
        assert_eq!(pairs.map(|it| it.resumed()), [[false; 2], [true; 2], [false; 2]], "{version:?}");
    }
}

#[test]
fn it_is_told_on_whichever_threads_the_connection_is_stepped() {
    for version in rustls::ALL_VERSIONS {
        let (client, server) = configs(version);
        for expected in [[false; 2], [true; 2]] {
            let mut pair = Pair::new(&client, &server);
            for _ in 0..STEPS {
                thread::scope(|scope| drop(scope.spawn(|| pair.step())));
            }
            assert_eq!(pair.resumed(), expected, "{version:?}");
        }
    }
}

/// Both threads use one server, and one of them only ever makes full handshakes.
#[test]
fn threads_do_not_see_what_others_do() {
    for version in rustls::ALL_VERSIONS {
        let (client, server) = configs(version);
        resumed(&client, &server);
        thread::scope(|scope| {
            scope.spawn(|| (0..20).for_each(|_| assert_eq!(resumed(&client, &server), [true; 2], "{version:?}")));
            scope.spawn(|| {
                (0..20).for_each(|_| assert_eq!(resumed(&configs(version).0, &server), [false; 2], "{version:?}"))
            });
        });
    }
}
