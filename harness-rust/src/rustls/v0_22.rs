//! rustls 0.22.0, with the cryptography of aws-lc-rs or ring. It tells neither its group nor whether it resumed.

mod buffered;
mod client_sessions;
mod configs;
mod files;
mod full;
mod names;
mod resumption;
mod sealer;
mod served;
mod stack;

use buffered::{End, Tls};
use configs::offer;
#[cfg(test)]
use configs::{hello, issuing, offered};
use full::{cryptography, trusting};
use memtest_driver::driver;
use rustls::client::{Tls12ClientSessionValue as Tls12State, Tls13ClientSessionValue as Tls13State};
#[cfg(feature = "aws-lc")]
use rustls::crypto::aws_lc_rs as provider;
#[cfg(feature = "ring")]
use rustls::crypto::ring as provider;
use rustls::{CipherSuite, ClientConnection, Error, NamedGroup, ProtocolVersion, ServerConnection};
use std::ops::{Deref, DerefMut};
use std::process::exit;

#[cfg(not(any(feature = "aws-lc", feature = "ring")))]
compile_error!("choose the provider: --features aws-lc, or ring");

/// What a client keeps its sessions by.
type Key<'a> = rustls_pki_types::ServerName<'a>;

type Client = Tls<ClientConnection>;
type Server = Tls<ServerConnection>;
type LowMemoryClient = Client; // never made: it is refused
type LowMemoryServer = Server;

const NAMES: bool = true;
const RELEASES: bool = false;
const SAVES: bool = false;
const SEALS: bool = true;

fn number(group: NamedGroup) -> u16 {
    group.get_u16()
}

/// A connection, and whether its handshake was seen to be a full one: a word of the harness's in each session.
struct Told<E> {
    connection: E,
    full: bool,
}

impl<E> From<E> for Told<E> {
    fn from(connection: E) -> Self {
        Self { connection, full: false }
    }
}

impl<E: End> Told<E> {
    fn process(&mut self) -> Result<(), Error> {
        let done = self.process_new_packets();
        self.full |= full::SEEN.take();
        done.map(drop)
    }

    /// It is not told; just one was offered.
    fn group(&self) -> Option<NamedGroup> {
        None
    }

    fn resumed(&self) -> bool {
        !self.is_handshaking() && !self.full
    }
}

impl<E> Deref for Told<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.connection
    }
}

impl<E> DerefMut for Told<E> {
    fn deref_mut(&mut self) -> &mut E {
        &mut self.connection
    }
}

fn main() {
    exit(driver::run::<stack::Rustls>())
}
