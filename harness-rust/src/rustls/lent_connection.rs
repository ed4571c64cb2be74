//! A connection of rustls 0.24, whose buffers are always its caller's.

use crate::caller_buffers::Buffers;
use crate::files::failed;
use crate::lent::Lent;
use crate::lent_configs;
use crate::names::{cipher, group, protocol};
use memtest_driver::{Negotiated, Suite};
use rustls::crypto::Identity;
use rustls::{ClientConfig, ClientSide, Connection, Error, HandshakeKind, ServerConfig, ServerSide, SideData, Tcp};
use rustls_pki_types::ServerName;
use std::sync::Arc;

type Made<S> = Result<Connection<S, Tcp>, Error>;

/// What a client and a server do not share.
pub trait End: SideData {
    type Config: Send + Sync;
    fn config(suite: &Suite) -> Result<Self::Config, String>;
    fn connection(config: &Arc<Self::Config>, name: ServerName<'static>, output: &mut Vec<u8>) -> Made<Self>;
}

impl End for ClientSide {
    type Config = ClientConfig;

    fn config(suite: &Suite) -> Result<ClientConfig, String> {
        lent_configs::client(suite)
    }

    fn connection(config: &Arc<ClientConfig>, name: ServerName<'static>, output: &mut Vec<u8>) -> Made<Self> {
        config.connect(name).build(output)
    }
}

impl End for ServerSide {
    type Config = ServerConfig;

    fn config(suite: &Suite) -> Result<ServerConfig, String> {
        lent_configs::server(suite)
    }

    fn connection(config: &Arc<ServerConfig>, _: ServerName<'static>, _: &mut Vec<u8>) -> Made<Self> {
        Connection::<Self, Tcp>::new(config.clone())
    }
}

fn leaf<'a>(identity: &'a Identity<'static>) -> Option<&'a [u8]> {
    match identity {
        Identity::X509(it) => Some(it.end_entity.as_ref()),
        _ => None,
    }
}

pub struct Lending<S: End> {
    connection: Connection<S, Tcp>,
    saves: bool,
}

impl<S: End> Lent for Lending<S>
where
    Connection<S, Tcp>: Send,
{
    type Context = (Arc<S::Config>, bool);

    fn context_new(suite: &Suite) -> Result<Self::Context, String> {
        Ok((Arc::new(S::config(suite)?), &*suite.options == "low-memory"))
    }

    fn connection_new(
        (config, saves): &Self::Context,
        name: ServerName<'static>,
        output: &mut Vec<u8>,
    ) -> Result<Self, String> {
        let connection = S::connection(config, name, output).map_err(failed("session"))?;
        Ok(Self { connection, saves: *saves })
    }

    fn saves(&self) -> bool {
        self.saves
    }

    fn process(&mut self, buffers: &mut Buffers, room: &mut &mut [u8]) -> Result<(), String> {
        let (input, output, plaintext) = buffers.parts();
        let mut handler = self.connection.read_tls(input, output);
        while let Some(payload) = handler.next_payload() {
            Buffers::give(payload.map_err(|error| error.to_string())?.bytes(), room, plaintext);
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8], buffers: &mut Buffers) -> Result<(), String> {
        self.connection.write(bytes.into(), &mut buffers.output).map_err(failed("write"))
    }

    fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    fn negotiated(&self) -> Negotiated<'_> {
        use HandshakeKind::{Resumed, ResumedWithHelloRetryRequest};
        let it = &self.connection;
        Negotiated {
            protocol: it.protocol_version().map(protocol).into(),
            cipher: it.negotiated_cipher_suite().map(|it| cipher(it.suite())).into(),
            group: it.negotiated_key_exchange_group().map(|it| group(it.name())).into(),
            resumed: matches!(it.handshake_kind(), Some(Resumed | ResumedWithHelloRetryRequest)),
            // WebPKI is the only verifier here: no handshake is complete with a chain or name that it did not accept.
            peer_verified: !it.is_handshaking() && it.peer_identity().is_some(),
            peer: it.peer_identity().and_then(|it| leaf(it.identity())).into(),
        }
    }
}
