//! What a program keeps for a connection where rustls keeps no buffers itself, as of 0.24 and unbuffered ones of 0.23: bytes
//! that arrived, bytes that are to leave, and data not yet taken. They are the session's, and named so in its call stacks.
//!
//! They are kept as the example on the first page of 0.24 keeps them: made empty, drained, and as long as the connection. An
//! input buffer is then what one read takes, and the output buffer as large as the largest flight. A program may as well
//! drop one that is empty, as no call needs it to be the same: between its records where options=low-memory, when idle else.

use crate::files::failed;
use crate::{TlsInputBuffer, VecInput};
use memtest_driver::Wire;
use std::io::{ErrorKind::WouldBlock, Write};
use std::mem;

/// The most that a record holds.
const RECORD_BYTES: usize = 16_384;

#[derive(Default)]
pub struct Buffers {
    pub input: VecInput,
    pub output: Vec<u8>,
    plaintext: Vec<u8>,
}

impl Buffers {
    /// False when nothing is there.
    #[inline(never)]
    pub fn fill(&mut self, wire: &mut Wire) -> Result<bool, String> {
        match self.input.read(wire) {
            Err(error) if error.kind() == WouldBlock => Ok(false),
            read => Ok(read.map_err(failed("read"))? > 0),
        }
    }

    /// Into `room`, from which it cuts what it takes, where a whole record is sure to fit and nothing is kept that came
    /// before: else it is copied twice. Not a method of the whole: the data may lie in the input.
    pub fn give(bytes: &[u8], room: &mut &mut [u8], plaintext: &mut Vec<u8>) {
        if room.len() < RECORD_BYTES || !plaintext.is_empty() {
            return Self::keep(plaintext, bytes);
        }
        let (taken, rest) = mem::take(room).split_at_mut(bytes.len());
        taken.copy_from_slice(bytes);
        *room = rest;
    }

    #[inline(never)]
    fn keep(plaintext: &mut Vec<u8>, bytes: &[u8]) {
        plaintext.extend_from_slice(bytes);
    }

    pub fn parts(&mut self) -> (&mut VecInput, &mut Vec<u8>, &mut Vec<u8>) {
        (&mut self.input, &mut self.output, &mut self.plaintext)
    }

    /// As much as was kept and as there is room for.
    pub fn take(&mut self, bytes: &mut [u8]) -> usize {
        let size = bytes.len().min(self.plaintext.len());
        bytes[..size].copy_from_slice(&self.plaintext[..size]);
        self.plaintext.drain(..size);
        size
    }

    /// What the wire has no room for stays.
    pub fn send(&mut self, wire: &mut Wire) -> Result<(), String> {
        while !self.output.is_empty() {
            match wire.write(&self.output) {
                Err(error) if error.kind() == WouldBlock => break,
                sent => self.output.drain(..sent.map_err(failed("write"))?),
            };
        }
        Ok(())
    }

    /// Those without a byte in them.
    pub fn drop_empty(&mut self) {
        if self.input.slice_mut().is_empty() {
            self.input = VecInput::default();
        }
        for buffer in [&mut self.output, &mut self.plaintext] {
            if buffer.is_empty() {
                *buffer = Vec::new();
            }
        }
    }
}
