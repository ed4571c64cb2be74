//! The core in Rust's terms, by hand: `driver::run` compares the sizes before it relies on them.

use crate::{Mallctl, Negotiated, Suite, Wire};
use std::ffi::{c_char, c_int, c_void};

/// `struct driver` of driver.h, field by field.
#[repr(C)]
pub struct CDriver {
    pub name: *const c_char,
    pub version: unsafe extern "C" fn() -> *const c_char,
    pub supports: unsafe extern "C" fn(&Suite) -> *const c_char,
    pub context_new: unsafe extern "C" fn(c_int, &Suite) -> *mut c_void,
    pub session_new: unsafe extern "C" fn(*mut c_void, Wire) -> *mut c_void,
    pub resume: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    pub handshake: unsafe extern "C" fn(*mut c_void) -> bool,
    pub write: unsafe extern "C" fn(*mut c_void, *const u8, usize) -> usize,
    pub read: unsafe extern "C" fn(*mut c_void, *mut u8, usize) -> usize,
    pub negotiated: unsafe extern "C" fn(*mut c_void, *mut Negotiated),
    pub release: Option<unsafe extern "C" fn(*mut c_void)>,
    pub session_free: unsafe extern "C" fn(*mut c_void),
    pub context_free: unsafe extern "C" fn(*mut c_void),
    pub sealer_new: Option<unsafe extern "C" fn(&Suite) -> *mut c_void>,
    pub seal: Option<unsafe extern "C" fn(*mut c_void, *mut u8, usize)>,
    pub sealer_free: Option<unsafe extern "C" fn(*mut c_void)>,
    pub mallctl: Option<Mallctl>,
}

extern "C" {
    pub static memtest_sizes: [usize; 3];
    pub fn wire_write(wire: *mut c_void, bytes: *const c_void, size: usize) -> usize;
    pub fn wire_read(wire: *mut c_void, bytes: *mut c_void, size: usize) -> usize;
    pub fn die(format: *const c_char, ...) -> !;
    pub fn memtest_main(argc: c_int, argv: *mut *mut c_char, driver: *const CDriver) -> c_int;
}
