//! The one adapter between the core and the traits of this crate: with the files in `driver/`, the only unsafe Rust of the
//! project.
//!
//! It allocates the block that C holds of a context or a session, inside of the calls that make them, and else nothing:
//! every other byte that the heap meter sees is the stack's.

use crate::mirrors::{die, memtest_main, CDriver};
use crate::{Driver, Negotiated, Sealer, Session, Suite, SEAL_TAG_BYTES};
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering::Relaxed};
use std::{marker::PhantomData, panic, ptr, slice};

mod given;
mod layout;

pub use given::{Text, Wire};

/// The program: exit status 0 measured, 1 failed, 2 usage, 77 unsupported.
pub fn run<D: Driver>() -> i32 {
    panic::set_hook(Box::new(|panic| fail(panic.to_string().replace('\n', " "))));
    if let Some(difference) = layout::difference() {
        // Not by fail(): the core does not know yet whose failure it is.
        eprintln!("memtest: {}: memtest/driver.h and its mirrors in Rust: {difference}", D::NAME.to_string_lossy());
        return 1;
    }
    // SAFETY: argc and argv are the process's own, and the table lives as long.
    unsafe { memtest_main(ARGC.load(Relaxed), ARGV.load(Relaxed), &Adapter::<D>::TABLE) }
}

/// glibc gives argc and argv to each function in .init_array (std relies on it too): so they need no copy in the heap.
#[used]
#[link_section = ".init_array"]
static KEEP_ARGUMENTS: extern "C" fn(c_int, *mut *mut c_char) = keep_arguments;
static ARGC: AtomicI32 = AtomicI32::new(0);
static ARGV: AtomicPtr<*mut c_char> = AtomicPtr::new(ptr::null_mut());

extern "C" fn keep_arguments(argc: c_int, argv: *mut *mut c_char) {
    ARGC.store(argc, Relaxed);
    ARGV.store(argv, Relaxed);
}

static TICKETS: AtomicUsize = AtomicUsize::new(0);

/// A client of this process received a ticket.
pub fn ticket_received() {
    TICKETS.fetch_add(1, Relaxed);
}

/// What C holds of a context or a session: exactly one block, whose first word names the driver's type of that session.
/// Not an enum of all four, or every session would be as large as the largest.
#[repr(C)]
pub struct Tagged<T> {
    kind: Kind,
    value: T,
}

#[derive(Clone, Copy)]
#[repr(usize)]
enum Kind {
    Client,
    Server,
    LowMemoryClient,
    LowMemoryServer,
}

impl Kind {
    fn new(role: c_int, suite: &Suite) -> Self {
        match (role, &*suite.options) {
            (0, "low-memory") => Self::LowMemoryClient,
            (0, _) => Self::Client,
            (_, "low-memory") => Self::LowMemoryServer,
            _ => Self::Server,
        }
    }
}

fn tagged<T>(kind: Kind, value: Result<T, String>) -> *mut c_void {
    Box::into_raw(Box::new(Tagged { kind, value: or_fail(value) })).cast()
}

/// The kind of a block behind a pointer from C.
///
/// # Safety
/// The pointer is of `tagged`, and not freed.
unsafe fn kind_of(pointer: *mut c_void) -> Kind {
    // SAFETY: the first word of a Tagged of whatever type, which is repr(C).
    unsafe { *pointer.cast::<Kind>() }
}

/// The value in a block behind a pointer from C.
///
/// # Safety
/// The pointer is of `tagged` with a `T`, and not freed; as driver.h has it, no other thread has this block meanwhile.
unsafe fn value_of<'a, T>(pointer: *mut c_void) -> &'a mut T {
    // SAFETY: as the caller says.
    unsafe { &mut (*pointer.cast::<Tagged<T>>()).value }
}

/// The same of a context, which several threads may use at once.
///
/// # Safety
/// As of `value_of`; a context is not changed until it is freed.
unsafe fn shared_value_of<'a, T>(pointer: *mut c_void) -> &'a T {
    // SAFETY: as the caller says.
    unsafe { &(*pointer.cast::<Tagged<T>>()).value }
}

/// # Safety
/// As of `value_of`; it is the last time that the pointer is used.
unsafe fn free<T>(pointer: *mut c_void) {
    // SAFETY: `tagged` made it of a Box of this type.
    drop(unsafe { Box::from_raw(pointer.cast::<Tagged<T>>()) });
}

/// Expands a macro with the driver's type of a kind: with `Client` where the kind is `Kind::Client`, and so on.
macro_rules! by_kind {
    ($kind:expr, $expand:ident) => {
        match $kind {
            Kind::Client => $expand!(Client),
            Kind::Server => $expand!(Server),
            Kind::LowMemoryClient => $expand!(LowMemoryClient),
            Kind::LowMemoryServer => $expand!(LowMemoryServer),
        }
    };
}

/// Gives an expression the value of a session behind a pointer from C, as the type that its kind has.
macro_rules! with {
    ($pointer:ident, $value:ident => $expression:expr) => {{
        macro_rules! expand {
            ($name:ident) => {{
                // SAFETY: a session of session_new, which the core gives to one thread at a time, and until session_free;
                // its kind is its type's.
                let $value = unsafe { value_of::<D::$name>($pointer) };
                $expression
            }};
        }
        // SAFETY: as above.
        by_kind!(unsafe { kind_of($pointer) }, expand)
    }};
}

struct Adapter<D>(PhantomData<D>);

impl<D: Driver> Adapter<D> {
    const TABLE: CDriver = CDriver {
        name: D::NAME.as_ptr(),
        version: Self::version,
        supports: Self::supports,
        context_new: Self::context_new,
        session_new: Self::session_new,
        name_add: if D::NAMES { Some(Self::name_add) } else { None },
        resume: if D::RESUMES { Some(Self::resume) } else { None },
        tickets: if D::RESUMES { Some(Self::tickets) } else { None },
        handshake: Self::handshake,
        write: Self::write,
        read: Self::read,
        negotiated: Self::negotiated,
        release: if D::RELEASES { Some(Self::release) } else { None },
        session_free: Self::session_free,
        context_free: Self::context_free,
        sealer_new: if D::Sealer::EXISTS { Some(Self::sealer_new) } else { None },
        seal: if D::Sealer::EXISTS { Some(Self::seal) } else { None },
        sealer_free: if D::Sealer::EXISTS { Some(Self::sealer_free) } else { None },
        mallctl: if D::JEMALLOC.is_some() { Some(Self::mallctl) } else { None },
    };

    unsafe extern "C" fn version() -> *const c_char {
        D::VERSION.as_ptr()
    }

    unsafe extern "C" fn supports(suite: &Suite) -> *const c_char {
        D::supports(suite).map_or_else(|reason| c_string(reason).into_raw(), |()| ptr::null_mut())
    }

    unsafe extern "C" fn context_new(role: c_int, suite: &Suite) -> *mut c_void {
        macro_rules! new {
            ($name:ident) => {
                tagged(Kind::$name, D::$name::context_new(suite))
            };
        }
        by_kind!(Kind::new(role, suite), new)
    }

    unsafe extern "C" fn session_new(context: *mut c_void, wire: Wire) -> *mut c_void {
        macro_rules! new {
            ($name:ident) => {{
                // SAFETY: of context_new, and not freed before its sessions; its kind is its type's.
                let context = unsafe { shared_value_of::<Context<D::$name>>(context) };
                tagged(Kind::$name, D::$name::session_new(context, wire))
            }};
        }
        // SAFETY: as above.
        by_kind!(unsafe { kind_of(context) }, new)
    }

    unsafe extern "C" fn name_add(context: *mut c_void, name: Text, suite: &Suite) {
        macro_rules! add {
            ($name:ident) => {
                // SAFETY: of context_new, which has no session yet; its kind is its type's.
                D::$name::name_add(unsafe { value_of::<Context<D::$name>>(context) }, &name, suite)
            };
        }
        // SAFETY: as above.
        or_fail(by_kind!(unsafe { kind_of(context) }, add));
    }

    unsafe extern "C" fn resume(session: *mut c_void, from: *mut c_void) {
        macro_rules! resume {
            ($name:ident) => {{
                // SAFETY: two clients of session_new of one context, both this thread's, and not the same one.
                let (session, from) = unsafe { (value_of::<D::$name>(session), shared_value_of::<D::$name>(from)) };
                session.resume(from)
            }};
        }
        // SAFETY: as above.
        or_fail(by_kind!(unsafe { kind_of(session) }, resume));
    }

    unsafe extern "C" fn tickets() -> usize {
        TICKETS.load(Relaxed)
    }

    unsafe extern "C" fn handshake(session: *mut c_void) -> bool {
        or_fail(with!(session, it => it.handshake()))
    }

    unsafe extern "C" fn write(session: *mut c_void, bytes: *const u8, size: usize) -> usize {
        // SAFETY: the core's own buffer, which it does not change meanwhile.
        let bytes = unsafe { slice::from_raw_parts(bytes, size) };
        or_fail(with!(session, it => it.write(bytes)))
    }

    unsafe extern "C" fn read(session: *mut c_void, bytes: *mut u8, size: usize) -> usize {
        // SAFETY: the core's own buffer, which was written before, and which it does not touch meanwhile.
        let bytes = unsafe { slice::from_raw_parts_mut(bytes, size) };
        or_fail(with!(session, it => it.read(bytes)))
    }

    unsafe extern "C" fn negotiated(session: *mut c_void, result: *mut Negotiated<'_>) {
        let negotiated = or_fail(with!(session, it => it.negotiated()));
        // SAFETY: a struct negotiated of the core's, which Negotiated mirrors; it reads `peer` before it calls again.
        unsafe { result.cast::<Negotiated<'_>>().write(negotiated) }
    }

    unsafe extern "C" fn release(session: *mut c_void) {
        with!(session, it => it.release());
    }

    unsafe extern "C" fn session_free(session: *mut c_void) {
        macro_rules! free_session {
            ($name:ident) => {
                // SAFETY: of session_new; the core forgets it. Its kind is its type's.
                unsafe { free::<D::$name>(session) }
            };
        }
        // SAFETY: as above.
        by_kind!(unsafe { kind_of(session) }, free_session)
    }

    unsafe extern "C" fn context_free(context: *mut c_void) {
        macro_rules! free_context {
            ($name:ident) => {
                // SAFETY: of context_new; its sessions are freed, and the core forgets it. Its kind is its type's.
                unsafe { free::<Context<D::$name>>(context) }
            };
        }
        // SAFETY: as above.
        by_kind!(unsafe { kind_of(context) }, free_context)
    }

    unsafe extern "C" fn sealer_new(suite: &Suite) -> *mut c_void {
        Box::into_raw(Box::new(or_fail(D::Sealer::new(suite)))).cast()
    }

    unsafe extern "C" fn seal(sealer: *mut c_void, bytes: *mut u8, size: usize) {
        // SAFETY: of sealer_new; the record is the core's own, with room for the tag behind it.
        let (sealer, bytes, tag) = unsafe {
            let tag = &mut *bytes.add(size).cast::<[u8; SEAL_TAG_BYTES]>();
            (&mut *sealer.cast::<D::Sealer>(), slice::from_raw_parts_mut(bytes, size), tag)
        };
        or_fail(sealer.seal(bytes, tag));
    }

    unsafe extern "C" fn sealer_free(sealer: *mut c_void) {
        // SAFETY: of sealer_new; the core forgets it.
        drop(unsafe { Box::from_raw(sealer.cast::<D::Sealer>()) });
    }

    /// mallctl(3), but for what the stack reads itself.
    unsafe extern "C" fn mallctl(
        name: *const c_char,
        old: *mut c_void,
        old_size: *mut usize,
        new: *mut c_void,
        new_size: usize,
    ) -> c_int {
        let Some(jemalloc) = &D::JEMALLOC else { fail("brings no jemalloc".into()) };
        // SAFETY: the core gives names that end in a zero.
        match (jemalloc.figure)(unsafe { CStr::from_ptr(name) }) {
            // SAFETY: as the core calls, there is room for a size_t, or nowhere to write to.
            Some(figure) => unsafe { old.cast::<usize>().as_mut() }.map_or(0, |old| {
                *old = figure;
                0
            }),
            // SAFETY: jemalloc's own function, called as the core called this one.
            None => unsafe { (jemalloc.mallctl)(name, old, old_size, new, new_size) },
        }
    }
}

type Context<S> = <S as Session>::Context;

fn or_fail<T>(result: Result<T, String>) -> T {
    result.unwrap_or_else(|sentence| fail(sentence))
}

fn fail(sentence: String) -> ! {
    // SAFETY: two strings that end in a zero, the first of which says that there is one more.
    unsafe { die(c"%s".as_ptr(), c_string(sentence).as_ptr()) }
}

fn c_string(text: String) -> CString {
    CString::new(text.replace('\0', " ")).expect("no zero is left")
}
