//! The null stack: no TLS. Its sessions send flights of known lengths and cost known bytes, so every meter can be
//! proved on it: three blocks of 40, 1,000 and 3,032 bytes, all of them written, and nothing more in any step.

use memtest_driver::{driver, Driver, Negotiated, Session, Suite, Wire};
use std::{array, convert::Infallible, ffi::CStr, process::exit};

/// Client, server, client: flight k answers flight k - 1.
const FLIGHTS: [usize; 3] = [1500, 8000, 100];
const LONGEST: usize = 8000;

struct Null;

impl Driver for Null {
    const NAME: &'static CStr = c"null";
    const VERSION: &'static CStr = c"null 1 (no TLS: three blocks of 40, 1,000 and 3,032 bytes a session)";

    fn supports(suite: &Suite) -> Result<(), String> {
        match &*suite.protocol {
            "none" => Ok(()),
            _ => Err("has no TLS; its suite is \"none\"".into()),
        }
    }

    type Client = Pretender<0>;
    type Server = Pretender<1>;
    type LowMemoryClient = Self::Client;
    type LowMemoryServer = Self::Server;
    type Sealer = Infallible;
}

/// A session that takes the turns `FIRST`, `FIRST + 2`, ... With the adapter's tag, 40 bytes.
struct Pretender<const FIRST: usize> {
    wire: Wire,
    step: usize,
    _keys: Box<[u8; 1000]>,
    _buffers: Box<[u8; 3032]>,
}

const _: () = assert!(size_of::<driver::Tagged<Pretender<0>>>() == 40);

impl<const FIRST: usize> Session for Pretender<FIRST> {
    type Context = ();

    fn context_new(_: &Suite) -> Result<(), String> {
        Ok(())
    }

    fn session_new(_: &(), wire: Wire) -> Result<Self, String> {
        Ok(Self { wire, step: 0, _keys: Box::new([1; 1000]), _buffers: Box::new([2; 3032]) })
    }

    fn handshake(&mut self) -> Result<bool, String> {
        let turn = FIRST + 2 * self.step;
        if turn > FLIGHTS.len() {
            return Ok(true);
        }
        if turn > 0 && !self.receive(FLIGHTS[turn - 1])? {
            return Ok(false);
        }
        if let Some(&length) = FLIGHTS.get(turn) {
            self.send(length)?;
        }
        self.step += 1;
        Ok(turn + 2 > FLIGHTS.len())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, String> {
        Ok(self.wire.write(bytes))
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, String> {
        Ok(self.wire.read(bytes))
    }

    fn negotiated(&self) -> Result<Negotiated<'_>, String> {
        let none = || Some(c"none").into();
        let names = (none(), none(), none());
        let (protocol, cipher, group) = names;
        Ok(Negotiated { protocol, cipher, group, resumed: false, peer_verified: false, peer: None.into() })
    }
}

impl<const FIRST: usize> Pretender<FIRST> {
    /// True when a whole flight was there.
    fn receive(&self, length: usize) -> Result<bool, String> {
        let mut flight = [0; LONGEST + 1];
        let arrived = self.wire.read(&mut flight);
        if arrived != 0 && arrived != length {
            return Err(format!("a flight of {arrived} bytes, {length} were sent"));
        }
        match (0..arrived).find(|&i| flight[i] != i as u8) {
            Some(i) => Err(format!("byte {i} of a flight of {length} is wrong")),
            None => Ok(arrived > 0),
        }
    }

    fn send(&self, length: usize) -> Result<(), String> {
        let flight: [u8; LONGEST] = array::from_fn(|i| i as u8);
        match self.wire.write(&flight[..length]) {
            0 => Err("the wire is full".into()),
            _ => Ok(()),
        }
    }
}

fn main() {
    exit(driver::run::<Null>())
}
