//! rustls as the core knows it, of whatever generation: a suite that it cannot do is refused here.

use crate::{offer, sealer, Client, Server, RELEASES, SAVES};
#[cfg(feature = "jemalloc-rust")]
use memtest_driver::Mallctl;
use memtest_driver::{Driver, Suite};
use std::ffi::CStr;

/// For all that Rust allocates. The C inside the provider stays with malloc: two heaps.
#[cfg(feature = "jemalloc-rust")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

pub struct Rustls;

impl Driver for Rustls {
    const NAME: &'static CStr = c"rustls";
    const VERSION: &'static CStr = match CStr::from_bytes_with_nul(concat!(env!("REPORTED"), "\0").as_bytes()) {
        Ok(reported) => reported,
        Err(_) => panic!("a version with a zero in it"),
    };
    const RELEASES: bool = RELEASES;
    /// What a client got is kept by its context, and offered unasked: [`crate::resumption`].
    const RESUMES: bool = true;

    /// As it is in C, and not tikv-jemalloc-ctl: that crate wraps this function, has no way to call for a purge, and the
    /// core reads the books of a preloaded jemalloc by the same calls.
    #[cfg(feature = "jemalloc-rust")]
    const MALLCTL: Option<Mallctl> = Some(tikv_jemalloc_sys::mallctl);

    fn supports(suite: &Suite) -> Result<(), String> {
        offer(suite)?;
        match (&*suite.auth, &*suite.options) {
            ("server" | "mutual", "default") => Ok(()),
            ("server" | "mutual", "low-memory") if SAVES => Ok(()),
            ("server" | "mutual", options) => {
                Err(format!("options={options}: set_buffer_limit caps rustls' buffers and frees none"))
            }
            (auth, _) => Err(format!("auth={auth}: does server and mutual only")),
        }
    }

    type Client = Client;
    type Server = Server;
    type Sealer = sealer::Sealer;
}

#[cfg(test)]
mod tests;
