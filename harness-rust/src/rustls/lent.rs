//! rustls 0.24: a connection is lent the caller's buffers, call by call.

use crate::caller_buffers::Buffers;
use crate::files::{certificates, failed, key, roots};
use crate::names::{cipher, group, protocol, same};
use crate::{resumption, CRYPTOGRAPHY};
use memtest_driver::{Negotiated, Session, Suite, Wire, SERVER_NAME};
use rustls::crypto::{CryptoProvider, Identity};
use rustls::server::{Tls13Tickets, WebPkiClientVerifier};
use rustls::{enums::ProtocolVersion, ClientConfig, ServerConfig};
use rustls::{ClientSide, Connection, Error, HandshakeKind, ServerSide, SideData, Tcp};
use rustls_pki_types::ServerName;
use std::sync::Arc;

/// The limit of rustls' own buffer, before 0.24.
const WRITE_BYTES: usize = 64 * 1024;

/// Exactly what the suite names: one protocol, one cipher, one group. The protocol follows from the cipher.
pub fn offer(suite: &Suite) -> Result<Arc<CryptoProvider>, String> {
    let mut it = CRYPTOGRAPHY;
    let of = |version| same(protocol(version), &suite.protocol);
    if !of(ProtocolVersion::TLSv1_2) && !of(ProtocolVersion::TLSv1_3) {
        return Err("does TLSv1.2 and TLSv1.3 only".into());
    }
    let asked = |version, name| of(version) && same(cipher(name), &suite.cipher);
    it.tls12_cipher_suites.to_mut().retain(|it| asked(ProtocolVersion::TLSv1_2, it.common.suite));
    it.tls13_cipher_suites.to_mut().retain(|it| asked(ProtocolVersion::TLSv1_3, it.common.suite));
    it.kx_groups.to_mut().retain(|it| same(group(it.name()), &suite.group));
    if it.tls12_cipher_suites.is_empty() && it.tls13_cipher_suites.is_empty() {
        return Err("does not have this cipher".into());
    }
    if it.kx_groups.is_empty() {
        return Err("does not have this group".into());
    }
    Ok(Arc::new(it))
}

fn identity(suite: &Suite, name: &str) -> Result<Arc<Identity<'static>>, String> {
    Identity::from_cert_chain(certificates(suite, name)?).map(Arc::new).map_err(failed(name))
}

/// What a client and a server do not share.
pub trait End: SideData {
    type Config: Send + Sync;
    fn config(suite: &Suite) -> Result<Self::Config, String>;
    fn connection(config: &Arc<Self::Config>, output: &mut Vec<u8>) -> Result<Connection<Self, Tcp>, Error>;
}

impl End for ClientSide {
    type Config = ClientConfig;

    fn config(suite: &Suite) -> Result<ClientConfig, String> {
        let builder = ClientConfig::builder(offer(suite)?).with_root_certificates(roots(suite, "root.pem")?);
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

    fn connection(config: &Arc<ClientConfig>, output: &mut Vec<u8>) -> Result<Connection<Self, Tcp>, Error> {
        config.connect(ServerName::try_from(SERVER_NAME).expect("a DNS name")).build(output)
    }
}

impl End for ServerSide {
    type Config = ServerConfig;

    fn config(suite: &Suite) -> Result<ServerConfig, String> {
        let builder = ServerConfig::builder(offer(suite)?);
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
        let tickets = suite.tickets as usize;
        config.send_tls13_tickets = Tls13Tickets { default: tickets, max: tickets };
        if resumption::by_ticketer(suite) {
            config.ticketer = Some(CRYPTOGRAPHY.ticketer_factory.ticketer().map_err(failed("tickets"))?);
        }
        resumption::of_server(&mut config, suite);
        Ok(config)
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
        Ok((Arc::new(S::config(suite)?), &*suite.knobs == "best"))
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
