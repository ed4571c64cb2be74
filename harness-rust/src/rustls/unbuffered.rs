//! Unbuffered connections of rustls 0.23: they say what is to be done next, and keep no bytes for their caller.

use crate::buffered;
use crate::caller_buffers::Buffers;
use crate::files::failed;
use crate::lent::Lent;
use crate::{configs, is_resumed, negotiated_group, TlsInputBuffer};
use memtest_driver::{Negotiated, Suite};
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, InsufficientSizeError};
use rustls::unbuffered::{UnbufferedConnectionCommon, UnbufferedStatus};
use rustls::{ClientConfig, Error, ServerConfig};
use rustls_pki_types::ServerName;
use std::fmt::Display;
use std::{ops::DerefMut, sync::Arc};

/// What a client and a server do not share.
pub trait End: Sized + Send + DerefMut<Target = UnbufferedConnectionCommon<Self::Data>> {
    type Data;
    type Config: Send + Sync;
    fn config(suite: &Suite) -> Result<Self::Config, String>;
    fn connection(config: Arc<Self::Config>, name: ServerName<'static>) -> Result<Self, Error>;
    fn status<'c, 'i>(&'c mut self, input: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data>;
}

impl End for UnbufferedClientConnection {
    type Data = ClientConnectionData;
    type Config = ClientConfig;

    fn config(suite: &Suite) -> Result<ClientConfig, String> {
        configs::client(suite)
    }

    fn connection(config: Arc<ClientConfig>, name: ServerName<'static>) -> Result<Self, Error> {
        Self::new(config, name)
    }

    fn status<'c, 'i>(&'c mut self, input: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(input)
    }
}

impl End for UnbufferedServerConnection {
    type Data = ServerConnectionData;
    type Config = ServerConfig;

    fn config(suite: &Suite) -> Result<ServerConfig, String> {
        configs::server(suite)
    }

    fn connection(config: Arc<ServerConfig>, _: ServerName<'static>) -> Result<Self, Error> {
        Self::new(config)
    }

    fn status<'c, 'i>(&'c mut self, input: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(input)
    }
}

impl<E: End> Lent for E {
    type Context = Arc<E::Config>;

    fn context_new(suite: &Suite) -> Result<Self::Context, String> {
        E::config(suite).map(Arc::new)
    }

    fn connection_new(config: &Self::Context, name: ServerName<'static>, _: &mut Vec<u8>) -> Result<Self, String> {
        E::connection(config.clone(), name).map_err(failed("session"))
    }

    fn saves(&self) -> bool {
        true
    }

    fn process(&mut self, buffers: &mut Buffers, room: &mut &mut [u8]) -> Result<(), String> {
        step(self, buffers, room, &[]).map(drop)
    }

    fn write(&mut self, bytes: &[u8], buffers: &mut Buffers) -> Result<(), String> {
        match step(self, buffers, &mut Default::default(), bytes)? {
            true => Ok(()),
            false => Err("write: the connection is not in WriteTraffic".into()),
        }
    }

    fn is_handshaking(&self) -> bool {
        (**self).is_handshaking()
    }

    fn negotiated(&self) -> Negotiated<'_> {
        buffered::negotiated(self, negotiated_group(self), is_resumed(self))
    }
}

/// Does what the connection says until it waits for its peer or for its caller: in WriteTraffic it gives `bytes` to it, and
/// returns true.
fn step<E: End>(connection: &mut E, buffers: &mut Buffers, room: &mut &mut [u8], bytes: &[u8]) -> Result<bool, String> {
    loop {
        let (input, output, plaintext) = buffers.parts();
        let UnbufferedStatus { mut discard, state, .. } = connection.status(input.slice_mut());
        let mut waits = None;
        match state.map_err(|error| error.to_string())? {
            ConnectionState::EncodeTlsData(mut it) => append(output, |room| it.encode(room))?,
            ConnectionState::TransmitTlsData(it) => it.done(), // it leaves with the next send, and in order
            ConnectionState::ReadTraffic(mut it) => {
                while let Some(record) = it.next_record() {
                    let record = record.map_err(|error| error.to_string())?;
                    discard += record.discard;
                    Buffers::give(record.payload, room, plaintext);
                }
            }
            ConnectionState::WriteTraffic(mut it) => {
                if !bytes.is_empty() {
                    append(output, |room| it.encrypt(bytes, room))?;
                }
                waits = Some(true);
            }
            _ => waits = Some(false), // blocked, or closed
        }
        input.discard(discard);
        if let Some(can_write) = waits {
            return Ok(can_write);
        }
    }
}

/// Makes as much room as is asked for behind what is there already.
#[inline(never)]
fn append<E: RoomError>(
    output: &mut Vec<u8>,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, E>,
) -> Result<(), String> {
    let used = output.len();
    loop {
        match write(&mut output[used..]).map_err(E::required_room) {
            Ok(written) => {
                output.truncate(used + written);
                return Ok(());
            }
            Err(Ok(required)) => output.resize(used + required, 0),
            Err(Err(error)) => return Err(error),
        }
    }
}

/// An error that may be nothing but too little room.
trait RoomError: Display + Sized {
    /// How many bytes are required, else what is wrong.
    fn required_room(self) -> Result<usize, String>;
}

impl RoomError for EncodeError {
    fn required_room(self) -> Result<usize, String> {
        match self {
            Self::InsufficientSize(InsufficientSizeError { required_size }) => Ok(required_size),
            error => Err(error.to_string()),
        }
    }
}

impl RoomError for EncryptError {
    fn required_room(self) -> Result<usize, String> {
        match self {
            Self::InsufficientSize(InsufficientSizeError { required_size }) => Ok(required_size),
            error => Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
