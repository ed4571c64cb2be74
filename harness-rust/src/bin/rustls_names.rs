//! OpenSSL's names, which suites.toml speaks, for what rustls calls otherwise.

use rustls::{CipherSuite, NamedGroup, ProtocolVersion};
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

pub fn group(it: NamedGroup) -> &'static CStr {
    match it {
        NamedGroup::X25519 => c"X25519",
        NamedGroup::secp256r1 => c"secp256r1",
        NamedGroup::secp384r1 => c"secp384r1",
        NamedGroup::MLKEM768 => c"MLKEM768",
        NamedGroup::MLKEM1024 => c"MLKEM1024",
        NamedGroup::X25519MLKEM768 => c"X25519MLKEM768",
        NamedGroup::secp256r1MLKEM768 => c"SecP256r1MLKEM768",
        _ => c"unknown",
    }
}

/// Names are compared without regard to case.
pub fn same(name: &CStr, other: &str) -> bool {
    name.to_bytes().eq_ignore_ascii_case(other.as_bytes())
}

/// A suite that rustls offers and these tables forget could be neither asked for nor recognised.
#[cfg(test)]
mod tests {
    use crate::provider::default_provider;

    #[test]
    fn every_cipher_and_group_of_the_provider_has_a_name() {
        for offered in default_provider().cipher_suites {
            assert_ne!(super::cipher(offered.suite()), c"unknown", "{offered:?}");
        }
        for offered in default_provider().kx_groups {
            assert_ne!(super::group(offered.name()), c"unknown", "{:?}", offered.name());
        }
    }
}
