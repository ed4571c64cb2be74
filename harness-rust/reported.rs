//! Links the core, and tells the rustls driver what it is: the versions of rustls and its provider, as in the lock file
//! of its package.

use std::{env, fs, path::Path};

#[allow(dead_code)] // its main
#[path = "build.rs"]
mod core;

fn main() {
    core::link("rustls");
    let lock = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    let lock = fs::read_to_string(&lock).unwrap();
    let name = |crate_name: &str| format!("{crate_name} {}", version(&lock, crate_name));
    let feature = |name: &str| env::var_os(format!("CARGO_FEATURE_{name}")).is_some();
    let provider = match (feature("AWS_LC"), feature("GRAVIOLA"), feature("OPENSSL")) {
        (true, _, _) => format!("{}, {}", name("aws-lc-rs"), name("aws-lc-sys")),
        (_, true, _) => format!("{}, {}", name("rustls-graviola"), name("graviola")),
        (_, _, true) => format!("{}, {}", name("rustls-openssl"), name("openssl-src")),
        _ => name("ring"),
    };
    let allocator = match feature("JEMALLOC_RUST") {
        true => format!(", {}", name("tikv-jemalloc-sys").split("-0-g").next().unwrap()), // the rest is a commit
        false => String::new(),
    };
    println!("cargo::rustc-env=REPORTED={} ({provider}{allocator})", name("rustls"));
}

fn version<'a>(lock: &'a str, crate_name: &str) -> &'a str {
    let entry = format!("name = \"{crate_name}\"\nversion = \"");
    let from = lock.find(&entry).unwrap_or_else(|| panic!("Cargo.lock: no {crate_name}")) + entry.len();
    // The driver calls the provider too: what it measures must be what rustls uses.
    assert!(!lock[from..].contains(&entry), "Cargo.lock: two versions of {crate_name}");
    lock[from..].split('"').next().unwrap()
}
