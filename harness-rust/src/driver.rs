//! The one adapter between the core and the traits of this crate: with [`given`], the only unsafe Rust of the project.
//!
//! It allocates the block that C holds of a context or a session, inside of the calls that make them, and else nothing:
//! every other byte that the heap meter sees is the stack's.

use crate::mirrors::{die, memtest_main, memtest_sizes, CDriver};
use crate::{Driver, Negotiated, Sealer, Session, Suite, SEAL_TAG_BYTES};
use std::ffi::{c_char, c_int, c_void, CString};
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering::Relaxed};
use std::{marker::PhantomData, panic, ptr, slice};

mod given;

pub use given::{Text, Wire};

/// The program: exit status 0 measured, 1 failed, 2 usage, 77 unsupported.
pub fn run<D: Driver>() -> i32 {
    panic::set_hook(Box::new(|panic| fail(panic.to_string().replace('\n', " "))));
    let mirrors = [size_of::<CDriver>(), size_of::<Suite>(), size_of::<Negotiated>()];
    let core = unsafe { memtest_sizes };
    if mirrors != core {
        // Not by fail(): the core does not know yet whose failure it is.
        let name = D::NAME.to_string_lossy();
        eprintln!("memtest: {name}: driver, suite and negotiated are {mirrors:?} bytes here, {core:?} in the core");
        return 1;
    }
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

/// What C holds of a context or a session: exactly one block, whose first word says of which role its value is.
/// Not an enum of both, or every client would be as large as a server.
#[repr(C)]
pub struct Tagged<T> {
    role: Role,
    value: T,
}

#[derive(Clone, Copy)]
#[repr(usize)]
enum Role {
    Client,
    Server,
}

fn tagged<T>(role: Role, value: Result<T, String>) -> *mut c_void {
    Box::into_raw(Box::new(Tagged { role, value: or_fail(value) })).cast()
}

/// Gives an expression the block behind a pointer from C, as the type that its tag names.
macro_rules! with {
    ($pointer:ident as $client:ty | $server:ty, $block:ident => $expression:expr) => {
        match *$pointer.cast::<Role>() {
            Role::Client => with!($pointer as $client, $block => $expression),
            Role::Server => with!($pointer as $server, $block => $expression),
        }
    };
    ($pointer:ident as $type:ty, $block:ident => $expression:expr) => {{
        let $block = &mut *$pointer.cast::<Tagged<$type>>();
        $expression
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
        resume: if D::RESUMES { Some(Self::resume) } else { None },
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
        mallctl: D::MALLCTL,
    };

    unsafe extern "C" fn version() -> *const c_char {
        D::VERSION.as_ptr()
    }

    unsafe extern "C" fn supports(suite: &Suite) -> *const c_char {
        D::supports(suite).map_or_else(|reason| c_string(reason).into_raw(), |()| ptr::null_mut())
    }

    unsafe extern "C" fn context_new(role: c_int, suite: &Suite) -> *mut c_void {
        match role {
            0 => tagged(Role::Client, D::Client::context_new(suite)),
            _ => tagged(Role::Server, D::Server::context_new(suite)),
        }
    }

    unsafe extern "C" fn session_new(context: *mut c_void, wire: Wire) -> *mut c_void {
        match *context.cast::<Role>() {
            Role::Client => tagged(Role::Client, D::Client::session_new(&(*context.cast::<Tagged<_>>()).value, wire)),
            Role::Server => tagged(Role::Server, D::Server::session_new(&(*context.cast::<Tagged<_>>()).value, wire)),
        }
    }

    unsafe extern "C" fn resume(session: *mut c_void, from: *mut c_void) {
        let from = &(*from.cast::<Tagged<D::Client>>()).value;
        or_fail(with!(session as D::Client, s => s.value.resume(from)));
    }

    unsafe extern "C" fn handshake(session: *mut c_void) -> bool {
        or_fail(with!(session as D::Client | D::Server, s => s.value.handshake()))
    }

    unsafe extern "C" fn write(session: *mut c_void, bytes: *const u8, size: usize) -> usize {
        let bytes = slice::from_raw_parts(bytes, size);
        or_fail(with!(session as D::Client | D::Server, s => s.value.write(bytes)))
    }

    unsafe extern "C" fn read(session: *mut c_void, bytes: *mut u8, size: usize) -> usize {
        let bytes = slice::from_raw_parts_mut(bytes, size);
        or_fail(with!(session as D::Client | D::Server, s => s.value.read(bytes)))
    }

    unsafe extern "C" fn negotiated(session: *mut c_void, result: *mut Negotiated) {
        result.write(or_fail(with!(session as D::Client | D::Server, s => s.value.negotiated())));
    }

    unsafe extern "C" fn release(session: *mut c_void) {
        with!(session as D::Client | D::Server, s => s.value.release());
    }

    unsafe extern "C" fn session_free(session: *mut c_void) {
        with!(session as D::Client | D::Server, s => drop(Box::from_raw(s)));
    }

    unsafe extern "C" fn context_free(context: *mut c_void) {
        with!(context as Context<D::Client> | Context<D::Server>, c => drop(Box::from_raw(c)));
    }

    unsafe extern "C" fn sealer_new(suite: &Suite) -> *mut c_void {
        Box::into_raw(Box::new(or_fail(D::Sealer::new(suite)))).cast()
    }

    unsafe extern "C" fn seal(sealer: *mut c_void, bytes: *mut u8, size: usize) {
        let tag = &mut *bytes.add(size).cast::<[u8; SEAL_TAG_BYTES]>();
        or_fail((*sealer.cast::<D::Sealer>()).seal(slice::from_raw_parts_mut(bytes, size), tag));
    }

    unsafe extern "C" fn sealer_free(sealer: *mut c_void) {
        drop(Box::from_raw(sealer.cast::<D::Sealer>()));
    }
}

type Context<S> = <S as Session>::Context;

fn or_fail<T>(result: Result<T, String>) -> T {
    result.unwrap_or_else(|sentence| fail(sentence))
}

fn fail(sentence: String) -> ! {
    unsafe { die(c"%s".as_ptr(), c_string(sentence).as_ptr()) }
}

fn c_string(text: String) -> CString {
    CString::new(text.replace('\0', " ")).expect("no zero is left")
}
