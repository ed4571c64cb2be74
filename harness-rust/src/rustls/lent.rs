//! A session whose connection is lent its buffers, call by call: any of rustls 0.24, and of 0.23 an unbuffered one.

use crate::{caller_buffers::Buffers, names};
use memtest_driver::{Negotiated, Session, Suite, Wire};
use rustls_pki_types::ServerName;

/// The limit of rustls' own buffer, before 0.24.
const WRITE_BYTES: usize = 64 * 1024;

/// What generations call differently, and a client and a server.
pub trait Lent: Sized + Send {
    type Context: Send + Sync;

    fn context_new(suite: &Suite) -> Result<Self::Context, String>;

    /// A client may put its hello into `output` already, or do so when it first processes.
    fn connection_new(context: &Self::Context, name: ServerName<'static>, output: &mut Vec<u8>)
        -> Result<Self, String>;

    /// Whether buffers without a byte in them are dropped after each call.
    fn saves(&self) -> bool;

    /// Takes what the input has, answers into the output, and gives data to `room`, which is then what is left of it.
    fn process(&mut self, buffers: &mut Buffers, room: &mut &mut [u8]) -> Result<(), String>;

    /// Encrypts all bytes into the output.
    fn write(&mut self, bytes: &[u8], buffers: &mut Buffers) -> Result<(), String>;

    fn is_handshaking(&self) -> bool;
    fn negotiated(&self) -> Negotiated<'_>;
}

pub struct Tls<L> {
    wire: Wire,
    connection: L,
    buffers: Buffers,
}

impl<L: Lent> Session for Tls<L> {
    type Context = L::Context;

    fn context_new(suite: &Suite) -> Result<Self::Context, String> {
        L::context_new(suite)
    }

    fn session_new(context: &Self::Context, wire: Wire) -> Result<Self, String> {
        let mut buffers = Buffers::default();
        let connection = L::connection_new(context, names::server(wire), &mut buffers.output)?;
        Ok(Self { wire, connection, buffers })
    }

    /// A client's hello is out before it first looks for an answer, or with the first look.
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
        self.connection.write(bytes, &mut self.buffers)?;
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

    fn negotiated(&self) -> Result<Negotiated<'_>, String> {
        Ok(self.connection.negotiated())
    }

    fn release(&mut self) {
        self.buffers.drop_empty();
    }
}

impl<L: Lent> Tls<L> {
    /// False when nothing is there. Data may go into `room`, which is then what is left of it.
    fn receive(&mut self, room: &mut &mut [u8]) -> Result<bool, String> {
        let any = self.buffers.fill(&mut self.wire)?;
        self.connection.process(&mut self.buffers, room)?;
        Ok(any)
    }

    fn save(&mut self) {
        if self.connection.saves() {
            self.buffers.drop_empty();
        }
    }
}
