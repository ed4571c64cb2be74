//! Two unbuffered connections, whose bytes arrive in pieces of any size, with nothing of a record left in between.

use crate::caller_buffers::Buffers;
use crate::lent::Lent;
use crate::{LowMemoryClient, LowMemoryServer, TlsInputBuffer};
use memtest_driver::{Session, Suite};
use rustls::{client::UnbufferedClientConnection, server::UnbufferedServerConnection};
use std::ffi::CStr;

const CERTS: &CStr = match CStr::from_bytes_with_nul(
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../memtest/certs/rsa-2048\0").as_bytes(),
) {
    Ok(path) => path,
    Err(_) => panic!("a path with a zero in it"),
};
const SUITES: [(&CStr, &CStr); 2] =
    [(c"TLSv1.2", c"ECDHE-RSA-AES256-GCM-SHA384"), (c"TLSv1.3", c"TLS_AES_256_GCM_SHA384")];
const PIECES: [usize; 4] = [1, 5, 4095, 100_000];
const STEPS: usize = 3;

fn suite((protocol, cipher): (&'static CStr, &'static CStr)) -> Suite {
    Suite {
        protocol: protocol.into(),
        cipher: cipher.into(),
        group: c"X25519".into(),
        client_groups: c"X25519".into(),
        certs: CERTS.into(),
        auth: c"mutual".into(),
        tickets: 2,
        store: false,
        resume: true,
        options: c"low-memory".into(),
    }
}

struct End<L> {
    connection: L,
    buffers: Buffers,
}

impl<L: Lent> End<L> {
    fn new(context: &L::Context) -> Self {
        let mut buffers = Buffers::default();
        Self {
            connection: L::connection_new(context, "localhost".try_into().unwrap(), &mut buffers.output).unwrap(),
            buffers,
        }
    }

    fn process(&mut self) {
        self.connection.process(&mut self.buffers, &mut Default::default()).unwrap();
    }

    /// What the other end is to send arrives in pieces of `size` bytes.
    fn receive<M: Lent>(&mut self, from: &mut End<M>, size: usize) {
        from.process();
        for piece in std::mem::take(&mut from.buffers.output).chunks(size) {
            let mut rest = piece;
            while !rest.is_empty() {
                self.buffers.input.read(&mut rest).unwrap();
            }
            self.process();
        }
    }

    fn take(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; 100_000];
        let size = self.buffers.take(&mut bytes);
        bytes.truncate(size);
        bytes
    }
}

type Pair = (End<UnbufferedClientConnection>, End<UnbufferedServerConnection>);

fn established(suite: &Suite, piece: usize) -> Pair {
    let mut client = End::<UnbufferedClientConnection>::new(&LowMemoryClient::context_new(suite).unwrap());
    let mut server = End::<UnbufferedServerConnection>::new(&LowMemoryServer::context_new(suite).unwrap());
    for _ in 0..STEPS {
        server.receive(&mut client, piece);
        client.receive(&mut server, piece);
    }
    assert!(!client.connection.is_handshaking() && !server.connection.is_handshaking());
    (client, server)
}

#[test]
fn both_verify_each_other_however_the_bytes_arrive() {
    for names in SUITES {
        for piece in PIECES {
            let (client, server) = established(&suite(names), piece);
            assert!(client.connection.negotiated().peer_verified, "{names:?}, {piece}");
            assert!(server.connection.negotiated().peer_verified, "{names:?}, {piece}");
        }
    }
}

/// Three records, the last of them short.
#[test]
fn data_arrives_as_it_was_written() {
    let sent: Vec<u8> = (0..40_000_u32).map(|number| number as u8).collect();
    for names in SUITES {
        for piece in PIECES {
            let (mut client, mut server) = established(&suite(names), piece);
            client.connection.write(&sent, &mut client.buffers).unwrap();
            server.receive(&mut client, piece);
            assert_eq!(server.take(), sent, "{names:?}, {piece}");
            server.connection.write(&sent[1..], &mut server.buffers).unwrap();
            client.receive(&mut server, piece);
            assert_eq!(client.take(), sent[1..], "{names:?}, {piece}");
        }
    }
}

/// Of a record that arrived in part those bytes wait, and of one that is complete none.
#[test]
fn only_a_record_that_is_incomplete_waits() {
    for names in SUITES {
        let (mut client, mut server) = established(&suite(names), PIECES[0]);
        client.connection.write(&[7; 1024], &mut client.buffers).unwrap();
        let record = std::mem::take(&mut client.buffers.output);
        let (first, last) = record.split_at(1000);
        for (mut part, waiting) in [(first, 1000), (last, 0)] {
            server.buffers.input.read(&mut part).unwrap();
            server.process();
            assert_eq!(server.buffers.input.slice_mut().len(), waiting, "{names:?}");
        }
        assert_eq!(server.take(), [7; 1024], "{names:?}");
    }
}

#[test]
fn nothing_is_written_before_the_handshake_is_complete() {
    let mut client = End::<UnbufferedClientConnection>::new(&LowMemoryClient::context_new(&suite(SUITES[1])).unwrap());
    let error = client.connection.write(&[7], &mut client.buffers).unwrap_err();
    assert!(error.contains("WriteTraffic"), "{error}");
}

/// A record that was changed on the way ends the session with rustls' own words.
#[test]
fn a_changed_record_is_refused() {
    for names in SUITES {
        let (mut client, mut server) = established(&suite(names), PIECES[3]);
        client.connection.write(&[7; 1024], &mut client.buffers).unwrap();
        *client.buffers.output.last_mut().unwrap() ^= 1;
        server.buffers.input.read(&mut &client.buffers.output[..]).unwrap();
        let error = server.connection.process(&mut server.buffers, &mut Default::default()).unwrap_err();
        assert!(error.contains("decrypt"), "{error}");
    }
}
