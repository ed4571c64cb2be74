//! rustls 0.24: a connection is lent the caller's buffers, call by call.

use crate::caller_buffers::Buffers;
use crate::files::failed;
use crate::lent_configs;
use crate::names::{cipher, group, protocol};
use memtest_driver::{Negotiated, Session, Suite, Wire, SERVER_NAME};
use rustls::{ClientConfig, ClientSide, Connection, Error, HandshakeKind, ServerConfig, ServerSide, SideData, Tcp};
use rustls_pki_types::ServerName;
use std::sync::Arc;

/// The limit of rustls' own buffer, before 0.24.
const WRITE_BYTES: usize = 64 * 1024;

/// What a client and a server do not share.
pub trait End: SideData {
    type Config: Send + Sync;
    fn config(suite: &Suite) -> Result<Self::Config, String>;
    fn connection(config: &Arc<Self::Config>, output: &mut Vec<u8>) -> Result<Connection<Self, Tcp>, Error>;
}

impl End for ClientSide {
    type Config = ClientConfig;

    fn config(suite: &Suite) -> Result<ClientConfig, String> {
        lent_configs::client(suite)
    }

    fn connection(config: &Arc<ClientConfig>, output: &mut Vec<u8>) -> Result<Connection<Self, Tcp>, Error> {
        config.connect(ServerName::try_from(SERVER_NAME).expect("a DNS name")).build(output)
    }
}

impl End for ServerSide {
    type Config = ServerConfig;

    fn config(suite: &Suite) -> Result<ServerConfig, String> {
        lent_configs::server(suite)
    }

    fn connection(config: &Arc<ServerConfig>, _: &mut Vec<u8>) -> Result<Connection<Self, Tcp>, Error> {
        Connection::<Self, Tcp>::new(config.clone())
    }
}

pub struct Tls<S: End> {
    wire: Wire,
    connection: Connection<S, Tcp>,
    buffers: Buffers,
    saves: bool,
}

impl<S: End> Session for Tls<S>
where
    Connection<S, Tcp>: Send,
{
    type Context = (Arc<S::Config>, bool);

    fn context_new(suite: &Suite) -> Result<Self::Context, String> {
        Ok((Arc::new(S::config(suite)?), &*suite.options == "low-memory"))
    }

    fn session_new((config, saves): &Self::Context, wire: Wire) -> Result<Self, String> {
        let mut buffers = Buffers::default();
        let connection = S::connection(config, &mut buffers.output).map_err(failed("session"))?;
        Ok(Self { wire, connection, buffers, saves: *saves })
    }

    /// A client's hello is out before it first looks for an answer.
    fn handshake(&mut self) -> Result<bool, String> {
        self.buffers.send(&mut self.wire)?;
        while self.receive(&mut Default::default())? {}
        self.buffers.send(&mut self.wire)?;
        self.save();
        Ok(!self.connection.is_handshaking())
    }

    /// Nothing is taken as long as there is no room for what was taken before, and no more at once than rustls itself took
    /// when the buffer was its own.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, String> {
        let bytes = &bytes[..bytes.len().min(WRITE_BYTES)];
        self.buffers.send(&mut self.wire)?;
        if !self.buffers.output.is_empty() {
            return Ok(0);
        }
        self.connection.write(bytes.into(), &mut self.buffers.output).map_err(failed("write"))?;
        self.buffers.send(&mut self.wire)?;
        self.save();
        Ok(bytes.len())
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, String> {
        let size = bytes.len();
        let mut room = bytes;
        let given = loop {
            let kept = self.buffers.take(room);
            if kept > 0 || room.len() < size || !self.receive(&mut room)? {
                break kept + size - room.len();
            }
        };
        self.save();
        Ok(given)
    }

    fn negotiated(&self) -> Result<Negotiated, String> {
        use HandshakeKind::{Resumed, ResumedWithHelloRetryRequest};
        let it = &self.connection;
        Ok(Negotiated {
            protocol: it.protocol_version().map(protocol).into(),
            cipher: it.negotiated_cipher_suite().map(|it| cipher(it.suite())).into(),
            group: it.negotiated_key_exchange_group().map(|it| group(it.name())).into(),
            resumed: matches!(it.handshake_kind(), Some(Resumed | ResumedWithHelloRetryRequest)),
            // WebPKI is the only verifier here: no handshake is complete with a chain or name that it did not accept.
            peer_verified: !it.is_handshaking() && it.peer_identity().is_some(),
        })
    }

    fn release(&mut self) {
        self.buffers.drop_empty();
    }
}

impl<S: End> Tls<S> {
    /// False when nothing is there. Data may go into `room`, which is then what is left of it.
    fn receive(&mut self, room: &mut &mut [u8]) -> Result<bool, String> {
        let any = self.buffers.fill(&mut self.wire)?;
        let (input, output, plaintext) = self.buffers.parts();
        let mut handler = self.connection.read_tls(input, output);
        while let Some(payload) = handler.next_payload() {
            Buffers::give(&payload.map_err(|error| error.to_string())?, room, plaintext);
        }
        Ok(any)
    }

    fn save(&mut self) {
        if self.saves {
            self.buffers.drop_empty();
        }
    }
}
