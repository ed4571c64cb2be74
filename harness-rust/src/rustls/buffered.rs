//! rustls before 0.24: a connection has its buffers inside. What one version says and another does not is in [`Told`].

use crate::{configs, files::failed, names, served::Served, Told};
use memtest_driver::{Negotiated, Session, Suite, Wire};
use rustls::{client, server, ClientConfig, ClientConnection, CommonState, ConnectionCommon, NamedGroup};
use rustls::{ServerConnection, SideData};
use std::io::{ErrorKind::WouldBlock, Read, Write};
use std::{ops::DerefMut, sync::Arc};

/// What a client and a server do not share.
pub trait End: Sized + Send + DerefMut<Target = ConnectionCommon<Self::Data>> {
    type Data: SideData;
    type Context: Send + Sync;
    fn context(suite: &Suite) -> Result<Self::Context, String>;
    fn name_add(context: &mut Self::Context, name: &str, suite: &Suite) -> Result<(), String>;
    fn connection(context: &Self::Context, wire: Wire) -> Result<Self, rustls::Error>;
}

impl End for ClientConnection {
    type Data = client::ClientConnectionData;
    type Context = Arc<ClientConfig>;

    fn context(suite: &Suite) -> Result<Self::Context, String> {
        configs::client(suite).map(Arc::new)
    }

    fn name_add(_: &mut Self::Context, _: &str, _: &Suite) -> Result<(), String> {
        Err("a client has no names".into())
    }

    fn connection(config: &Self::Context, wire: Wire) -> Result<Self, rustls::Error> {
        Self::new(config.clone(), names::server(wire))
    }
}

impl End for ServerConnection {
    type Data = server::ServerConnectionData;
    type Context = Served;

    fn context(suite: &Suite) -> Result<Served, String> {
        Served::new(suite)
    }

    fn name_add(context: &mut Served, name: &str, suite: &Suite) -> Result<(), String> {
        context.name_add(name, suite)
    }

    fn connection(context: &Served, _: Wire) -> Result<Self, rustls::Error> {
        Self::new(context.config())
    }
}

pub struct Tls<E> {
    wire: Wire,
    connection: Told<E>,
}

impl<E: End> Session for Tls<E> {
    type Context = E::Context;

    fn context_new(suite: &Suite) -> Result<Self::Context, String> {
        E::context(suite)
    }

    fn name_add(context: &mut Self::Context, name: &str, suite: &Suite) -> Result<(), String> {
        E::name_add(context, name, suite)
    }

    fn session_new(context: &Self::Context, wire: Wire) -> Result<Self, String> {
        let mut connection = E::connection(context, wire).map_err(failed("session"))?;
        if cfg!(feature = "unlimited") {
            connection.set_buffer_limit(None);
        }
        Ok(Self { wire, connection: Told::from(connection) })
    }

    /// In the order of rustls' own `complete_io`: a client's hello is out before it first looks for an answer.
    fn handshake(&mut self) -> Result<bool, String> {
        self.send()?;
        while self.receive()? {}
        self.send()?;
        Ok(!self.connection.is_handshaking())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, String> {
        let taken = self.connection.writer().write(bytes).map_err(failed("write"))?;
        self.send()?;
        Ok(taken)
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, String> {
        loop {
            match self.connection.reader().read(bytes) {
                Err(error) if error.kind() == WouldBlock => {}
                given => return given.map_err(failed("read")),
            }
            if !self.receive()? {
                return Ok(0);
            }
        }
    }

    fn negotiated(&self) -> Result<Negotiated<'_>, String> {
        Ok(negotiated(&self.connection, self.connection.group(), self.connection.resumed()))
    }
}

/// What any connection of these generations tells of itself, with what one of them does not tell.
pub fn negotiated(it: &CommonState, group: Option<NamedGroup>, resumed: bool) -> Negotiated<'_> {
    Negotiated {
        protocol: it.protocol_version().map(names::protocol).into(),
        cipher: it.negotiated_cipher_suite().map(|it| names::cipher(it.suite())).into(),
        group: group.map(names::group).into(),
        resumed,
        // WebPKI is the only verifier here: no handshake is complete with a chain or name that it did not accept.
        peer_verified: !it.is_handshaking() && it.peer_certificates().is_some(),
        peer: it.peer_certificates().and_then(|chain| chain.first()).map(AsRef::as_ref).into(),
    }
}

impl<E: End> Tls<E> {
    /// False when nothing is there.
    fn receive(&mut self) -> Result<bool, String> {
        match self.connection.read_tls(&mut self.wire) {
            Err(error) if error.kind() == WouldBlock => return Ok(false),
            Ok(0) => return Ok(false), // the peer has closed
            read => read.map_err(failed("read"))?,
        };
        self.connection.process().map_err(|error| error.to_string())?;
        Ok(true)
    }

    /// What the wire has no room for stays in rustls' buffer.
    fn send(&mut self) -> Result<(), String> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut self.wire) {
                Err(error) if error.kind() == WouldBlock => break,
                sent => sent.map_err(failed("write"))?,
            };
        }
        Ok(())
    }
}
