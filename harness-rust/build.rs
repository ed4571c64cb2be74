//! Links the core: `libmemtest.a`, from the directory that MEMTEST_CORE names, or from where `make core` leaves it. In the
//! harness itself the core counts allocations that fail, of C and Rust alike: `memtest/allocations.c`.

use std::env;
use std::path::{Path, PathBuf};

const WRAPPED: &str = include_str!("../memtest/wrapped.flags");

fn main() {
    link("null");
}

/// `harness`: the binary that is one.
pub fn link(harness: &str) {
    let core = env::var_os("MEMTEST_CORE").map_or_else(made, PathBuf::from);
    let archive = core.join("libmemtest.a");
    println!("cargo::rerun-if-env-changed=MEMTEST_CORE");
    println!("cargo::rerun-if-changed={}", archive.display());
    if !archive.is_file() {
        println!("cargo::error={} is not there: run `make core` first", archive.display());
        return;
    }
    println!("cargo::rustc-env=CORE={}", core.display()); // tests preload the heap meter from it
    println!("cargo::rustc-link-search=native={}", core.display());
    println!("cargo::rustc-link-lib=static=memtest");
    for flag in WRAPPED.lines() {
        println!("cargo::rustc-link-arg-bin={harness}={flag}");
    }
}

fn made() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().find(|it| it.ends_with("harness-rust"));
    here.unwrap().join("../build/core")
}
