//! rustls 0.24.0-dev.2, with the cryptography of aws-lc-rs or ring: its buffers are the caller's, in [`caller_buffers`].

mod caller_buffers;
mod client_sessions;
mod files;
mod lent;
mod lent_configs;
mod lent_connection;
mod names;
mod resumption;
mod sealer;
mod stack;

use lent::Tls;
use lent_configs::offer;
#[cfg(test)]
use lent_configs::{hello, issuing, offered};
use lent_connection::Lending;
use memtest_driver::driver;
use rustls::client::{ClientSessionKey as Key, Tls12Session as Tls12State, Tls13Session as Tls13State};
use rustls::crypto::{kx::NamedGroup, CipherSuite, CryptoProvider};
use rustls::{enums::ProtocolVersion, ClientSide, ServerSide, TlsInputBuffer, VecInput};
#[cfg(feature = "aws-lc")]
use rustls_aws_lc_rs as provider;
#[cfg(feature = "ring")]
use rustls_ring as provider;
use std::process::exit;

#[cfg(not(any(feature = "aws-lc", feature = "ring")))]
compile_error!("choose the provider: --features aws-lc, or ring");

type Client = Tls<Lending<ClientSide>>;
type Server = Tls<Lending<ServerSide>>;
type LowMemoryClient = Client;
type LowMemoryServer = Server;

const NAMES: bool = false;
/// A buffer with nothing in it may be dropped.
const RELEASES: bool = true;
const SAVES: bool = true;
const SEALS: bool = true;

const CRYPTOGRAPHY: CryptoProvider = provider::DEFAULT_PROVIDER;

fn number(group: NamedGroup) -> u16 {
    group.0
}

fn main() {
    exit(driver::run::<stack::Rustls>())
}
