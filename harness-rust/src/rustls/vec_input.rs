//! What rustls 0.24 has for a program to read into, in the same words, for unbuffered connections of 0.23.

use std::io::{self, Read};

/// As much as both take in one read.
const READ_BYTES: usize = 4096;

pub trait TlsInputBuffer {
    fn slice_mut(&mut self) -> &mut [u8];
    fn discard(&mut self, bytes: usize);
}

/// Bytes that arrived and are not taken yet.
#[derive(Default)]
pub struct VecInput(Vec<u8>);

impl VecInput {
    pub fn read(&mut self, from: &mut dyn Read) -> io::Result<usize> {
        let used = self.0.len();
        self.0.resize(used + READ_BYTES, 0);
        let read = from.read(&mut self.0[used..]);
        self.0.truncate(used + *read.as_ref().unwrap_or(&0));
        read
    }
}

impl TlsInputBuffer for VecInput {
    fn slice_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }

    fn discard(&mut self, bytes: usize) {
        self.0.drain(..bytes);
    }
}
