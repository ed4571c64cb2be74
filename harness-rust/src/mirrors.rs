//! The core in Rust's terms, by hand: `driver::run` compares where all fields are before it relies on them.

use crate::{Mallctl, Negotiated, Suite, Text, Wire};
use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;

/// `struct driver` of driver.h, field by field.
#[repr(C)]
pub struct CDriver {
    pub name: *const c_char,
    pub version: unsafe extern "C" fn() -> *const c_char,
    pub supports: unsafe extern "C" fn(&Suite) -> *const c_char,
    pub context_new: unsafe extern "C" fn(c_int, &Suite) -> *mut c_void,
    pub session_new: unsafe extern "C" fn(*mut c_void, Wire) -> *mut c_void,
    pub name_add: Option<unsafe extern "C" fn(*mut c_void, Text, &Suite)>,
    pub resume: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    pub tickets: Option<unsafe extern "C" fn() -> usize>,
    pub handshake: unsafe extern "C" fn(*mut c_void) -> bool,
    pub write: unsafe extern "C" fn(*mut c_void, *const u8, usize) -> usize,
    pub read: unsafe extern "C" fn(*mut c_void, *mut u8, usize) -> usize,
    pub negotiated: unsafe extern "C" fn(*mut c_void, *mut Negotiated<'_>),
    pub release: Option<unsafe extern "C" fn(*mut c_void)>,
    pub session_free: unsafe extern "C" fn(*mut c_void),
    pub context_free: unsafe extern "C" fn(*mut c_void),
    pub sealer_new: Option<unsafe extern "C" fn(&Suite) -> *mut c_void>,
    pub seal: Option<unsafe extern "C" fn(*mut c_void, *mut u8, usize)>,
    pub sealer_free: Option<unsafe extern "C" fn(*mut c_void)>,
    pub mallctl: Option<Mallctl>,
}

macro_rules! layout {
    ($($mirror:ident as $name:literal { $($field:ident),* })*) => {
        /// The size of each mirror, and where each field is in it, by the names and in the order of memtest/layout.c.
        pub const LAYOUT: &[(&str, usize)] = &[$(
            ($name, size_of::<$mirror>()),
            $((concat!($name, ".", stringify!($field)), offset_of!($mirror, $field)),)*
        )*];
        $(const _: fn($mirror) = |$mirror { $($field: _),* }| (); /* a field that is left out does not compile */)*
    };
}

layout! {
    CDriver as "driver" {
        name, version, supports, context_new, session_new, name_add, resume, tickets, handshake, write, read,
        negotiated, release, session_free, context_free, sealer_new, seal, sealer_free, mallctl
    }
    Suite as "suite" { protocol, cipher, group, client_groups, certs, auth, tickets, store, resume, options }
    Negotiated as "negotiated" { protocol, cipher, group, resumed, peer_verified, peer }
}

/// `struct memtest_place` of driver.h.
#[repr(C)]
pub struct Place {
    pub name: *const c_char,
    pub bytes: usize,
}

extern "C" {
    /// The first of many; the last has no name.
    pub static memtest_layout: Place;
    pub fn wire_write(wire: *mut c_void, bytes: *const c_void, size: usize) -> usize;
    pub fn wire_read(wire: *mut c_void, bytes: *mut c_void, size: usize) -> usize;
    pub fn wire_server_name(wire: *mut c_void) -> *const c_char;
    pub fn die(format: *const c_char, ...) -> !;
    pub fn memtest_main(argc: c_int, argv: *mut *mut c_char, driver: *const CDriver) -> c_int;
}
