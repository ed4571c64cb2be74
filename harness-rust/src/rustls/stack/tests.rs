//! What is asked of every generation alike.

use super::Rustls;
use crate::names;
use memtest_driver::{Driver, Sealer, Suite};
use std::ffi::CStr;

const CERTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../memtest/certs/rsa-2048\0");

fn suite(protocol: &'static CStr, cipher: &'static CStr) -> Suite {
    Suite {
        protocol: protocol.into(),
        cipher: cipher.into(),
        group: c"X25519".into(),
        client_groups: c"X25519".into(),
        certs: CStr::from_bytes_with_nul(CERTS.as_bytes()).unwrap().into(),
        auth: c"server".into(),
        tickets: 0,
        store: false,
        resume: false,
        options: c"default".into(),
    }
}

/// A suite that rustls offers and these tables forget could be neither asked for nor recognised.
#[test]
fn every_cipher_and_group_of_the_provider_has_a_name() {
    let (ciphers, groups) = crate::offered();
    for cipher in ciphers {
        assert_ne!(names::cipher(cipher), c"unknown", "{cipher:?}");
    }
    for group in groups {
        assert_ne!(names::group(group), c"unknown", "{group:?}");
    }
}

/// Of the first record, and of a second one that is what the first became: from pyca/cryptography 50, over OpenSSL.
const SEALED: [(&CStr, &CStr, &str, &str); 6] = [
    (c"TLSv1.2", c"ECDHE-ECDSA-AES256-GCM-SHA384", AES256.0, AES256.1),
    (c"TLSv1.2", c"ECDHE-RSA-AES128-GCM-SHA256", AES128.0, AES128.1),
    (c"TLSv1.2", c"ecdhe-rsa-chacha20-poly1305", CHACHA20.0, CHACHA20.1),
    (c"TLSv1.3", c"TLS_AES_128_GCM_SHA256", AES128.0, AES128.1),
    (c"TLSv1.3", c"TLS_AES_256_GCM_SHA384", AES256.0, AES256.1),
    (c"TLSv1.3", c"TLS_CHACHA20_POLY1305_SHA256", CHACHA20.0, CHACHA20.1),
];
const AES128: (&str, &str) = ("42e2385269986a085397bac01d4a4387", "cf3c1c7f32dda2b1f29b71fd5e24debd");
const AES256: (&str, &str) = ("2b276ff85c91c63a559c04582e4ea5ab", "ff2936ae52fc44b3def6de5212644034");
const CHACHA20: (&str, &str) = ("70041a83aed7f5560b46a7cdc1300aba", "923b20c0b74a972d7e2e786b2e6c733d");

#[test]
fn the_tags_of_two_records_are_those_of_another_implementation() {
    for (protocol, cipher, first, second) in SEALED {
        let suite = suite(protocol, cipher);
        Rustls::supports(&suite).unwrap();
        let mut sealer = <Rustls as Driver>::Sealer::new(&suite).unwrap();
        let mut record: Vec<u8> = (0..16_384).map(|i| i as u8).collect();
        for expected in [first, second] {
            let mut tag = [0; 16];
            sealer.seal(&mut record, &mut tag).unwrap();
            let tag: String = tag.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(tag, expected, "{cipher:?}");
        }
    }
}

#[test]
fn a_server_issues_ids_or_tickets_and_never_both() {
    for (store, tickets, expected) in
        [(false, 0, [false, false]), (false, 1, [false, true]), (true, 0, [true, false]), (true, 1, [true, false])]
    {
        let suite = Suite { store, tickets, ..suite(c"TLSv1.3", c"TLS_AES_128_GCM_SHA256") };
        assert_eq!(crate::issuing(&suite), expected, "store={store} tickets={tickets}");
    }
}

/// An empty extension 35 is how a client of TLS 1.2 asks for a ticket.
#[test]
fn a_client_that_resumes_by_id_asks_for_no_ticket() {
    for (store, expected) in [(false, true), (true, false)] {
        let suite = Suite { store, resume: true, ..suite(c"TLSv1.2", c"ECDHE-RSA-AES128-GCM-SHA256") };
        let asks = crate::hello(&suite).windows(4).any(|it| it == [0, 35, 0, 0]);
        assert_eq!(asks, expected, "store={store}");
    }
}

/// What the crate reads is what mallctl(3) says at the same moment, of each figure that the core asks for.
#[cfg(feature = "jemalloc-rust")]
#[test]
#[allow(unsafe_code)]
fn jemallocs_statistics_are_those_of_mallctl() {
    let jemalloc = Rustls::JEMALLOC.unwrap();
    let block = std::hint::black_box(vec![1_u8; 12_345_678]);
    (jemalloc.figure)(c"epoch").unwrap(); // until the next one, jemalloc's statistics stand still
    for name in
        [c"stats.allocated", c"stats.active", c"stats.metadata", c"stats.resident", c"stats.mapped", c"stats.retained"]
    {
        let (mut bytes, mut size) = (0_usize, size_of::<usize>());
        let old = (&raw mut bytes).cast();
        // SAFETY: as mallctl(3) has it: room for a size_t, whose size is said.
        let error = unsafe { (jemalloc.mallctl)(name.as_ptr(), old, &mut size, std::ptr::null_mut(), 0) };
        assert_eq!((error, size), (0, size_of::<usize>()), "{name:?}");
        assert_eq!((jemalloc.figure)(name), Some(bytes), "{name:?}");
    }
    assert!((jemalloc.figure)(c"stats.allocated").unwrap() >= block.len());
    assert_eq!((jemalloc.figure)(c"arena.4096.purge"), None); // left to mallctl
}
