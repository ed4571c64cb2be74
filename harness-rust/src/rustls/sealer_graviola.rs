//! Graviola's own AEAD, called directly. Its crate is rustls-graviola's own, of which a build has one version.

use crate::names::Aead;
use graviola::aead::{AesGcm, ChaCha20Poly1305};
use memtest_driver::{seal_nonce, Suite, SEAL_AAD_BYTES, SEAL_TAG_BYTES};
use std::array;

#[allow(clippy::large_enum_variant)] // there is one of it
enum Key {
    Aes(AesGcm),
    Chacha20(ChaCha20Poly1305),
}

pub struct Sealer {
    key: Key,
    records: u64,
}

impl memtest_driver::Sealer for Sealer {
    fn new(suite: &Suite) -> Result<Self, String> {
        let bytes: [u8; 32] = array::from_fn(|i| i as u8);
        let key = match Aead::of(&suite.cipher) {
            Aead::Aes128Gcm => Key::Aes(AesGcm::new(&bytes[..16])),
            Aead::Aes256Gcm => Key::Aes(AesGcm::new(&bytes)),
            Aead::Chacha20Poly1305 => Key::Chacha20(ChaCha20Poly1305::new(bytes)),
        };
        Ok(Self { key, records: 0 })
    }

    fn seal(&mut self, bytes: &mut [u8], tag: &mut [u8; SEAL_TAG_BYTES]) -> Result<(), String> {
        let nonce = seal_nonce(self.records);
        self.records += 1;
        match &self.key {
            Key::Aes(key) => key.encrypt(&nonce, &[0; SEAL_AAD_BYTES], bytes, tag),
            Key::Chacha20(key) => key.encrypt(&nonce, &[0; SEAL_AAD_BYTES], bytes, tag),
        }
        Ok(())
    }
}
