//! `memtest/driver.h` in Rust: a stack implements [`Driver`] and, for each role, [`Session`]; its `main` is
//! [`driver::run`]. Every `Err` is a sentence that ends the run with exit 1.

use std::ffi::{c_char, c_int, c_void, CStr};
use std::{convert::Infallible, io, marker::PhantomData, ptr};

#[allow(unsafe_code)] // the C side of this interface, and nowhere else
pub mod driver;
mod mirrors;

pub use driver::{ticket_received, Text, Wire};

/// One protocol configuration, as named in suites.toml. Names are OpenSSL's for ciphers and groups.
#[repr(C)] // driver.h's own, field by field, as is Negotiated
pub struct Suite {
    pub protocol: Text,
    pub cipher: Text,
    /// Just this one is a server's.
    pub group: Text,
    /// A client's in order of preference, with colons between, of which one is `group`: it sends a key share of the first
    /// alone. [`GROUPS_LIBRARY`]: what the library offers.
    pub client_groups: Text,
    /// Directory with `root.pem`, `chain.pem` (leaf first), `key.pem`; the leaf is for [`SERVER_NAME`]. Of clients, for
    /// `auth` "mutual": `client-root.pem`, `client-chain.pem`, `client-key.pem`.
    pub certs: Text,
    pub auth: Text,
    /// How many a server issues per connection, or [`TICKETS_LIBRARY`]; in TLS 1.2 there is one, or with 0 none.
    pub tickets: c_int,
    /// A server keeps its sessions: what it issues are their ids, in TLS 1.3 by `tickets`.
    pub store: bool,
    /// Clients offer what an earlier session got: ids with `store`, else tickets.
    pub resume: bool,
    /// "default"; "low-memory": the stack's documented ways to save memory; or "drop-peer-chain": its way for a server
    /// not to keep its clients' certificates.
    pub options: Text,
}

/// Of a suite's tickets: whatever the library does unless it is told otherwise.
pub const TICKETS_LIBRARY: c_int = -1;

/// Of a suite's client_groups: whatever a client does unless it is told otherwise.
pub const GROUPS_LIBRARY: &str = "library";

/// [`Wire::server_name`], but where a server has several.
pub const SERVER_NAME: &str = "localhost";

/// What one session agreed on.
#[repr(C)]
pub struct Negotiated<'a> {
    pub protocol: Name,
    pub cipher: Name,
    /// `None` when the library cannot tell: the server then had exactly one.
    pub group: Name,
    pub resumed: bool,
    /// The chain is verified up to the root in the store and, on a client, the host name matched.
    pub peer_verified: bool,
    pub peer: Peer<'a>,
}

/// Of the peer's own certificate something that no other has, until the session's next call; none when the library keeps
/// nothing of it. C reads the bytes where they are, so they must be the session's own: a copy of them would be gone.
///
/// ```compile_fail,E0515
/// use memtest_driver::Peer;
///
/// fn peer<'a>(certificate: &'a [u8]) -> Peer<'a> {
///     let copy = certificate.to_vec();
///     Some(copy.as_slice()).into()
/// }
/// ```
#[repr(C)]
pub struct Peer<'a> {
    bytes: *const u8,
    size: usize,
    owner: PhantomData<&'a [u8]>,
}

impl<'a> From<Option<&'a [u8]>> for Peer<'a> {
    fn from(certificate: Option<&'a [u8]>) -> Self {
        let (bytes, size) = certificate.map_or((ptr::null(), 0), |it| (it.as_ptr(), it.len()));
        Peer { bytes, size, owner: PhantomData }
    }
}

/// A static string or none, as C has it, so that asking what was negotiated costs no heap.
#[repr(transparent)]
pub struct Name(*const c_char);

impl From<Option<&'static CStr>> for Name {
    fn from(name: Option<&'static CStr>) -> Self {
        Name(name.map_or(ptr::null(), CStr::as_ptr))
    }
}

/// jemalloc's mallctl(3).
pub type Mallctl = unsafe extern "C" fn(*const c_char, *mut c_void, *mut usize, *mut c_void, usize) -> c_int;

/// A jemalloc that a stack brings along, as the core asks it.
pub struct Jemalloc {
    /// A statistic by the name that mallctl(3) has for it, as "stats.allocated"; "epoch" brings them up to date first.
    /// `None`: not a statistic, or it cannot be read.
    pub figure: fn(&CStr) -> Option<usize>,
    /// All that is not a statistic.
    pub mallctl: Mallctl,
}

/// A TLS stack.
pub trait Driver {
    const NAME: &'static CStr;
    /// The library's own version string.
    const VERSION: &'static CStr;
    /// The library can give back what an idle session may.
    const RELEASES: bool = false;
    /// A server can have certificates of several names.
    const NAMES: bool = false;
    /// Its clients can resume what an earlier session got, and tell of each ticket: [`ticket_received`].
    const RESUMES: bool = false;
    /// The jemalloc that the stack brings along: the core reads its statistics, and trims it.
    const JEMALLOC: Option<Jemalloc> = None;

    /// `Err`: this stack cannot do the suite, and why in a few words; the run then exits 77.
    fn supports(suite: &Suite) -> Result<(), String>;

    type Client: Session;
    type Server: Session;
    /// What sessions are where `options=low-memory`: the same types, if these save by a setting.
    type LowMemoryClient: Session;
    type LowMemoryServer: Session;
    /// [`Infallible`] where the library offers none.
    type Sealer: Sealer;
}

/// One end of a TLS connection: one thread's at a time. It never counts, prints, loops over sessions, or knows how many
/// there are.
pub trait Session: Sized + Send {
    /// What all sessions of a role share: keys, chain, store, settings. Made any number of times; of servers, several
    /// threads use one at once.
    type Context: Send + Sync;

    fn context_new(suite: &Suite) -> Result<Self::Context, String>;
    fn session_new(context: &Self::Context, wire: Wire) -> Result<Self, String>;

    /// Of a server, before its first session: it serves this name too, with `chain.pem` and `key.pem` of the suite's
    /// `certs`. Called only of a stack that has [`Driver::NAMES`].
    fn name_add(_context: &mut Self::Context, _name: &str, _suite: &Suite) -> Result<(), String> {
        Err("serves one name".into())
    }

    /// Of a client, before its first step: it offers what the complete session `from` of the same context got. Called
    /// only of a stack that [`Driver::RESUMES`]; where the library keeps that in the context, nothing is left to do.
    fn resume(&mut self, _from: &Self) -> Result<(), String> {
        Ok(())
    }

    /// ONE step: reads what arrived, processes it, writes the answer. True when the handshake is complete.
    /// A complete session reads what is there (tickets), writes nothing, and stays complete.
    fn handshake(&mut self) -> Result<bool, String>;

    /// Application data: bytes taken, bytes given; 0 is would block.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, String>;
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, String>;

    /// Asked of complete sessions only.
    fn negotiated(&self) -> Result<Negotiated<'_>, String>;

    /// Gives back what an idle session may: called only of a stack that [`Driver::RELEASES`].
    fn release(&mut self) {}
}

/// What a [`Sealer`] is asked for, alike of every stack: so equal are what they make of equal bytes.
pub const SEAL_NONCE_BYTES: usize = 12;
pub const SEAL_AAD_BYTES: usize = 13;
pub const SEAL_TAG_BYTES: usize = 16;

/// The library's own AEAD of a suite's cipher, called directly. Its key is the bytes 0, 1, 2, ...; the nonce is a
/// big-endian counter, which is 0 for the first record; the additional data are zeros.
pub trait Sealer: Sized {
    const EXISTS: bool = true;

    fn new(suite: &Suite) -> Result<Self, String>;

    /// Encrypts a record in place.
    fn seal(&mut self, bytes: &mut [u8], tag: &mut [u8; SEAL_TAG_BYTES]) -> Result<(), String>;
}

impl Sealer for Infallible {
    const EXISTS: bool = false;

    fn new(_: &Suite) -> Result<Self, String> {
        Err("offers no AEAD to call directly".into())
    }

    fn seal(&mut self, _: &mut [u8], _: &mut [u8; SEAL_TAG_BYTES]) -> Result<(), String> {
        match *self {}
    }
}

/// The nonce of the sealer's record `number`.
pub fn seal_nonce(number: u64) -> [u8; SEAL_NONCE_BYTES] {
    let mut nonce = [0; SEAL_NONCE_BYTES];
    nonce[SEAL_NONCE_BYTES - size_of::<u64>()..].copy_from_slice(&number.to_be_bytes());
    nonce
}

impl io::Read for Wire {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        or_would_block(Wire::read(*self, bytes))
    }
}

impl io::Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        or_would_block(Wire::write(*self, bytes))
    }

    /// All buffers in one call, as a socket's writev takes them, without gathering them in a buffer of the harness's.
    fn write_vectored(&mut self, buffers: &[io::IoSlice]) -> io::Result<usize> {
        let taken = |buffer: &io::IoSlice| Some(Wire::write(*self, buffer)).filter(|&size| size > 0);
        or_would_block(buffers.iter().filter(|buffer| !buffer.is_empty()).map_while(taken).sum())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn or_would_block(size: usize) -> io::Result<usize> {
    (size > 0).then_some(size).ok_or_else(|| io::ErrorKind::WouldBlock.into())
}
