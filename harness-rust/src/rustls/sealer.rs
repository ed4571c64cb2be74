//! The provider's own AEAD, called directly: aws-lc-rs has ring's interface. Their crates are rustls' own, of which a build
//! has one version each.

use crate::names::Aead;
#[cfg(feature = "aws-lc")]
use aws_lc_rs::aead;
use memtest_driver::{seal_nonce, Suite, SEAL_AAD_BYTES, SEAL_TAG_BYTES};
#[cfg(feature = "ring")]
use ring::aead;

pub struct Sealer {
    key: aead::LessSafeKey,
    records: u64,
}

impl memtest_driver::Sealer for Sealer {
    fn new(suite: &Suite) -> Result<Self, String> {
        let algorithm = match Aead::of(&suite.cipher) {
            Aead::Aes128Gcm => &aead::AES_128_GCM,
            Aead::Aes256Gcm => &aead::AES_256_GCM,
            Aead::Chacha20Poly1305 => &aead::CHACHA20_POLY1305,
        };
        let key: Vec<u8> = (0..).take(algorithm.key_len()).collect();
        let key = aead::UnboundKey::new(algorithm, &key).map_err(|_| "AEAD: the key is refused")?;
        Ok(Self { key: aead::LessSafeKey::new(key), records: 0 })
    }

    fn seal(&mut self, bytes: &mut [u8], tag: &mut [u8; SEAL_TAG_BYTES]) -> Result<(), String> {
        let nonce = aead::Nonce::assume_unique_for_key(seal_nonce(self.records));
        self.records += 1;
        let made = self.key.seal_in_place_separate_tag(nonce, aead::Aad::from([0; SEAL_AAD_BYTES]), bytes);
        tag.copy_from_slice(made.map_err(|_| "AEAD: a record is refused")?.as_ref());
        Ok(())
    }
}
