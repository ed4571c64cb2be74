//! What the core gives a stack: strings, and ends of wires.

use super::fail;
use crate::mirrors::{wire_read, wire_server_name, wire_write};
use std::ffi::{c_char, c_void, CStr};
use std::ops::Deref;

/// A string of the core's.
#[repr(transparent)]
pub struct Text(*const c_char);

impl From<&'static CStr> for Text {
    fn from(text: &'static CStr) -> Self {
        Text(text.as_ptr())
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        // SAFETY: the core's strings are argv's and literals: they end in a zero, and stay.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().unwrap_or_else(|_| fail(format!("{text:?} is not UTF-8")))
    }
}

/// One end of a pair's in-memory connection.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Wire(*mut c_void);

// SAFETY: an end is its session's, which is one thread's at a time.
unsafe impl Send for Wire {}

impl Wire {
    /// Takes all bytes as one datagram, or none: returns their number, or 0 when the wire is full (would block).
    pub fn write(self, bytes: &[u8]) -> usize {
        // SAFETY: the wire is the core's, which outlives all sessions; the bytes are read only.
        unsafe { wire_write(self.0, bytes.as_ptr().cast(), bytes.len()) }
    }

    /// The name that a client at this end asks its server for, and verifies.
    pub fn server_name(self) -> Text {
        // SAFETY: as of write.
        Text(unsafe { wire_server_name(self.0) })
    }

    /// Gives up to `bytes.len()` bytes of what arrived, as a stream; 0 when nothing is there (would block).
    pub fn read(self, bytes: &mut [u8]) -> usize {
        // SAFETY: as of write; no more bytes than these are written.
        unsafe { wire_read(self.0, bytes.as_mut_ptr().cast(), bytes.len()) }
    }
}
