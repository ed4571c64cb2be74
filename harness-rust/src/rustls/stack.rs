//! rustls as the core knows it, of whatever generation: a suite that it cannot do is refused here.

use crate::{
    offer, resumption, sealer, Client, LowMemoryClient, LowMemoryServer, Server, NAMES, RELEASES, SAVES, SEALS,
};
#[cfg(feature = "jemalloc-rust")]
use memtest_driver::Jemalloc;
use memtest_driver::{Driver, Suite};
use std::ffi::CStr;

/// For all that Rust allocates. The C inside the provider stays with malloc: two heaps.
#[cfg(feature = "jemalloc-rust")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[cfg(feature = "jemalloc-rust")]
fn jemalloc_figure(name: &CStr) -> Option<usize> {
    use tikv_jemalloc_ctl::{epoch, stats};
    match name.to_bytes() {
        b"epoch" => epoch::advance().ok()?.try_into().ok(),
        b"stats.allocated" => stats::allocated::read().ok(),
        b"stats.active" => stats::active::read().ok(),
        b"stats.metadata" => stats::metadata::read().ok(),
        b"stats.resident" => stats::resident::read().ok(),
        b"stats.mapped" => stats::mapped::read().ok(),
        b"stats.retained" => stats::retained::read().ok(),
        _ => None,
    }
}

pub struct Rustls;

impl Driver for Rustls {
    const NAME: &'static CStr = c"rustls";
    const VERSION: &'static CStr = match CStr::from_bytes_with_nul(concat!(env!("REPORTED"), "\0").as_bytes()) {
        Ok(reported) => reported,
        Err(_) => panic!("a version with a zero in it"),
    };
    const NAMES: bool = NAMES;
    const RELEASES: bool = RELEASES;
    /// What a client got is kept by its context, and offered unasked: [`crate::resumption`].
    const RESUMES: bool = true;

    /// Statistics are read through tikv-jemalloc-ctl. That crate purges no arena and flushes no thread's cache but by
    /// functions as unsafe as mallctl itself, so the core's calls for these go there as they are.
    #[cfg(feature = "jemalloc-rust")]
    const JEMALLOC: Option<Jemalloc> = Some(Jemalloc { figure: jemalloc_figure, mallctl: tikv_jemalloc_sys::mallctl });

    fn supports(suite: &Suite) -> Result<(), String> {
        offer(suite, &suite.client_groups)?;
        offer(suite, &suite.group)?;
        if !SEALS && resumption::by_ticketer(suite) {
            return Err("tickets: the provider has no ticketer".into());
        }
        match (&*suite.auth, &*suite.options) {
            ("server" | "mutual", "default") => Ok(()),
            ("server" | "mutual", "drop-peer-chain") => Err("options=drop-peer-chain: has no option for it".into()),
            ("server" | "mutual", "low-memory") if SAVES => Ok(()),
            ("server" | "mutual", options) => {
                Err(format!("options={options}: has no unbuffered API, as 0.23 has it; set_buffer_limit frees nothing"))
            }
            (auth, _) => Err(format!("auth={auth}: does server and mutual only")),
        }
    }

    type Client = Client;
    type Server = Server;
    type LowMemoryClient = LowMemoryClient;
    type LowMemoryServer = LowMemoryServer;
    type Sealer = sealer::Sealer;
}

#[cfg(test)]
mod tests;
