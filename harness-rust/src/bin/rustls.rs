//! rustls, with the cryptography of aws-lc-rs or of ring. Built by the packages beside `src`, one per version of rustls.

#[cfg(feature = "jemalloc-rust")]
use memtest_driver::Mallctl;
use memtest_driver::{driver, Driver, Negotiated, Session, Suite, Wire, SERVER_NAME};
#[cfg(feature = "aws-lc")]
use rustls::crypto::aws_lc_rs as provider;
#[cfg(feature = "ring")]
use rustls::crypto::ring as provider;
use rustls::pki_types::ServerName;
use rustls::{client, server, ConnectionCommon, HandshakeKind, RootCertStore, SideData};
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection};
use rustls_suite::{certificates, cipher, failed, group, key, offer, protocol};
use std::io::{ErrorKind::WouldBlock, Read, Write};
use std::{ffi::CStr, ops::DerefMut, process::exit, sync::Arc};

#[cfg(not(any(feature = "aws-lc", feature = "ring")))]
compile_error!("choose the provider: --features aws-lc, or --features ring");
#[cfg(all(feature = "aws-lc", feature = "ring"))]
compile_error!("choose one provider: aws-lc, or ring");

mod rustls_suite;

/// For all that Rust allocates. The C inside the provider stays with malloc: two heaps.
#[cfg(feature = "jemalloc-rust")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

struct Rustls;

impl Driver for Rustls {
    const NAME: &'static CStr = c"rustls";
    const VERSION: &'static CStr = match CStr::from_bytes_with_nul(concat!(env!("REPORTED"), "\0").as_bytes()) {
        Ok(reported) => reported,
        Err(_) => panic!("a version with a zero in it"),
    };

    /// As it is in C, and not tikv-jemalloc-ctl: that crate wraps this function, has no way to call for a purge, and the
    /// core reads the books of a preloaded jemalloc by the same calls.
    #[cfg(feature = "jemalloc-rust")]
    const MALLCTL: Option<Mallctl> = Some(tikv_jemalloc_sys::mallctl);

    fn supports(suite: &Suite) -> Result<(), String> {
        offer(suite)?;
        match (&*suite.auth, &*suite.knobs, suite.store) {
            ("server", "default", false) => Ok(()),
            ("server", "default", true) => Err("store=on: with a store a rustls client would resume unasked".into()),
            ("server", knobs, _) => Err(format!("knobs={knobs}: set_buffer_limit caps rustls' buffers and frees none")),
            (auth, ..) => Err(format!("auth={auth}: not in this driver yet")),
        }
    }

    type Client = Tls<ClientConnection>;
    type Server = Tls<ServerConnection>;
}

/// What a client and a server do not share.
trait End: Sized + DerefMut<Target = ConnectionCommon<Self::Data>> {
    type Data: SideData;
    type Config;
    fn config(suite: &Suite) -> Result<Self::Config, String>;
    fn connection(config: Arc<Self::Config>) -> Result<Self, rustls::Error>;
}

impl End for ClientConnection {
    type Data = client::ClientConnectionData;
    type Config = ClientConfig;

    fn config(suite: &Suite) -> Result<ClientConfig, String> {
        let (provider, version) = offer(suite)?;
        let mut roots = RootCertStore::empty();
        for root in certificates(suite, "root.pem")? {
            roots.add(root).map_err(failed("root.pem"))?;
        }
        let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[version]);
        let mut config = builder.map_err(failed("client"))?.with_root_certificates(roots).with_no_client_auth();
        // By default there is a store, and every handshake here is to be a full one.
        config.resumption = client::Resumption::disabled();
        Ok(config)
    }

    fn connection(config: Arc<ClientConfig>) -> Result<Self, rustls::Error> {
        Self::new(config, ServerName::try_from(SERVER_NAME).expect("a DNS name"))
    }
}

impl End for ServerConnection {
    type Data = server::ServerConnectionData;
    type Config = ServerConfig;

    fn config(suite: &Suite) -> Result<ServerConfig, String> {
        let (provider, version) = offer(suite)?;
        let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[version]);
        let builder = builder.map_err(failed("server"))?.with_no_client_auth();
        let config = builder.with_single_cert(certificates(suite, "chain.pem")?, key(suite)?);
        let mut config = config.map_err(failed("chain.pem"))?;
        config.send_tls13_tickets = suite.tickets as usize;
        if suite.tickets > 0 {
            config.ticketer = provider::Ticketer::new().map_err(failed("tickets"))?;
        }
        config.session_storage = Arc::new(server::NoServerSessionStorage {});
        Ok(config)
    }

    fn connection(config: Arc<ServerConfig>) -> Result<Self, rustls::Error> {
        Self::new(config)
    }
}

struct Tls<E> {
    wire: Wire,
    connection: E,
}

impl<E: End> Session for Tls<E> {
    type Context = Arc<E::Config>;

    fn context_new(suite: &Suite) -> Result<Self::Context, String> {
        E::config(suite).map(Arc::new)
    }

    fn session_new(config: &Self::Context, wire: Wire) -> Result<Self, String> {
        let connection = E::connection(config.clone()).map_err(failed("session"))?;
        Ok(Self { wire, connection })
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

    fn negotiated(&self) -> Result<Negotiated, String> {
        let it = &self.connection;
        Ok(Negotiated {
            protocol: it.protocol_version().map(protocol).into(),
            cipher: it.negotiated_cipher_suite().map(|it| cipher(it.suite())).into(),
            group: it.negotiated_key_exchange_group().map(|it| group(it.name())).into(),
            resumed: it.handshake_kind() == Some(HandshakeKind::Resumed),
            // WebPKI is the only verifier here: no handshake is complete with a chain or name that it did not accept.
            peer_verified: !it.is_handshaking() && it.peer_certificates().is_some(),
        })
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
        self.connection.process_new_packets().map_err(|error| error.to_string())?;
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

fn main() {
    exit(driver::run::<Rustls>())
}
