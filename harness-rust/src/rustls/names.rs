//! The names that suites.toml speaks are OpenSSL's.

use crate::{CipherSuite, NamedGroup, ProtocolVersion};
use memtest_driver::{Wire, GROUPS_LIBRARY, SERVER_NAME};
use rustls_pki_types::ServerName;
use std::ffi::CStr;

pub fn protocol(it: ProtocolVersion) -> &'static CStr {
    match it {
        ProtocolVersion::TLSv1_2 => c"TLSv1.2",
        ProtocolVersion::TLSv1_3 => c"TLSv1.3",
        _ => c"unknown",
    }
}

pub fn cipher(it: CipherSuite) -> &'static CStr {
    match it {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => c"TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_AES_256_GCM_SHA384 => c"TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => c"TLS_CHACHA20_POLY1305_SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => c"ECDHE-RSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => c"ECDHE-RSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => c"ECDHE-RSA-CHACHA20-POLY1305",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => c"ECDHE-ECDSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => c"ECDHE-ECDSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => c"ECDHE-ECDSA-CHACHA20-POLY1305",
        _ => c"unknown",
    }
}

/// By IANA's numbers: older rustls has no constants for the newer groups.
pub fn group(it: NamedGroup) -> &'static CStr {
    match crate::number(it) {
        0x0017 => c"P-256",
        0x0018 => c"P-384",
        0x001d => c"X25519",
        0x0201 => c"MLKEM768",
        0x0202 => c"MLKEM1024",
        0x11eb => c"SecP256r1MLKEM768",
        0x11ec => c"X25519MLKEM768",
        _ => c"unknown",
    }
}

/// Those of the library that a role has, in its order; all of them where the library is to choose.
pub fn choose<G: Copy>(known: &[G], list: &str, name: fn(G) -> NamedGroup) -> Result<Vec<G>, String> {
    if list == GROUPS_LIBRARY {
        return Ok(known.to_vec());
    }
    let find = |one| known.iter().copied().find(|it| same(group(name(*it)), one));
    list.split(':').map(|one| find(one).ok_or_else(|| "does not have this group".into())).collect()
}

/// Of all ciphers with a name here.
pub enum Aead {
    Aes128Gcm,
    Aes256Gcm,
    Chacha20Poly1305,
}

impl Aead {
    pub fn of(cipher: &str) -> Self {
        match cipher.to_ascii_uppercase() {
            it if it.contains("CHACHA20") => Self::Chacha20Poly1305,
            it if it.contains("AES128") || it.contains("AES_128") => Self::Aes128Gcm,
            _ => Self::Aes256Gcm,
        }
    }
}

/// What a client asks for: a constant takes no memory in a session.
pub fn server(wire: Wire) -> ServerName<'static> {
    let name = match &*wire.server_name() {
        SERVER_NAME => SERVER_NAME.try_into(),
        other => other.to_owned().try_into(),
    };
    name.expect("a DNS name")
}

/// Names are compared without regard to case.
pub fn same(name: &CStr, other: &str) -> bool {
    name.to_bytes().eq_ignore_ascii_case(other.as_bytes())
}
