//! rustls 0.23, with the cryptography of aws-lc-rs, ring, Graviola or OpenSSL. Built by the packages beside `src`, one per version.
//! Its connections have their buffers inside; where options=low-memory they are unbuffered ones.

mod buffered;
mod caller_buffers;
mod client_sessions;
mod configs;
mod files;
mod lent;
mod names;
mod resumption;
#[cfg_attr(feature = "graviola", path = "sealer_graviola.rs")]
#[cfg_attr(feature = "openssl", path = "sealer_openssl.rs")]
mod sealer;
mod served;
mod stack;
mod unbuffered;
mod vec_input;

use buffered::{End, Tls};
use configs::offer;
#[cfg(test)]
use configs::{hello, issuing, offered};
use memtest_driver::driver;
use rustls::client::{Tls12ClientSessionValue as Tls12State, Tls13ClientSessionValue as Tls13State};
use rustls::client::{UnbufferedClientConnection, WantsClientCert};
#[cfg(feature = "aws-lc")]
use rustls::crypto::aws_lc_rs as provider;
#[cfg(feature = "ring")]
use rustls::crypto::ring as provider;
use rustls::server::UnbufferedServerConnection;
use rustls::{crypto::CryptoProvider, CipherSuite, HandshakeKind, NamedGroup, ProtocolVersion, RootCertStore};
use rustls::{ClientConfig, ClientConnection, CommonState, ConfigBuilder, Error, ServerConnection, WantsVerifier};
#[cfg(feature = "graviola")]
use rustls_graviola as provider;
use std::ops::{Deref, DerefMut};
use std::{process::exit, sync::Arc};
use vec_input::{TlsInputBuffer, VecInput};

#[cfg(not(any(feature = "aws-lc", feature = "ring", feature = "graviola", feature = "openssl")))]
compile_error!("choose the provider: --features aws-lc, ring, graviola or openssl");

/// What a client keeps its sessions by.
type Key<'a> = rustls_pki_types::ServerName<'a>;

type Client = Tls<ClientConnection>;
type Server = Tls<ServerConnection>;
type LowMemoryClient = lent::Tls<UnbufferedClientConnection>;
type LowMemoryServer = lent::Tls<UnbufferedServerConnection>;

const NAMES: bool = true;
const RELEASES: bool = false;
const SAVES: bool = true;
const SEALS: bool = cfg!(not(feature = "openssl"));

/// rustls-openssl, which has no ticketer: no suite that needs one is supported.
#[cfg(feature = "openssl")]
mod provider {
    pub use rustls_openssl::default_provider;
    use std::sync::Arc;

    pub struct Ticketer;

    impl Ticketer {
        #[allow(clippy::new_ret_no_self)] // as of rustls' own providers
        pub fn new() -> Result<Arc<dyn rustls::server::ProducesTickets>, rustls::Error> {
            Err(rustls::Error::General("the provider has no ticketer".into()))
        }
    }
}

fn cryptography() -> CryptoProvider {
    provider::default_provider()
}

fn trusting(
    builder: ConfigBuilder<ClientConfig, WantsVerifier>,
    roots: RootCertStore,
    _: Arc<CryptoProvider>,
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, String> {
    Ok(builder.with_root_certificates(roots))
}

fn number(group: NamedGroup) -> u16 {
    group.into()
}

fn negotiated_group(it: &CommonState) -> Option<NamedGroup> {
    it.negotiated_key_exchange_group().map(|it| it.name())
}

fn is_resumed(it: &CommonState) -> bool {
    it.handshake_kind() == Some(HandshakeKind::Resumed)
}

/// A connection with what it tells of itself.
struct Told<E>(E);

impl<E> From<E> for Told<E> {
    fn from(connection: E) -> Self {
        Self(connection)
    }
}

impl<E: End> Told<E> {
    fn process(&mut self) -> Result<(), Error> {
        self.process_new_packets().map(drop)
    }

    fn group(&self) -> Option<NamedGroup> {
        negotiated_group(&self.0)
    }

    fn resumed(&self) -> bool {
        is_resumed(&self.0)
    }
}

impl<E> Deref for Told<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.0
    }
}

impl<E> DerefMut for Told<E> {
    fn deref_mut(&mut self) -> &mut E {
        &mut self.0
    }
}

fn main() {
    exit(driver::run::<stack::Rustls>())
}
